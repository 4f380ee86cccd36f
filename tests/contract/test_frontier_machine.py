"""Random walks: the embedded store against a model of dicts and lists, its queue against heapq, its table against dict.

The model is DESIGN sections 2, 3, 6 and 7 read naively; it sorts anew for every take. After every step link.db, the
memory of the store and the model must say the same of every URL, and at the end no URL may be lost.
"""

from __future__ import annotations

import copy
import heapq
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

pytest.register_assert_rewrite("tests.contract.frontier_contract")

from tests.contract.frontier_contract import MEMORY, Clock, link  # noqa: E402
from topiccrawl.database import Database  # noqa: E402
from topiccrawl.frontier.base import MAX_CRASHES, Limits, Politeness, RetryPolicy  # noqa: E402
from topiccrawl.frontier.order import KeyQueue, key_pool  # noqa: E402
from topiccrawl.frontier.pool import KnownTable  # noqa: E402
from topiccrawl.frontier.sqlite import SqliteFrontier  # noqa: E402
from topiccrawl.records import (  # noqa: E402
    MAX_SIM,
    Candidate,
    Lease,
    LeaseKind,
    Outcome,
    Queue,
    Reason,
    RobotsFile,
    Selection,
)
from topiccrawl.strategies import STRATEGIES  # noqa: E402
from topiccrawl.urls import url_key  # noqa: E402

QUICK = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
NO_SHRINKING = [Phase.generate]  # a walk of 40 steps over files takes minutes to shrink; take the phase in by hand
LIMITS = Limits(max_level=2, max_depth=3)
RETRY = RetryPolicy(tries=2, base=8.0, jitter=0.0)
SORT = {
    "topic": lambda u: (u.level, -u.sim, u.row),
    "breadth": lambda u: (u.depth, u.row),
    "depth": lambda u: (-u.depth, u.row),
}


# ---- the model ----


@dataclass
class Url:
    row: int
    url: str
    host: str
    level: int
    sim: int
    depth: int
    parent: int | None
    text: str
    hops: int = 0
    queue: Queue = Queue.WAITING
    reason: str | None = None
    tries: int = 0
    crashes: int = 0
    retry_at: float | None = None


@dataclass
class Host:
    open: int = 0
    asking: bool = False  # for robots.txt
    next_allowed: float = 0.0
    kept: float = 0.0  # next_allowed in the file
    backoff: float = 0.0
    crawl_delay: float = 0.0
    robots: str = "unknown"
    robots_tries: int = 0
    robots_at: float = 0.0
    robots_reason: str = "robots-unreachable"


