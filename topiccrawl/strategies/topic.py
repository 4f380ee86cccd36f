"""The published algorithm: m descending, then sim descending."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def priorities(levels: NDArray[Any], sims: NDArray[Any], depths: NDArray[Any]) -> NDArray[np.uint32]:
    """16 bits of level above 16 bits of 65535 - sim; m = m0·b^level falls as the level grows, whatever m0 and b."""
    return (levels.astype(np.uint32) << np.uint32(16)) | (np.uint32(0xFFFF) - sims.astype(np.uint32))
