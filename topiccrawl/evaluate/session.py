"""Runs contenders on the topics of a recorded web, and keeps what they share: parsed pages, graph, page relevance."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from topiccrawl.evaluate.contenders import ORACLE, ORDERS, Contender, Order
from topiccrawl.evaluate.graph import Graph, oracle
from topiccrawl.evaluate.measure import HORIZON, Measures, auc, curve, f1, measure
from topiccrawl.evaluate.parsed import ParsedWeb
from topiccrawl.evaluate.replay import Pace, Replay
from topiccrawl.evaluate.web import RecordedWeb
from topiccrawl.frontier.base import MAX_DEPTH
from topiccrawl.judge import Judge
from topiccrawl.records import Document
from topiccrawl.relevance.page import PageModel
from topiccrawl.relevance.vectors import TopicVector
from topiccrawl.scope import Scope
from topiccrawl.topics import Topic, learn_topic


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One crawl: a row of the tables and of the JSON file."""

    topic: str
    seeds: str
    strategy: str
    measures: Measures
    seconds: float  # wall time
    virtual: float  # simulated time at the last fetch
    pages: list[str]  # fetched, in order


class PageScores(msgspec.Struct, frozen=True, kw_only=True):
    """How page relevance agrees with the truth on one topic."""

    topic: str
    pages: int
    relevant: int  # by the truth
    auc: float
    f1: float  # of `relevant`, by the product's threshold
    f1_at: dict[str, float]  # by other thresholds


class RememberedModel(PageModel):
    """Page relevance, worked out once per document."""

    def __init__(self, topic: TopicVector) -> None:
        super().__init__(topic)
        self._known: dict[int, tuple[Document, float]] = {}  # the document is kept, or its id might be used again

    def relevance(self, document: Document) -> float:
        known = self._known.get(id(document))
        if known is None:
            known = self._known[id(document)] = (document, super().relevance(document))
        return known[1]


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A topic with one set of seeds."""

    name: str
    folder: str  # of the seeds
    topic: Topic
    seeds: tuple[str, ...]
    seed_pages: frozenset[str]
    wanted: frozenset[str]  # names of on-topic pages
    reachable: int
    best: NDArray[np.int64]  # the oracle's curve
    oracle: list[str]  # its pages


class Session:
    """All that one evaluation shares."""

    def __init__(
        self,
        web: RecordedWeb,
        *,
        cache: Path | None = None,
        pace: Pace | None = None,
        budget: int | None = None,
        seed: int = 1,
        everything: bool = False,
    ) -> None:
        """`everything`: URLs that give no page (dead, redirects, other types) count as fetches too."""
        self.web = web
        self.parsed = ParsedWeb(web, cache)
        self.scope = Scope({name.partition(":")[0] for name in web.hosts})
        self._pace = pace or Pace()
        self._budget = budget
        self._seed = seed
        self._everything = everything
        self._graph = Graph(self.parsed, _judge(self.scope, {"m0": 1, "b": 0.5, "f": 0, "m_min": 0}))
        self._models: dict[tuple[object, ...], RememberedModel] = {}

    def close(self) -> None:
        self.parsed.close()

    def subject(self, name: str, folder: str) -> Subject:
        topic, seeds = self.web.topic(name), self.web.seeds(name, folder)
        wanted = frozenset(judged.page for judged in self.web.truth(name) if judged.grade >= 1)
        reach = self._graph.reach(seeds)
        reachable = len({self._graph.pages[node] for node in reach} & wanted)
        best = list(self._counted(oracle(self._graph, seeds, wanted), HORIZON * reachable))
        return Subject(
            name=name,
            folder=folder,
            topic=topic,
            seeds=seeds,
            seed_pages=frozenset(self.parsed.visit(seed).page for seed in seeds),
            wanted=wanted,
            reachable=reachable,
            best=curve(best, wanted, HORIZON * reachable),
            oracle=best,
        )

    def run(self, subject: Subject, contender: Contender) -> Run:
        begun, last = time.perf_counter(), [0.0]
        if contender.kind == ORACLE:
            pages = subject.oracle
        else:
            replay = self._replay(subject, contender)
            pages = self._fetched(replay, self._budget or HORIZON * subject.reachable, last)
        return Run(
            topic=subject.name,
            seeds=subject.folder,
            strategy=contender.name,
            measures=measure(pages, subject.wanted, subject.reachable, subject.best, subject.seed_pages),
            seconds=time.perf_counter() - begun,
            virtual=last[0],
            pages=pages,
        )

    def learned(self, subject: Subject) -> Topic:
        """The topic that a crawl would learn from the pages of the seeds."""
        visits = ((seed, self.parsed.visit(seed).document) for seed in subject.seeds)
        return learn_topic([(seed, document) for seed, document in visits if document])

    def page_scores(self, name: str, thresholds: Sequence[float] = ()) -> PageScores:
        """Page relevance on every page of the truth."""
        model = self._model(self.web.topic(name), None, ())
        visits = ((self.parsed.visit(judged.url), judged.grade) for judged in self.web.truth(name))
        graded = [(visit.document, grade) for visit, grade in visits if visit.document is not None]
        scores = np.array([model.relevance(document) for document, _ in graded])
        relevant = np.array([grade >= 1 for _, grade in graded], bool)
        return PageScores(
            topic=name,
            pages=len(graded),
            relevant=int(relevant.sum()),
            auc=auc(scores, relevant),
            f1=f1(scores >= model.threshold, relevant),
            f1_at={f"{threshold:g}": f1(scores >= threshold, relevant) for threshold in thresholds},
        )

    def _replay(self, subject: Subject, contender: Contender) -> Replay:
        topic = self.learned(subject) if contender.learned else subject.topic
        model = self._model(topic, contender, (contender.stem, contender.stop))
        judge = _judge(self.scope, contender.parameters)
        judge.vector = model.topic  # and no model: the relevance of pages has no part in the order
        order: Order = ORDERS[contender.kind](model.topic, model, self._seed)
        return Replay(self.parsed, subject.seeds, judge, order, self._pace)

    def _model(self, topic: Topic, contender: Contender | None, switches: tuple[object, ...]) -> RememberedModel:
        key = (*topic.words.items(), *(switches or (True, True)))
        if key not in self._models:
            tokenizer = contender.tokenizer(list(topic.words)) if contender else None
            self._models[key] = RememberedModel(TopicVector(topic.words, tokenizer))
        return self._models[key]

    def _fetched(self, replay: Replay, most: int, last: list[float]) -> list[str]:
        def pages() -> Iterator[str]:
            for step in replay.steps():
                last[0] = step.at
                yield step.page

        return list(self._counted(pages(), most))

    def _counted(self, pages: Iterable[str], most: int) -> Iterator[str]:
        """The fetches that count."""
        return islice((page for page in pages if page or self._everything), most)


def _judge(scope: Scope, p: Mapping[str, float]) -> Judge:
    return Judge(None, scope, m0=p["m0"], b=p["b"], f=p["f"], m_min=p["m_min"], max_depth=MAX_DEPTH)
