"""Hosts: who may be asked when, and who has the best URL."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from topiccrawl.database import Database
from topiccrawl.frontier.base import Politeness
from topiccrawl.frontier.hosts import SPARE_ENTRIES, Host, HostTable, Origin, RobotsState
from topiccrawl.frontier.order import key_pool
from topiccrawl.frontier.robots import RobotsRules, crawl_delay
from topiccrawl.records import Outcome, Queue, RobotsFile

DONE = Outcome(queue=Queue.DONE, status=200)
TIMEOUT = Outcome(queue=Queue.ERROR)
NOT_ASKED = Outcome(queue=Queue.DISCARD, asked=False)


def answer(status: int, retry_after: float | None = None) -> Outcome:
    return Outcome(queue=Queue.ERROR, status=status, retry_after=retry_after)


class Hosts:
    """A table with keys that can be made stale."""

    def __init__(self, **politeness: float) -> None:
        self.stale: set[int] = set()
        self.table = HostTable(
            key_pool(), Politeness(**{"delay": 10.0, **politeness}), lambda key: key not in self.stale, Random(1)
        )

    def push(self, name: str, *keys: int, now: float = 0.0) -> Host:
        host = self.table.named(name)
        for key in keys:
            host.queue.push(key)
        self.table.place(host, now)
        return host

    def ask(self, now: float) -> tuple[str, int] | None:
        host = self.table.best(now)
        if host is None:
            return None
        key = host.queue.pop()
        self.table.asked(host, now)
        self.table.place(host, now)
        return host.name, key

    def end(self, name: str, now: float, outcome: Outcome = DONE) -> None:
        host = self.table.named(name)
        self.table.answered(host, self.table.rest(host, outcome, now, host.crawl_delay))
        self.table.place(host, now)


# ---- names and numbers ----


def test_hosts_are_numbered_from_0_and_found_by_name() -> None:
    table = Hosts().table
    a, b = table.named("a.test"), table.named("b.test")
    assert (a.number, b.number, table.named("a.test")) == (0, 1, a)
    assert "a.test" in table
    assert "c.test" not in table
    assert [host.name for host in table] == ["a.test", "b.test"]
    assert table.numbered(1) is b
    assert len(table) == 2


def test_numbers_of_the_store_are_kept_with_their_gaps() -> None:
    """A host whose row was never written leaves a number that must not be used for another."""
    table = Hosts().table
    table.restore(0, "a.test")
    late = table.restore(3, "d.test")
    assert (late.number, late.stored, table.numbered(3)) == (3, True, late)
    assert table.named("new.test").number == 4
    assert not table.named("new.test").stored
    assert "" not in table


# ---- who is next ----


def test_the_host_with_the_smallest_key_comes_first() -> None:
    hosts = Hosts()
    hosts.push("a", 5, 6)
    hosts.push("b", 3, 9)
    hosts.push("c", 4)
    assert [hosts.ask(0) for _ in range(4)] == [("b", 3), ("c", 4), ("a", 5), None]


def test_a_better_key_moves_its_host_forward() -> None:
    hosts = Hosts()
    hosts.push("a", 5)
    hosts.push("b", 4)
    hosts.push("a", 1)
    assert [hosts.ask(0), hosts.ask(0)] == [("a", 1), ("b", 4)]


def test_stale_keys_are_passed_over_and_dropped() -> None:
    hosts = Hosts()
    hosts.push("a", 1, 2, 8)
    hosts.push("b", 5)
    hosts.stale |= {1, 2}
    assert [hosts.ask(0), hosts.ask(0)] == [("b", 5), ("a", 8)]
    gone = hosts.push("c", 6, 7)
    hosts.stale |= {6, 7}
    assert hosts.ask(0) is None
    assert hosts.table.waiting() == 0
    assert len(gone.queue) == 0


def test_a_host_without_urls_is_never_next() -> None:
    hosts = Hosts()
    hosts.push("a")
    assert (hosts.table.best(0), hosts.table.next_time(), hosts.table.waiting()) == (None, None, 0)


def test_the_hosts_that_wait_are_counted_as_they_change() -> None:
    """Asking each host for its head took 0.12 s for 100,000 hosts, in every update of the panel."""
    hosts = Hosts(delay=1)
    hosts.push("a", 1, 2)
    hosts.push("b", 3)
    hosts.push("c")
    counts = [hosts.table.waiting()]
    for now in (0, 0, 2):
        asked = hosts.ask(now)
        assert asked is not None
        counts.append(hosts.table.waiting())
        hosts.end(asked[0], now)
    assert counts == [2, 2, 1, 0]
    hosts.push("c", 9)
    assert hosts.table.waiting() == 1
    hosts.table.destroy()
    assert hosts.table.waiting() == 0


def test_the_heap_of_hosts_that_are_ready_stays_small() -> None:
    """Two hosts that took turns left an entry for each fetch: their old heads came back in between, deep down."""
    hosts = Hosts(delay=0)
    hosts.push("a", 10_000, 10_002)
    hosts.push("b", 10_001, 10_003)
    for key in range(3000):
        name = "ab"[key % 2]
        hosts.push(name, key)
        assert hosts.ask(0) == (name, key)
        hosts.end(name, 0)
        assert len(hosts.table._ready) <= 2 * 2 + SPARE_ENTRIES
    for name, key in zip("abab", range(10_000, 10_004), strict=True):
        assert hosts.ask(0) == (name, key)
        hosts.end(name, 0)


def test_the_heap_of_hosts_that_wait_for_their_time_stays_small() -> None:
    hosts = Hosts()
    host = hosts.push("a", 1)
    hosts.push("b", 2)
    for time in range(9000, 6000, -1):
        host.next_allowed = time
        hosts.table.place(host, 0)
        assert len(hosts.table._timed) <= 2 * 2 + SPARE_ENTRIES
    assert hosts.table.next_time() == 6001
    assert hosts.ask(6000) == ("b", 2)
    assert hosts.ask(6001) == ("a", 1)


def test_a_host_waits_for_its_time_while_the_others_go_on() -> None:
    hosts = Hosts()
    hosts.push("a", 1, 2)
    hosts.push("b", 3, 4)
    assert [hosts.ask(0), hosts.ask(0)] == [("a", 1), ("b", 3)]
    hosts.end("a", 1)
    hosts.end("b", 2)
    assert hosts.table.next_time() == 11
    assert hosts.ask(10.9) is None
    assert hosts.ask(11) == ("a", 2)
    assert hosts.table.next_time() == 12
    assert hosts.ask(12) == ("b", 4)
    assert hosts.table.next_time() is None


def test_a_later_time_replaces_an_earlier_one() -> None:
    hosts = Hosts(per_host=2, delay=1)
    hosts.push("a", 1, 2, 3)
    hosts.ask(0)
    hosts.ask(1)
    hosts.end("a", 2)
    hosts.end("a", 2, answer(503, 50))
    assert hosts.table.next_time() == 52
    assert hosts.ask(51) is None
    assert hosts.ask(52) == ("a", 3)


def test_a_host_is_closed_while_its_robots_txt_is_fetched() -> None:
    hosts = Hosts(per_host=3, delay=0)
    host = hosts.push("a", 1, 2)
    hosts.table.asked(host, 0, robots=True)
    assert (hosts.table.best(0), hosts.table.next_time()) == (None, None)
    hosts.table.answered(host, hosts.table.rest(host, DONE, 0, None), robots=True)
    hosts.table.place(host, 0)
    assert [hosts.ask(0), hosts.ask(0)] == [("a", 1), ("a", 2)]


# ---- delay and back-off ----


@pytest.mark.parametrize(
    ("politeness", "crawl_delay", "outcomes", "delay"),
    [
        ({}, None, [], 10),
        ({}, 4.0, [], 10),
        ({}, 20.0, [], 20),
        ({}, 500.0, [], 30),
        ({"max_crawl_delay": 5.0}, 20.0, [], 10),
        ({"delay": 0.0}, None, [], 0),
        ({"delay": 0.0}, 0.0, [], 0),
        ({}, None, [DONE, TIMEOUT, answer(500), answer(404)], 10),
        ({}, None, [answer(429)], 20),
        ({}, None, [answer(503)], 20),
        ({}, 15.0, [answer(503)], 30),  # from the delay that counts
        ({}, None, [answer(429)] * 3, 80),
        ({}, None, [answer(429)] * 9, 300),
        ({"max_backoff": 25.0}, None, [answer(429)] * 2, 25),
        ({"delay": 0.0}, None, [answer(429)], 1),
        ({"delay": 0.0}, None, [answer(429), answer(429)], 2),
        ({}, None, [answer(429)] * 3 + [DONE], 40),
        ({}, None, [answer(429)] * 3 + [answer(404), DONE], 20),
        ({}, None, [answer(429)] * 3 + [DONE] * 3, 10),
        ({}, None, [answer(429)] * 3 + [TIMEOUT, NOT_ASKED], 80),
        ({"delay": 0.0}, None, [answer(429), *[DONE] * 20], 0),
    ],
)
def test_delay(politeness: dict[str, float], crawl_delay: float | None, outcomes: list[Outcome], delay: float) -> None:
    hosts = Hosts(**politeness)
    host = hosts.table.named("a")
    host.crawl_delay = crawl_delay
    for outcome in outcomes:
        hosts.table.asked(host, 0)
        hosts.end("a", 0, outcome)
    # a back-off halves without end above a delay of 0: then it is too short to matter
    assert hosts.table.delay(host) == pytest.approx(delay, abs=1e-5)


@pytest.mark.parametrize(
    ("outcome", "until"),
    [
        (DONE, 110),
        (TIMEOUT, 110),
        (NOT_ASKED, 0),
        (answer(503, 5), 120),  # the longer of back-off and Retry-After
        (answer(503, 77), 177),
        (answer(500, 77), 177),
        (answer(200, 77), 177),
        (answer(429, 1e9), 3700),
        (answer(429, 0), 120),
    ],
)
def test_the_time_from_which_a_host_may_be_asked(outcome: Outcome, until: float) -> None:
    hosts = Hosts()
    host = hosts.table.named("a")
    hosts.table.asked(host, 90)
    hosts.end("a", 100, outcome)
    assert host.next_allowed == until


def test_an_early_end_never_brings_the_time_forward() -> None:
    hosts = Hosts(per_host=2)
    host = hosts.table.named("a")
    hosts.table.asked(host, 0)
    hosts.table.asked(host, 0)
    hosts.end("a", 50, answer(503, 100))
    hosts.end("a", 60)
    assert host.next_allowed == 150


def test_what_the_end_would_mean_changes_nothing_yet() -> None:
    """The frontier writes the file first, and memory follows when that succeeded."""
    hosts = Hosts()
    host = hosts.table.named("a")
    hosts.table.asked(host, 0)
    hosts.table.rest(host, answer(503, 100), 0, 7.0)
    assert (host.open, host.backoff, host.crawl_delay, host.next_allowed) == (1, 0.0, None, 0.0)


@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
def test_jitter_is_a_share_of_the_delay_and_only_adds(jitter: float) -> None:
    hosts = Hosts(jitter=jitter)
    host = hosts.table.named("a")
    delays = [hosts.table.delay(host) for _ in range(200)]
    assert all(10 <= delay <= 10 * (1 + jitter) for delay in delays)
    assert (max(delays) > 10) is (jitter > 0)


# ---- robots.txt ----


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("", None),
        ("User-agent: *\nDisallow: /", None),
        ("User-agent: *\nCrawl-delay: 2.5", 2.5),
        ("User-agent: *\nCrawl-delay: 0", 0),
        ("User-agent: *\nCrawl-delay: -1", None),
        ("User-agent: *\nCrawl-delay: soon", None),
        ("User-agent: other\nCrawl-delay: 9", None),
        ("User-agent: topiccrawl\nCrawl-delay: 3\n\nUser-agent: *\nCrawl-delay: 9", 3),
        ("\x00\ufffd<html>\n:::\nUser-agent", None),
    ],
)
def test_crawl_delay(text: str, delay: float | None) -> None:
    assert crawl_delay(text, "topiccrawl") == delay


def test_rules_are_read_from_the_file_and_forgotten_when_it_changes(tmp_path: Path) -> None:
    database = Database.create(tmp_path)
    rules = RobotsRules(database, "topiccrawl")
    site, url = "http://s.test:8080", "http://s.test:8080/private"
    assert rules.allows(url)
    known = Origin(RobotsState.KNOWN, 0, 1.0)
    rules.write(site, known, RobotsFile(reachable=True, text="User-agent: *\nDisallow: /private", status=200))
    assert not rules.allows(url)
    assert rules.allows("http://s.test/private")  # another port is another site
    assert not RobotsRules(database, "topiccrawl").allows(url)
    rules.write(site, Origin(RobotsState.DEFERRED, 1, 2.0), RobotsFile(reachable=False, status=503))
    assert rules.allows(url)
    rules.write(site, known, RobotsFile(reachable=True, text="User-agent: *\nDisallow: /", status=200))
    rules.forget(site)
    assert rules.allows(url)
    database.close()
