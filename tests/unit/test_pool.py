"""The memory pool: created in blocks, recycled, destroyed; and the frontier that lives in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from topiccrawl.database import Database
from topiccrawl.frontier.base import Limits, Politeness
from topiccrawl.frontier.pool import KnownTable, RecordPool
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.records import MAX_SIM, Candidate, Outcome, Queue, Reason
from topiccrawl.urls import key_hash

DONE = Outcome(queue=Queue.DONE, status=200)


def pool(block: int = 4) -> RecordPool:
    return RecordPool({"number": np.uint32, "cells": (np.uint64, (3,))}, block)


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[SqliteFrontier]:
    database = Database.create(tmp_path)
    yield SqliteFrontier(database, politeness=Politeness(delay=0, per_host=10**6, obey_robots=False))
    database.close()


def links(first: int, n: int, hosts: int = 3) -> list[Candidate]:
    urls = [f"http://h{i % hosts}.test/{i}" for i in range(first, first + n)]
    return [
        Candidate(
            url=url,
            key=url,
            hash=key_hash(url),
            host=url.split("/")[2],
            level=i % 3,
            sim=i * 7919 % MAX_SIM,
            depth=1,
        )
        for i, url in enumerate(urls)
    ]


def nbytes(frontier: SqliteFrontier) -> int:
    return frontier.index.known.nbytes() + frontier.index.pool.nbytes()


@pytest.mark.parametrize("block", [0, -1])
def test_a_block_holds_at_least_one_record(block: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        pool(block)


def test_nothing_is_held_before_the_first_record() -> None:
    assert (pool().capacity, pool().used, pool().nbytes()) == (0, 0, 0)


@pytest.mark.parametrize(("n", "capacity"), [(0, 0), (1, 4), (4, 4), (5, 5), (100, 100)])
def test_records_come_in_blocks(n: int, capacity: int) -> None:
    p = pool()
    assert p.new(n).tolist() == list(range(n))
    assert (p.used, p.capacity) == (n, capacity)
    assert p.column("cells").shape == (capacity, 3)


def test_growth_keeps_the_content() -> None:
    p = pool()
    for i in range(500):
        (slot,) = p.new()
        p.column("number")[slot] = i
        p.column("cells")[slot] = (i, i + 1, i + 2)
    assert p.column("number")[:500].tolist() == list(range(500))
    assert p.column("cells")[499].tolist() == [499, 500, 501]


def test_records_that_were_given_back_are_used_first() -> None:
    p = pool()
    p.new(8)
    p.delete(np.array([2, 5, 7]))
    assert p.used == 5
    assert sorted(p.new(2).tolist() + p.new(1).tolist()) == [2, 5, 7]
    assert (p.used, p.capacity) == (8, 8)
    p.delete(np.array([0]))
    assert p.new(2).tolist() == [0, 8]  # one recycled, one fresh


def test_no_slot_is_given_out_twice_over_many_rounds() -> None:
    """New and delete against a set, in batches of every size; the pool grows no more than it has to."""
    p, rng, held = pool(), np.random.default_rng(3), set[int]()
    most = 0
    for _ in range(300):
        new = p.new(int(rng.integers(0, 40))).tolist()
        assert len(set(new)) == len(new)
        assert not held & set(new)
        held |= set(new)
        most = max(most, len(held))
        back = rng.permutation(sorted(held))[: int(rng.integers(0, len(held) + 1))]
        p.delete(back)
        held -= set(back.tolist())
        assert p.used == len(held)
    assert p.capacity <= most * 9 / 8 + p.block


def test_destroy_frees_everything_and_the_pool_may_be_used_again() -> None:
    p = pool()
    p.delete(p.new(100)[:50])
    assert p.nbytes() > 0
    p.destroy()
    assert (p.used, p.capacity, p.nbytes()) == (0, 0, 0)
    assert p.new(3).tolist() == [0, 1, 2]


def test_rows_of_the_known_table_count_from_1() -> None:
    table = KnownTable({"mark": np.uint8})
    hashes = np.array([0, 5, 2**64 - 1], np.uint64)
    assert table.find(hashes).tolist() == [0, 0, 0]
    assert table.insert(hashes).tolist() == [1, 2, 3]
    assert table.find(hashes[::-1]).tolist() == [3, 2, 1]
    assert table.find(np.array([], np.uint64)).tolist() == []


# ---- the frontier in its pools ----


def test_every_known_url_is_a_record_and_every_waiting_key_lies_in_a_chunk(frontier: SqliteFrontier) -> None:
    frontier.add(links(0, 3000), 1)
    assert frontier.index.known.records.used == 3000
    assert sum(len(host.queue) for host in frontier.index.hosts) == 3000
    assert frontier.index.pool.used >= (3000 - 3 * 128) / 62  # all but what is at the front


def test_chunks_are_recycled_when_urls_were_taken_and_finished(frontier: SqliteFrontier) -> None:
    capacities = []
    for round_ in range(12):
        frontier.add(links(round_ * 2000, 2000), 1)
        leases = frontier.take(2000)
        assert len(leases) == 2000
        assert sum(len(host.queue) for host in frontier.index.hosts) == 0
        assert frontier.index.pool.used == 0
        for lease in leases:
            frontier.finish(lease, DONE)
        capacities.append(frontier.index.pool.capacity)
    assert set(capacities) == {capacities[0]}


def test_chunks_are_recycled_when_urls_are_discarded(frontier: SqliteFrontier) -> None:
    capacities = []
    for _ in range(6):
        frontier.add(links(0, 3000), 1)
        frontier.limits = Limits()
        frontier.rejudge(lambda url, host: None)
        assert frontier.counts()[Queue.WAITING] == 3000
        assert frontier.rejudge(lambda url, host: Reason.DENY) == (0, 3000)
        assert frontier.take(5) == []
        assert frontier.index.pool.used == 0
        capacities.append(frontier.index.pool.capacity)
    assert set(capacities) == {capacities[0]}


def test_close_frees_the_memory(frontier: SqliteFrontier) -> None:
    frontier.add(links(0, 5000), 1)
    frontier.take(10)
    assert nbytes(frontier) > 5000 * 20
    frontier.close()
    assert nbytes(frontier) == 0
    assert len(frontier.index.hosts) == 0


def test_memory_per_url_is_bounded(frontier: SqliteFrontier) -> None:
    """Field case 96: objects per URL come to gigabytes. Here about 40 bytes, growth and free places included."""
    n = 30_000
    for first in range(0, n, 5000):
        frontier.add(links(first, 5000, hosts=50), 1)
    assert nbytes(frontier) / n < 60
