"""Depth first: the deepest URL first. On a tree this is preorder, since only one family waits at each depth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def priorities(levels: NDArray[Any], sims: NDArray[Any], depths: NDArray[Any]) -> NDArray[np.uint32]:
    return np.uint32(0xFFFFFFFF) - depths.astype(np.uint32)
