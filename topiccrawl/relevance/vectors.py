"""sim, the likeness of a link text and the topic: the cosine of their term vectors (DESIGN section 1).

tf     how often a term stands in the link text    left    sqrt(Σ tf²) over all its terms, stop words apart
w      a term's weight in the topic                right   sqrt(Σ w²) over the topic
dot    Σ tf·w                                      sim     round(MAX_SIM · dot / (left · right)), 0 when dot is 0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import repeat
from math import sqrt

import msgspec
import numpy as np
from numpy.typing import NDArray

from topiccrawl.errors import TopicError
from topiccrawl.records import MAX_SIM
from topiccrawl.relevance.text import Tokenizer

MAX_TEXT = 1000
"""Characters of a link text that count: a whole article inside one <a> must not cost more than a page."""
CACHE = 50_000
"""Link texts whose sim is remembered: navigation repeats on every page."""

MIN_WEIGHT, MAX_WEIGHT = 1e-6, 1e6
"""Weights outside would overflow or vanish when they are squared, and sim would be no number."""


def is_weight(weight: float) -> bool:
    """True for a weight that a topic word can have; never for nan, infinity, 0 or less."""
    return MIN_WEIGHT <= weight <= MAX_WEIGHT


class Match(msgspec.Struct, frozen=True):
    """A topic word found in a text."""

    term: str
    word: str  # as the user wrote it
    count: int
    weight: float


class TopicVector:
    """The topic as a vector over terms. Not to be shared between threads.

    Words with one term ("index", "indexes") are one dimension, which has the greatest of their weights.
    """

    def __init__(self, weights: Mapping[str, float], tokenizer: Tokenizer | None = None) -> None:
        """`weights` by the user's words, each passing `is_weight`, else TopicError; `tokenizer` must know the words."""
        self.words = dict(weights)
        self.tokenizer = tokenizer or Tokenizer(self.words)
        self.weights: dict[str, float] = {}
        self._word_of: dict[str, str] = {}
        for word, weight in self.words.items():
            if not is_weight(weight):
                raise TopicError(f"topic word {word!r}: weight {weight} is not above 0; give it a number like 1 or 2.5")
            term = self.tokenizer.canonical(word)
            if weight > self.weights.get(term, 0.0):
                self.weights[term] = weight
                self._word_of[term] = word
        self.norm = sqrt(sum(weight * weight for weight in self.weights.values()))
        self._cache: dict[str, int] = {}

    def sims(self, texts: Sequence[str]) -> NDArray[np.uint16]:
        """The sim of every link text, 0..MAX_SIM, in the order given."""
        cut = [text[:MAX_TEXT] for text in texts]
        new = list(dict.fromkeys(text for text in cut if text not in self._cache))
        if len(self._cache) + len(new) > CACHE:
            self._cache.clear()
            new = list(dict.fromkeys(cut))
        self._cache.update(zip(new, self._compute(new).tolist(), strict=True))
        return np.fromiter(map(self._cache.__getitem__, cut), dtype=np.uint16, count=len(cut))

    def explain(self, text: str) -> list[Match]:
        """The topic words in a link text, greatest share of dot first."""
        counts = Counter(self.tokenizer.terms(text[:MAX_TEXT]))
        matches = [
            Match(term, self._word_of[term], count, self.weights[term])
            for term, count in counts.items()
            if term in self.weights
        ]
        return sorted(matches, key=lambda match: -match.count * match.weight)

    def word_of(self, term: str) -> str:
        """The user's word behind a term of the topic; of several the one with the greatest weight."""
        return self._word_of[term]

    def _compute(self, texts: Sequence[str]) -> NDArray[np.uint16]:
        """All texts at once: one entry per text and term, summed by text."""
        rows: list[int] = []
        frequencies: list[int] = []
        weights: list[float] = []
        for row, text in enumerate(texts):
            # In the order of the text: sums of floats depend on it, and tests compare with the formula as written.
            counts: dict[str, int] = {}
            for term in self.tokenizer.terms(text):  # faster than a Counter, for a few words
                counts[term] = counts.get(term, 0) + 1
            rows += [row] * len(counts)
            frequencies += counts.values()
            weights += map(self.weights.get, counts, repeat(0.0))
        row_of = np.array(rows, dtype=np.intp)
        tf = np.array(frequencies, dtype=np.float64)
        dot = np.bincount(row_of, tf * np.array(weights, dtype=np.float64), minlength=len(texts))
        left = np.sqrt(np.bincount(row_of, tf * tf, minlength=len(texts)))
        sims = np.zeros(len(texts))
        np.divide(MAX_SIM * dot, left * self.norm, out=sims, where=dot > 0)
        return np.minimum(np.rint(sims), MAX_SIM).astype(np.uint16)
