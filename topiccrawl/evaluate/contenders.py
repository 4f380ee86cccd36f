"""The orders that are compared. Each drives the same frontier and differs in how it rates what a page links to.

    topic        the published algorithm, with any f, b, m0, m_min   breadth, depth   the product's strategies
    best-first   by sim of the link text alone                       random           a fair shuffle
    url-words    by the share of the topic words in the URL          shark            Shark-search
    pagerank     by PageRank over the links seen so far              oracle           graph.py: knows every grade

An order that is no strategy of the product writes its own figure into `sim`, which the frontier then keeps the best of.
None but `topic` discards for m, so that each can show what it finds with all the time it wants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from topiccrawl.errors import ParameterError
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.parameters import Parameters
from topiccrawl.records import MAX_SIM, Candidate, Lease, Page
from topiccrawl.relevance.page import PageModel
from topiccrawl.relevance.text import Tokenizer, split_words, stop_words
from topiccrawl.relevance.vectors import TopicVector
from topiccrawl.strategies import STRATEGIES, Priorities
from topiccrawl.urls import key_hash

DEFAULTS = {name: float(Parameters.model_fields[name].default) for name in ("m0", "b", "f", "m_min")}


class Order:
    """What a contender adds to the frontier and the judge: by default nothing."""

    priorities: Priorities = staticmethod(STRATEGIES["topic"])

    def rate(self, lease: Lease, page: Page, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates of a page with the pair (level, sim) by which they are to wait."""
        return candidates

    def reorder(self, frontier: SqliteFrontier) -> None:
        """Called before each take."""


class Strategy(Order):
    """A strategy of the product."""

    def __init__(self, name: str) -> None:
        self.priorities = STRATEGIES[name]


class Rated(Order):
    """A figure from 0 to 1 for each candidate, the greatest first."""

    def rate(self, lease: Lease, page: Page, candidates: list[Candidate]) -> list[Candidate]:
        return [
            msgspec.structs.replace(candidate, level=0, sim=round(MAX_SIM * figure))
            for candidate, figure in zip(candidates, self.figures(lease, page, candidates), strict=True)
        ]

    def figures(self, lease: Lease, page: Page, candidates: Sequence[Candidate]) -> Sequence[float]:
        raise NotImplementedError


class BestFirst(Rated):
    """By the sim of the link text, as the judge gives it."""

    def figures(self, lease: Lease, page: Page, candidates: Sequence[Candidate]) -> Sequence[float]:
        return [candidate.sim / MAX_SIM for candidate in candidates]


class UrlWords(Rated):
    """By the share of the topic words that stand in the URL: what KeywordRelevanceScorer of crawl4ai does."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [word.lower() for word in words]

    def figures(self, lease: Lease, page: Page, candidates: Sequence[Candidate]) -> Sequence[float]:
        urls = [candidate.url.lower() for candidate in candidates]
        return [sum(word in url for word in self._words) / len(self._words) for url in urls]


class Shuffled(Rated):
    """A number for each URL, the same on every page that links to it."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def figures(self, lease: Lease, page: Page, candidates: Sequence[Candidate]) -> Sequence[float]:
        return [(key_hash(f"{self._seed} {candidate.hash}") & 0xFFFF) / 0xFFFF for candidate in candidates]


class Shark(Rated):
    """Shark-search (Hersovici and others, WWW7, 1998), with the sim of the link text as the anchor's score.

    score = GAMMA · inherited + (1 - GAMMA) · anchor; inherited = DELTA · (the page's own relevance, or what it
    inherited itself where it has none). Pages don't keep the text around a link, so the anchor stands alone.
    """

    GAMMA, DELTA = 0.5, 0.5

    def __init__(self, model: PageModel) -> None:
        self._model = model
        self._inherited: dict[int, float] = {}  # the best inherited score, by hash of the URL key

    def figures(self, lease: Lease, page: Page, candidates: Sequence[Candidate]) -> Sequence[float]:
        own = self._model.relevance(page.document)
        inherited = self.DELTA * (own or self._inherited.get(key_hash(lease.key), 0.0))
        for candidate in candidates:
            if inherited > self._inherited.get(candidate.hash, 0.0):
                self._inherited[candidate.hash] = inherited
        return [self.GAMMA * inherited + (1 - self.GAMMA) * c.sim / MAX_SIM for c in candidates]


