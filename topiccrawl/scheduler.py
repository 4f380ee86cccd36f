"""The scheduler: Scrapy's methods on one side, the frontier's verbs on the other, and the end point of every request.

Scrapy never tells a scheduler that a request ended, so three hooks watch each one (by object identity, since `meta` is
copied into redirects and children):

    next_request      a lease goes out as a Request                                  -> Flight
    fetched           the downloader reports a response, a further Request, or an exception
    engine._remove_request, wrapped in `open`: called once per request, whatever happened -> `_ended`

A Request that a fetch gave (redirect, retry) comes back through `enqueue_request` before its parent ends. To another
URL key it ends the lease, as a candidate; to the same key it goes on inside the lease. `enqueue_request` and
`next_request` never raise: an exception there hangs or delays Scrapy's engine.

Longer than most files here because the life of a request is told in one place.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from msgspec.structs import replace
from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.asyncio import CallLaterResult, call_later
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from topiccrawl import learning
from topiccrawl.archive.catalogue import new_links
from topiccrawl.archive.pagefiles import PageNames
from topiccrawl.crawl import Crawl
from topiccrawl.errors import NotStorableError, TopicCrawlError, TopicError
from topiccrawl.frontier.base import Finished
from topiccrawl.middlewares import ROBOTS_FETCH
from topiccrawl.records import (
    MAX_SIM,
    Candidate,
    Lease,
    LeaseKind,
    Outcome,
    Page,
    Queue,
    Reason,
    RobotsFile,
)
from topiccrawl.requests import Special, key_of, redirected, special, to_request
from topiccrawl.responses import (
    content_type,
    foreign_location,
    kind_of,
    outcome_of_failure,
    outcome_of_status,
    retry_after,
)
from topiccrawl.urls import is_http, join, key_hash, url_key

logger = logging.getLogger(__name__)

INBOX_INTERVAL = 0.5  # seconds
SWEEP_INTERVAL = 5.0
ROBOTS_HOPS = 6  # fetches of one robots.txt, the first included (RFC 9309, 2.3.1.2: at least five redirects)
ROBOTS_SIZE = 500 * 1024  # bytes of a robots.txt that are read (RFC 9309, 2.5)
GIVEN_BACK = Outcome(queue=Queue.WAITING, asked=False)
SENT = "download_slot"  # key of meta that Scrapy's downloader sets when no middleware stands in the way any more
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


@dataclass(slots=True, eq=False)
class Flight:
    """One request on its way."""

    lease: Lease
    result: Response | Request | BaseException | None = None
    ended_at: float = 0.0
    sent: bool = False  # it reached the network
    follows: Request | None = None  # the Request that the fetch gave, once it came back to us
    page: Page | None = None
    names: PageNames | None = None  # None: the page is not kept
    found: list[Candidate] = field(default_factory=list)  # Requests that the callback yielded
    failure: BaseException | None = None  # of the callback or a pipeline
    dropped: str = ""  # a pipeline dropped the page


class TopicScheduler(BaseScheduler):
    """Drives the embedded store inline."""

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self.crawl = crawl
        self.reason = ""  # why the crawl is being closed by us
        self._crawler = crawler
        self._spider: Spider | None = None
        self._settings = crawler.settings
        self._flights: dict[Request, Flight] = {}
        self._robots: dict[asyncio.Future[None], Lease] = {}
        self._expected: dict[Request, Flight] = {}  # Requests that a fetch gave, until they come back
        self._hops: deque[tuple[Request, Flight]] = deque()  # go on inside their lease
        self._resting: set[Lease] = set()  # of hops that wait for their host's delay
        self._unaccounted: set[int] = set()  # tokens of leases that the last sweep found nowhere
        self._most = self._settings.getint("CONCURRENT_REQUESTS") or 1_000_000
        self._alone_since: float | None = None  # when nothing but retries was left
        self._alarm: CallLaterResult | None = None
        self._alarm_at = 0.0
        self._ticks: list[CallLaterResult] = []
        self._broken = False
        self.closed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        scheduler = cls(crawler, Crawl.of(crawler))
        crawler.signals.connect(scheduler._callback_failed, signals.spider_error)
        crawler.signals.connect(scheduler._item_failed, signals.item_error)
        crawler.signals.connect(scheduler._item_dropped, signals.item_dropped)
        return scheduler

    # ---- what Scrapy calls ----

    def open(self, spider: Spider) -> Deferred[None] | None:
        self._spider = spider
        engine = self._crawler.engine
        assert engine is not None
        remove = engine._remove_request

        def removed(result: Any, request: Request) -> None:
            try:
                self._ended(request)
            finally:
                remove(result, request)

        engine._remove_request = removed  # type: ignore[method-assign,assignment]
        self._every(self._settings.getfloat("COMMIT_INTERVAL"), self._commit)
        self._every(INBOX_INTERVAL, self._read_inbox)
        self._every(SWEEP_INTERVAL, self._sweep)
        self._read_inbox()
        self._history()
        self._every(self._settings.getfloat("HISTORY_INTERVAL"), self._history)
        if self.crawl.topic is not None:
            self._guarded(lambda: learning.finish(self.crawl))
        return None

    def close(self, reason: str) -> Deferred[None] | None:
        for call in (*self._ticks, *([self._alarm] if self._alarm else [])):
            call.cancel()
        self._ticks.clear()
        self._alarm = None
        self._read_inbox()
        for lease in (*self._resting, *(flight.lease for _, flight in self._hops)):
            self._guarded(lambda lease=lease: self.crawl.frontier.finish(lease, GIVEN_BACK))  # type: ignore[misc]
        self._history()
        self._commit()
        self.closed = True
        self.crawl.close(whole=not self._broken)
        return None

    def has_pending_requests(self) -> bool:
        if self._broken or self.reason:
            return False
        if self._hops or self._resting or self._flights or self._robots:
            return True
        try:
            if not self.crawl.queued and not self._learn():
                return self._worth_waiting()
            return bool(self.crawl.queued) and self._worth_waiting()
        except Exception as error:
            self._break(error)
            return False

    def enqueue_request(self, request: Request) -> bool:
        flight = self._expected.pop(request, None)
        if flight is not None:
            flight.follows = request
            return True
        try:
            return self._accept(request)
        except NotStorableError as error:
            logger.error("%s", error)
            self.crawl.log.write("ERROR", "not-storable", request.url, str(error))
        except Exception as error:
            self._break(error)
        return False

    def next_request(self) -> Request | None:
        try:
            if self._hops:
                request, flight = self._hops.popleft()
                self._flights[request] = flight
                return request
            return self._take()
        except Exception as error:
            self._break(error)
            return None

    # ---- what our downloader and pipelines call ----

    def fetched(self, request: Request, result: Response | Request | BaseException) -> None:
        """The fetch of a request ended."""
        flight = self._flights.get(request)
        if flight is None:
            return
        flight.result = result
        flight.ended_at = time.time()
        flight.sent = SENT in request.meta
        if isinstance(result, Request):
            self._expected[result] = flight

    def stage(self, page: Page, names: PageNames | None) -> None:
        """The files of a page are written; its row and its links follow when the request ends."""
        for flight in self._flights.values():
            if flight.lease.token == page.token:
                flight.page, flight.names = page, names

    # ---- taking ----

    @property
    def _places(self) -> int:
        """Free places: what is open until its finish is applied counts, so that no link comes too late to be first."""
        return self._most - len(self._flights) - len(self._robots) - len(self._resting)

    def _take(self) -> Request | None:
        while not self._broken and not self.reason and self._places > 0 and not self._enough():
            leases = self.crawl.frontier.take(1)
            self._note_expired()
            if not leases:
                self._arm()
                return None
            self._alone_since = None
            lease = leases[0]
            if lease.kind is LeaseKind.ROBOTS:
                task = asyncio.ensure_future(self._fetch_robots(lease))
                self._robots[task] = lease
                task.add_done_callback(self._robots_ended)
            else:
                request = self._request(lease)
                if request is not None:
                    self._flights[request] = Flight(lease)
                    return request
        return None

    def _note_expired(self) -> None:
        """Log the URLs that went to error because the robots.txt of their host can't be had."""
        stats = self._crawler.stats
        assert stats is not None
        for url, reason in self.crawl.frontier.drain_expired():
            stats.inc_value(f"topiccrawl/{Queue.ERROR}/{reason}")
            self.crawl.log.write("WARNING", str(reason), url, "the robots.txt of its host can't be had")

    def _request(self, lease: Lease) -> Request | None:
        """The Request of a lease; None where it can't be made, which ends the lease."""
        assert self._spider is not None
        try:
            return to_request(lease, self._spider)
        except Exception as error:  # a callback that the spider has no more, a URL that Scrapy refuses
            note = f"{type(error).__name__}: {error}"
            outcome = Outcome(queue=Queue.ERROR, reason=Reason.INTERNAL, note=note, asked=False)
            done = self.crawl.frontier.finish(lease, outcome)
            if done is not None:
                self._note(lease, outcome, done)
            return None

    def _enough(self) -> bool:
        """True when the pages that are stored or on their way make up the limit."""
        limit = self.crawl.parameters.pages
        if limit is None:
            return False
        stored = self.crawl.catalogue.totals.pages
        if stored >= limit:
            self._stop("pages")
        return stored + len(self._flights) + len(self._resting) >= limit

    def _arm(self) -> None:
        """Wake the engine when a host may be asked again; its own heartbeat is 5 s."""
        due = self.crawl.frontier.next_due()
        if due is None or self._places <= 0:
            return
        at = time.monotonic() + due
        if self._alarm is not None and self._alarm_at <= at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = at
        self._alarm = call_later(due, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._wake()

    def _wake(self) -> None:
        slot = getattr(self._crawler.engine, "_slot", None)
        if slot is not None:
            slot.nextcall.schedule()

    def _worth_waiting(self) -> bool:
        """Nothing is being fetched. True if something will be, soon enough to wait for it."""
        due = self.crawl.frontier.next_due()
        if due is None:
            return False
        now = time.monotonic()
        if self._alone_since is None:
            self._alone_since = now
        patience = self._settings.getfloat("RETRY_WAIT") - (now - self._alone_since)
        patience = max(patience, self.crawl.frontier.politeness.delay)
        if due <= patience:
            self._arm()
            return True
        self.crawl.last_due = f"the next URL is due in {due:.0f} s, which is later than RETRY_WAIT: run again then"
        return False

    # ---- Requests of a user's spider ----

    def _accept(self, request: Request) -> bool:
        assert self._spider is not None
        parent = self._flights.get(request.meta["yielded_by"]) if "yielded_by" in request.meta else None
        candidate = self._candidate(request, parent.lease if parent else None)
        if parent is not None:
            parent.found.append(candidate)
        else:
            self.crawl.frontier.add([candidate])
        return True

    def _candidate(self, request: Request, parent: Lease | None) -> Candidate:
        assert self._spider is not None
        extra = special(request, self._spider)
        text = str(request.meta.get("link_text", "")).encode("utf-8", "replace").decode()
        if parent is None:
            level, sim, depth = 0, MAX_SIM, 0
        else:
            level, sim = self.crawl.judge.child(text, parent.level)
            depth = parent.depth + 1
        made = self.crawl.judge.one(request.url, level=level, sim=sim, depth=depth, text=text)
        return _with(made, extra)

    # ---- the end point ----

    def _ended(self, request: Request) -> None:
        flight = self._flights.get(request)
        if flight is None:
            return
        try:
            if not self._broken:
                self._guarded(lambda: self._settle(flight))
        except Exception as error:  # a flight that stayed would keep the crawl from ending
            logger.exception("No outcome for %s", request)
            note = f"{type(error).__name__}: {error}"
            failed = Outcome(queue=Queue.ERROR, reason=Reason.INTERNAL, ended_at=time.time(), note=note)
            self._guarded(lambda: self._end(flight, failed, []))
        finally:
            self._flights.pop(request, None)

    def _settle(self, flight: Flight) -> None:
        """Decide the outcome and write it; or go on inside the lease."""
        if isinstance(flight.result, Request):
            self._expected.pop(flight.result, None)
            if flight.follows is not None and key_of(flight.follows) == flight.lease.key:
                self._hop(flight, flight.follows)
                return
        self._end(flight, *self._outcome(flight))

    def _end(self, flight: Flight, outcome: Outcome, candidates: list[Candidate]) -> None:
        """The lease, the page and its links in one step."""
        page = flight.page if outcome.queue is Queue.DONE and flight.names is not None else None
        held = page is not None and self.crawl.judge.vector is None
        with self.crawl.database.transaction() as connection:
            done = self.crawl.frontier.finish(flight.lease, outcome, [*candidates, *flight.found])
            if done is not None and page is not None and flight.names is not None:
                links = [] if held else new_links(page, candidates, done.rows)
                self.crawl.catalogue.add_page(connection, flight.lease.row, page, flight.names, links, held)
        if done is not None:
            self._note(flight.lease, outcome, done)

    def _outcome(self, flight: Flight) -> tuple[Outcome, list[Candidate]]:
        lease, result = flight.lease, flight.result
        if result is None:
            return Outcome(queue=Queue.ERROR, reason=Reason.VANISHED, ended_at=time.time()), []
        if isinstance(result, Request):
            return self._redirected(flight, result.url)
        if isinstance(result, BaseException):
            outcome = outcome_of_failure(result, flight.ended_at)
            return (replace(outcome, asked=True) if flight.sent else outcome), []
        ok = Outcome(queue=Queue.DONE, status=result.status, ended_at=flight.ended_at)
        if flight.failure is not None:
            note = f"{type(flight.failure).__name__}: {flight.failure}"
            return replace(ok, queue=Queue.ERROR, reason=Reason.INTERNAL, note=note), []
        page = flight.page
        if page is None:
            if elsewhere := foreign_location(result):
                return self._redirected(flight, elsewhere)
            return self._without_page(flight, result, ok), []
        if (target := page.document.refresh) and url_key(target) != lease.key:
            return self._redirected(flight, target)
        candidates = self.crawl.judge.candidates(page) if self.crawl.judge.vector is not None else []
        return (ok if flight.names else replace(ok, reason=Reason.NOINDEX)), candidates

    def _without_page(self, flight: Flight, response: Response, ok: Outcome) -> Outcome:
        if not 200 <= response.status < 300:
            return outcome_of_status(response, flight.ended_at)
        if flight.dropped:
            return replace(ok, queue=Queue.DISCARD, reason=Reason.IGNORED, note=flight.dropped)
        if kind_of(response) is None and not self._has_own_callback(response):
            return replace(ok, queue=Queue.DISCARD, reason=Reason.TYPE, note=content_type(response))
        return ok  # a callback of the user's that made no page

    def _has_own_callback(self, response: Response) -> bool:
        """True for a Request that a user's spider gave to another method than `parse`, whatever type that reads."""
        callback = response.request.callback if response.request else None
        return callback is not None and callback != getattr(self._spider, "parse", None)

    def _redirected(self, flight: Flight, target: str) -> tuple[Outcome, list[Candidate]]:
        """To another URL key: this URL is done, the target a candidate with the m, sim and depth of the source."""
        lease = flight.lease
        status = flight.result.status if isinstance(flight.result, Response) else None
        ended = Outcome(queue=Queue.DONE, reason=Reason.REDIRECT, status=status, ended_at=flight.ended_at, note=target)
        if isinstance(flight.result, Request) and flight.follows is None:
            note = f"a handler of request_scheduled refused {target}"
            return replace(ended, queue=Queue.DISCARD, reason=Reason.IGNORED, note=note), []
        if lease.hops >= self._settings.getint("REDIRECT_MAX_TIMES"):
            return replace(ended, queue=Queue.ERROR, reason=Reason.REDIRECT_MAX), []
        candidate = self.crawl.judge.one(
            target, level=lease.level, sim=lease.sim, depth=lease.depth, text=lease.text, hops=lease.hops + 1
        )
        candidate = _with(candidate, redirected(lease, flight.result if isinstance(flight.result, Request) else None))
        if self.crawl.frontier.redirects_to(candidate.hash, lease.row):
            return replace(ended, queue=Queue.ERROR, reason=Reason.REDIRECT_LOOP), []
        return ended, [candidate]

    def _hop(self, flight: Flight, request: Request) -> None:
        """Another spelling of the same key, or the same once more with a cookie: after the host's delay, same lease."""
        follower = Flight(flight.lease)
        pause = max(0.0, flight.ended_at + self.crawl.frontier.delay(flight.lease.host) - time.time())
        self._resting.add(flight.lease)

        def go() -> None:
            self._resting.discard(flight.lease)
            self._hops.append((request, follower))
            self._wake()

        call_later(pause, go)

    def _note(self, lease: Lease, outcome: Outcome, done: Finished) -> None:
        """Count the end of a lease, and log it if it is a problem."""
        stats = self._crawler.stats
        assert stats is not None
        label = outcome.reason or "page"
        stats.inc_value(f"topiccrawl/{outcome.queue}/{label}")
        if done.retry_at is not None:
            stats.inc_value("topiccrawl/retries")
        if outcome.queue is Queue.ERROR or outcome.reason in (Reason.TYPE, Reason.SIZE, Reason.ROBOTS):
            again = "" if done.retry_at is None else f"again in {done.retry_at - time.time():.0f} s"
            level = "WARNING" if outcome.queue is Queue.ERROR and not again else "INFO"
            status = str(outcome.status) if outcome.reason is Reason.HTTP else ""
            message = "; ".join(part for part in (status, outcome.note, again) if part)
            self.crawl.log.write(level, str(label), lease.url, message)

    # ---- signals ----

    def _callback_failed(self, failure: Failure, response: Response | None) -> None:
        self._mark(response, failure)

    def _item_failed(self, response: Response | None, failure: Failure) -> None:
        self._mark(response, failure)
        error = failure.value
        if isinstance(error, OSError) and error.errno in FULL:
            self._stop("disk", error)

    def _item_dropped(self, item: Any, response: Response | None, exception: BaseException) -> None:
        flight = self._flights.get(response.request) if response is not None and response.request else None
        if flight is not None and isinstance(item, Page):
            flight.dropped = str(exception) or type(exception).__name__

    def _mark(self, response: Response | None, failure: Failure) -> None:
        flight = self._flights.get(response.request) if response is not None and response.request else None
        if flight is not None:
            flight.failure = failure.value

    # ---- robots.txt ----

    async def _fetch_robots(self, lease: Lease) -> None:
        """Fetch a robots.txt; its redirects are followed, its rules count for the host that was asked."""
        try:
            response = await self._follow_robots(lease)
            robots = robots_file(response)
        except Exception as error:
            robots = no_robots_file(error)
            self.crawl.log.write("WARNING", "robots", lease.url, f"{type(error).__name__}: {error}")
        if not robots.reachable and robots.status:
            self.crawl.log.write("WARNING", "robots", lease.url, f"answers {robots.status}")
        if not self._broken and not self.closed:
            self._guarded(lambda: self.crawl.frontier.finish_robots(lease, robots))

    async def _follow_robots(self, lease: Lease) -> Response:
        """The answer after at most ROBOTS_HOPS redirects, each of them after the host's delay."""
        engine = self._crawler.engine
        assert engine is not None
        url = lease.url
        for _ in range(ROBOTS_HOPS):
            request = Request(url, dont_filter=True, meta={ROBOTS_FETCH: True, "dont_redirect": True})
            response = await engine.download_async(request)
            target = join(url, (response.headers.get(b"Location") or b"").decode("latin-1"))
            if not 300 <= response.status < 400 or not target or not is_http(target):
                break
            url = target
            await asyncio.sleep(self.crawl.frontier.delay(lease.host))
        return response

    def _robots_ended(self, task: asyncio.Future[None]) -> None:
        """The place is free again: only now may the engine ask, or it would wait for its next heartbeat."""
        del self._robots[task]
        self._wake()

    # ---- learning ----

    def _learn(self) -> bool:
        """Every seed has ended and the topic is not known yet: learn it. True if there is something to fetch then."""
        if self.crawl.topic is not None or self.crawl.frontier.next_retry() is not None:
            return False
        try:
            learning.learn(self.crawl)
        except TopicError as error:
            self._stop("topic", error)
            return False
        return bool(self.crawl.queued)

    # ---- now and then ----

    def _every(self, seconds: float, action: Callable[[], None]) -> None:
        place = len(self._ticks)

        def tick() -> None:
            action()
            if not self.closed and place < len(self._ticks):
                self._ticks[place] = call_later(seconds, tick)

        self._ticks.append(call_later(seconds, tick))

    def _commit(self) -> None:
        if not self._broken:
            self._guarded(self.crawl.database.commit)

    def _history(self) -> None:
        if not self._broken:
            self._guarded(lambda: self.crawl.catalogue.add_history(time.time(), self.crawl.frontier.counts()))

    def _sweep(self) -> None:
        """End leases that no request carries any more; none should, so each is logged. Twice missing is missing."""
        if self._broken:
            return
        carried = {flight.lease.token for flight in (*self._flights.values(), *(flight for _, flight in self._hops))}
        carried |= {lease.token for lease in (*self._resting, *self._robots.values())}
        missing = [lease for lease in self.crawl.frontier.leases() if lease.token not in carried]
        for lease in missing:
            if lease.token in self._unaccounted and lease.kind is LeaseKind.PAGE:
                self._guarded(lambda lease=lease: self._settle(Flight(lease)))  # type: ignore[misc]
        self._unaccounted = {lease.token for lease in missing}

    def _read_inbox(self) -> None:
        if self._broken:
            return
        for path, selection in self.crawl.folder.inbox():

            def apply() -> None:
                count = self.crawl.frontier.requeue(selection)  # noqa: B023
                self.crawl.database.commit()
                path.unlink()  # noqa: B023
                logger.info("%d URLs wait again, as asked by requeue", count)

            self._guarded(apply)
            self._alone_since = None
            self._wake()

    # ---- when it can't go on ----

    def _guarded(self, action: Callable[[], object]) -> None:
        """Run a step; link.db that can't be written ends the crawl, with the file as it was at the last commit."""
        try:
            action()
        except (sqlite3.Error, TopicCrawlError, OSError) as error:
            self._break(error)

    def _break(self, error: BaseException) -> None:
        """Write nothing more: memory may be ahead of the file, which is whole as it was at the last commit."""
        self._broken = True
        self._stop("database" if isinstance(error, (sqlite3.Error, TopicCrawlError, OSError)) else "internal", error)

    def _stop(self, reason: str, error: BaseException | None = None) -> None:
        if self.reason:
            return
        self.reason = reason
        if error is not None:
            logger.error("Stopping: %s", error, exc_info=error if reason == "internal" else None)
            self.crawl.log.write("ERROR", reason, "", str(error))
        engine = self._crawler.engine
        assert engine is not None
        if engine.spider is not None:
            asyncio.ensure_future(engine.close_spider_async(reason=reason))  # noqa: RUF006


def _with(candidate: Candidate, extra: Special | None) -> Candidate:
    """The candidate of a Request that is more than its URL."""
    if extra is None:
        return candidate
    key = candidate.key + extra.suffix
    return replace(candidate, key=key, hash=key_hash(key), request=extra.data)


def robots_file(response: Response) -> RobotsFile:
    """RFC 9309: 2xx are rules, 4xx allow everything, 5xx (and 429, as is common) are for later."""
    now = time.time()
    if response.status >= 500 or response.status == 429:
        after = retry_after(response, now)
        return RobotsFile(reachable=False, status=response.status, retry_after=after, ended_at=now)
    text = ""
    if response.status < 300:  # whatever its type: a page of HTML has no rules in it
        text = response.body[:ROBOTS_SIZE].decode("utf-8-sig", "replace")
    return RobotsFile(reachable=True, text=text, status=response.status, ended_at=now)


def no_robots_file(error: Exception) -> RobotsFile:
    """A robots.txt that could not be fetched. What ails the whole host is what its URLs end with."""
    now = time.time()
    outcome = outcome_of_failure(error, now)
    reason = outcome.reason if outcome.reason in (Reason.TLS, Reason.DNS, Reason.REFUSED) else None
    return RobotsFile(reachable=False, reason=reason, final=outcome.reason is Reason.TLS, ended_at=now)
