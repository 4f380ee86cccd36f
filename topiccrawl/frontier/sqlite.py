"""The embedded store: link.db is the record, the pools of index.py are its index.

Each verb first plans on memory, then writes link.db inside a savepoint of the group commit, and changes memory only
when that succeeded: a full disk leaves both as they were. At start one scan of `urls` fills the pools.

Over 400 lines because all verbs of the contract stand here; the pools, statements, hosts and order have their files.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from random import Random

import numpy as np
from numpy.typing import NDArray

from topiccrawl.database import Database
from topiccrawl.errors import DatabaseError
from topiccrawl.frontier import rows as table
from topiccrawl.frontier.base import (
    MAX_DEPTH,
    MAX_EXPIRED,
    SEEDS_EXEMPT,
    Counts,
    Expired,
    Finished,
    Limits,
    Politeness,
    RetryPolicy,
)
from topiccrawl.frontier.hosts import Host, Origin, Rest, RobotsState
from topiccrawl.frontier.index import QUEUES, ROW_MASK, UrlIndex
from topiccrawl.frontier.robots import RobotsRules, crawl_delay
from topiccrawl.records import (
    REVIVABLE,
    Candidate,
    Lease,
    LeaseKind,
    Outcome,
    Queue,
    Reason,
    RobotsFile,
    Selection,
)
from topiccrawl.strategies import Priorities, topic
from topiccrawl.urls import origin

SCAN = 50_000  # rows per step of a scan
EXPIRE_AT_ONCE = 256  # URLs of an unreachable host that one take moves to error


class SqliteFrontier:
    """The frontier contract on link.db. See base.py for what each verb guarantees."""

    def __init__(
        self,
        database: Database,
        *,
        limits: Limits | None = None,
        politeness: Politeness | None = None,
        retry: RetryPolicy | None = None,
        priorities: Priorities = topic.priorities,
        user_agent: str = "topiccrawl",
        clock: Callable[[], float] = time.time,
        rng: Random | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.politeness = politeness or Politeness()
        self.retry = retry or RetryPolicy()
        self.late = 0  # leases that were finished when they were no longer open
        self._database = database
        self._user_agent = user_agent
        self._clock = clock
        self._rng = rng or Random()
        self._index = UrlIndex(self.politeness, priorities, self._rng)
        self._robots = RobotsRules(database, user_agent)
        self._leases: dict[int, Lease] = {}
        self._token = 0
        self._retries: list[tuple[float, int]] = []
        self._due: dict[int, float] = {}  # the entry of `_retries` that counts for a row
        self._expired: deque[Expired] = deque(maxlen=MAX_EXPIRED)
        with database.faults():
            self._load()

    # ---- the verbs ----

    def recover(self) -> int:
        orphans = np.flatnonzero(self._index.column("queue")[: len(self._index)] == QUEUES.index(Queue.PROCESSING)) + 1
        now = self._clock()
        for row in orphans.tolist():
            with self._database.transaction() as connection:
                queue = table.crash(connection, row, now)
            self._index.move(row, queue, now)
        return len(orphans)

    def add(self, candidates: Sequence[Candidate], parent: int | None = None) -> tuple[int, ...]:
        self._must_be_alone()
        with self._database.transaction():
            return self._add(candidates, parent)

    def take(self, n: int) -> list[Lease]:
        now = self._clock()
        self._wake_retries(now)
        leases: list[Lease] = []
        expired = 0
        while len(leases) < n and expired < EXPIRE_AT_ONCE:
            host = self._index.hosts.best(now)
            if host is None:
                break
            row = (self._index.hosts.head(host) or 0) & ROW_MASK
            scheme = self._index.scheme(row)
            site = host.origins.setdefault(scheme, Origin())
            if self._needs_robots(site, now):
                leases.append(self._lease_robots(host, scheme, site, now))
            elif site.state is RobotsState.UNREACHABLE and self.politeness.obey_robots:
                self._expire(host, row, now)
                expired += 1
            else:
                leases.append(self._lease_page(host, row, now))
        return leases

    def drain_expired(self) -> list[Expired]:
        expired = list(self._expired)
        self._expired.clear()
        return expired

    def finish(self, lease: Lease, outcome: Outcome, candidates: Sequence[Candidate] = ()) -> Finished | None:
        if self._leases.get(lease.token) is not lease:
            self.late += 1
            return None
        self._must_be_alone()
        now = self._clock()
        ended_at = now if outcome.ended_at is None else outcome.ended_at
        host = self._index.hosts.named(lease.host)
        rest = self._index.hosts.rest(host, outcome, ended_at, host.crawl_delay)
        failed = outcome.queue is not Queue.DONE and outcome.asked
        retry_at = self._retry_at(outcome, lease.tries + failed, ended_at)
        with self._database.transaction() as connection:
            rows = self._add(candidates, lease.row)
            target = rows[0] if outcome.reason is Reason.REDIRECT and rows else None
            table.finish(connection, lease.row, outcome, failed=failed, retry_at=retry_at, target=target, now=now)
            if rest.next_allowed != host.next_allowed:
                table.rest(connection, host.number, rest.next_allowed, rest.crawl_delay)
            self._database.after(lambda: self._finished(lease, outcome.queue, retry_at, host, rest, now))
        return Finished(queue=outcome.queue, retry_at=retry_at, rows=rows)

    def finish_robots(self, lease: Lease, robots: RobotsFile) -> None:
        if self._leases.get(lease.token) is not lease:
            self.late += 1
            return
        self._must_be_alone()
        now = self._clock()
        ended_at = now if robots.ended_at is None else robots.ended_at
        host, scheme = self._index.hosts.named(lease.host), lease.url.partition(":")[0]
        if robots.reachable:
            site, pace = Origin(RobotsState.KNOWN, 0, now), crawl_delay(robots.text, self._user_agent)
        else:
            tries, pace = host.origins[scheme].tries + 1, host.crawl_delay
            final = robots.final or tries >= self.politeness.robots_tries
            state = RobotsState.UNREACHABLE if final else RobotsState.DEFERRED
            site = Origin(state, tries, now, robots.reason or Reason.ROBOTS_UNREACHABLE)
        answer = Outcome(queue=Queue.DONE, status=robots.status, retry_after=robots.retry_after)
        rest = self._index.hosts.rest(host, answer, ended_at, pace)
        if site.state is RobotsState.DEFERRED:
            pause = self.politeness.robots_retry * 2 ** (site.tries - 1)
            rest = rest._replace(next_allowed=max(rest.next_allowed, ended_at + pause))

        def remember() -> None:
            del self._leases[lease.token]
            host.origins[scheme] = site
            self._index.hosts.answered(host, rest, robots=True)
            self._index.hosts.place(host, now)

        with self._database.transaction() as connection:
            self._robots.write(origin(lease.url), site, robots)
            table.rest(connection, host.number, rest.next_allowed, rest.crawl_delay)
            self._database.after(remember)

    def allows(self, url: str) -> bool:
        return not self.politeness.obey_robots or self._robots.allows(url)

    def delay(self, host: str) -> float:
        return self._index.hosts.delay(self._index.hosts.named(host))

    def redirects_to(self, hash: int, row: int) -> bool:
        (at,) = self._index.known.find(np.array([hash], np.uint64)).tolist()
        seen: set[int] = set()
        while at and at not in seen:
            if at == row:
                return True
            seen.add(at)
            at = table.target(self._database.connection, at)
        return False

    def next_due(self) -> float | None:
        now = self._clock()
        if self._index.hosts.best(now) is not None:
            return 0.0
        times = [t for t in (self._index.hosts.next_time(), self._next_retry_at()) if t is not None]
        return max(0.0, min(times) - now) if times else None

    def next_retry(self) -> float | None:
        at = self._next_retry_at()
        return None if at is None else max(0.0, at - self._clock())

    def counts(self) -> Counts:
        return self._index.counts()

    def queues_of(self, hashes: NDArray[np.uint64]) -> list[Queue | None]:
        return self._index.queues(hashes)

    def requeue(self, selection: Selection) -> int:
        with self._database.faults():
            rows = table.select(self._database.connection, selection)
        now = self._clock()
        for start in range(0, len(rows), SCAN):
            part = rows[start : start + SCAN]
            with self._database.transaction() as connection:
                table.reset(connection, part, now)
            for row in part:
                self._forget_robots(row)
                self._due.pop(row, None)
                self._index.move(row, Queue.WAITING, now)
        return len(rows)

    def close(self) -> None:
        self._index.destroy()
        self._leases.clear()
        self._retries.clear()
        self._due.clear()

    # ---- beyond the contract: what only the embedded store can tell ----

    @property
    def index(self) -> UrlIndex:
        return self._index

    def reprioritise(self, priorities: NDArray[np.uint32]) -> None:
        """Order waiting anew: one priority for each known URL by row, smaller is earlier, ties go to first come.

        It holds until the URL is given a better pair (m, sim) or the process ends: link.db keeps pairs, no priorities.
        """
        self._must_be_alone()
        self._index.reprioritise(priorities, self._clock())

    def leases(self) -> list[Lease]:
        """The leases that are open."""
        return list(self._leases.values())

    def rejudge(self, refusal: Callable[[str, str], Reason | None]) -> tuple[int, int]:
        """Apply changed limits to waiting and to what limits discarded; (back to waiting, newly discarded).

        `refusal(url, host)` is the verdict of the rules that don't depend on level and depth.
        """
        lifted = dropped = last = 0
        now = self._clock()
        while part := table.limited(self._database.connection, last, SCAN):
            for row, url, parent, had in part:
                rated = self._index.rated(row)
                reason = None
                if parent is not None:
                    host = self._index.host(row).name
                    reason = refusal(url, host) or self.limits.verdict(rated.level, rated.depth)
                queue = Queue.DISCARD if reason else Queue.WAITING
                if queue is rated.queue and reason == had:
                    continue
                self._rewrite(row, queue, reason)
                if queue is not rated.queue:
                    self._index.move(row, queue, now)
                    lifted += queue is Queue.WAITING
                    dropped += queue is Queue.DISCARD
            last = part[-1][0]
        return lifted, dropped

    # ---- adding ----

    def _add(self, candidates: Sequence[Candidate], parent: int | None) -> tuple[int, ...]:
        """Plan on memory, write, and leave the change of memory to the end of the step."""
        if not candidates:
            return ()
        merged: dict[int, Candidate] = {}
        for candidate in candidates:
            old = merged.get(candidate.hash)
            merged[candidate.hash] = candidate if old is None else _better(old, candidate)
        batch = list(merged.values())
        rows = self._index.known.find(np.fromiter(merged, np.uint64, len(merged)))
        fresh = [batch[i] for i in np.flatnonzero(rows == 0).tolist()]
        known = np.flatnonzero(rows)
        self._insert(fresh, parent)
        if len(known):
            self._raise(rows[known], [batch[i] for i in known.tolist()], parent)
        first = len(self._index) + 1
        rows[rows == 0] = np.arange(first, first + len(fresh))
        by_hash = dict(zip(merged, rows.tolist(), strict=True))
        return tuple(by_hash[candidate.hash] for candidate in candidates)

    def _insert(self, fresh: list[Candidate], parent: int | None) -> None:
        if not fresh:
            return
        now = self._clock()
        hosts = [self._stored_host(c.host) for c in fresh]
        # A seed is trusted: no limit keeps it out.
        reasons = [c.refusal or (self.limits.verdict(c.level, c.depth) if parent is not None else None) for c in fresh]
        first = len(self._index) + 1
        table.insert(
            self._database.connection,
            [table.new_row(first + i, c, hosts[i].number, parent, reasons[i], now) for i, c in enumerate(fresh)],
        )
        queues = [Queue.DISCARD if reason else Queue.WAITING for reason in reasons]

        def remember() -> None:
            self._index.insert(fresh, hosts, queues)
            for host in {host.number: host for host in hosts}.values():
                self._index.hosts.place(host, now)

        self._database.after(remember)

    def _raise(self, rows: NDArray[np.int64], candidates: list[Candidate], parent: int | None) -> None:
        """Give known URLs the better pair or the smaller depth that a candidate brings; revive what that lifts."""
        now = self._clock()
        for i in self._index.improvable(rows, candidates, parent is None):
            row, new, old = int(rows[i]), candidates[i], self._index.rated(int(rows[i]))
            giver = table.giver(self._database.connection, row)
            is_seed = parent is None and new.refusal is None
            rated = old._replace(depth=min(old.depth, new.depth))
            pair, had = (-new.level, new.sim), (-old.level, old.sim)
            if pair > had or (is_seed and pair == had):
                rated = rated._replace(level=new.level, sim=new.sim)
                giver = giver._replace(parent=parent, link_text=new.text, hops=new.hops)
            if old.queue is Queue.DISCARD and giver.reason in (SEEDS_EXEMPT if is_seed else REVIVABLE):
                reason = None if is_seed else self.limits.verdict(rated.level, rated.depth)
                giver = giver._replace(reason=reason)
                if reason is None:
                    rated, giver = rated._replace(queue=Queue.WAITING), giver._replace(changed_at=now)
            table.rate(self._database.connection, row, rated.level, rated.sim, rated.depth, rated.queue, giver)
            self._database.after(lambda row=row, rated=rated: self._index.rate(row, rated, now))  # type: ignore[misc]

    # ---- taking and finishing ----

    def _lease_page(self, host: Host, row: int, now: float) -> Lease:
        with self._database.transaction() as connection:
            url, key, parent, text, tries, hops, request = table.lease(connection, row, now)
        rated = self._index.rated(row)
        host.queue.pop()
        self._index.move(row, Queue.PROCESSING, now)
        lease = Lease(
            token=self._next_token(),
            row=row,
            url=url,
            key=key or url,
            host=host.name,
            level=rated.level,
            sim=rated.sim,
            depth=rated.depth,
            parent=parent,
            text=text,
            tries=tries,
            hops=hops,
            request=request,
        )
        return self._asked(host, lease, now)

    def _lease_robots(self, host: Host, scheme: str, site: Origin, now: float) -> Lease:
        url = f"{scheme}://{host.name}/robots.txt"
        lease = Lease(
            kind=LeaseKind.ROBOTS, token=self._next_token(), row=0, url=url, key="", host=host.name, tries=site.tries
        )
        return self._asked(host, lease, now)

    def _asked(self, host: Host, lease: Lease, now: float) -> Lease:
        self._leases[lease.token] = lease
        self._index.hosts.asked(host, now, robots=lease.kind is LeaseKind.ROBOTS)
        self._index.hosts.place(host, now)
        return lease

    def _next_token(self) -> int:
        self._token += 1
        return self._token

    def _finished(self, lease: Lease, queue: Queue, retry_at: float | None, host: Host, rest: Rest, now: float) -> None:
        del self._leases[lease.token]
        self._index.move(lease.row, queue, now)
        if retry_at is not None:
            self._due[lease.row] = retry_at
            heappush(self._retries, (retry_at, lease.row))
        self._index.hosts.answered(host, rest)
        self._index.hosts.place(host, now)

    def _retry_at(self, outcome: Outcome, tries: int, ended_at: float) -> float | None:
        if not outcome.retry or outcome.queue is not Queue.ERROR or tries >= self.retry.tries:
            return None
        pause = min(self.retry.base * 2.0 ** max(0, tries - 1), self.retry.maximum)
        pause *= 1 + self.retry.jitter * self._rng.random()
        if outcome.retry_after is not None:
            pause = max(pause, min(outcome.retry_after, self.politeness.max_retry_after))
        return ended_at + pause

    def _wake_retries(self, now: float) -> None:
        while (at := self._next_retry_at()) is not None and at <= now:
            row = self._retries[0][1]
            self._rewrite(row, Queue.WAITING, None)
            heappop(self._retries)
            del self._due[row]
            self._index.move(row, Queue.WAITING, now)

    def _next_retry_at(self) -> float | None:
        """The time of the first retry; entries of rows that were re-queued since are dropped."""
        while self._retries:
            at, row = self._retries[0]
            if self._due.get(row) == at:
                return at
            heappop(self._retries)
        return None

    # ---- robots ----

    def _needs_robots(self, site: Origin, now: float) -> bool:
        if not self.politeness.obey_robots:
            return False
        if site.state in (RobotsState.KNOWN, RobotsState.UNREACHABLE):
            return now - site.changed_at > self.politeness.robots_age
        return True

    def _expire(self, host: Host, row: int, now: float) -> None:
        """The robots.txt of this URL can't be had: to error."""
        reason = host.origins[self._index.scheme(row)].reason
        with self._database.transaction() as connection:
            table.move(connection, row, Queue.ERROR, reason, now)
            url = table.url(connection, row)
        self._expired.append(Expired(url, reason))
        host.queue.pop()
        self._index.move(row, Queue.ERROR, now)
        self._index.hosts.place(host, now)

    def _forget_robots(self, row: int) -> None:
        """A URL whose robots.txt could not be had is tried again: so is its robots.txt."""
        host, scheme = self._index.host(row), self._index.scheme(row)
        site = host.origins.get(scheme)
        if site is not None and site.state is RobotsState.UNREACHABLE:
            del host.origins[scheme]
            self._robots.forget(f"{scheme}://{host.name}")

    # ---- the file ----

    def _must_be_alone(self) -> None:
        if self._database.pending:
            raise RuntimeError("one add or finish per step: memory follows the file only when the step has ended")

    def _rewrite(self, row: int, queue: Queue, reason: Reason | None) -> None:
        with self._database.transaction() as connection:
            table.move(connection, row, queue, reason, self._clock())

    def _stored_host(self, name: str) -> Host:
        """The host of that name, with a row in link.db when the step that is open succeeds."""
        host = self._index.hosts.named(name)
        if not host.stored:
            row = (host.number, name)
            self._database.connection.execute("INSERT OR REPLACE INTO hosts (id, name) VALUES (?, ?)", row)
            self._database.after(lambda: setattr(host, "stored", True))
        return host

    def _load(self) -> None:
        for number, name, next_allowed, delay in self._database.rows("SELECT * FROM hosts ORDER BY id"):
            host = self._index.hosts.restore(number, name)
            host.next_allowed, host.crawl_delay = next_allowed, delay
        for site_url, state, tries, changed_at, reason in self._database.rows(
            "SELECT origin, state, tries, changed_at, reason FROM robots"
        ):
            scheme, _, name = site_url.partition("://")
            site = Origin(RobotsState(state), tries, changed_at, Reason(reason))
            self._index.hosts.named(name).origins[scheme] = site
        cursor = table.scan(self._database.connection)
        while part := cursor.fetchmany(SCAN):
            columns = np.array(part, np.int64)
            self._check_rows(columns[:, 0])
            self._index.load(columns[:, 1:])
        self._index.loaded(self._clock())
        self._retries = sorted(table.retries(self._database.connection))
        self._due = {row: at for at, row in self._retries}

    def _check_rows(self, rows: NDArray[np.int64]) -> None:
        """Refuse a torn file: memory takes the n-th URL of the scan for row n."""
        wanted = np.arange(len(self._index) + 1, len(self._index) + 1 + len(rows))
        wrong = np.flatnonzero(rows != wanted)
        if len(wrong):
            at = int(wrong[0])
            raise DatabaseError(
                f"{self._database.path}: damaged: table urls has row {rows[at]} in the place of row {wanted[at]};"
                " move the file away to start anew, or restore a copy"
            )


def _better(old: Candidate, new: Candidate) -> Candidate:
    """Two candidates of one key in one batch: the better pair, the first spelling and request, the smaller depth."""
    best = new if (-new.level, new.sim) > (-old.level, old.sim) else old
    return Candidate(
        url=old.url,
        key=old.key,
        hash=old.hash,
        host=old.host,
        level=best.level,
        sim=best.sim,
        depth=min(old.depth, new.depth, MAX_DEPTH),
        text=best.text,
        refusal=old.refusal,
        hops=best.hops,
        request=old.request or new.request,
    )
