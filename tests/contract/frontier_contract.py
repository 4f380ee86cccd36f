"""What every store must do, whatever lies below: the verbs of frontier/base.py, and a clock that the test turns.

A store's test gives `make` and `reopen`. The class that overrides `between` with a reopen runs all of it once more over
a store that was closed and opened where nothing is open: what is not in the record can't be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topiccrawl.errors import TopicCrawlError
from topiccrawl.frontier.base import MAX_CRASHES, Frontier, Limits, Politeness, RetryPolicy
from topiccrawl.records import (
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
from topiccrawl.urls import host_of, key_hash, url_key

OPEN = Politeness(delay=0.0, per_host=1000, obey_robots=False)  # every host may be asked at any time
ONE_BY_ONE = Politeness(delay=10.0, obey_robots=False)
WITH_ROBOTS = Politeness(delay=1.0, robots_tries=3, robots_retry=30.0)
NO_JITTER = RetryPolicy(tries=3, base=10.0, maximum=3600.0, jitter=0.0)
LIMITS = Limits(max_level=4, max_depth=10)
DONE = Outcome(queue=Queue.DONE, status=200)
FAILED = Outcome(queue=Queue.ERROR, reason=Reason.TIMEOUT, retry=True)
REFUSED = Outcome(queue=Queue.DISCARD, reason=Reason.TYPE, status=200)


MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where the files of these tests lie: they are opened hundreds of times, and the disk of a busy machine is slow."""


class Clock:
    """A clock that goes on only when it is told to."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def link(url: str, level: int = 0, sim: int = 100, depth: int = 1, **more: Any) -> Candidate:
    """A candidate; "a" stands for http://a.test/a, so that every one has a host of its own."""
    url = url if "://" in url else f"http://{url}.test/{url}"
    key = url_key(url)
    return Candidate(url=url, key=key, hash=key_hash(key), host=host_of(url), level=level, sim=sim, depth=depth, **more)


def seed(url: str) -> Candidate:
    return link(url, 0, MAX_SIM, 0)


def name(lease: Lease) -> str:
    return lease.url.rpartition("/")[2]


def queue_of(frontier: Frontier, url: str) -> Queue | None:
    (queue,) = frontier.queues_of(np.array([link(url).hash], np.uint64))
    return queue


def drain(frontier: Frontier) -> list[str]:
    """Take and finish until nothing is given; the names in the order taken."""
    names = []
    while leases := frontier.take(1):
        names.append(name(leases[0]))
        frontier.finish(leases[0], DONE)
    return names


def take_one(frontier: Frontier) -> Lease:
    (lease,) = frontier.take(1)
    return lease


def nonzero(frontier: Frontier) -> dict[str, int]:
    return {str(queue): count for queue, count in frontier.counts().items() if count}