class PageRank(Order):
    """By PageRank over the links seen so far, worked out anew whenever the crawl has grown by a twentieth.

    A URL that came since then waits behind all that have a rank.
    """

    DAMPING, ROUNDS, GROWTH, FIRST = 0.85, 20, 1.05, 10

    def __init__(self) -> None:
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._numbers: dict[int, int] = {}
        self._pages = 0
        self._next = float(self.FIRST)

    @staticmethod
    def priorities(levels: NDArray[Any], sims: NDArray[Any], depths: NDArray[Any]) -> NDArray[np.uint32]:
        return np.where(depths == 0, 0, 0xFFFFFFFF).astype(np.uint32)

    def rate(self, lease: Lease, page: Page, candidates: list[Candidate]) -> list[Candidate]:
        source = self._number(key_hash(lease.key))
        targets = [self._number(candidate.hash) for candidate in candidates]
        self._sources += [source] * len(targets)
        self._targets += targets
        self._pages += 1
        # All alike, so that no link changes a place in the order but by its rank.
        return [msgspec.structs.replace(candidate, level=0, sim=0, depth=1) for candidate in candidates]

    def reorder(self, frontier: SqliteFrontier) -> None:
        if self._pages < self._next:
            return
        self._next = max(self._next + 1, self._next * self.GROWTH)
        ranks = self._ranks()
        hashes = np.fromiter(self._numbers, np.uint64, len(self._numbers))
        rows = frontier.index.known.find(hashes)
        priorities = np.full(len(frontier.index), 0xFFFFFFFF, np.uint32)
        priorities[rows[rows > 0] - 1] = 0xFFFFFFFE - np.round(ranks[rows > 0] / ranks.max() * 0xFFFFFF00).astype(
            np.int64
        )
        frontier.reprioritise(priorities)

    def _number(self, hash: int) -> int:
        return self._numbers.setdefault(hash, len(self._numbers))

    def _ranks(self) -> NDArray[np.float64]:
        n = len(self._numbers)
        sources, targets = np.array(self._sources, np.intp), np.array(self._targets, np.intp)
        out = np.bincount(sources, minlength=n).astype(np.float64)
        ranks = np.full(n, 1 / n)
        for _ in range(self.ROUNDS):
            share = np.divide(ranks, out, out=np.zeros(n), where=out > 0)
            spread = np.bincount(targets, share[sources], minlength=n)
            ranks = self.DAMPING * spread + (1 - self.DAMPING * spread.sum()) / n
        return ranks


@dataclass(frozen=True)
class Contender:
    """A named order with its parameters."""

    name: str  # as tables show it
    kind: str
    parameters: Mapping[str, float] = field(default_factory=dict)  # m0, b, f, m_min
    learned: bool = False  # the topic is learned from the seeds
    stem: bool = True
    stop: bool = True  # stop words are left out

    def tokenizer(self, words: Sequence[str]) -> Tokenizer | None:
        """None: the product's own."""
        return None if self.stem and self.stop else _Plainer(words, stem=self.stem, stop=self.stop)


ORDERS: dict[str, Callable[[TopicVector, PageModel, int], Order]] = {
    "topic": lambda vector, model, seed: Strategy("topic"),
    "best-first": lambda vector, model, seed: BestFirst(),
    "url-words": lambda vector, model, seed: UrlWords(list(vector.words)),
    "shark": lambda vector, model, seed: Shark(model),
    "pagerank": lambda vector, model, seed: PageRank(),
    "breadth": lambda vector, model, seed: Strategy("breadth"),
    "depth": lambda vector, model, seed: Strategy("depth"),
    "random": lambda vector, model, seed: Shuffled(seed),
}
ORACLE, LEARNED = "oracle", "learned"
SWITCHES = ("stem", "stop")
NAMES = (*ORDERS, LEARNED, ORACLE)


def contender(text: str) -> Contender:
    """The contender that `NAME` or `NAME:f=0.1,m_min=0,stem=0` means; ParameterError if there is none."""
    kind, _, rest = text.partition(":")
    if kind not in NAMES:
        raise ParameterError(
            f"no strategy {kind!r}; known are {', '.join(NAMES)}, and topic:f=0.1,m_min=0 and its like"
        )
    base = DEFAULTS if kind in ("topic", LEARNED) else {**DEFAULTS, "m_min": 0.0}
    given: dict[str, float] = {}
    for part in filter(None, rest.split(",")):
        name, _, value = part.partition("=")
        try:
            given[name] = float(value)
        except ValueError:
            raise ParameterError(f"{text}: {part!r} is not NAME=NUMBER, as in topic:f=0.1,m_min=0") from None
        if name not in (*DEFAULTS, *SWITCHES):
            raise ParameterError(f"{text}: no parameter {name!r}; known are {', '.join((*DEFAULTS, *SWITCHES))}")
    parameters = {**base, **{name: value for name, value in given.items() if name in DEFAULTS}}
    return Contender(
        name=text,
        kind="topic" if kind == LEARNED else kind,
        parameters=parameters,
        learned=kind == LEARNED,
        stem=bool(given.get("stem", 1)),
        stop=bool(given.get("stop", 1)),
    )


def sweep() -> list[Contender]:
    """The sweeps of `topic`: one parameter at a time, the others as they are by default."""
    values = {
        "f": (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4),
        "b": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        "m_min": (0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0),
        "m0": (0.1, 0.2, 0.5, 1.0),
        "stem": (0, 1),
        "stop": (0, 1),
    }
    return [contender(f"topic:{name}={value:g}") for name, choices in values.items() for value in choices]


class _Plainer(Tokenizer):
    """The product's tokenizer without stemming, or with stop words counted."""

    def __init__(self, phrases: Sequence[str], *, stem: bool, stop: bool) -> None:
        self._stem_too, self._without = stem, stop_words() if stop else frozenset()
        super().__init__(phrases)

    def _words(self, text: str) -> list[str]:
        return list(map(self._term, split_words(text)))

    def _term(self, word: str) -> str:
        stemmed = self._stems[word]
        if stemmed[0] == self._stems.STOP and not self._without:
            return word
        return stemmed if self._stem_too or stemmed[0] == self._stems.STOP else word
