"""Strategies: the key that each gives a URL, and the order that comes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topiccrawl.database import Database
from topiccrawl.frontier.base import Politeness
from topiccrawl.frontier.order import MAX_PRIORITY
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.parameters import Parameters
from topiccrawl.records import MAX_SIM, Candidate, Outcome, Queue
from topiccrawl.strategies import STRATEGIES
from topiccrawl.urls import key_hash

TREE = {1: [2, 3, 4], 2: [5, 6], 3: [7], 4: [8]}
numbers = st.integers(0, 65535)


def priority(strategy: str, level: int, sim: int, depth: int) -> int:
    (found,) = STRATEGIES[strategy](np.array([level]), np.array([sim]), np.array([depth])).tolist()
    return int(found)


def candidate(number: int, depth: int, level: int = 0, sim: int = 0) -> Candidate:
    url = f"http://s.test/{number}"
    return Candidate(url=url, key=url, hash=key_hash(url), host="s.test", level=level, sim=sim, depth=depth)


def walk(folder: Path, strategy: str, rate: Callable[[int], tuple[int, int]] = lambda number: (0, 0)) -> list[int]:
    """The order in which TREE is fetched with concurrency 1."""
    database = Database.create(folder)
    frontier = SqliteFrontier(
        database, politeness=Politeness(delay=0, obey_robots=False), priorities=STRATEGIES[strategy]
    )
    frontier.add([candidate(1, 0, 0, MAX_SIM)])
    order = []
    while leases := frontier.take(1):
        number = int(leases[0].url.rpartition("/")[2])
        order.append(number)
        found = [candidate(child, leases[0].depth + 1, *rate(child)) for child in TREE.get(number, ())]
        frontier.finish(leases[0], Outcome(queue=Queue.DONE), found)
    database.close()
    return order


@pytest.mark.parametrize(
    ("strategy", "order"), [("breadth", [1, 2, 3, 4, 5, 6, 7, 8]), ("depth", [1, 2, 5, 6, 3, 7, 4, 8])]
)
def test_a_small_tree(tmp_path: Path, strategy: str, order: list[int]) -> None:
    assert walk(tmp_path, strategy) == order


def test_breadth_and_depth_do_not_ask_for_m_and_sim(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "d").mkdir()
    assert walk(tmp_path / "b", "breadth", lambda n: (9 - n, n)) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert walk(tmp_path / "d", "depth", lambda n: (9 - n, n)) == [1, 2, 5, 6, 3, 7, 4, 8]


def test_topic_goes_by_m_then_sim_then_first_come(tmp_path: Path) -> None:
    rates = {2: (1, 900), 3: (0, 10), 4: (1, 900), 5: (0, 5), 6: (2, 0), 7: (1, 901), 8: (0, 0)}
    assert walk(tmp_path, "topic", rates.__getitem__) == [1, 3, 7, 2, 5, 4, 8, 6]


@pytest.mark.parametrize(
    ("strategy", "level", "sim", "depth", "expected"),
    [
        ("topic", 0, MAX_SIM, 9, 0),  # a seed
        ("topic", 0, 0, 9, 65535),
        ("topic", 1, MAX_SIM, 9, 1 << 16),
        ("topic", 65535, 0, 9, MAX_PRIORITY),
        ("breadth", 5, 5, 0, 0),
        ("breadth", 5, 5, 65535, 65535),
        ("depth", 5, 5, 0, MAX_PRIORITY),
        ("depth", 5, 5, 65535, MAX_PRIORITY - 65535),
    ],
)
def test_keys(strategy: str, level: int, sim: int, depth: int, expected: int) -> None:
    assert priority(strategy, level, sim, depth) == expected


@given(numbers, numbers, numbers, numbers)
def test_the_key_of_topic_orders_as_the_pair_does(level: int, sim: int, other_level: int, other_sim: int) -> None:
    key, other = priority("topic", level, sim, 0), priority("topic", other_level, other_sim, 0)
    assert (key < other) is ((level, -sim) < (other_level, -other_sim))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("dtype", [np.uint16, np.int64])
def test_every_strategy_gives_one_uint32_a_url(strategy: str, dtype: Any) -> None:
    """The columns of the pool are uint16: a shift in that type would lose the level."""
    parts = [np.array([0, 3, 65535], dtype)] * 3
    keys = STRATEGIES[strategy](*parts)
    assert keys.dtype == np.uint32
    assert keys.tolist() == [priority(strategy, int(n), int(n), int(n)) for n in parts[0]]
    assert STRATEGIES[strategy](*[np.empty(0, dtype)] * 3).tolist() == []


def test_the_parameter_names_every_strategy() -> None:
    assert set(get_args(Parameters.model_fields["strategy"].annotation)) == set(STRATEGIES)
