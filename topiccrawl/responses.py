"""Scrapy's responses and failures in our terms: what kind of page, which reason, how long to wait."""

from __future__ import annotations

import hashlib
import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Literal

from OpenSSL.SSL import Error as OpenSSLError
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.utils._compression import _DecompressionMaxSizeExceeded
from service_identity.exceptions import VerificationError
from twisted.internet.error import ConnectionLost, SSLError
from twisted.web.client import ResponseFailed

from topiccrawl.html import parse_html, parse_text
from topiccrawl.records import Lease, Outcome, Page, Queue, Reason
from topiccrawl.urls import is_http, join

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
REDIRECT_STATUS = frozenset({301, 302, 303, 307, 308})
VALUED_DIRECTIVES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
RETRY_STATUS = frozenset({408, 429})  # and every 5xx


def content_type(response: Response) -> str:
    """The media type without parameters, lower case; "" if none was sent."""
    header = response.headers.get(b"Content-Type") or b""
    return header.decode("latin-1").partition(";")[0].strip().lower()


def kind_of(response: Response) -> Literal["html", "text"] | None:
    """How a body is to be read; None: it is no page."""
    if not isinstance(response, TextResponse):
        # Scrapy makes a bare Response of a body without any type or bytes: an empty page is a page.
        return "text" if not response.body and content_type(response) in {*HTML_TYPES, "text/plain", ""} else None
    media = content_type(response)
    if media in HTML_TYPES or (not media and isinstance(response, HtmlResponse)):
        return "html"
    return "text" if media in ("text/plain", "") else None


def page_of(response: Response, lease: Lease) -> Page | None:
    """The page that a response holds; None if it is neither HTML nor text."""
    kind = kind_of(response)
    if kind is None:
        return None
    text = response.text if isinstance(response, TextResponse) else ""
    language = (response.headers.get(b"Content-Language") or b"").decode("latin-1")
    if kind == "html":
        document = parse_html(text, response.url, content_language=language)
    else:
        document = parse_text(text, response.url)
    request = response.request
    return Page(
        url=lease.url,
        key=lease.key,
        final_url=response.url,
        status=response.status,
        type=content_type(response),
        charset=response.encoding if isinstance(response, TextResponse) else "",
        fetched_at=time.time(),
        request_headers=_plain(request.headers) if request else {},
        headers=_plain(response.headers),
        body=response.body,
        sha256=hashlib.sha256(response.body).hexdigest(),
        document=document,
        depth=lease.depth,
        level=lease.level,
        sim=lease.sim,
        parent=lease.parent,
        token=lease.token,
        ip_address=str(response.ip_address) if response.ip_address else None,
    )


def robots_directives(page: Page) -> frozenset[str]:
    """noindex, nofollow ... of meta robots and X-Robots-Tag together."""
    header = next((value for name, value in page.headers.items() if name.lower() == "x-robots-tag"), "")
    found = _header_directives(header.lower()) | page.document.robots
    return frozenset(found | ({"noindex", "nofollow"} if "none" in found else set()))


def _header_directives(header: str) -> set[str]:
    """Directives of X-Robots-Tag headers, one a line, that speak to all or to us: "googlebot: noindex, nofollow"."""
    found = set()
    for line in header.split("\n"):
        agent = ""
        for part in line.split(","):
            name, colon, rest = part.partition(":")
            if colon and name.strip() not in VALUED_DIRECTIVES:
                agent, part = name.strip(), rest
            if agent in ("", "topiccrawl"):
                found.add(part.strip())
    return found


def retry_after(response: Response, now: float) -> float | None:
    """Seconds that a Retry-After header asks for, in either of its forms; None without a usable one."""
    value = (response.headers.get(b"Retry-After") or b"").decode("latin-1").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        date = parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)


def foreign_location(response: Response) -> str | None:
    """Where a redirect leads that Scrapy doesn't follow: to a URL that is not http(s)."""
    if response.status not in REDIRECT_STATUS:
        return None
    target = join(response.url, (response.headers.get(b"Location") or b"").decode("latin-1"))
    return None if target is None or is_http(target) else target


def outcome_of_status(response: Response, ended_at: float) -> Outcome:
    """The outcome of an answer that is no success."""
    status = response.status
    again = status in RETRY_STATUS or status >= 500
    return Outcome(
        queue=Queue.ERROR,
        reason=Reason.HTTP,
        status=status,
        retry=again,
        retry_after=retry_after(response, ended_at) if again else None,
        ended_at=ended_at,
    )


def outcome_of_failure(error: BaseException, ended_at: float) -> Outcome:
    """The outcome of a download that gave no response."""
    note = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    if isinstance(error, DownloadCancelledError) or isinstance(error.__cause__, _DecompressionMaxSizeExceeded):
        return Outcome(queue=Queue.DISCARD, reason=Reason.SIZE, note=note, ended_at=ended_at)
    if isinstance(error, IgnoreRequest):
        reason = getattr(error, "reason", Reason.IGNORED)
        queue = getattr(error, "queue", Queue.DISCARD)
        asked = getattr(error, "asked", False)
        return Outcome(queue=queue, reason=reason, note=note, asked=asked, ended_at=ended_at)
    reason = _failure_reason(error)
    return Outcome(queue=Queue.ERROR, reason=reason, retry=reason is not Reason.TLS, note=note, ended_at=ended_at)


def _failure_reason(error: BaseException) -> Reason:
    chain = _chain(error)
    if any(isinstance(e, (OpenSSLError, SSLError, VerificationError)) for e in chain):
        return Reason.TLS
    for kind, reason in (
        (ResponseDataLossError, Reason.TRUNCATED),
        (DownloadTimeoutError, Reason.TIMEOUT),
        (CannotResolveHostError, Reason.DNS),
        (DownloadConnectionRefusedError, Reason.REFUSED),
    ):
        if any(isinstance(e, kind) for e in chain):
            return reason
    if any(isinstance(e, (ConnectionLost, ConnectionResetError)) for e in chain) or isinstance(
        error, DownloadFailedError
    ):
        return Reason.RESET
    return Reason.DOWNLOAD


def _chain(error: BaseException) -> list[BaseException]:
    """The error with all that lie behind it, Twisted's lists of failures included."""
    found: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is None or one in found:
            continue
        found.append(one)
        todo += [one.__cause__, one.__context__]
        if isinstance(one, ResponseFailed):
            todo += [failure.value for failure in one.reasons]
    return found


def _plain(headers: object) -> dict[str, str]:
    """Scrapy's headers as text; several of one name are joined by line breaks."""
    pairs = headers.items()  # type: ignore[attr-defined]
    return {name.decode("latin-1"): "\n".join(value.decode("latin-1") for value in values) for name, values in pairs}