@dataclass
class Model:
    politeness: Politeness
    strategy: str
    urls: dict[str, Url] = field(default_factory=dict)  # by key
    hosts: dict[str, Host] = field(default_factory=dict)

    def rows(self) -> list[Url]:
        return sorted(self.urls.values(), key=lambda u: u.row)

    def in_queue(self, queue: Queue) -> list[Url]:
        return [u for u in self.urls.values() if u.queue is queue]

    def add(self, candidates: list[Candidate], parent: int | None) -> tuple[int, ...]:
        for c in candidates:
            self.add_one(c, parent)
        return tuple(self.urls[c.key].row for c in candidates)

    def add_one(self, c: Candidate, parent: int | None) -> None:
        seed = parent is None
        u = self.urls.get(c.key)
        self.hosts.setdefault(c.host, Host())
        if u is None:
            u = Url(len(self.urls) + 1, c.url, c.host, c.level, c.sim, c.depth, parent, c.text, c.hops)
            self.urls[c.key] = u
            u.reason = c.refusal or (None if seed else LIMITS.verdict(c.level, c.depth))
            u.queue = Queue.DISCARD if u.reason else Queue.WAITING
            return
        if u.queue in (Queue.DONE, Queue.PROCESSING):
            return
        u.depth = min(u.depth, c.depth)
        new, old = (-c.level, c.sim), (-u.level, u.sim)
        if new > old or (seed and new == old):
            u.level, u.sim, u.parent, u.text, u.hops = c.level, c.sim, parent, c.text, c.hops
        if u.queue is Queue.DISCARD and u.reason in (("m", "depth", "scope") if seed else ("m", "depth")):
            u.reason = None if seed else LIMITS.verdict(u.level, u.depth)
            u.queue = Queue.DISCARD if u.reason else Queue.WAITING

    def free(self, name: str, now: float | None) -> bool:
        host = self.hosts[name]
        in_time = now is None or host.next_allowed <= now
        return host.open < self.politeness.per_host and not host.asking and in_time

    def take(self, n: int, now: float) -> list[tuple[Any, ...]]:
        for u in self.in_queue(Queue.ERROR):
            if u.retry_at is not None and u.retry_at <= now:
                u.queue, u.reason, u.retry_at = Queue.WAITING, None, None
        leases: list[tuple[Any, ...]] = []
        while len(leases) < n:
            ready = [u for u in self.in_queue(Queue.WAITING) if self.free(u.host, now)]
            if not ready:
                break
            u = min(ready, key=SORT[self.strategy])
            host = self.hosts[u.host]
            old = now - host.robots_at > self.politeness.robots_age
            if self.politeness.obey_robots and host.robots == "unreachable" and not old:
                u.queue, u.reason = Queue.ERROR, host.robots_reason
                continue
            if self.politeness.obey_robots and (host.robots != "known" or old):
                host.asking = True
                leases.append((LeaseKind.ROBOTS, f"http://{u.host}/robots.txt", host.robots_tries))
            else:
                u.queue = Queue.PROCESSING
                leases.append(
                    (LeaseKind.PAGE, u.url, u.tries - u.crashes, u.row, u.level, u.sim, u.depth, u.parent, u.text)
                )
            host.open += 1
            if self.politeness.per_host > 1:
                host.next_allowed = max(host.next_allowed, now + self.delay(host))
        return leases

    def delay(self, host: Host) -> float:
        return max(self.politeness.delay, host.crawl_delay, host.backoff)

    def answered(self, host: Host, outcome: Outcome, ended_at: float) -> None:
        host.open -= 1
        if not outcome.asked:
            return
        base = max(self.politeness.delay, host.crawl_delay)
        slow = outcome.status in (429, 503)
        if slow:
            host.backoff = min(2 * max(host.backoff, base, 0.5), self.politeness.max_backoff)
        elif outcome.status is not None:
            host.backoff = host.backoff / 2 if host.backoff / 2 > base else 0.0
        if host.open == 0 or slow or outcome.retry_after is not None:
            until = ended_at + max(self.delay(host), outcome.retry_after or 0)
            if until > host.next_allowed:
                host.next_allowed = host.kept = until

    def finish(self, lease: Lease, outcome: Outcome, found: list[Candidate], now: float) -> tuple[int, ...]:
        rows = self.add(found, lease.row)
        u = self.urls[lease.key]
        ended_at = now if outcome.ended_at is None else outcome.ended_at
        if outcome.queue is not Queue.DONE and outcome.asked:
            u.tries += 1
        u.queue, u.reason = outcome.queue, outcome.reason
        if outcome.retry and u.tries - u.crashes < RETRY.tries:
            u.retry_at = ended_at + max(RETRY.base * 2 ** (u.tries - u.crashes - 1), outcome.retry_after or 0)
        self.answered(self.hosts[u.host], outcome, ended_at)
        return rows

    def finish_robots(self, lease: Lease, robots: RobotsFile, crawl_delay: float, now: float) -> None:
        host = self.hosts[lease.host]
        host.asking = False
        host.robots_at = now
        if robots.reachable:
            host.robots, host.robots_tries, host.crawl_delay = "known", 0, crawl_delay
        else:
            host.robots_tries += 1
            final = robots.final or host.robots_tries >= self.politeness.robots_tries
            host.robots = "unreachable" if final else "deferred"
            host.robots_reason = robots.reason or "robots-unreachable"
        self.answered(host, Outcome(queue=Queue.DONE, status=robots.status, retry_after=robots.retry_after), now)
        if host.robots == "deferred":
            pause = self.politeness.robots_retry * 2 ** (host.robots_tries - 1)
            host.next_allowed = max(host.next_allowed, now + pause)
        host.kept = host.next_allowed

    def requeue(self, selection: Selection) -> int:
        chosen = [
            u
            for key, u in self.urls.items()
            if u.queue not in (Queue.WAITING, Queue.PROCESSING)
            and selection.queue in (None, u.queue)
            and (u.queue is not Queue.DONE or selection.queue or selection.url)
            and selection.reason in (None, u.reason)
            and selection.host in (None, u.host)
            and (selection.url is None or url_key(selection.url) == key)
        ]
        for u in chosen:
            u.queue, u.reason, u.retry_at, u.tries, u.crashes = Queue.WAITING, None, None, 0, 0
            host = self.hosts[u.host]
            if host.robots == "unreachable":
                host.robots, host.robots_tries = "unknown", 0
        return len(chosen)

    def restart(self) -> None:
        for host in self.hosts.values():
            host.open, host.asking, host.backoff, host.next_allowed = 0, False, 0.0, host.kept

    def recover(self) -> int:
        lost = self.in_queue(Queue.PROCESSING)
        for u in lost:
            u.tries += 1
            u.crashes += 1
            final = u.crashes >= MAX_CRASHES
            u.queue, u.reason = (Queue.ERROR, "crashed") if final else (Queue.WAITING, None)
        return len(lost)

    def next_due(self, now: float) -> float | None:
        waiting = self.in_queue(Queue.WAITING)
        if any(self.free(u.host, now) for u in waiting):
            return 0.0
        times = [self.hosts[u.host].next_allowed for u in waiting if self.free(u.host, None)]
        times += [u.retry_at for u in self.urls.values() if u.retry_at is not None]
        return max(0.0, min(times) - now) if times else None

    def next_retry(self, now: float) -> float | None:
        times = [u.retry_at for u in self.urls.values() if u.retry_at is not None]
        return max(0.0, min(times) - now) if times else None


