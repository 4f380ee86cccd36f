"""Questions that a person asks of a crawl folder, answered from link.db alone, also while a crawl is running."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from topiccrawl.archive.pagefiles import PageNames
from topiccrawl.database import Database
from topiccrawl.frontier.rows import signed
from topiccrawl.records import MAX_SIM, Queue, reason_label
from topiccrawl.relevance.inherit import m_value, sim_threshold
from topiccrawl.relevance.vectors import TopicVector
from topiccrawl.urls import key_hash, url_key

MAX_PATH = 1000  # parents that are followed back to a seed


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """One URL at the head of waiting."""

    url: str
    m: float
    sim: float
    depth: int


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What `scrapy queues` shows."""

    queues: dict[str, int]
    pages: int
    relevant: int
    harvest_rate: float
    reasons: dict[str, int]  # of error, discard and done, by label
    by_queue: dict[str, dict[str, int]]  # the same, by queue
    top: list[Waiting]
    next_retry: float | None  # seconds since the epoch


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One URL on the way from a seed."""

    url: str
    m: float
    sim: float
    link_text: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What `scrapy why` shows."""

    url: str
    key: str
    queue: str
    reason: str
    note: str
    m: float
    level: int
    sim: float
    depth: int
    link_text: str
    matches: list[dict[str, Any]]  # words of the topic in the link text: word, count, weight
    f: float
    m_min: float
    relevant_link: bool
    tries: int
    crashes: int
    status: int | None
    changed_at: float
    retry_at: float | None
    redirects_to: str | None
    file: str | None
    relevance: float | None
    path: list[Step]  # from the seed to the URL


class Folder:
    """The read-only view of one crawl folder."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._m0, self._b, self._f, self._m_min = (
            float(database.get_meta(name) or default)
            for name, default in (("m0", 1), ("b", 0.5), ("f", 0.02), ("m_min", 0.05))
        )
        words = json.loads(database.get_meta("topic") or "{}")
        self._vector = TopicVector(words) if words else None

    def overview(self, top: int = 10) -> Overview:
        counts = {str(queue): 0 for queue in Queue}
        by_queue: dict[str, dict[str, int]] = {str(queue): {} for queue in Queue}
        for queue, reason, status, count in self._database.rows(
            "SELECT queue, reason, iif(reason = 'http', status, NULL) AS code, count(*) FROM urls"
            " GROUP BY queue, reason, code ORDER BY count(*) DESC"
        ):
            counts[queue] += count
            if reason:
                by_queue[queue][reason_label(reason, status)] = count
        reasons: dict[str, int] = {}
        for found in by_queue.values():
            for label, count in found.items():
                reasons[label] = reasons.get(label, 0) + count
        (pages, relevant), (retry,) = (
            next(self._database.rows("SELECT count(*), coalesce(sum(relevant), 0) FROM pages")),
            next(self._database.rows("SELECT min(retry_at) FROM urls WHERE queue = 'error'")),
        )
        return Overview(
            queues=counts,
            pages=pages,
            relevant=relevant,
            harvest_rate=relevant / pages if pages else 0.0,
            reasons=reasons,
            by_queue=by_queue,
            top=self._top(top),
            next_retry=retry,
        )

    def why(self, url: str) -> Verdict | None:
        """Everything that is known about a URL; None if it is not known."""
        key = url_key(url)
        row = next(
            self._database.rows(
                "SELECT id, url, coalesce(key, url), queue, reason, note, level, sim, depth, link_text, tries, crashes,"
                " status, changed_at, retry_at, target, parent FROM urls WHERE hash = ?",
                signed(key_hash(key)),
            ),
            None,
        )
        if row is None:
            return None
        (id_, found, key, queue, reason, note, level, sim, depth, text) = row[:10]
        (tries, crashes, status, changed_at, retry_at, target, parent) = row[10:]
        page = next(self._database.rows("SELECT relevance FROM pages WHERE url = ?", id_), None)
        matches = [] if self._vector is None or parent is None else self._vector.explain(text)
        return Verdict(
            url=found,
            key=key,
            queue=queue,
            reason=reason_label(reason, status),
            note=note or "",
            m=self._m(level),
            level=level,
            sim=sim / MAX_SIM,
            depth=depth,
            link_text=text,
            matches=[{"word": match.word, "count": match.count, "weight": match.weight} for match in matches],
            f=self._f,
            m_min=self._m_min,
            relevant_link=sim >= sim_threshold(self._f),
            tries=tries,
            crashes=crashes,
            status=status,
            changed_at=changed_at,
            retry_at=retry_at,
            redirects_to=self._url(target),
            file=PageNames.of(key).page if page else None,
            relevance=page[0] if page else None,
            path=self._path(id_),
        )

    def _path(self, row: int | None) -> list[Step]:
        steps: list[Step] = []
        seen: set[int] = set()
        while row is not None and row not in seen and len(steps) < MAX_PATH:
            seen.add(row)
            found = next(
                self._database.rows("SELECT url, level, sim, link_text, parent FROM urls WHERE id = ?", row), None
            )
            if found is None:
                break
            url, level, sim, text, row = found
            steps.append(Step(url=url, m=self._m(level), sim=sim / MAX_SIM, link_text=text))
        return steps[::-1]

    def _top(self, most: int) -> list[Waiting]:
        order = {
            "breadth": "depth, id",
            "depth": "depth DESC, id",
        }.get(self._database.get_meta("strategy") or "", "level, sim DESC, id")
        rows = self._database.rows(
            f"SELECT url, level, sim, depth FROM urls WHERE queue = 'waiting' ORDER BY {order} LIMIT ?", most
        )
        return [Waiting(url=url, m=self._m(level), sim=sim / MAX_SIM, depth=depth) for url, level, sim, depth in rows]

    def _url(self, row: int | None) -> str | None:
        found = next(self._database.rows("SELECT url FROM urls WHERE id = ?", row), None) if row else None
        return found[0] if found else None

    def _m(self, level: int) -> float:
        value = m_value(level, self._m0, self._b)
        return value if math.isfinite(value) else 0.0
