"""m and its levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topiccrawl.relevance.inherit import MAX_LEVEL, child_levels, m_value, max_level, sim_threshold


@pytest.mark.parametrize(("f", "threshold"), [(0, 0), (0.05, 3277), (0.3, 19660), (0.5, 32768), (1, 65535)])
def test_sim_threshold(f: float, threshold: int) -> None:
    assert sim_threshold(f) == threshold


@pytest.mark.parametrize(
    ("parent", "expected"), [(0, [1, 1, 0, 0]), (3, [4, 4, 0, 0]), (MAX_LEVEL, [MAX_LEVEL, MAX_LEVEL, 0, 0])]
)
def test_child_levels(parent: int, expected: list[int]) -> None:
    """A link that reaches f restores m to m0, whatever its parent had; any other one falls by b."""
    levels = child_levels(np.array([0, 3276, 3277, 65535], dtype=np.uint16), parent, sim_threshold(0.05))
    assert levels.tolist() == expected
    assert levels.dtype == np.int64


def test_child_levels_of_no_links() -> None:
    assert child_levels(np.array([], dtype=np.uint16), 0, 1).tolist() == []


@pytest.mark.parametrize(
    ("m0", "b", "m_min", "level"),
    [
        (1.0, 0.5, 0.05, 4),
        (1.0, 0.5, 0.2, 2),
        (1.0, 0.5, 0.25, 2),  # m that equals m_min is kept
        (1.0, 0.1, 1e-3, 3 if 0.1**3 >= 1e-3 else 2),
        (1.0, 0.5, 1.0, 0),
        (0.5, 0.5, 0.6, -1),  # not even a seed reaches it
        (1.0, 0.5, 0.0, MAX_LEVEL),
        (1.0, 0.5, -1.0, MAX_LEVEL),
        (1.0, 0.999999, 0.5, MAX_LEVEL),
    ],
)
def test_max_level(m0: float, b: float, m_min: float, level: int) -> None:
    assert max_level(m0, b, m_min) == level


@given(st.floats(0.01, 10), st.floats(0.01, 0.98), st.floats(0.0001, 10))
def test_max_level_equals_a_naive_loop(m0: float, b: float, m_min: float) -> None:
    naive = -1
    while m0 * b ** (naive + 1) >= m_min:
        naive += 1
    assert max_level(m0, b, m_min) == naive


@given(st.floats(0.01, 1), st.integers(1, 9), st.integers(0, 40))
def test_max_level_where_m_min_is_exactly_a_level(m0: float, tenths: int, level: int) -> None:
    b = tenths / 10
    assert max_level(m0, b, m0 * b**level) == level


@given(st.integers(0, MAX_LEVEL), st.floats(0, 1), st.floats(0.01, 0.99))
def test_m_stays_between_0_and_m0(level: int, m0: float, b: float) -> None:
    assert 0 <= m_value(level, m0, b) <= m0
