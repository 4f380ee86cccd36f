"""Strategies: the order in which waiting is taken. One file a strategy; each has one function `priorities`.

    priorities(levels, sims, depths) -> uint32 array, smaller is fetched earlier; ties go to first come

To add one: write the file, add it to `STRATEGIES`, and describe it in docs/reference/parameters.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topiccrawl.strategies import breadth, depth, topic

Priorities = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], NDArray[np.uint32]]

STRATEGIES: dict[str, Priorities] = {
    "topic": topic.priorities,
    "breadth": breadth.priorities,
    "depth": depth.priorities,
}