# ---- the machine ----

HOSTS = ["h0.test", "h1.test", "h2.test:81"]
URLS = [f"http://{host}/{i}" for host in HOSTS for i in range(5)]
links = st.builds(
    lambda url, other, level, sim, depth, text, refusal, hops: link(
        url + other, level, sim, depth, text=text, refusal=refusal, hops=hops
    ),
    st.sampled_from(URLS),
    st.sampled_from(["", "", "?utm_source=x"]),  # another spelling of the same key
    st.integers(0, 3),
    st.sampled_from([0, 7, 7, 40_000, MAX_SIM]),
    st.integers(0, 4),
    st.sampled_from(["", "comet", "彗星"]),
    st.sampled_from([None] * 9 + [Reason.SCOPE]),
    st.sampled_from([0, 0, 3]),
)
batches = st.lists(links, max_size=6)
outcomes = st.one_of(
    st.just(Outcome(queue=Queue.DONE, status=200)),
    st.just(Outcome(queue=Queue.DONE, status=301, reason=Reason.REDIRECT)),
    st.just(Outcome(queue=Queue.DISCARD, status=200, reason=Reason.TYPE)),
    st.just(Outcome(queue=Queue.DISCARD, reason=Reason.ROBOTS, asked=False)),
    st.just(Outcome(queue=Queue.ERROR, status=404, reason=Reason.HTTP)),
    st.just(Outcome(queue=Queue.ERROR, reason=Reason.TIMEOUT, retry=True)),
    st.builds(
        lambda status, after: Outcome(
            queue=Queue.ERROR, status=status, reason=Reason.HTTP, retry=True, retry_after=after
        ),
        st.sampled_from([429, 503, 500]),
        st.sampled_from([None, None, 0.0, 50.0]),
    ),
)
selections = st.one_of(
    st.builds(lambda q: Selection(queue=q), st.sampled_from(list(Queue))),
    st.builds(lambda r: Selection(reason=r), st.sampled_from(["m", "http", "timeout", "robots-unreachable", "scope"])),
    st.builds(lambda h, q: Selection(host=h, queue=q), st.sampled_from(HOSTS), st.sampled_from([Queue.ERROR, None])),
    st.builds(lambda u: Selection(url=u), st.sampled_from(URLS)),
)


class FrontierMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="frontier-", dir=MEMORY))
        self.starts = 0
        self.clock = Clock(1000.0)
        self.open: list[Lease] = []
        self.ended: list[Lease] = []  # finished, or of a process that is no more
        self.late = 0

    @initialize(
        per_host=st.sampled_from([1, 1, 2, 3]),
        delay=st.sampled_from([0.0, 1.0]),
        robots=st.booleans(),
        strategy=st.sampled_from(["topic", "topic", "breadth", "depth"]),
    )
    def begin(self, per_host: int, delay: float, robots: bool, strategy: str) -> None:
        politeness = Politeness(
            delay=delay,
            per_host=per_host,
            obey_robots=robots,
            robots_tries=2,
            robots_retry=5.0,
            robots_age=60.0,
            max_backoff=5.0,
        )
        self.model = Model(politeness, strategy)
        self.committed = copy.deepcopy(self.model)
        self.start()

    def start(self) -> None:
        self.database = Database.create(self.folder)
        self.store = SqliteFrontier(
            self.database,
            limits=LIMITS,
            politeness=self.model.politeness,
            retry=RETRY,
            priorities=STRATEGIES[self.model.strategy],
            clock=self.clock,
            rng=Random(0),
        )
        self.late = 0

    # ---- rules ----

    @rule(seeds=st.lists(st.sampled_from(URLS), max_size=2))
    def add_seeds(self, seeds: list[str]) -> None:
        given = [link(url, 0, MAX_SIM, 0) for url in seeds]
        assert self.store.add(given) == self.model.add(given, None)

    @precondition(lambda self: self.model.urls)
    @rule(batch=batches, parent=st.integers(0, 99))
    def add(self, batch: list[Candidate], parent: int) -> None:
        row = parent % len(self.model.urls) + 1
        assert self.store.add(batch, row) == self.model.add(batch, row)

    @rule(n=st.integers(1, 4))
    def take(self, n: int) -> None:
        leases = self.store.take(n)
        assert [facts(lease) for lease in leases] == self.model.take(n, self.clock.now)
        self.open += leases

    @precondition(lambda self: any(lease.kind is LeaseKind.PAGE for lease in self.open))
    @rule(which=st.integers(0, 99), outcome=outcomes, found=batches, lag=st.sampled_from([None, 0.0, 1.5]))
    def finish(self, which: int, outcome: Outcome, found: list[Candidate], lag: float | None) -> None:
        pages = [lease for lease in self.open if lease.kind is LeaseKind.PAGE]
        lease = pages[which % len(pages)]
        if lag is not None:
            outcome = Outcome(**{**to_dict(outcome), "ended_at": self.clock.now - lag})
        done = self.store.finish(lease, outcome, found)
        rows = self.model.finish(lease, outcome, found, self.clock.now)
        assert done is not None
        assert (done.queue, done.rows) == (outcome.queue, rows)
        assert done.retry_at == self.model.urls[lease.key].retry_at
        self.end(lease)

    @precondition(lambda self: any(lease.kind is LeaseKind.ROBOTS for lease in self.open))
    @rule(
        which=st.integers(0, 99),
        answer=st.sampled_from([("", 0), ("User-agent: *\nCrawl-delay: 3\n", 3), (None, 0), (None, 0)]),
        status=st.sampled_from([None, 200, 503]),
        after=st.sampled_from([None, None, 20.0]),
        why=st.sampled_from([(None, False), (None, False), (Reason.DNS, False), (Reason.TLS, True)]),
    )
    def finish_robots(
        self, which: int, answer: tuple[str | None, float], status: int | None, after: Any, why: Any
    ) -> None:
        asked = [lease for lease in self.open if lease.kind is LeaseKind.ROBOTS]
        lease = asked[which % len(asked)]
        text, crawl_delay = answer
        reason, final = (None, False) if text is not None else why
        robots = RobotsFile(
            reachable=text is not None,
            text=text or "",
            status=status,
            retry_after=after,
            reason=reason,
            final=final,
        )
        self.store.finish_robots(lease, robots)
        self.model.finish_robots(lease, robots, crawl_delay, self.clock.now)
        self.end(lease)

    @precondition(lambda self: self.ended)
    @rule(which=st.integers(0, 99), outcome=outcomes, found=batches)
    def finish_late(self, which: int, outcome: Outcome, found: list[Candidate]) -> None:
        lease = self.ended[which % len(self.ended)]
        if lease.kind is LeaseKind.PAGE:
            assert self.store.finish(lease, outcome, found) is None
        else:
            self.store.finish_robots(lease, RobotsFile(reachable=False))
        self.late += 1
        assert self.store.late == self.late

    @precondition(lambda self: any(lease.kind is LeaseKind.PAGE for lease in self.open))
    @rule(found=batches)
    def finish_and_fail(self, found: list[Candidate]) -> None:
        lease = next(lease for lease in self.open if lease.kind is LeaseKind.PAGE)
        with pytest.raises(ValueError, match="surrogates"):
            self.store.finish(
                lease, Outcome(queue=Queue.DONE), [*found, link("http://h0.test/bad", refusal=None, text="\ud800")]
            )

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0, 7.0, 30.0]))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(selection=selections)
    def requeue(self, selection: Selection) -> None:
        assert self.store.requeue(selection) == self.model.requeue(selection)

    @rule()
    def ask(self) -> None:
        """A rule, no invariant: the questions also tidy the heaps, and it must go well without them."""
        now = self.clock.now
        assert self.store.next_due() == self.model.next_due(now)
        assert self.store.next_retry() == self.model.next_retry(now)

    @rule()
    def commit(self) -> None:
        self.database.commit()
        self.committed = copy.deepcopy(self.model)
        reader = Database.read(self.folder)
        assert list(in_file(reader)) == list(in_model(self.committed))
        reader.close()

    @rule()
    def kill_and_reopen(self) -> None:
        """What a kill leaves: the file and its log as they are now, without a close."""
        self.starts += 1
        old, self.folder = self.folder, Path(f"{self.folder}-{self.starts}")
        self.folder.mkdir()
        for name in ("link.db", "link.db-wal"):
            shutil.copy(old / name, self.folder / name)
        self.model = copy.deepcopy(self.committed)
        self.database.connection.close()
        shutil.rmtree(old)
        self.restart()

    @rule()
    def reopen(self) -> None:
        self.database.close()
        self.store.close()
        self.restart()
        self.committed = copy.deepcopy(self.model)
        self.database.commit()

    # ---- what always holds ----

    @invariant()
    def file_memory_and_model_agree(self) -> None:
        counts = self.store.counts()
        assert sum(counts.values()) == len(self.model.urls)
        assert counts == {queue: len(self.model.in_queue(queue)) for queue in Queue}
        assert list(in_file(self.database)) == list(in_model(self.model))
        known = [link(u.url).hash for u in self.model.rows()]
        assert self.store.queues_of(np.array(known, np.uint64)) == [u.queue for u in self.model.rows()]

    def teardown(self) -> None:
        if hasattr(self, "database"):
            self.database.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @precondition(lambda self: len(self.model.urls) > 8)
    @rule()
    def drain(self) -> None:
        """Fetch whatever is left: everything comes in its turn, and nothing is lost."""
        while True:
            for lease in list(self.open):
                if lease.kind is LeaseKind.ROBOTS:
                    self.finish_robots(self.open.index(lease), ("", 0), 200, None, None)
                else:
                    self.finish(0, Outcome(queue=Queue.DONE, status=200), [], None)
                break
            else:
                due = self.model.next_due(self.clock.now)
                assert self.store.next_due() == due
                if due is None:
                    break
                self.clock.advance(due)
                self.take(1)
        left = self.store.counts()
        assert left[Queue.WAITING] == left[Queue.PROCESSING] == 0

    def end(self, lease: Lease) -> None:
        self.open.remove(lease)
        self.ended.append(lease)

    def restart(self) -> None:
        self.ended += self.open
        self.open = []
        self.start()
        self.model.restart()
        self.file_memory_and_model_agree()
        assert self.store.recover() == self.model.recover()


