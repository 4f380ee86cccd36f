"""The frontier contract on the embedded store, and what only this store promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from topiccrawl.database import Database
from topiccrawl.errors import DatabaseError
from topiccrawl.frontier.base import MAX_DEPTH, Frontier, Limits, Politeness
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.records import Queue, Reason, RobotsFile, Selection

pytest.register_assert_rewrite("tests.contract.frontier_contract")

from tests.contract.frontier_contract import (  # noqa: E402
    DONE,
    LIMITS,
    MEMORY,
    NO_JITTER,
    OPEN,
    REFUSED,
    Clock,
    FrontierContract,
    link,
    name,
    nonzero,
    seed,
    take_one,
)


class TestSqliteFrontier(FrontierContract):
    database: Database
    store: SqliteFrontier

    @pytest.fixture(autouse=True)
    def _folder(self) -> Iterator[None]:
        with TemporaryDirectory(dir=MEMORY) as folder:
            self._path = Path(folder)
            yield
            self.database.close()

    def make(self, clock: Clock, **options: Any) -> Frontier:
        self._options = {"clock": clock, "rng": Random(1), **options}
        return self._open()

    def reopen(self) -> Frontier:
        self.database.close()
        self.store.close()
        return self._open()

    def _open(self) -> Frontier:
        self.database = Database.create(self._path)
        self.store = SqliteFrontier(self.database, **self._options)
        return self.store


class TestSqliteFrontierReopened(TestSqliteFrontier):
    """Once more, with the file closed and opened wherever no lease is open."""

    def between(self, frontier: Frontier) -> Frontier:
        return self.reopen()


# ---- beyond the contract ----


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database.create(tmp_path)
    yield database
    database.connection.close()


@pytest.fixture
def store(database: Database) -> SqliteFrontier:
    return SqliteFrontier(database, limits=LIMITS, politeness=OPEN, retry=NO_JITTER, clock=Clock())


def in_file(database: Database) -> list[tuple[str, str]]:
    return list(database.rows("SELECT url, queue FROM urls ORDER BY id"))


def test_a_finish_belongs_to_the_step_around_it(database: Database, store: SqliteFrontier) -> None:
    """The scheduler writes the page in the same step: when that fails the lease is open and nothing was added."""
    store.add([seed("a")])
    lease = take_one(store)
    before = in_file(database)

    def fail() -> None:
        with database.transaction():
            assert store.finish(lease, DONE, [link("new")]) is not None
            assert store.counts()[Queue.DONE] == 0  # memory follows the file
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert in_file(database) == before
    assert nonzero(store) == {"processing": 1}
    assert store.finish(lease, DONE, [link("new")]) is not None
    assert nonzero(store) == {"waiting": 1, "done": 1}


def test_a_full_disk_leaves_file_and_memory_as_they_were(database: Database, store: SqliteFrontier) -> None:
    store.add([seed("a")])
    lease = take_one(store)
    database.commit()
    (pages,) = next(database.rows("PRAGMA page_count"))
    database.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DatabaseError, match="full"):
        store.finish(lease, DONE, [link(f"http://s.test/{'x' * 1000}/{i}") for i in range(100)])
    assert nonzero(store) == {"processing": 1}
    assert in_file(database) == [("http://a.test/a", "processing")]
    database.connection.execute("PRAGMA max_page_count = 1000000")
    assert store.finish(lease, DONE) is not None


def test_a_robots_txt_that_cannot_be_written_leaves_its_lease_open(database: Database, tmp_path: Path) -> None:
    """Memory took the rules for known before the file had them."""
    store = SqliteFrontier(database, clock=Clock())
    store.add([seed("a")])
    lease = take_one(store)
    with pytest.raises(ValueError, match="surrogates"):
        store.finish_robots(lease, RobotsFile(reachable=True, text="# \ud800"))
    assert store.take(1) == []
    store.finish_robots(lease, RobotsFile(reachable=True))
    assert store.late == 0


def test_two_changes_in_one_step_are_refused(database: Database, store: SqliteFrontier) -> None:
    """The second would be planned on a memory that doesn't know the first yet."""
    store.add([seed("a"), seed("b")])
    one, two = store.take(2)
    for second in (lambda: store.add([link("c")]), lambda: store.finish(two, DONE), lambda: store.finish(one, DONE)):

        def both(second: Callable[[], object] = second) -> None:
            with database.transaction():
                store.finish(one, DONE)
                second()

        with pytest.raises(RuntimeError, match="one add or finish per step"):
            both()
    assert nonzero(store) == {"processing": 2}


