"""Scrapy's downloader, made to report how every fetch ended, and to hold nothing back.

Politeness is the frontier's: what it hands out may be sent at once, so slots have no delay of their own. A request
that waited in a slot would count as active, and one slow host would stop all others.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from scrapy import Request, Spider
from scrapy.core.downloader import Downloader
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.internet.defer import Deferred, inlineCallbacks


class PatientHandler(HTTP11DownloadHandler):
    """Scrapy's handler, which keeps a connection open for each request that may be under way.

    Scrapy keeps CONCURRENT_REQUESTS_PER_DOMAIN of them per address, but behind a proxy all hosts have one address: with
    one request per host at a time, nearly every request would open a connection of its own.
    """

    lazy = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._pool.maxPersistentPerHost = max(
            crawler.settings.getint("CONCURRENT_REQUESTS"), crawler.settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        )


class TrackDownloader(Downloader):
    """Reports the result of each fetch to the scheduler: a response, a Request (redirect, retry), or an exception."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._delay = 0.0
        self._jitter = 0.0
        self.domain_concurrency = self.total_concurrency or 1_000_000
        self.ip_concurrency = 0

    @inlineCallbacks
    def fetch(
        self, request: Request, spider: Spider | None = None
    ) -> Generator[Deferred[Any], Any, Response | Request]:
        try:
            result: Response | Request = yield super().fetch(request)
        except BaseException as error:
            self._report(request, error)
            raise
        self._report(request, result)
        return result

    def _report(self, request: Request, result: Response | Request | BaseException) -> None:
        scheduler = self.crawler.engine.scheduler if self.crawler.engine else None
        fetched = getattr(scheduler, "fetched", None)
        if fetched is not None:
            fetched(request, result)
