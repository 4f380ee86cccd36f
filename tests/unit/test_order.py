"""The order of waiting: the queue of one host, and the whole order of a small web."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from topiccrawl.database import Database
from topiccrawl.frontier.base import Limits, Politeness
from topiccrawl.frontier.order import CHUNK, FRONT, SORTED_AT, KeyQueue, Segment, key_pool
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.records import MAX_SIM, Candidate, Outcome, Queue
from topiccrawl.relevance.inherit import child_levels, max_level, sim_threshold
from topiccrawl.relevance.vectors import TopicVector
from topiccrawl.urls import key_hash

WEB = json.loads((Path(__file__).parents[1] / "data" / "order.json").read_text())
SITE = "http://order.test"


# ---- segments and queues ----


@pytest.mark.parametrize("n", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK, 1000])
def test_a_segment_gives_back_what_it_was_given_and_its_chunks(n: int) -> None:
    pool, keys = key_pool(block=2), [i * 3 for i in range(n)]
    filled, pushed = Segment(), Segment()
    filled.fill(np.array(keys, np.uint64), pool)
    for key in keys:
        pushed.push(key, pool)
    assert pool.used == 2 * -(-n // CHUNK)
    assert sorted(filled.drain(pool).tolist()) == sorted(pushed.drain(pool).tolist()) == keys
    assert (pool.used, filled.count, pushed.count) == (0, 0, 0)


def test_a_segment_that_was_filled_takes_more() -> None:
    pool, segment = key_pool(), Segment()
    segment.fill(np.arange(CHUNK + 5, dtype=np.uint64), pool)
    for key in range(CHUNK + 5, 3 * CHUNK):
        segment.push(key, pool)
    assert sorted(segment.drain(pool).tolist()) == list(range(3 * CHUNK))


@pytest.mark.parametrize("n", [1, FRONT, FRONT + 1, 4 * FRONT, 4 * FRONT + 1, SORTED_AT, SORTED_AT + 1, 60_000])
@pytest.mark.parametrize("how", ["rising", "falling", "mixed", "equal"])
@pytest.mark.parametrize("extend", [True, False])
def test_a_queue_gives_its_keys_in_order(n: int, how: str, extend: bool) -> None:
    keys = list(range(n)) if how != "equal" else [7] * n
    if how == "falling":
        keys.reverse()
    if how == "mixed":
        Random(n).shuffle(keys)
    pool = key_pool()
    queue = KeyQueue(pool)
    if extend:
        queue.extend(np.array(keys, np.uint64))
    else:
        keys = keys[:5000]
        for key in keys:
            queue.push(key)
    assert len(queue) == len(keys)
    assert [queue.pop() for _ in keys] == sorted(keys)
    assert (queue.peek(), len(queue), pool.used) == (None, 0, 0)


def test_a_large_queue_is_sorted_only_as_far_as_it_is_taken() -> None:
    """Taking few of many must not cost a sort of all: most keys stay in unsorted segments."""
    pool = key_pool()
    queue = KeyQueue(pool)
    keys = np.random.default_rng(1).permutation(200_000).astype(np.uint64)
    queue.extend(keys)
    assert [queue.pop() for _ in range(100)] == list(range(100))
    assert max(segment.count for segment in queue._segments) > 150_000


def test_the_capacity_stays_the_same_over_many_rounds() -> None:
    pool = key_pool()
    queue, rng, capacities = KeyQueue(pool), Random(2), set()
    for _ in range(15):
        for _ in range(3000):
            queue.push(rng.randrange(1 << 50))
        capacities.add(pool.capacity)
        for _ in range(3000):
            queue.pop()
        assert pool.used == 0
    assert len(capacities) == 1


# ---- a small web ----


class Replay:
    """The crawl of WEB with concurrency 1, as DESIGN section 2 says, on the real frontier and the real relevance."""

    def __init__(self, folder: Path, reopen_every: int) -> None:
        self._folder = folder
        self._reopen_every = reopen_every
        self._vector = TopicVector(WEB["topic"])
        self._open()

    def _open(self) -> None:
        self.database = Database.create(self._folder)
        self.frontier = SqliteFrontier(
            self.database,
            limits=Limits(max_level=max_level(WEB["m0"], WEB["b"], WEB["m_min"])),
            politeness=Politeness(delay=0, obey_robots=False),
        )
        self.frontier.recover()

    def candidate(self, url: str, level: int, sim: int, depth: int) -> Candidate:
        key = SITE + url
        return Candidate(
            url=key, key=key, hash=key_hash(key), host="order.test", level=level, sim=sim, depth=depth, text=url
        )

    def run(self) -> list[str]:
        fetched: list[str] = []
        self.frontier.add([self.candidate(url, 0, MAX_SIM, 0) for url in WEB["seeds"]])
        while leases := self.frontier.take(1):
            if len(fetched) % self._reopen_every == self._reopen_every - 1:
                self.database.close()  # with a lease open: it waits again, at its old place
                self._open()
                leases = self.frontier.take(1)
            (lease,) = leases
            url = lease.url.removeprefix(SITE)
            fetched.append(url)
            hrefs = [href for href, _ in WEB["pages"][url]]
            sims = self._vector.sims([text for _, text in WEB["pages"][url]])
            best: dict[str, int] = {}
            for href, sim in zip(hrefs, sims.tolist(), strict=True):
                best[href] = max(best.get(href, 0), sim)
            levels = child_levels(np.array(list(best.values()), np.uint16), lease.level, sim_threshold(WEB["f"]))
            found = [
                self.candidate(href, level, sim, lease.depth + 1)
                for (href, sim), level in zip(best.items(), levels.tolist(), strict=True)
            ]
            self.frontier.finish(lease, Outcome(queue=Queue.DONE, status=200), found)
        return fetched

    def rows(self) -> list[dict[str, Any]]:
        found = self.database.rows(
            "SELECT u.url, u.level, u.sim, u.id, u.depth, p.url, u.queue FROM urls u"
            " LEFT JOIN urls p ON p.id = u.parent ORDER BY u.id"
        )
        names = ("url", "k", "sim", "seq", "depth", "parent", "queue")
        rows = [dict(zip(names, row, strict=True)) for row in found]
        for row in rows:
            row["url"] = row["url"].removeprefix(SITE)
            row["parent"] = row["parent"] and row["parent"].removeprefix(SITE)
        return rows


@pytest.mark.parametrize("reopen_every", [10_000, 3, 1])
def test_the_order_and_the_rows_of_a_small_web(tmp_path: Path, reopen_every: int) -> None:
    """order.json is a naive reading of DESIGN section 2; a resume at any point changes nothing."""
    replay = Replay(tmp_path, reopen_every)
    assert replay.run() == WEB["order"]
    assert replay.rows() == WEB["rows"]
    replay.database.close()