def test_a_depth_beyond_every_limit_is_the_same_after_a_reopen(database: Database) -> None:
    """65536 became 0 in the 16 bits of memory, and so the nearest of all."""
    store = SqliteFrontier(database, politeness=OPEN)
    store.add([link("a", depth=MAX_DEPTH + 1), link("b", depth=MAX_DEPTH)], 1)
    again = SqliteFrontier(database, politeness=OPEN)
    for f in (store, again):
        assert [f.index.rated(row).depth for row in (1, 2)] == [MAX_DEPTH, MAX_DEPTH]
        assert nonzero(f) == {"waiting": 1, "discard": 1}


@pytest.mark.parametrize("reopened", [False, True])
def test_changed_limits_are_applied_to_what_is_known(database: Database, reopened: bool) -> None:
    store = SqliteFrontier(database, limits=LIMITS, politeness=OPEN)
    store.add([link("type")], 1)
    store.finish(take_one(store), REFUSED)
    store.add([link("far", depth=11), link("low", 5), link("ok", 1), link("out", refusal=Reason.SCOPE)], 1)
    store.add([seed("seed")])
    if reopened:
        store = SqliteFrontier(database, limits=LIMITS, politeness=OPEN)

    def waiting() -> str:
        return " ".join(url.rpartition("/")[2] for url, queue in in_file(database) if queue == "waiting")

    assert waiting() == "ok seed"
    assert store.rejudge(lambda url, host: Reason.SCOPE if host == "out.test" else None) == (0, 0)
    store.limits = Limits()
    assert store.rejudge(lambda url, host: None) == (3, 0)
    assert waiting() == "far low ok out seed"  # not what was fetched and refused
    assert store.rejudge(lambda url, host: Reason.DENY if host != "far.test" else None) == (0, 3)
    assert waiting() == "far seed"  # no rule keeps a seed out
    store.limits = Limits(max_level=1)
    assert store.rejudge(lambda url, host: None) == (2, 0)
    assert waiting() == "far ok out seed"
    assert [name(lease) for lease in store.take(9)] == ["seed", "far", "out", "ok"]
    assert nonzero(store) == {"processing": 4, "discard": 2}


def test_what_stays_discarded_for_the_same_reason_stays_as_it_was(database: Database) -> None:
    """Each start with a changed limit gave every discarded URL a new `since`."""
    clock = Clock()
    store = SqliteFrontier(database, limits=Limits(max_level=1), politeness=OPEN, clock=clock)
    store.add([link("low", 5), link("out", refusal=Reason.SCOPE), link("ok")], 1)
    since = clock.now
    clock.advance(100)
    store.limits = Limits(max_level=2)
    assert store.rejudge(lambda url, host: Reason.DENY if host == "out.test" else None) == (0, 0)
    rows = list(database.rows("SELECT reason, changed_at FROM urls ORDER BY id"))
    assert rows == [("m", since), ("deny", clock.now), (None, since)]


def test_an_order_from_outside_leaves_the_count_of_hosts_right(database: Database, store: SqliteFrontier) -> None:
    store.add([seed("a"), seed("b"), seed("c")])
    store.finish(take_one(store), DONE)
    store.rejudge(lambda url, host: None)
    store.reprioritise(np.array([3, 2, 1], np.uint32))
    assert store.index.hosts.waiting() == 2
    assert [name(lease) for lease in store.take(9)] == ["c", "b"]
    assert store.index.hosts.waiting() == 0


def test_requeue_on_a_damaged_file_names_it(database: Database, store: SqliteFrontier) -> None:
    store.add([seed("a")])
    database.connection.execute("DROP TABLE urls")
    with pytest.raises(DatabaseError, match=r"link\.db: no such table"):
        store.requeue(Selection(queue=Queue.ERROR))


def test_take_gives_up_after_many_urls_of_an_unreachable_host(database: Database) -> None:
    """A host with a million URLs must not block the reactor when its robots.txt turns out unreachable."""
    store = SqliteFrontier(database, politeness=Politeness(delay=0, robots_tries=1), clock=Clock())
    store.add([link(f"http://s.test/{i}") for i in range(600)], 1)
    store.finish_robots(take_one(store), RobotsFile(reachable=False))
    errors, expired = [], 0
    while store.next_due() == 0:
        assert store.take(1) == []
        errors.append(store.counts()[Queue.ERROR])
        expired += len(store.drain_expired())
    assert errors == [256, 512, 600]
    assert expired == 600
