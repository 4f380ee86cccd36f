"""A crawl without network: the real frontier and judge, a simulated downloader, virtual time.

The life of a lease is that of scheduler.py: taken when there is a free place, ended by the same outcome for the same
answer, its links added in the step that ends it. What is left out has no part in the order of fetches: files, the
catalogue, and retries, since a recorded web answers the same every time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from topiccrawl.database import Database
from topiccrawl.evaluate.contenders import Order
from topiccrawl.evaluate.parsed import ParsedWeb, Visit
from topiccrawl.frontier.base import Politeness, RetryPolicy
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.judge import Judge
from topiccrawl.records import Candidate, Lease, Outcome, Page, Queue, Reason
from topiccrawl.responses import REDIRECT_STATUS, robots_directives
from topiccrawl.urls import is_http, join, url_key

MAX_REDIRECTS = 5  # REDIRECT_MAX_TIMES of settings.py


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How the simulated crawl fetches. Times in virtual seconds."""

    concurrency: int = 1  # open requests
    per_host: int = 1
    delay: float = 0.0  # from the end of a request to a host to the start of the next
    latency: float = 0.0  # from the start of a request to its end


class Step(NamedTuple):
    """The end of one lease."""

    at: float  # virtual seconds since the start
    url: str
    page: str  # the name of the page that was fetched, as in the truth; "" for all that is no page
    queue: Queue
    reason: Reason | None


class Replay:
    """One crawl of a parsed web by one order. `steps` yields the leases as they end, and may be left at any time."""

    def __init__(
        self, parsed: ParsedWeb, seeds: Sequence[str], judge: Judge, order: Order, pace: Pace | None = None
    ) -> None:
        self._parsed = parsed
        self._seeds = seeds
        self._judge = judge
        self._order = order
        self._pace = pace or Pace()
        self._now = 0.0
        self._open: list[tuple[float, int, Lease]] = []  # by the time of their end

    def steps(self) -> Iterator[Step]:
        pace = self._pace
        with TemporaryDirectory(prefix="topiccrawl-") as folder:
            database = Database.create(Path(folder))
            frontier = SqliteFrontier(
                database,
                limits=self._judge.limits,
                politeness=Politeness(delay=pace.delay, per_host=pace.per_host, obey_robots=False),
                retry=RetryPolicy(tries=1),
                priorities=self._order.priorities,
                clock=lambda: self._now,
                rng=Random(0),
            )
            try:
                frontier.add(self._judge.seeds(self._seeds))
                while self._take(frontier):
                    yield self._end(frontier)
            finally:
                frontier.close()
                database.close()

    def _take(self, frontier: SqliteFrontier) -> bool:
        """Fill the free places; False when nothing is open and nothing ever will be."""
        while True:
            while len(self._open) < self._pace.concurrency:
                self._order.reorder(frontier)
                leases = frontier.take(1)
                if not leases:
                    break
                heappush(self._open, (self._now + self._pace.latency, leases[0].token, leases[0]))
            due = frontier.next_due() if len(self._open) < self._pace.concurrency else None
            ends = self._open[0][0] if self._open else None
            if due is None or (ends is not None and ends <= self._now + due):
                return ends is not None
            self._now += due

    def _end(self, frontier: SqliteFrontier) -> Step:
        self._now, _, lease = heappop(self._open)
        visit = self._visit(lease)
        outcome, candidates = self._outcome(frontier, lease, visit)
        frontier.finish(lease, outcome, candidates)
        page = visit.page if outcome.queue is Queue.DONE and outcome.reason is None else ""
        return Step(self._now, lease.url, page, outcome.queue, outcome.reason)

    def _visit(self, lease: Lease) -> Visit:
        """The answer; a redirect to another spelling of the same key is followed inside the lease."""
        visit, url = self._parsed.visit(lease.url), lease.url
        for _ in range(MAX_REDIRECTS):
            target = join(url, visit.location) if visit.status in REDIRECT_STATUS else None
            if target is None or target == url or url_key(target) != lease.key:
                break
            visit, url = self._parsed.visit(target), target
        return visit

    def _outcome(self, frontier: SqliteFrontier, lease: Lease, visit: Visit) -> tuple[Outcome, list[Candidate]]:
        ok = Outcome(queue=Queue.DONE, status=visit.status, ended_at=self._now)
        if visit.status in REDIRECT_STATUS and (target := join(lease.url, visit.location)):
            return self._redirected(frontier, lease, target, ok)
        if not 200 <= visit.status < 300:
            return msgspec.structs.replace(ok, queue=Queue.ERROR, reason=Reason.HTTP), []
        if visit.document is None:
            return msgspec.structs.replace(ok, queue=Queue.DISCARD, reason=Reason.TYPE), []
        if (target := visit.document.refresh) and url_key(target) != lease.key:
            return self._redirected(frontier, lease, target, ok)
        page = self._judge.score(page_of(lease, visit, self._now))
        directives = robots_directives(page)
        found = [] if "nofollow" in directives else self._judge.candidates(page)
        outcome = msgspec.structs.replace(ok, reason=Reason.NOINDEX) if "noindex" in directives else ok
        return outcome, self._order.rate(lease, page, found)

    def _redirected(
        self, frontier: SqliteFrontier, lease: Lease, target: str, ok: Outcome
    ) -> tuple[Outcome, list[Candidate]]:
        """The target is a candidate with the m, sim and depth of the source."""
        ended = msgspec.structs.replace(ok, reason=Reason.REDIRECT, note=target)
        if lease.hops >= MAX_REDIRECTS:
            return msgspec.structs.replace(ended, queue=Queue.ERROR, reason=Reason.REDIRECT_MAX), []
        candidate = self._judge.one(
            target, level=lease.level, sim=lease.sim, depth=lease.depth, text=lease.text, hops=lease.hops + 1
        )
        if (is_http(target) and url_key(target) == lease.key) or frontier.redirects_to(candidate.hash, lease.row):
            return msgspec.structs.replace(ended, queue=Queue.ERROR, reason=Reason.REDIRECT_LOOP), []
        return ended, [candidate]


def page_of(lease: Lease, visit: Visit, now: float) -> Page:
    """The page as the spider makes it, without what only its files need."""
    assert visit.document is not None
    return Page(
        url=lease.url,
        key=lease.key,
        final_url=lease.url,
        status=visit.status,
        type=visit.type,
        charset="",
        fetched_at=now,
        request_headers={},
        headers={},
        body=b"",
        sha256="",
        document=visit.document,
        depth=lease.depth,
        level=lease.level,
        sim=lease.sim,
        parent=lease.parent,
        token=lease.token,
    )