def to_dict(outcome: Outcome) -> dict[str, Any]:
    return {name: getattr(outcome, name) for name in Outcome.__struct_fields__}


def facts(lease: Lease) -> tuple[Any, ...]:
    if lease.kind is LeaseKind.ROBOTS:
        return lease.kind, lease.url, lease.tries
    where = (lease.row, lease.level, lease.sim, lease.depth, lease.parent, lease.text)
    return (lease.kind, lease.url, lease.tries, *where)


def in_file(database: Database) -> Any:
    return database.rows(
        "SELECT id, url, queue, level, sim, depth, parent, link_text, hops, reason, tries, crashes, retry_at FROM urls"
        " ORDER BY id"
    )


def in_model(model: Model) -> Any:
    for u in model.rows():
        where = (u.queue, u.level, u.sim, u.depth, u.parent, u.text, u.hops)
        yield (u.row, u.url, *where, u.reason, u.tries, u.crashes, u.retry_at)


TestFrontierMachine = FrontierMachine.TestCase
TestFrontierMachine.settings = settings(QUICK, phases=NO_SHRINKING, max_examples=120, stateful_step_count=40)


# ---- the parts ----


class KeyQueueMachine(RuleBasedStateMachine):
    """`KeyQueue` against heapq, with queues from empty to many segments; two queues share one pool, as hosts do."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = key_pool(block=4)
        self.queues = [KeyQueue(self.pool), KeyQueue(self.pool)]
        self.heaps: list[list[int]] = [[], []]
        self.rng = Random(5)

    def keys(self, n: int, spread: int) -> list[int]:
        """With a small spread many are equal, with a great one none."""
        return [self.rng.randrange(spread) for _ in range(n)]

    @rule(which=st.integers(0, 1), n=st.sampled_from([1, 5, 40, 300]), spread=st.sampled_from([50, 1 << 40, 1 << 64]))
    def push(self, which: int, n: int, spread: int) -> None:
        for key in self.keys(n, spread):
            self.queues[which].push(key)
            heapq.heappush(self.heaps[which], key)

    @rule(
        which=st.integers(0, 1),
        n=st.sampled_from([0, 1, 32, 33, 4096, 4097, 20_000]),
        spread=st.sampled_from([50, 1 << 40]),
    )
    def extend(self, which: int, n: int, spread: int) -> None:
        if n > 500 and self.heaps[which]:
            return  # meant for empty queues
        keys = self.keys(n, spread)
        self.queues[which].extend(np.array(keys, np.uint64))
        for key in keys:
            heapq.heappush(self.heaps[which], key)

    @rule(which=st.integers(0, 1), n=st.sampled_from([1, 10, 33, 700, 5000]))
    def pop(self, which: int, n: int) -> None:
        heap = self.heaps[which]
        n = min(n, len(heap))
        assert [self.queues[which].pop() for _ in range(n)] == [heapq.heappop(heap) for _ in range(n)]

    @rule(which=st.integers(0, 1))
    def empty(self, which: int) -> None:
        assert sorted(self.queues[which].drain()) == sorted(self.heaps[which])
        self.heaps[which] = []
        with pytest.raises(IndexError):
            self.queues[which].pop()

    @invariant()
    def same(self) -> None:
        for queue, heap in zip(self.queues, self.heaps, strict=True):
            assert len(queue) == len(heap)
            assert queue.peek() == (heap[0] if heap else None)
        if not any(self.heaps):
            assert self.pool.used == 0


TestKeyQueue = KeyQueueMachine.TestCase
TestKeyQueue.settings = settings(QUICK, max_examples=25, stateful_step_count=25)


@settings(QUICK, max_examples=40)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 2, 63, 700, 3000, 9000]), min_size=1, max_size=6),
    shape=st.sampled_from(["random", "low bits equal", "running", "high bits"]),
)
def test_known_table_equals_a_dict(sizes: list[int], shape: str) -> None:
    """Whatever the hashes look like: with equal low bits every key wants the same place of the table."""
    rng = np.random.default_rng(len(sizes))
    total = sum(sizes)
    if shape == "low bits equal":
        total = min(total, 300)  # probing is linear in the keys that share a place
        everything = (np.arange(2 * total, dtype=np.uint64) << np.uint64(40)) | np.uint64(7)
    elif shape == "running":
        everything = np.arange(2 * total, dtype=np.uint64)  # 0 is a hash like any other
    elif shape == "high bits":
        everything = np.uint64(0xFFFFFFFFFFFFFFFF) - np.arange(2 * total, dtype=np.uint64)
    else:
        everything = np.unique(rng.integers(0, 2**64, 2 * total, np.uint64))
        rng.shuffle(everything)
    present, absent = everything[:total], everything[total:]
    table, model = KnownTable({"mark": np.uint32}, block=64), {}
    at = 0
    for size in sizes:
        part = present[at : at + size]
        at += len(part)
        rows = table.insert(part)
        table.records.column("mark")[rows - 1] = rows * 3
        model.update(zip(part.tolist(), rows.tolist(), strict=True))
        assert rows.tolist() == list(range(len(model) - len(part) + 1, len(model) + 1))
        assert len(table) == len(model)
        assert table.find(present).tolist() == [model.get(h, 0) for h in present.tolist()]
        assert not table.find(absent).any()
    assert (table.records.column("mark")[: len(table)] == 3 * np.arange(1, len(table) + 1)).all()
    table.destroy()
    assert (len(table), table.nbytes()) == (0, 0)
    assert not table.find(present).any()
    assert table.insert(present[:1]).tolist() == list(range(1, min(total, 1) + 1))
