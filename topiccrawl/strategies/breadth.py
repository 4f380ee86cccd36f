"""Breadth first: the shallowest URL first, in the order of discovery."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def priorities(levels: NDArray[Any], sims: NDArray[Any], depths: NDArray[Any]) -> NDArray[np.uint32]:
    return depths.astype(np.uint32)