class FrontierContract:
    """Mix into a test class of a store."""

    clock: Clock

    def make(self, clock: Clock, **options: Any) -> Frontier:
        """An empty frontier. Options: limits, politeness, retry, priorities, user_agent."""
        raise NotImplementedError

    def reopen(self) -> Frontier:
        """Close the frontier made last, and open it anew with the same options."""
        raise NotImplementedError

    def between(self, frontier: Frontier) -> Frontier:
        """Between preparing and checking, with nothing in processing."""
        return frontier

    def frontier(self, **options: Any) -> Frontier:
        self.clock = Clock()
        return self.make(self.clock, **{"politeness": OPEN, "limits": LIMITS, "retry": NO_JITTER, **options})

    def page(self, frontier: Frontier, url: str = "http://parent.test/parent") -> Lease:
        """A lease on a page that can be a parent: a seed that is being fetched."""
        frontier.add([seed(url)])
        return take_one(frontier)

    def parent(self, frontier: Frontier, url: str = "http://parent.test/parent") -> int:
        """The row of a page that is done."""
        lease = self.page(frontier, url)
        frontier.finish(lease, DONE)
        return lease.row

    # ---- order ----

    def test_an_empty_frontier_gives_nothing(self) -> None:
        f = self.between(self.frontier())
        assert f.take(5) == []
        assert f.next_due() is None
        assert f.next_retry() is None
        assert nonzero(f) == {}
        assert f.add([]) == ()
        assert queue_of(f, "a") is None
        assert f.recover() == 0

    @pytest.mark.parametrize(
        ("given", "order"),
        [
            ([("a", 1, 5), ("b", 0, 1), ("c", 2, 9)], "bac"),  # m descending: k ascending
            ([("a", 1, 5), ("b", 1, 7), ("c", 1, 6)], "bca"),  # then sim descending
            ([("a", 1, 5), ("b", 1, 5), ("c", 1, 5)], "abc"),  # then first come
            ([("a", 0, 0), ("b", 1, MAX_SIM), ("c", 0, MAX_SIM)], "cab"),  # a whole level outweighs any sim
            ([("a", 2, 100), ("b", 1, 0), ("c", 1, 1), ("d", 0, 3), ("e", 0, 3)], "decba"),
        ],
    )
    @pytest.mark.parametrize("at_once", [1, 2, 100])
    def test_order(self, given: Sequence[tuple[str, int, int]], order: str, at_once: int) -> None:
        """Field case 107: a score in a heap the wrong way round is seen only in the order of fetches."""
        f = self.frontier()
        f.add([link(*g) for g in given], self.parent(f))
        f = self.between(f)
        names = []
        while leases := f.take(at_once):
            names += [name(lease) for lease in leases]
        assert "".join(names) == order

    def test_first_come_holds_over_several_hosts_and_steps(self) -> None:
        f = self.frontier()
        parent = self.parent(f)
        urls = [f"http://h{i % 3}.test/{i}" for i in range(12)]
        for url in urls:
            f.add([link(url)], parent)
        f = self.between(f)
        assert drain(f) == [str(i) for i in range(12)]

    def test_rows_align_with_the_candidates(self) -> None:
        f = self.frontier()
        parent = self.parent(f)
        (b,) = f.add([link("b")], parent)
        rows = f.add([link("a"), link("b"), link("c"), link("a", sim=200), link("b")], parent)
        assert rows == (b + 1, b, b + 2, b + 1, b)
        f = self.between(f)
        assert f.add([link("c"), link("d"), link("a")], parent) == (b + 2, b + 3, b + 1)
        assert {name(lease): lease.row for lease in f.take(10)} == {"a": b + 1, "b": b, "c": b + 2, "d": b + 3}

    def test_a_lease_says_all_about_its_url(self) -> None:
        f = self.frontier()
        parent = self.parent(f)
        url = "http://s.test:8080/p?sid=abc&x=1"
        given = link(url, 2, 300, 3, text="comet 彗星", hops=1, request=b"\x00post")
        (row,) = f.add([given], parent)
        f = self.between(f)
        lease = take_one(f)
        assert lease.kind is LeaseKind.PAGE
        assert (lease.url, lease.key, lease.host) == (url, "http://s.test:8080/p?x=1", "s.test:8080")
        assert (lease.level, lease.sim, lease.depth) == (2, 300, 3)
        assert (lease.row, lease.parent, lease.text) == (row, parent, "comet 彗星")
        assert (lease.tries, lease.hops, lease.request) == (0, 1, b"\x00post")

    def test_tokens_grow(self) -> None:
        f = self.frontier()
        f.add([seed(u) for u in "abc"])
        tokens = [lease.token for lease in f.take(3)]
        assert tokens == sorted(set(tokens))

    # ---- known URLs ----

    def test_a_repetition_changes_nothing(self) -> None:
        f = self.frontier()
        parent = self.parent(f)
        batch = [link("a", 1), link("b"), link("c", 9)]
        rows = f.add(batch, parent)
        f = self.between(f)
        counts = f.counts()
        assert f.add(batch, parent) == rows
        assert f.counts() == counts
        assert drain(f) == ["b", "a"]

    def test_two_spellings_of_one_key_are_one_url_and_the_first_is_fetched(self) -> None:
        f = self.frontier()
        first, second = "http://s.test/p?sid=abc", "http://s.test/p?sid=def"
        one, two = f.add([link(first), link(second, sim=900)], self.parent(f))
        assert one == two
        f = self.between(f)
        lease = take_one(f)
        assert (lease.url, lease.sim) == (first, 900)

    @pytest.mark.parametrize(
        ("before", "after", "order"),
        [
            ((1, 50), (0, 10), "xay"),  # better m, worse sim: the pair counts
            ((1, 50), (1, 60), "axy"),
            ((1, 50), (1, 50), "axy"),  # equal: nothing changes
            ((1, 50), (2, 900), "axy"),  # worse m, better sim: stays
            ((1, 30), (1, 41), "axy"),  # raised above y, which came earlier than x and is worse now
        ],
    )
    def test_a_better_link_raises_in_waiting(self, before: tuple[int, int], after: tuple[int, int], order: str) -> None:
        f = self.frontier()
        parent = self.parent(f)
        f.add([link("y", 1, 40), link("x", *before), link("a", 0, 5)], parent)
        f = self.between(f)
        f.add([link("x", *after)], parent)
        f = self.between(f)
        lease_of = {name(lease): lease for lease in f.take(9)}
        assert "".join(lease_of) == order
        best = min((before, after), key=lambda pair: (pair[0], -pair[1]))
        assert (lease_of["x"].level, lease_of["x"].sim) == best

    def test_raised_urls_keep_their_place_in_first_come(self) -> None:
        f = self.frontier()
        parent = self.parent(f)
        f.add([link("a", 2), link("b", 2), link("c", 0), link("d", 0)], parent)
        f.add([link("b", 0)], parent)
        f.add([link("a", 0)], parent)
        f = self.between(f)
        assert drain(f) == ["a", "b", "c", "d"]

    @pytest.mark.parametrize("reverse", [False, True])
    def test_one_batch_with_duplicates_counts_the_best_of_them(self, reverse: bool) -> None:
        f = self.frontier()
        batch = [link("x", 3, 900, 7, text="bad"), link("x", 1, 50, 9, text="good"), link("x", 1, 40, 2, text="late")]
        f.add(batch[::-1] if reverse else batch, self.parent(f))
        f = self.between(f)
        lease = take_one(f)
        assert (lease.level, lease.sim, lease.depth, lease.text) == (1, 50, 2, "good")
        assert nonzero(f) == {"processing": 1, "done": 1}

    @pytest.mark.parametrize("reverse", [False, True])
    def test_one_batch_with_a_request_and_a_plain_link_keeps_the_request(self, reverse: bool) -> None:
        f = self.frontier()
        batch = [link("a", 1, request=b"kept"), link("a", 0)]
        f.add(batch[:: -1 if reverse else 1])
        lease = take_one(self.between(f))
        assert (lease.request, lease.level) == (b"kept", 0)

    @pytest.mark.parametrize(("level", "hops"), [(0, 0), (1, 5), (2, 5)])
    def test_a_better_link_brings_its_hops(self, level: int, hops: int) -> None:
        """Found behind five redirects, then linked directly: the next redirect was one too many."""
        f = self.frontier()
        parent = self.parent(f)
        f.add([link("a", 1, hops=5)], parent)
        f.add([link("a", level)], parent)
        assert take_one(self.between(f)).hops == hops

    def test_the_smallest_depth_counts_and_the_parent_is_the_page_of_the_better_link(self) -> None:
        f = self.frontier()
        one, two, three = (self.parent(f, f"http://p{i}.test/p{i}") for i in range(3))
        f.add([link("x", 2, 100, 6, text="first")], one)
        f.add([link("x", 1, 100, 8, text="better, deeper")], two)
        f.add([link("x", 3, 900, 4, text="worse, nearer")], three)
        f = self.between(f)
        lease = take_one(f)
        assert (lease.level, lease.sim, lease.depth) == (1, 100, 4)
        assert (lease.parent, lease.text) == (two, "better, deeper")

    # ---- discard ----

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            (link("x", 5), "m"),
            (link("x", 0, depth=11), "depth"),
            (link("x", 9, depth=99), "depth"),
            (link("x", refusal=Reason.SCOPE), "scope"),
            (link("x", 9, depth=99, refusal=Reason.DENY), "deny"),  # the rule comes before the limits
            (link("mailto:x@s.test", refusal=Reason.SCHEME), "scheme"),
        ],
    )
    def test_new_links_that_a_limit_or_a_rule_keeps_out(self, given: Candidate, reason: str) -> None:
        f = self.frontier()
        f.add([given], self.parent(f))
        f = self.between(f)
        assert nonzero(f) == {"done": 1, "discard": 1}
        assert f.take(1) == []
        assert f.next_due() is None
        assert f.requeue(Selection(queue=Queue.DISCARD, reason=reason)) == (reason != "scheme")

    @pytest.mark.parametrize("given", [link("x", 4, depth=10), link("x", 4, 0), link("x", 0, 0, 10)])
    def test_the_limits_themselves_are_inside(self, given: Candidate) -> None:
        """Field case 109: a threshold that is `<` here and `<=` there."""
        f = self.frontier()
        f.add([given], self.parent(f))
        f = self.between(f)
        assert drain(f) == ["x"]

    @pytest.mark.parametrize(
        ("before", "after", "queue"),
        [
            (link("x", 5), link("x", 4), Queue.WAITING),
            (link("x", 9), link("x", 5), Queue.DISCARD),  # better, but not good enough
            (link("x", 5), link("x", 5, 900), Queue.DISCARD),
            (link("x", 0, depth=11), link("x", 0, depth=10), Queue.WAITING),
            (link("x", 1, depth=11), link("x", 3, depth=10), Queue.WAITING),  # worse pair, but near enough
            (link("x", 9, depth=99), link("x", 0, depth=50), Queue.DISCARD),  # m is right now, the depth is not
            (link("x", 9, depth=99), link("x", 9, depth=3), Queue.DISCARD),
            (link("x", refusal=Reason.SCOPE), link("x", 0, 900), Queue.DISCARD),
            (link("x", refusal=Reason.DENY), link("x", 0, 900, 0), Queue.DISCARD),
        ],
    )
    def test_revival_from_discard(self, before: Candidate, after: Candidate, queue: Queue) -> None:
        f = self.frontier()
        parent = self.parent(f)
        f.add([before], parent)
        f = self.between(f)
        f.add([after], parent)
        f = self.between(f)
        assert queue_of(f, "x") is queue
        assert drain(f) == (["x"] if queue is Queue.WAITING else [])

    def test_what_two_links_bring_together_revives(self) -> None:
        f = self.frontier()
        one, two = self.parent(f, "http://p.test/p1"), self.parent(f, "http://p.test/p2")
        f.add([link("x", 9, depth=2)], one)  # m
        f.add([link("x", 0, depth=11, text="good")], two)  # the pair of this one, the depth of the other
        f = self.between(f)
        lease = take_one(f)
        assert (lease.level, lease.depth, lease.parent, lease.text) == (0, 2, two, "good")

    def test_a_revived_url_keeps_its_place_in_first_come(self) -> None:
        f = self.frontier()
        parent = self.parent(f)
        f.add([link("a", 9), link("b"), link("c")], parent)
        f.add([link("a")], parent)
        f = self.between(f)
        assert drain(f) == ["a", "b", "c"]

    @pytest.mark.parametrize("reason", [Reason.TYPE, Reason.SIZE, Reason.ROBOTS, Reason.IGNORED, Reason.M])
    def test_what_was_discarded_after_its_lease_stays(self, reason: Reason) -> None:
        f = self.frontier()
        parent = self.parent(f)
        f.add([link("x", 3)], parent)
        f.finish(take_one(f), Outcome(queue=Queue.DISCARD, reason=reason))
        f = self.between(f)
        f.add([link("x", 3)], parent)
        assert queue_of(f, "x") is Queue.DISCARD

    @pytest.mark.parametrize(
        ("before", "order"),
        [
            (None, "s"),
            (link("s", 9), "s"),
            (link("s", 0, depth=99), "s"),
            (link("s", refusal=Reason.SCOPE), "s"),
            (link("s", 0, MAX_SIM, 0, refusal=Reason.SCOPE), "s"),  # as good as a seed already: a seed's redirect
            (link("s", refusal=Reason.DENY), "s"),
            (link("s", 3), "s"),
        ],
    )
    def test_seeds_are_never_discarded(self, before: Candidate | None, order: str) -> None:
        """A URL that a limit or rule kept out as a link stayed in discard when the user gave it as a seed."""
        f = self.frontier(limits=Limits(max_level=-1, max_depth=0))
        if before is not None:
            f.add([before], self.parent(f))
            f = self.between(f)
        f.add([seed("s")])
        f = self.between(f)
        lease = take_one(f)
        assert (name(lease), lease.level, lease.sim, lease.depth) == (order, 0, MAX_SIM, 0)
        assert lease.parent is None

    def test_a_seed_does_not_revive_what_was_asked_and_refused(self) -> None:
        f = self.frontier()
        f.add([seed("s")])
        f.finish(take_one(f), REFUSED)
        f = self.between(f)
        f.add([seed("s")])
        assert queue_of(f, "s") is Queue.DISCARD

    def test_a_start_request_that_a_rule_refuses_is_no_seed(self) -> None:
        f = self.frontier()
        f.add([link("s", refusal=Reason.SCOPE)])
        f.add([link("s", 0, MAX_SIM, 0, refusal=Reason.SCOPE)])
        f = self.between(f)
        assert nonzero(f) == {"discard": 1}

    # ---- what stays ----

    def test_done_and_processing_stay(self) -> None:
        """Field case 72: a page found again was written as new, over its `fetched`."""
        f = self.frontier()
        parent = self.parent(f)
        f.add([link("d", 3, 10, 9), link("p", 3, 10, 9, text="old")], parent)
        for lease in f.take(2):
            if name(lease) == "d":
                f.finish(lease, DONE)
            else:
                open_lease = lease
        for row in (parent, None):
            f.add([link("d", 0, MAX_SIM, 0), link("p", 0, MAX_SIM, 0)], row)
            assert (queue_of(f, "d"), queue_of(f, "p")) == (Queue.DONE, Queue.PROCESSING)
            assert f.take(9) == []
        f.finish(open_lease, FAILED)
        self.clock.advance(100)
        f = self.between(f)
        again = take_one(f)
        assert (again.level, again.sim, again.depth, again.text) == (3, 10, 9, "old")

    def test_error_keeps_the_better_pair_for_its_next_try(self) -> None:
        f = self.frontier()
        one, two = self.parent(f, "http://p.test/p1"), self.parent(f, "http://p.test/p2")
        f.add([link("x", 3, 10, 9, text="old")], one)
        f.finish(take_one(f), FAILED)
        f.add([link("x", 1, 700, 5, text="new")], two)
        f = self.between(f)
        assert queue_of(f, "x") is Queue.ERROR
        assert f.take(1) == []
        self.clock.advance(100)
        lease = take_one(f)
        assert (lease.level, lease.sim, lease.depth, lease.text, lease.parent) == (1, 700, 5, "new", two)

    def test_a_page_that_links_to_itself(self) -> None:
        f = self.frontier()
        lease = self.page(f)
        done = f.finish(lease, DONE, [link(lease.url), link("a")])
        assert done is not None
        assert done.rows[0] == lease.row
        f = self.between(f)
        assert nonzero(f) == {"done": 1, "waiting": 1}

    # ---- finish ----

    @pytest.mark.parametrize(
        ("outcome", "queue"),
        [
            (DONE, Queue.DONE),
            (Outcome(queue=Queue.DONE, reason=Reason.NOINDEX, status=200), Queue.DONE),
            (Outcome(queue=Queue.DISCARD, reason=Reason.ROBOTS, asked=False), Queue.DISCARD),
            (Outcome(queue=Queue.ERROR, reason=Reason.HTTP, status=404), Queue.ERROR),
            (Outcome(queue=Queue.ERROR, reason=Reason.TLS), Queue.ERROR),
        ],
    )
    def test_endings_without_another_try(self, outcome: Outcome, queue: Queue) -> None:
        f = self.frontier()
        done = f.finish(self.page(f), outcome)
        assert done is not None
        assert (done.queue, done.retry_at, done.rows) == (queue, None, ())
        f = self.between(f)
        self.clock.advance(1e6)
        assert nonzero(f) == {str(queue): 1}
        assert (f.take(1), f.next_due(), f.next_retry()) == ([], None, None)

    def test_finish_adds_what_was_found_with_the_page_as_parent(self) -> None:
        f = self.frontier()
        page = self.page(f)
        done = f.finish(page, DONE, [link("b", 1, text="to b"), link("a"), link("no", 9)])
        assert done is not None
        assert done.rows == (page.row + 1, page.row + 2, page.row + 3)
        f = self.between(f)
        leases = f.take(5)
        assert [(name(lease), lease.parent) for lease in leases] == [("a", page.row), ("b", page.row)]
        assert nonzero(f) == {"processing": 2, "done": 1, "discard": 1}

    def test_late_and_repeated_finishes_change_nothing_and_are_counted(self) -> None:
        f = self.frontier()
        lease = self.page(f)
        f.finish(lease, FAILED)
        counts = f.counts()
        for number, outcome in enumerate([DONE, FAILED, REFUSED], 1):
            assert f.finish(lease, outcome, [link("new")]) is None
            assert f.late == number
        assert f.counts() == counts
        assert queue_of(f, "new") is None
        self.clock.advance(100)
        assert take_one(f).row == lease.row
        assert f.finish(lease, DONE) is None  # the URL has another lease now
        assert queue_of(f, lease.url) is Queue.PROCESSING

    def test_a_lease_of_a_dead_process_is_late(self) -> None:
        """The new process may have given the same number to another URL."""
        f = self.frontier()
        old = self.page(f)
        f.add([link("a")])
        f = self.reopen()
        f.recover()
        new = f.take(2)
        assert f.finish(old, DONE, [link("new")]) is None
        assert f.late == 1
        assert {queue_of(f, lease.url) for lease in new} == {Queue.PROCESSING}
        assert queue_of(f, "new") is None

    @pytest.mark.parametrize("bad", [link("bad", text="\ud800"), link("bad", request="no bytes: \udfff")])
    def test_a_finish_that_fails_leaves_everything_as_it_was(self, bad: Candidate) -> None:
        """A candidate that can't be written takes the whole step with it: lease open, nothing added or raised."""
        f = self.frontier(politeness=Politeness(delay=5.0, obey_robots=False))
        f.add([link("known", 2), link("low", 9)], self.parent(f))
        lease = self.page(f, "http://second.test/second")
        before = f.counts()
        with pytest.raises((ValueError, TypeError, TopicCrawlError)):
            f.finish(lease, DONE, [link("new"), link("known", 0), link("low", 0), bad])
        assert f.counts() == before
        assert [queue_of(f, u) for u in ("new", "bad", "low")] == [None, None, Queue.DISCARD]
        assert queue_of(f, lease.url) is Queue.PROCESSING
        done = f.finish(lease, DONE, [link("new", 1)])  # the lease is open still
        assert done is not None
        f = self.between(f)
        assert [(name(lease), lease.level) for lease in f.take(9)] == [("new", 1), ("known", 2)]
        assert nonzero(f) == {"processing": 2, "done": 2, "discard": 1}

    def test_an_add_that_fails_leaves_everything_as_it_was(self) -> None:
        f = self.frontier()
        parent = self.parent(f)
        f.add([link("known", 2)], parent)
        with pytest.raises((ValueError, TopicCrawlError)):
            f.add([link("known", 0), link("new"), link("bad", text="\ud800")], parent)
        f = self.between(f)
        f.add([link("later", 1)], parent)
        assert [(name(lease), lease.level) for lease in f.take(9)] == [("later", 1), ("known", 2)]

    # ---- hosts ----

    @pytest.mark.parametrize("per_host", [1, 2, 5])
    def test_open_leases_per_host_are_limited(self, per_host: int) -> None:
        f = self.frontier(politeness=Politeness(delay=0.0, per_host=per_host, obey_robots=False))
        urls = [f"http://{host}.test/{i}" for i in range(7) for host in "ab"]
        f.add([link(url) for url in urls], self.parent(f))
        f = self.between(f)
        leases = f.take(100)
        assert sorted(lease.host for lease in leases) == ["a.test"] * per_host + ["b.test"] * per_host
        assert [lease.url for lease in leases] == urls[: 2 * per_host]
        assert f.take(1) == []
        assert f.next_due() is None
        f.finish(leases[0], DONE)
        assert f.next_due() == 0
        assert [lease.host for lease in f.take(9)] == ["a.test"]

    def test_the_port_makes_another_host(self) -> None:
        f = self.frontier(politeness=ONE_BY_ONE)
        f.add([link("http://s.test/1"), link("http://s.test:8080/2"), link("https://s.test/3")], self.parent(f))
        f = self.between(f)
        assert [name(lease) for lease in f.take(9)] == ["1", "2"]

    def test_the_delay_runs_from_the_end_of_the_last_request(self) -> None:
        f = self.frontier(politeness=ONE_BY_ONE)
        f.add([link("http://s.test/1", 0), link("http://s.test/2", 1), link("http://t.test/3", 2)], self.parent(f))
        self.clock.advance(100)
        lease = take_one(f)
        self.clock.advance(60)
        assert f.next_due() == 0  # the other host
        f.finish(lease, DONE)
        assert f.next_due() == 0
        f.finish(take_one(f), DONE)
        f = self.between(f)
        assert f.take(1) == []
        assert f.next_due() == pytest.approx(10)
        self.clock.advance(9.9)
        assert f.take(1) == []
        self.clock.advance(0.1)
        assert f.next_due() == 0
        assert name(take_one(f)) == "2"

    def test_the_delay_runs_from_the_end_of_the_fetch_not_of_its_processing(self) -> None:
        f = self.frontier(politeness=ONE_BY_ONE)
        f.add([link("http://s.test/1"), link("http://s.test/2")], self.parent(f))
        lease = take_one(f)
        ended_at = self.clock.now
        self.clock.advance(7)
        f.finish(lease, Outcome(queue=Queue.DONE, status=200, ended_at=ended_at))
        f = self.between(f)
        assert f.next_due() == pytest.approx(3)

    def test_a_host_that_was_not_asked_needs_no_rest(self) -> None:
        f = self.frontier(politeness=ONE_BY_ONE)
        f.add([link("http://s.test/1"), link("http://s.test/2")], self.parent(f))
        f.finish(take_one(f), Outcome(queue=Queue.DISCARD, reason=Reason.ROBOTS, asked=False))
        f = self.between(f)
        assert name(take_one(f)) == "2"

    def test_several_places_still_start_one_delay_apart(self) -> None:
        f = self.frontier(politeness=Politeness(delay=10.0, per_host=2, obey_robots=False))
        f.add([link(f"http://s.test/{i}") for i in range(4)], self.parent(f))
        assert len(f.take(9)) == 1
        assert f.next_due() == pytest.approx(10)
        self.clock.advance(10)
        assert len(f.take(9)) == 1
        self.clock.advance(10)
        assert f.take(9) == []
        assert f.next_due() is None  # both places are taken

    def test_jitter_only_lengthens(self) -> None:
        f = self.frontier(politeness=Politeness(delay=10.0, jitter=0.5, obey_robots=False))
        f.add([link(f"http://h{i}.test/{i}") for i in range(60)] + [link(f"http://h{i}.test/b{i}") for i in range(60)])
        for lease in f.take(60):
            f.finish(lease, DONE)
        delays = [f.delay(f"h{i}.test") for i in range(60)]
        assert all(10 <= delay <= 15 for delay in delays)
        assert max(delays) - min(delays) > 1
        self.clock.advance(9.99)
        f = self.between(f)
        assert f.take(99) == []
        self.clock.advance(5.02)
        assert len(f.take(99)) == 60

    def test_retry_after_makes_the_host_wait(self) -> None:
        f = self.frontier(politeness=ONE_BY_ONE)
        f.add([link("http://s.test/1"), link("http://s.test/2", 1)], self.parent(f))
        slow = Outcome(queue=Queue.ERROR, reason=Reason.HTTP, status=503, retry=True, retry_after=120.0)
        done = f.finish(take_one(f), slow)
        assert done is not None
        assert done.retry_at == pytest.approx(self.clock.now + 120)
        f = self.between(f)
        f = f  # also for the next run
        assert f.next_due() == pytest.approx(120)
        self.clock.advance(119)
        assert f.take(1) == []
        self.clock.advance(1)
        assert name(take_one(f)) == "1"

    def test_retry_after_is_capped(self) -> None:
        f = self.frontier(politeness=Politeness(delay=1.0, max_retry_after=60.0, obey_robots=False))
        f.add([link("http://s.test/1"), link("http://s.test/2")], self.parent(f))
        done = f.finish(take_one(f), Outcome(queue=Queue.ERROR, status=429, retry=True, retry_after=1e9))
        assert done is not None
        assert done.retry_at == pytest.approx(self.clock.now + 60)
        f = self.between(f)
        assert f.next_due() == pytest.approx(60)

    @pytest.mark.parametrize("status", [429, 503])
    def test_back_off_doubles_and_is_halved_slowly(self, status: int) -> None:
        politeness = Politeness(delay=1.0, max_backoff=6.0, obey_robots=False)
        f = self.frontier(politeness=politeness)
        f.add([link(f"http://s.test/{i}") for i in range(20)], self.parent(f))
        slow = Outcome(queue=Queue.ERROR, reason=Reason.HTTP, status=status)
        unknown = Outcome(queue=Queue.ERROR, reason=Reason.TIMEOUT)  # no answer: neither slower nor faster
        steps = [(slow, 2), (slow, 4), (unknown, 4), (slow, 6), (slow, 6), (DONE, 3), (DONE, 1.5), (DONE, 1), (DONE, 1)]
        for outcome, delay in steps:
            f.finish(take_one(f), outcome)
            assert f.delay("s.test") == pytest.approx(delay)
            assert f.next_due() == pytest.approx(delay)
            self.clock.advance(delay)

    def test_back_off_counts_also_without_a_delay(self) -> None:
        f = self.frontier(politeness=Politeness(delay=0.0, obey_robots=False))
        f.add([link(f"http://s.test/{i}") for i in range(3)], self.parent(f))
        f.finish(take_one(f), Outcome(queue=Queue.ERROR, reason=Reason.HTTP, status=429))
        f = self.between(f)
        assert f.next_due() == pytest.approx(1)

    def test_an_answer_429_slows_the_host_while_others_are_open(self) -> None:
        """With two places the back-off counted only when the last lease ended."""
        f = self.frontier(politeness=Politeness(delay=1.0, per_host=2, obey_robots=False))
        f.add([link(f"http://s.test/{i}") for i in range(4)], self.parent(f))
        first = take_one(f)
        self.clock.advance(1)
        take_one(f)
        self.clock.advance(5)
        f.finish(first, Outcome(queue=Queue.ERROR, reason=Reason.HTTP, status=429))
        assert f.take(1) == []
        assert f.next_due() == pytest.approx(2)

    # ---- robots.txt ----

    def robots(self, frontier: Frontier) -> Lease:
        lease = take_one(frontier)
        assert lease.kind is LeaseKind.ROBOTS
        return lease

    def test_robots_txt_is_asked_for_first_and_spends_the_delay(self) -> None:
        f = self.frontier(politeness=WITH_ROBOTS)
        f.add([seed("http://s.test/1"), seed("http://s.test/2"), seed("https://t.test:444/3")])
        f = self.between(f)
        one, two = f.take(9)
        assert (one.kind, one.url, one.host, one.tries) == (LeaseKind.ROBOTS, "http://s.test/robots.txt", "s.test", 0)
        assert (two.url, two.host) == ("https://t.test:444/robots.txt", "t.test:444")
        assert f.take(9) == []
        assert nonzero(f) == {"waiting": 3}
        f.finish_robots(one, RobotsFile(reachable=True, status=404))
        assert f.take(9) == []
        assert f.next_due() == pytest.approx(1)
        self.clock.advance(1)
        lease = take_one(f)
        assert (lease.kind, lease.url) == (LeaseKind.PAGE, "http://s.test/1")

    def test_robots_txt_is_asked_for_once_however_many_places_there_are(self) -> None:
        """With two places per host the second was given the same robots.txt again."""
        f = self.frontier(politeness=Politeness(delay=0.0, per_host=3))
        f.add([seed(f"http://s.test/{i}") for i in range(5)])
        lease = self.robots(f)
        assert f.take(9) == []
        assert f.next_due() is None
        f.finish_robots(lease, RobotsFile(reachable=True))
        f = self.between(f)
        assert [name(lease) for lease in f.take(9)] == ["0", "1", "2"]

    def test_the_rules_count_for_one_scheme_and_are_remembered(self) -> None:
        f = self.frontier(politeness=Politeness(delay=0.0), user_agent="topiccrawl")
        f.add([seed("http://s.test/1")])
        text = "User-agent: *\nDisallow: /\n\nUser-agent: topiccrawl\nDisallow: /private/\nCrawl-delay: 4\n"
        f.finish_robots(self.robots(f), RobotsFile(reachable=True, text=text, status=200))
        self.clock.advance(4)
        f = self.between(f)
        assert name(take_one(f)) == "1"
        assert f.allows("http://s.test/1")
        assert not f.allows("http://s.test/private/x")
        assert f.allows("https://s.test/private/x")
        assert f.allows("http://other.test/private/x")
        assert f.delay("s.test") == pytest.approx(4)
        f.add([seed("https://s.test/2")])
        assert f.take(1) == []  # one lease is open

    def test_without_robots_everything_is_allowed_at_once(self) -> None:
        f = self.frontier(politeness=ONE_BY_ONE)
        f.add([seed("http://s.test/1")])
        f = self.between(f)
        assert take_one(f).kind is LeaseKind.PAGE
        assert f.allows("http://s.test/private/x")

    @pytest.mark.parametrize(
        ("crawl_delay", "delay"), [("0.1", 2), ("5", 5), ("30", 30), ("86400", 30), ("-3", 2), ("soon", 2), ("", 2)]
    )
    def test_crawl_delay_is_obeyed_up_to_a_cap(self, crawl_delay: str, delay: float) -> None:
        f = self.frontier(politeness=Politeness(delay=2.0, max_crawl_delay=30.0))
        f.add([seed("http://s.test/1")])
        text = f"User-agent: *\nCrawl-delay: {crawl_delay}\n"
        f.finish_robots(self.robots(f), RobotsFile(reachable=True, text=text, status=200))
        f = self.between(f)
        assert f.delay("s.test") == pytest.approx(delay)
        assert f.next_due() == pytest.approx(delay)

    def test_an_unreachable_robots_txt_defers_its_host_alone(self) -> None:
        f = self.frontier(politeness=WITH_ROBOTS)
        f.add([seed("http://s.test/1"), seed("http://s.test/2"), link("http://t.test/3")])
        lease = self.robots(f)
        other = self.robots(f)
        f.finish_robots(lease, RobotsFile(reachable=False, status=500))
        f.finish_robots(other, RobotsFile(reachable=True))
        f = self.between(f)
        self.clock.advance(1)
        f.finish(take_one(f), DONE)
        for pause in (30, 60):
            self.clock.advance(pause - 1.5)
            assert f.take(9) == []
            self.clock.advance(0.5)
            lease = self.robots(f)
            assert lease.url == "http://s.test/robots.txt"
            assert nonzero(f) == {"waiting": 2, "done": 1}
            f.finish_robots(lease, RobotsFile(reachable=False))
            f = self.between(f)
            self.clock.advance(1)
        self.clock.advance(1000)
        assert f.take(9) == []
        assert nonzero(f) == {"error": 2, "done": 1}
        assert f.next_due() is None
        f = self.between(f)
        f.add([link("http://s.test/4")])
        assert f.take(9) == []
        assert queue_of(f, "http://s.test/4") is Queue.ERROR

    def test_a_robots_txt_that_comes_back_ends_the_deferral(self) -> None:
        f = self.frontier(politeness=WITH_ROBOTS)
        f.add([seed("http://s.test/1")])
        for _ in range(2):
            f.finish_robots(self.robots(f), RobotsFile(reachable=False))
            f = self.between(f)
            self.clock.advance(100)
        f.finish_robots(self.robots(f), RobotsFile(reachable=True, text="User-agent: *\nDisallow: /x"))
        f = self.between(f)
        self.clock.advance(1)
        assert name(take_one(f)) == "1"
        assert not f.allows("http://s.test/x")

    def test_retry_after_of_robots_txt_counts(self) -> None:
        f = self.frontier(politeness=WITH_ROBOTS)
        f.add([seed("http://s.test/1")])
        f.finish_robots(self.robots(f), RobotsFile(reachable=False, status=503, retry_after=500.0))
        f = self.between(f)
        assert f.next_due() == pytest.approx(500)

    def test_urls_whose_robots_txt_cannot_be_had_are_named_once(self) -> None:
        """They went to error without a word in any log."""
        f = self.frontier(politeness=Politeness(delay=1.0, robots_tries=1))
        f.add([seed("http://s.test/1"), seed("https://s.test/2"), seed("http://s.test/3")])
        assert f.drain_expired() == []
        f.finish_robots(self.robots(f), RobotsFile(reachable=False, reason=Reason.DNS))
        f = self.between(f)
        self.clock.advance(100)
        f.take(9)
        assert f.drain_expired() == [("http://s.test/1", Reason.DNS)]
        f.take(9)
        assert f.drain_expired() == []

    def test_requeue_asks_an_unreachable_robots_txt_anew(self) -> None:
        f = self.frontier(politeness=Politeness(delay=1.0, robots_tries=1))
        f.add([seed("http://s.test/1"), seed("http://s.test/2")])
        f.finish_robots(self.robots(f), RobotsFile(reachable=False))
        self.clock.advance(100)
        assert f.take(9) == []
        f = self.between(f)
        assert nonzero(f) == {"error": 2}
        assert f.requeue(Selection(reason="robots-unreachable")) == 2
        f = self.between(f)
        f.finish_robots(self.robots(f), RobotsFile(reachable=True))
        self.clock.advance(1)
        assert name(take_one(f)) == "1"

    def test_a_robots_txt_that_no_other_try_can_give_ends_its_urls_with_that_reason(self) -> None:
        f = self.frontier(politeness=WITH_ROBOTS)
        f.add([seed("http://s.test/1"), seed("http://s.test/2")])
        f.finish_robots(self.robots(f), RobotsFile(reachable=False, reason=Reason.TLS, final=True))
        f = self.between(f)
        self.clock.advance(1)
        assert f.take(9) == []
        assert nonzero(f) == {"error": 2}
        assert f.requeue(Selection(reason="tls")) == 2
        f = self.between(f)
        assert self.robots(f).tries == 0

    def test_an_unreachable_robots_txt_is_asked_for_again_when_it_is_old(self) -> None:
        f = self.frontier(politeness=Politeness(delay=1.0, robots_tries=1, robots_age=1000.0))
        f.add([seed("http://s.test/1")])
        f.finish_robots(self.robots(f), RobotsFile(reachable=False))
        self.clock.advance(900)
        assert f.take(9) == []
        f = self.between(f)
        self.clock.advance(200)
        f.add([seed("http://s.test/2")])
        f.finish_robots(self.robots(f), RobotsFile(reachable=True))
        f = self.between(f)
        self.clock.advance(1)
        assert name(take_one(f)) == "2"

    def test_old_rules_are_fetched_again(self) -> None:
        f = self.frontier(politeness=Politeness(delay=1.0, robots_age=1000.0))
        f.add([seed("http://s.test/1"), seed("http://s.test/2")])
        f.finish_robots(self.robots(f), RobotsFile(reachable=True, text="User-agent: *\nDisallow: /old"))
        self.clock.advance(900)
        f.finish(take_one(f), DONE)
        f = self.between(f)
        self.clock.advance(200)
        f.finish_robots(self.robots(f), RobotsFile(reachable=True, text="User-agent: *\nDisallow: /new"))
        f = self.between(f)
        self.clock.advance(1)
        assert name(take_one(f)) == "2"
        assert (f.allows("http://s.test/old"), f.allows("http://s.test/new")) == (True, False)

    def test_late_and_repeated_robots_change_nothing(self) -> None:
        f = self.frontier(politeness=WITH_ROBOTS)
        f.add([seed("http://s.test/1")])
        old = self.robots(f)
        f = self.reopen()
        new = self.robots(f)
        f.finish_robots(old, RobotsFile(reachable=False))
        assert f.late == 1
        f.finish_robots(new, RobotsFile(reachable=True, text="User-agent: *\nDisallow: /x"))
        f.finish_robots(new, RobotsFile(reachable=False))
        assert f.late == 2
        f = self.between(f)
        self.clock.advance(1)
        assert name(take_one(f)) == "1"
        assert not f.allows("http://s.test/x")

    # ---- retries ----

    def test_retries_wait_twice_as_long_each_time_until_the_last(self) -> None:
        f = self.frontier(retry=RetryPolicy(tries=4, base=10.0, maximum=30.0, jitter=0.0))
        f.add([seed("a")])
        for tries, pause in enumerate((10, 20, 30)):
            lease = take_one(f)
            assert lease.tries == tries
            done = f.finish(lease, FAILED)
            assert done is not None
            assert done.retry_at == pytest.approx(self.clock.now + pause)
            f = self.between(f)
            assert f.next_retry() == pytest.approx(pause)
            assert f.next_due() == pytest.approx(pause)
            self.clock.advance(pause - 0.1)
            assert f.take(1) == []
            assert nonzero(f) == {"error": 1}
            self.clock.advance(0.2)
            assert f.next_retry() == 0
            assert f.next_due() == 0
        done = f.finish(take_one(f), FAILED)
        assert done is not None
        assert done.retry_at is None
        f = self.between(f)
        self.clock.advance(1e6)
        assert (f.take(1), f.next_due(), f.next_retry()) == ([], None, None)
        assert nonzero(f) == {"error": 1}

    def test_what_was_not_asked_is_no_try(self) -> None:
        f = self.frontier()
        f.finish(self.page(f), Outcome(queue=Queue.ERROR, reason=Reason.INTERNAL, asked=False, retry=True))
        f = self.between(f)
        self.clock.advance(100)
        assert take_one(f).tries == 0

    def test_a_retry_counts_from_the_end_of_the_fetch(self) -> None:
        f = self.frontier()
        lease = self.page(f)
        ended_at = self.clock.now
        self.clock.advance(4)
        f.finish(lease, Outcome(queue=Queue.ERROR, reason=Reason.DNS, retry=True, ended_at=ended_at))
        f = self.between(f)
        assert f.next_retry() == pytest.approx(6)

    def test_jitter_spreads_retries(self) -> None:
        f = self.frontier(retry=RetryPolicy(tries=3, base=100.0, jitter=0.25))
        f.add([seed(f"http://h{i}.test/") for i in range(50)])
        ends = [f.finish(lease, FAILED) for lease in f.take(50)]
        pauses = [(end.retry_at or 0) - self.clock.now for end in ends if end is not None]
        assert all(100 <= pause <= 125 for pause in pauses)
        assert max(pauses) - min(pauses) > 5

    def test_retries_come_back_in_order_with_new_links(self) -> None:
        f = self.frontier()
        parent = self.parent(f)
        f.add([link("a", 0, 900), link("b", 2)], parent)
        for lease in f.take(2):
            f.finish(lease, FAILED)
        f.add([link("c", 1), link("d", 3)], parent)
        f = self.between(f)
        self.clock.advance(60)
        assert drain(f) == ["a", "c", "b", "d"]

    def test_a_done_page_is_not_tried_again(self) -> None:
        f = self.frontier()
        f.add([seed("a")])
        f.finish(take_one(f), FAILED)
        self.clock.advance(60)
        f.finish(take_one(f), DONE)
        f = self.between(f)
        self.clock.advance(1e6)
        assert (f.take(1), f.next_retry(), nonzero(f)) == ([], None, {"done": 1})

    @pytest.mark.parametrize("again", [FAILED, Outcome(queue=Queue.ERROR, reason=Reason.HTTP, status=404)])
    def test_the_time_of_an_earlier_retry_counts_no_more_after_a_requeue(self, again: Outcome) -> None:
        """Re-queued before its retry was due and failed for good, a URL still came back when the old time had come."""
        f = self.frontier()
        f.add([seed("b"), seed("a")])
        b, a = f.take(2)
        f.finish(b, FAILED)  # due in 10 s, before the other
        self.clock.advance(1)
        f.finish(a, FAILED)
        self.clock.advance(4)
        assert f.requeue(Selection(url=a.url)) == 1
        done = f.finish(take_one(f), again)
        assert done is not None
        f = self.between(f)
        self.clock.advance(7)
        assert [name(lease) for lease in f.take(9)] == ["b"]
        assert f.next_retry() == (None if done.retry_at is None else pytest.approx(3))
        self.clock.advance(1000)
        assert len(f.take(9)) == (done.retry_at is not None)

    # ---- recover ----

    def test_recover_returns_what_was_in_processing(self) -> None:
        """Field case 74: after a kill the resumed crawl had nothing to do."""
        f = self.frontier()
        f.add([seed("a"), seed("b"), seed("c"), link("d", 1)])
        leases = f.take(3)
        f.finish(leases[0], DONE, [link("e", 2)])
        f.finish(leases[1], FAILED)
        f = self.reopen()
        assert nonzero(f) == {"waiting": 2, "processing": 1, "error": 1, "done": 1}
        assert f.recover() == 1
        assert nonzero(f) == {"waiting": 3, "error": 1, "done": 1}
        f = self.between(f)
        assert drain(f) == ["c", "d", "e"]

    def test_five_crashes_are_an_error_that_requeue_forgives(self) -> None:
        f = self.frontier()
        f.add([seed("bad"), link("good", 1)])
        for crash in range(1, MAX_CRASHES + 1):
            lease = take_one(f)
            assert (name(lease), lease.tries) == ("bad", 0)  # a crash is not a failed try
            f = self.reopen()
            assert f.recover() == 1
            assert f.recover() == 0
            assert queue_of(f, "bad") is (Queue.WAITING if crash < MAX_CRASHES else Queue.ERROR)
        f = self.between(f)
        assert (f.next_retry(), f.next_due()) == (None, 0)
        assert f.requeue(Selection(reason="crashed")) == 1
        take_one(f)
        f = self.reopen()
        assert f.recover() == 1
        assert queue_of(f, "bad") is Queue.WAITING

    def test_crashes_do_not_use_up_tries(self) -> None:
        f = self.frontier()
        f.add([seed("a")])
        for _ in range(3):
            take_one(f)
            f = self.reopen()
            f.recover()
        done = f.finish(take_one(f), FAILED)
        assert done is not None
        assert done.retry_at == pytest.approx(self.clock.now + 10)

    # ---- requeue ----

    def ended(self) -> Frontier:
        """One URL for each ending, and one that waits and one in processing."""
        f = self.frontier()
        endings = {
            "http://h1.test/404": Outcome(queue=Queue.ERROR, reason=Reason.HTTP, status=404),
            "http://h1.test/410": Outcome(queue=Queue.ERROR, reason=Reason.HTTP, status=410),
            "http://h1.test/timeout": FAILED,
            "http://h2.test/dns": Outcome(queue=Queue.ERROR, reason=Reason.DNS),
            "http://h2.test/type": REFUSED,
            "http://h2.test/done": DONE,
            "http://h2.test/moved": Outcome(queue=Queue.DONE, reason=Reason.REDIRECT, status=301),
        }
        f.add([seed(url) for url in endings])
        for lease in f.take(99):
            f.finish(lease, endings[lease.url])
        f.add([link("http://h3.test/low", 9), link("mailto:a@s.test", refusal=Reason.SCHEME)], 1)
        f.add([link("http://h3.test/waits", 3)], 1)
        f = self.between(f)
        return f

    @pytest.mark.parametrize(
        ("selection", "names"),
        [
            (Selection(queue=Queue.ERROR), {"404", "410", "timeout", "dns"}),
            (Selection(queue=Queue.DONE), {"done", "moved"}),
            (Selection(queue=Queue.DISCARD), {"type", "low"}),
            (Selection(queue=Queue.WAITING), set()),
            (Selection(queue=Queue.PROCESSING), set()),
            (Selection(reason="http"), {"404", "410"}),
            (Selection(reason="http-404"), {"404"}),
            (Selection(reason="http-500"), set()),
            (Selection(reason="timeout"), {"timeout"}),
            (Selection(reason="m"), {"low"}),
            (Selection(reason="nonsense"), set()),
            (Selection(host="h1.test"), {"404", "410", "timeout"}),
            (Selection(host="h1.test", queue=Queue.DONE), set()),
            (Selection(host="h2.test", queue=Queue.ERROR), {"dns"}),
            (Selection(host="h2.test"), {"dns", "type"}),  # a page that is done must be asked for
            (Selection(host="h2.test", queue=Queue.DONE), {"done", "moved"}),
            (Selection(host="h2.test", url="http://h2.test/done"), {"done"}),
            (Selection(reason="redirect"), set()),
            (Selection(reason="redirect", queue=Queue.DONE), {"moved"}),
            (Selection(reason="scheme"), set()),  # it can't be fetched
            (Selection(url="mailto:a@s.test"), set()),
            (Selection(host="nowhere.test"), set()),
            (Selection(url="http://h2.test/done"), {"done"}),
            (Selection(url="HTTP://H2.test:80/done?utm_source=x#there"), {"done"}),  # looked up by its key
            (Selection(url="http://h2.test/unknown"), set()),
            (Selection(url="http://h3.test/waits"), set()),
            (Selection(), set()),
        ],
    )
    def test_requeue(self, selection: Selection, names: set[str]) -> None:
        f = self.ended()
        assert f.requeue(selection) == len(names)
        f = self.between(f)
        assert f.counts()[Queue.WAITING] == len(names) + 1
        leases = f.take(99)
        assert {name(lease) for lease in leases} == names | {"waits"}
        assert {lease.tries for lease in leases} == {0}

    def test_requeue_leaves_processing_alone(self) -> None:
        f = self.frontier()
        lease = self.page(f)
        assert f.requeue(Selection(host=lease.host)) == 0
        assert f.requeue(Selection(url=lease.url)) == 0
        assert f.finish(lease, DONE) is not None

    def test_requeued_urls_have_their_score_and_place(self) -> None:
        f = self.frontier()
        parent = self.parent(f)
        f.add([link("a", 1, 10), link("b", 1, 10), link("low", 9, 10)], parent)
        assert drain(f) == ["a", "b"]
        f.add([link("c", 1, 10), link("d", 0)], parent)
        f.requeue(Selection(host="a.test", queue=Queue.DONE))
        f.requeue(Selection(reason="m"))
        f = self.between(f)
        assert drain(f) == ["d", "a", "c", "low"]

    def test_requeue_gives_all_tries_back(self) -> None:
        f = self.frontier(retry=RetryPolicy(tries=2, base=10.0, jitter=0.0))
        f.add([seed("a")])
        for _ in range(2):
            f.finish(take_one(f), FAILED)
            self.clock.advance(100)
        assert f.take(1) == []
        f.requeue(Selection(queue=Queue.ERROR))
        f = self.between(f)
        done = f.finish(take_one(f), FAILED)
        assert done is not None
        assert done.retry_at is not None

    # ---- questions ----

    def test_counts_and_queues(self) -> None:
        f = self.ended()
        assert f.counts() == {
            Queue.WAITING: 1,
            Queue.PROCESSING: 0,
            Queue.ERROR: 4,
            Queue.DONE: 2,
            Queue.DISCARD: 3,
        }
        urls = ["http://h1.test/404", "http://no.test/", "http://h2.test/done", "http://h3.test/low", "http://x.test/"]
        hashes = np.array([link(url).hash for url in urls], np.uint64)
        assert f.queues_of(hashes) == [Queue.ERROR, None, Queue.DONE, Queue.DISCARD, None]
        assert f.queues_of(hashes[:0]) == []
        assert f.queues_of(hashes[[0, 0]]) == [Queue.ERROR, Queue.ERROR]

    def test_redirects_to(self) -> None:
        f = self.frontier()
        a = self.page(f, "http://s.test/a")
        redirect = Outcome(queue=Queue.DONE, reason=Reason.REDIRECT, status=301)
        done = f.finish(a, redirect, [link("http://s.test/b"), link("http://s.test/other")])
        assert done is not None
        b = take_one(f)
        assert (name(b), b.parent) == ("b", a.row)
        f.finish(b, redirect, [link("http://s.test/c")])
        f.finish(take_one(f), DONE)
        f = self.between(f)
        c = take_one(f)

        def reaches(url: str, row: int) -> bool:
            return f.redirects_to(link(url).hash, row)

        assert reaches("http://s.test/a", c.row)
        assert reaches("http://s.test/b", c.row)
        assert reaches("http://s.test/c", c.row)  # itself
        assert reaches("http://s.test/a", b.row)
        assert not reaches("http://s.test/b", a.row)
        assert not reaches("http://s.test/other", c.row)  # found, but not by the redirect
        assert not reaches("http://s.test/unknown", c.row)
        f.finish(c, redirect, [link("http://s.test/a")])  # a circle ends
        f = self.between(f)
        assert not reaches("http://s.test/a", 999)
        f.requeue(Selection(url="http://s.test/b"))  # what waits leads nowhere yet
        assert not reaches("http://s.test/a", c.row)

    def test_everything_survives_a_reopen(self) -> None:
        f = self.ended()
        before = f.counts(), f.next_retry(), f.next_due()
        f = self.reopen()
        assert (f.counts(), f.next_retry(), f.next_due()) == before
        f = self.reopen()
        assert f.counts() == before[0]
        assert drain(f) == ["waits"]
