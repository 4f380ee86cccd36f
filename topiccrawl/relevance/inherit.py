"""m, the trust that a URL inherits from the page that links to it (DESIGN section 2, steps 1, 6 and 7).

    m       relevance message value, m = m0 * b**k     k, level   links without relevance on the way here, 0..MAX_LEVEL
    m0      m of the seeds                             sim        0..MAX_SIM, see vectors.py
    b       inheritance, 0 < b < 1                     f          relevance threshold on sim, 0..1
    m_min   a URL with m below it is discarded

m is kept as its level, an integer, so that every store orders alike; only `m_value` turns it into a number to show.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topiccrawl.records import MAX_SIM

MAX_LEVEL = 65535


def sim_threshold(f: float) -> int:
    """The f of 0..1 on the scale of sim, 0..MAX_SIM."""
    return round(MAX_SIM * f)


def child_levels(sims: NDArray[np.uint16], parent_level: int, threshold: int) -> NDArray[np.int64]:
    """The level of every link of a page: 0 where sim reaches the threshold, else one more than the page's own."""
    return np.where(sims >= threshold, 0, min(parent_level + 1, MAX_LEVEL)).astype(np.int64)


def m_value(level: int, m0: float, b: float) -> float:
    """m of a level."""
    return m0 * b**level


def max_level(m0: float, b: float, m_min: float) -> int:
    """The greatest level whose m, as `m_value` computes it, still reaches m_min.

    -1 when not even m0 does, MAX_LEVEL when m_min is 0 or less. Found by halving, not by a logarithm, whose rounding
    would disagree with m0 * b**k exactly where it matters.
    """
    low, high = -1, MAX_LEVEL
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if m_value(middle, m0, b) >= m_min else (low, middle - 1)
    return low
