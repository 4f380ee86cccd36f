"""Middlewares: robots.txt at every hop, proxies, redirects that carry their cookies, and who yielded a Request."""

from __future__ import annotations

from functools import lru_cache
from typing import Self
from urllib.request import proxy_bypass

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares import redirect
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from topiccrawl.crawl import Crawl
from topiccrawl.records import Queue, Reason
from topiccrawl.requests import key_of
from topiccrawl.urls import split

HOSTS = 10_000  # of which it is remembered whether a proxy is used
ROBOTS_FETCH = "robots_fetch"  # meta of the requests for robots.txt itself


class Refused(IgnoreRequest):
    """A request that must not be made, or that can't come to an end."""

    def __init__(self, reason: Reason, message: str, *, queue: Queue = Queue.DISCARD, asked: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.queue = queue
        self.asked = asked


class RobotsMiddleware:
    """Refuses what the robots.txt of the URL's origin forbids, redirects inside a lease included."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Crawl.of(crawler))

    def process_request(self, request: Request) -> None:
        if not request.meta.get(ROBOTS_FETCH) and not self._crawl.frontier.allows(request.url):
            raise Refused(Reason.ROBOTS, "robots.txt forbids it")


class ProxyMiddleware(HttpProxyMiddleware):
    """Scrapy's, which reads `no_proxy` from the environment for every request; here it is read once for each host."""

    def __init__(self, auth_encoding: str | None = "latin-1") -> None:
        super().__init__(auth_encoding)
        self._bypasses = lru_cache(HOSTS)(proxy_bypass)

    def process_request(self, request: Request) -> None:  # type: ignore[override]  # the spider argument is deprecated
        scheme = request.url.partition(":")[0]
        if "proxy" in request.meta or scheme not in self.proxies:
            super().process_request(request)
        elif not self._bypasses(split(request.url).host.strip("[]")):
            creds, proxy = self.proxies[scheme]
            self._set_proxy_and_creds(request, proxy, creds, scheme)
        else:
            self._set_proxy_and_creds(request, None, None, None)


class RedirectMiddleware(redirect.RedirectMiddleware):
    """Scrapy's, with two differences for a redirect to another spelling of the same URL key.

    The cookies that the answer sets go along once, and a hop that changes nothing is a loop. (Redirects to another
    key end the lease in the scheduler: no hop limit is needed for them here.)
    """

    def _engine_started(self) -> None:
        """No Referer is sent, so none is looked for."""

    def process_response(  # type: ignore[override]  # the spider argument is deprecated
        self, request: Request, response: Response
    ) -> Request | Response:
        try:
            result = super().process_response(request, response)
        except IgnoreRequest as error:
            raise Refused(Reason.REDIRECT_MAX, str(error), queue=Queue.ERROR, asked=True) from error
        except ValueError:  # a Location that is no URL: the answer of this status is the end
            return response
        if not isinstance(result, Request) or request.meta.get(ROBOTS_FETCH):
            return result
        if key_of(result) != key_of(request):
            return result
        cookies = _cookies(request, response)
        before = request.headers.get(b"Cookie", b"") or b""
        if cookies:
            result.headers[b"Cookie"] = cookies
        if result.url == request.url and cookies == before:
            message = f"redirect to itself: {response.status} {result.url}"
            raise Refused(Reason.REDIRECT_LOOP, message, queue=Queue.ERROR, asked=True)
        return result


def _cookies(request: Request, response: Response) -> bytes:
    """The request's cookies, overlaid by those that the response sets; path and domain don't matter for one hop."""
    pairs: dict[bytes, bytes] = {}
    for header in (request.headers.get(b"Cookie") or b"").split(b";"):
        name, equals, value = header.strip().partition(b"=")
        if equals:
            pairs[name] = value
    for header in response.headers.getlist(b"Set-Cookie"):
        name, equals, value = header.partition(b";")[0].strip().partition(b"=")
        if equals:
            pairs[name] = value
    return b"; ".join(name + b"=" + value for name, value in pairs.items())


class ParentMiddleware(BaseSpiderMiddleware):
    """Marks a Request that a spider yields with the request of the page that it came from."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        if response is not None and response.request is not None:
            request.meta["yielded_by"] = response.request
        return request
