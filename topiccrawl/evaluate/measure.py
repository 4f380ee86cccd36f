"""What an order of fetches is worth, given the pages that are on topic.

R         on-topic pages that can be reached from the seeds     hit     an on-topic page, the first time it is fetched
harvest   hits / fetches                                        recall  hits / R
area      under the curve of recall up to HORIZON · R fetches, as a share of the oracle's
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

AT = (1, 2, 4)
"""Harvest and recall are taken at these multiples of R."""
HORIZON = AT[-1]


class Measures(msgspec.Struct, frozen=True, kw_only=True):
    """One crawl, measured."""

    reachable: int  # R
    fetches: int  # made, at most HORIZON · R
    hits: int
    harvest: tuple[float, ...]  # at AT · R
    recall: tuple[float, ...]
    area: float
    first_hit: int | None  # fetches up to the first hit that is no seed


def curve(pages: Sequence[str], wanted: Collection[str], length: int) -> NDArray[np.int64]:
    """Hits after 1 ... `length` fetches; a crawl that ends before keeps its last value."""
    seen: set[str] = set()
    hits = np.zeros(length, np.int64)
    for place, page in enumerate(pages[:length]):
        if page in wanted and page not in seen:
            seen.add(page)
            hits[place] = 1
    return np.cumsum(hits)


def measure(
    pages: Sequence[str], wanted: Collection[str], reachable: int, best: NDArray[np.int64], seeds: Collection[str] = ()
) -> Measures:
    """`pages` in the order of fetches; `best` is the oracle's curve; `seeds` are names of pages."""
    length = HORIZON * reachable
    hits = curve(pages, wanted, length)
    made = min(len(pages), length)
    places = [times * reachable for times in AT]
    first = (place for place, page in enumerate(pages[:length], 1) if page in wanted and page not in seeds)
    return Measures(
        reachable=reachable,
        fetches=made,
        hits=int(hits[-1]) if length else 0,
        harvest=tuple(float(hits[at - 1]) / max(1, min(at, made)) for at in places) if length else (0.0,) * len(AT),
        recall=tuple(float(hits[at - 1]) / reachable for at in places) if length else (0.0,) * len(AT),
        area=float(hits.sum() / best.sum()) if length and best.any() else 0.0,
        first_hit=next(first, None),
    )


def auc(scores: NDArray[np.float64], relevant: NDArray[np.bool_]) -> float:
    """The chance that a relevant page has a greater score than another one; ties count half. 0.5 without both kinds."""
    positive = int(relevant.sum())
    negative = len(relevant) - positive
    if not positive or not negative:
        return 0.5
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    return float((ranks[relevant].sum() - positive * (positive + 1) / 2) / (positive * negative))


def f1(said: NDArray[np.bool_], relevant: NDArray[np.bool_]) -> float:
    """The harmonic mean of precision and recall."""
    both = int((said & relevant).sum())
    total = int(said.sum() + relevant.sum())
    return 2 * both / total if total else 0.0
