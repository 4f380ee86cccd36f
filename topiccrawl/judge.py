"""Steps 5 to 7 of the algorithm: what a page's links and its own text are worth, given the topic.

The frontier decides what happens to a URL that is already known; here a link only gets its sim, its level, and the
verdict of the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from topiccrawl.frontier.base import Limits
from topiccrawl.records import MAX_SIM, Candidate, Link, Page, Queue, Reason, ScoredLink
from topiccrawl.relevance.inherit import child_levels, m_value, max_level, sim_threshold
from topiccrawl.relevance.page import PageModel
from topiccrawl.relevance.vectors import TopicVector
from topiccrawl.scope import Scope
from topiccrawl.topics import Topic
from topiccrawl.urls import host_of, is_http, key_hash, url_key

IDENTITIES = 200_000  # URLs whose key is remembered: most links of a page were on the page before


QueuesOf = Callable[[NDArray[np.uint64]], Sequence[Queue | None]]


class Identity(NamedTuple):
    key: str
    hash: int
    host: str
    refusal: Reason | None


class Judge:
    """Scores links and pages. Without a topic (it is still being learned) everything stays unscored."""

    def __init__(
        self, topic: Topic | None, scope: Scope, *, m0: float, b: float, f: float, m_min: float, max_depth: int
    ) -> None:
        self.m0, self.b = m0, b
        self.threshold = sim_threshold(f)
        self.limits = Limits(max_level=max_level(m0, b, m_min), max_depth=max_depth)
        self.scope = scope
        self.vector: TopicVector | None = None
        self.model: PageModel | None = None
        self.identity = lru_cache(maxsize=IDENTITIES)(self._identity)
        if topic is not None:
            self.learned(topic)

    def learned(self, topic: Topic) -> None:
        """The topic is known from now on."""
        self.vector = TopicVector(topic.words)
        self.model = PageModel(self.vector)

    def m(self, level: int) -> float:
        """The relevance message value of a level, in [0, m0]."""
        return m_value(level, self.m0, self.b)

    def score(self, page: Page, queues_of: QueuesOf | None = None, *, follow: bool = True) -> Page:
        """The page with its relevance, and its links with sim, level and the reason that would keep them out.

        `queues_of` is the frontier's: it tells which links were known already. Without `follow` the links are scored,
        and lead nowhere.
        """
        links = page.document.links
        relevance = None if self.model is None else self.model.relevance(page.document)
        relevant = relevance is not None and self.model is not None and self.model.is_relevant(relevance)
        sims: Sequence[int | None] = [None] * len(links)
        levels: Sequence[int | None] = sims
        if self.vector is not None:
            found = self.vector.sims([link.text for link in links])
            sims, levels = found.tolist(), child_levels(found, page.level, self.threshold).tolist()
        identities = [self.identity(link.url) for link in links]
        known: Sequence[Queue | None] = [None] * len(links)
        if queues_of is not None and links:
            known = queues_of(np.fromiter((i.hash for i in identities), np.uint64, len(links)))
        depth = page.depth + 1
        scored = tuple(map(self._scored, links, identities, sims, levels, known, repeat(depth)))
        if not follow:
            scored = tuple(msgspec.structs.replace(link, reason=Reason.NOFOLLOW, known_as=None) for link in scored)
        return replace(page, relevance=relevance, relevant=relevant, links=scored)

    def candidates(self, page: Page) -> list[Candidate]:
        """One candidate per URL key, in document order, with the best of its links' sims."""
        best: dict[int, ScoredLink] = {}
        for link in page.links:
            if link.reason is Reason.NOFOLLOW:
                continue
            old = best.get(link.hash)
            if old is None:
                best[link.hash] = link
            elif (link.sim or 0) > (old.sim or 0):
                # The first spelling is the one that is fetched, the best text the one that counts.
                best[link.hash] = ScoredLink(
                    link=Link(url=old.link.url, text=link.link.text, nofollow=old.link.nofollow),
                    key=old.key,
                    hash=old.hash,
                    sim=link.sim,
                    level=link.level,
                )
        return [self._candidate(link, page.depth + 1) for link in best.values()]

    def seeds(self, urls: Sequence[str]) -> list[Candidate]:
        """Seeds: m = m0, the highest sim, depth 0, no rule keeps them out."""
        found = ((url, self.identity(url)) for url in urls)
        return [
            Candidate(url=url, key=i.key, hash=i.hash, host=i.host, level=0, sim=MAX_SIM, depth=0) for url, i in found
        ]

    def one(self, url: str, *, level: int, sim: int, depth: int, text: str, hops: int = 0) -> Candidate:
        """A single candidate that is no link of a page: the target of a redirect, a Request of a user's spider."""
        i = self.identity(url)
        return Candidate(
            url=url,
            key=i.key,
            hash=i.hash,
            host=i.host,
            level=level,
            sim=sim,
            depth=depth,
            text=text,
            refusal=i.refusal,
            hops=hops,
        )

    def child(self, text: str, parent_level: int) -> tuple[int, int]:
        """(level, sim) of a link with this text behind a page of this level."""
        if self.vector is None:
            return parent_level, 0
        sims: NDArray[np.uint16] = self.vector.sims([text])
        return int(child_levels(sims, parent_level, self.threshold)[0]), int(sims[0])

    def _identity(self, url: str) -> Identity:
        key = url_key(url)
        host = host_of(url) if is_http(url) else ""
        return Identity(key, key_hash(key), host, self.scope.refusal(url, host))

    def _scored(
        self, link: Link, i: Identity, sim: int | None, level: int | None, known: Queue | None, depth: int
    ) -> ScoredLink:
        reason = i.refusal
        if reason is None and level is not None:
            reason = self.limits.verdict(level, depth)
        return ScoredLink(link=link, key=i.key, hash=i.hash, sim=sim, level=level, reason=reason, known_as=known)

    def _candidate(self, scored: ScoredLink, depth: int) -> Candidate:
        i = self.identity(scored.link.url)
        return Candidate(
            url=scored.link.url,
            key=i.key,
            hash=i.hash,
            host=i.host,
            level=scored.level or 0,
            sim=scored.sim or 0,
            depth=depth,
            text=scored.link.text,
            refusal=i.refusal,
        )
