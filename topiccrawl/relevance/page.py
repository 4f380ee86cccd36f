"""Page relevance: how far a page's own text is on topic, 0..1, by the weighted topic words in it.

    w   weight of a topic word    tf   5 · count in the title + 3 · in the headings + 1 · in the text
    L   bytes of the text         K    K1 · (1 - B + B · max(L, SHORT) / PIVOT)
    s   tf / (tf + K), the evidence that one word gives: the first mentions count most, and those of a long page less
    x   Σ w·s / (sum of the CORE greatest weights)               relevance   1 - 2^(-x / HALF)

tf over fields before saturation is BM25F (Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted
fields", CIKM 2004); K1 and B are BM25's, PIVOT stands for its average length, which a crawl that has just begun doesn't
know. The weights of the user stand for idf. Dividing by the CORE greatest weights instead of all lets a topic of 50
words reach what one of 5 reaches: no page mentions all of them. x = HALF gives 0.5, the threshold.

Chosen on the recorded web (9,326 pages, 8 topics, two of them Chinese, one threshold for all): mean AUC 0.987, F1 0.78.
With HALF moved along, halving or doubling any other constant changes that F1 by less than 0.02: nothing here is tuned
to one topic. Navigation is not taken out: doing so by links made it worse, for lists of links are about something too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import exp2
from typing import NamedTuple

from topiccrawl.records import Document
from topiccrawl.relevance.vectors import TopicVector

FIELDS = {"title": 5.0, "headings": 3.0, "text": 1.0}
"""Fields of a Document and what one mention there counts. `text` holds the headings too, so a heading counts 4."""

K1, B, PIVOT, SHORT = 2.0, 0.75, 1000, 500
CORE = 5
HALF = 0.2
THRESHOLD = 0.5
MAX_TEXT = 10_000
"""Characters of the text that are read: the start of a longer page tells what it is about. On the recorded web mean F1
(`scrapy evaluate --relevance`) is the same with 200,000, and mean AUC changes by less than 0.002.
"""


class Evidence(NamedTuple):
    """What one topic word in one field adds to the relevance of a page."""

    word: str  # as the user wrote it
    where: str  # title, headings or text
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    contribution: float  # the contributions of a page add up to its relevance


class PageModel:
    """Judges pages by one topic. Not to be shared between threads."""

    def __init__(self, topic: TopicVector, threshold: float = THRESHOLD) -> None:
        self.topic = topic
        self.threshold = threshold
        self._core = sum(sorted(topic.weights.values(), reverse=True)[:CORE])

    def relevance(self, document: Document) -> float:
        """The relevance of a page, 0..1; 0 for one without any topic word, text or topic."""
        counts, length = self._count(document)
        return _squash(sum(share for _, share in self._shares(counts, length)))

    def explain(self, document: Document) -> list[Evidence]:
        """Which topic words stand where, greatest contribution first."""
        counts, length = self._count(document)
        shares = list(self._shares(counts, length))
        total = sum(share for _, share in shares)
        evidence = [
            Evidence(self.topic.word_of(term), field, found[term], _squash(total) * share / total * part)
            for term, share in shares
            for field, found, part in _parts(counts, term)
        ]
        return sorted(evidence, key=lambda item: -item.contribution)

    def is_relevant(self, value: float) -> bool:
        """True for a relevance that makes a page count as on topic."""
        return value >= self.threshold

    def _count(self, document: Document) -> tuple[dict[str, Counter[str]], int]:
        """Per field how often each topic word stands there, and the length of the text."""
        find, text = self.topic.tokenizer.find, document.text[:MAX_TEXT]
        counts = {"title": find(document.title), "headings": find(document.headings), "text": find(text)}
        return counts, len(text.encode("utf-8", "replace"))

    def _shares(self, counts: dict[str, Counter[str]], length: int) -> Iterator[tuple[str, float]]:
        """The topic's terms that occur, and what each adds to x."""
        k = K1 * (1 - B + B * max(length, SHORT) / PIVOT)
        found = set().union(*counts.values())
        for term, weight in self.topic.weights.items() if found else ():
            if term in found:
                tf = sum(boost * counts[field].get(term, 0) for field, boost in FIELDS.items())
                yield term, weight * tf / (tf + k) / self._core


def _parts(counts: dict[str, Counter[str]], term: str) -> Iterator[tuple[str, Counter[str], float]]:
    """The fields in which a term stands, and the part of its tf that comes from there."""
    tf = sum(boost * counts[field][term] for field, boost in FIELDS.items())
    for field, boost in FIELDS.items():
        if counts[field][term]:
            yield field, counts[field], boost * counts[field][term] / tf


def _squash(x: float) -> float:
    return 1.0 - exp2(-x / HALF)
