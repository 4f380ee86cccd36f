"""Hosts: which of them may be asked now, and which has the best URL.

A host is asked when it has waiting URLs, has a free place, and its time has come. Two heaps hold the hosts:
`ready` by their best key, `timed` by the time at which they may be asked. Entries are never removed from the middle;
each is checked when it surfaces. A heap of which more than half is out of date is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from enum import StrEnum
from heapq import heapify, heappop, heappush
from random import Random
from typing import NamedTuple

from topiccrawl.frontier.base import Politeness
from topiccrawl.frontier.order import KeyQueue
from topiccrawl.frontier.pool import RecordPool
from topiccrawl.records import Outcome, Reason

SLOW_DOWN = frozenset({429, 503})
MIN_BACKOFF = 1.0
SPARE_ENTRIES = 64  # that a heap may hold beyond two a host


class RobotsState(StrEnum):
    UNKNOWN = "unknown"
    KNOWN = "known"
    DEFERRED = "deferred"
    UNREACHABLE = "unreachable"


class Origin:
    """The robots.txt of one scheme of a host."""

    __slots__ = ("changed_at", "reason", "state", "tries")

    def __init__(
        self,
        state: RobotsState = RobotsState.UNKNOWN,
        tries: int = 0,
        changed_at: float = 0.0,
        reason: Reason = Reason.ROBOTS_UNREACHABLE,
    ) -> None:
        self.state = state
        self.tries = tries
        self.changed_at = changed_at
        self.reason = reason  # what its URLs end with when it is unreachable


class Rest(NamedTuple):
    """How a host is treated after a request to it."""

    backoff: float
    crawl_delay: float | None
    next_allowed: float


class Host:
    """Politeness state and waiting URLs of one host."""

    __slots__ = (
        "asking_robots",
        "backoff",
        "crawl_delay",
        "name",
        "next_allowed",
        "number",
        "open",
        "origins",
        "queue",
        "ready_key",
        "stored",
        "timed_at",
        "waits",
    )

    def __init__(self, number: int, name: str, queue: KeyQueue) -> None:
        self.number = number
        self.name = name
        self.queue = queue
        self.open = 0
        self.asking_robots = False  # a lease of kind ROBOTS is open: the rest must wait for the rules
        self.next_allowed = 0.0
        self.crawl_delay: float | None = None
        self.backoff = 0.0
        self.origins: dict[str, Origin] = {}
        self.stored = False  # has a row in the store
        self.ready_key: int | None = None  # its entry in `ready`
        self.timed_at: float | None = None  # its entry in `timed`
        self.waits = False  # had a head when that was last looked at


class HostTable:
    """All hosts of a crawl.

    `is_current(key)` says whether a key of a host's queue still counts; stale ones are dropped on the way.
    """

    def __init__(
        self, pool: RecordPool, politeness: Politeness, is_current: Callable[[int], bool], rng: Random
    ) -> None:
        self.politeness = politeness
        self._pool = pool
        self._is_current = is_current
        self._rng = rng
        self._hosts: list[Host] = []
        self._by_name: dict[str, Host] = {}
        self._ready: list[tuple[int, int]] = []
        self._timed: list[tuple[float, int]] = []
        self._waiting = 0

    def __len__(self) -> int:
        return len(self._hosts)

    def __iter__(self) -> Iterator[Host]:
        return iter(self._hosts)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def named(self, name: str) -> Host:
        """The host of that name; a new one gets the next number, from 0."""
        host = self._by_name.get(name)
        if host is None:
            host = Host(len(self._hosts), name, KeyQueue(self._pool))
            self._hosts.append(host)
            self._by_name[name] = host
        return host

    def restore(self, number: int, name: str) -> Host:
        """A host that the store knows under this number. A number whose host was never stored stays unused."""
        while len(self._hosts) < number:
            self._hosts.append(Host(len(self._hosts), "", KeyQueue(self._pool)))
        host = self.named(name)
        host.stored = True
        return host

    def numbered(self, number: int) -> Host:
        return self._hosts[number]

    def head(self, host: Host) -> int | None:
        """The host's best key."""
        while (key := host.queue.peek()) is not None and not self._is_current(key):
            host.queue.pop()
        if host.waits is (key is None):
            host.waits = key is not None
            self._waiting += 1 if host.waits else -1
        return key

    def place(self, host: Host, now: float) -> None:
        """Enter the host where it belongs. To be called whenever its head, its places or its time changed."""
        key = self.head(host)
        if key is None or not self._is_free(host):
            return
        if host.next_allowed > now:
            if host.timed_at != host.next_allowed:
                host.timed_at = host.next_allowed
                heappush(self._timed, (host.next_allowed, host.number))
                if self._is_overfull(self._timed):
                    self._timed = [entry for entry in set(self._timed) if self._hosts[entry[1]].timed_at == entry[0]]
                    heapify(self._timed)
        elif host.ready_key != key:
            host.ready_key = key
            heappush(self._ready, (key, host.number))
            if self._is_overfull(self._ready):
                self._ready = [entry for entry in set(self._ready) if self._hosts[entry[1]].ready_key == entry[0]]
                heapify(self._ready)

    def best(self, now: float) -> Host | None:
        """The host with the best URL among those that may be asked now."""
        self._wake(now)
        while self._ready:
            key, number = self._ready[0]
            host = self._hosts[number]
            if host.ready_key == key:
                if self._is_free(host) and host.next_allowed <= now and self.head(host) == key:
                    return host
                host.ready_key = None
                heappop(self._ready)
                self.place(host, now)
            else:
                heappop(self._ready)
        return None

    def next_time(self) -> float | None:
        """When the next host that waits for its time may be asked."""
        while self._timed:
            time, number = self._timed[0]
            host = self._hosts[number]
            if host.timed_at == time and self._is_free(host) and self.head(host) is not None:
                return time
            heappop(self._timed)
            if host.timed_at == time:
                host.timed_at = None
        return None

    def waiting(self) -> int:
        """How many hosts have waiting URLs. One whose keys are all stale counts until its head is looked at."""
        return self._waiting

    def asked(self, host: Host, now: float, *, robots: bool = False) -> None:
        """A request goes out to the host."""
        host.open += 1
        host.asking_robots |= robots
        if self.politeness.per_host > 1:
            host.next_allowed = max(host.next_allowed, now + self.delay(host))

    def rest(self, host: Host, outcome: Outcome, ended_at: float, crawl_delay: float | None) -> Rest:
        """What the end of a request means for the host; to be given to `answered`. Its delay runs from the end."""
        if not outcome.asked:
            return Rest(host.backoff, crawl_delay, host.next_allowed)
        base, backoff = self._base_delay(crawl_delay), host.backoff
        slow_down = outcome.status in SLOW_DOWN
        if slow_down:
            backoff = min(2 * max(backoff, base, MIN_BACKOFF / 2), self.politeness.max_backoff)
        elif outcome.status is not None and backoff:
            backoff = backoff / 2 if backoff / 2 > base else 0.0
        next_allowed = host.next_allowed
        if host.open == 1 or slow_down or outcome.retry_after is not None:
            asked_for = min(outcome.retry_after or 0.0, self.politeness.max_retry_after)
            next_allowed = max(next_allowed, ended_at + max(self._jittered(max(base, backoff)), asked_for))
        return Rest(backoff, crawl_delay, next_allowed)

    def answered(self, host: Host, rest: Rest, *, robots: bool = False) -> None:
        """A request to the host came to its end."""
        host.open -= 1
        if robots:
            host.asking_robots = False
        host.backoff, host.crawl_delay, host.next_allowed = rest

    def delay(self, host: Host) -> float:
        """Seconds from the end of a request to the start of the next, back-off and jitter included."""
        return self._jittered(max(self._base_delay(host.crawl_delay), host.backoff))

    def destroy(self) -> None:
        self._hosts, self._by_name, self._ready, self._timed, self._waiting = [], {}, [], [], 0

    def _wake(self, now: float) -> None:
        while self._timed and self._timed[0][0] <= now:
            time, number = heappop(self._timed)
            host = self._hosts[number]
            if host.timed_at == time:
                host.timed_at = None
                self.place(host, now)

    def _is_overfull(self, heap: Sized) -> bool:
        return len(heap) > 2 * len(self._hosts) + SPARE_ENTRIES

    def _is_free(self, host: Host) -> bool:
        return host.open < self.politeness.per_host and not host.asking_robots

    def _base_delay(self, crawl_delay: float | None) -> float:
        return max(self.politeness.delay, min(crawl_delay or 0.0, self.politeness.max_crawl_delay))

    def _jittered(self, delay: float) -> float:
        return delay * (1 + self.politeness.jitter * self._rng.random()) if delay else 0.0
