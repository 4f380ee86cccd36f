"""The records that the floors hand to each other: plain, frozen, without behaviour beyond a few derived values.

A record belongs here when two floors share it. Adding a member to `Queue` or `Reason` is a change of the file format:
say so in docs/reference/files.md. New members go at the end, since stores may keep their position.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

MAX_SIM = 65535
"""sim is kept as an integer 0..MAX_SIM, so that every store orders alike."""


class Queue(StrEnum):
    """The five queues. Every known URL is in exactly one."""

    WAITING = "waiting"
    PROCESSING = "processing"
    ERROR = "error"
    DONE = "done"
    DISCARD = "discard"


class Reason(StrEnum):
    """Why a URL is in error or discard, or ended in done without a page of its own."""

    # discard
    M = "m"  # relevance message value below m_min
    DEPTH = "depth"  # deeper than the depth limit
    SCOPE = "scope"  # host outside `domains`
    DENY = "deny"  # matches a `deny` pattern
    SCHEME = "scheme"  # not http(s)
    LENGTH = "length"  # URL longer than the limit
    ROBOTS = "robots"  # robots.txt forbids it
    TYPE = "type"  # neither HTML nor text
    SIZE = "size"  # body over DOWNLOAD_MAXSIZE
    IGNORED = "ignored"  # a middleware or signal handler of the project refused it
    # error
    HTTP = "http"  # an HTTP status that is no success; shown with its number, as http-404
    TIMEOUT = "timeout"
    DNS = "dns"
    REFUSED = "refused"
    RESET = "reset"
    TRUNCATED = "truncated"
    TLS = "tls"
    DOWNLOAD = "download"  # the download failed in another way
    REDIRECT_LOOP = "redirect-loop"
    REDIRECT_MAX = "redirect-max"
    ROBOTS_UNREACHABLE = "robots-unreachable"
    INTERNAL = "internal"  # a callback, a pipeline or the disk failed
    CRASHED = "crashed"  # the process died while the URL was in processing, too often
    VANISHED = "vanished"  # its lease ended without any outcome
    # done without a page
    REDIRECT = "redirect"
    NOINDEX = "noindex"
    # of a link in page_url, in no queue
    NOFOLLOW = "nofollow"  # the page asks not to follow its links


REVIVABLE = frozenset({Reason.M, Reason.DEPTH})
"""Reasons in discard that a better link to the same URL lifts."""


def reason_label(reason: str | None, status: int | None) -> str:
    """The reason as people read it: `http-404` for an HTTP status, else the code itself."""
    if reason == Reason.HTTP and status:
        return f"http-{status}"
    return reason or ""


class Link(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One link of a page, as the page wrote it."""

    url: str  # absolute, joined on the base, without fragment; may be any scheme
    text: str = ""  # link text: text with alt in the place of images, else title; white space folded
    nofollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The facts that html.py reads from one response body in one parse."""

    title: str = ""
    keywords: str = ""  # <meta name=keywords>
    summary: str = ""  # <meta name=description>, else the first text of the body; at most 300 characters
    headings: str = ""  # h1..h3, one a line
    text: str = ""  # visible text, a line per block
    language: str = ""  # lang attribute or Content-Language, lower case, e.g. "zh-cn"; "" if not declared
    canonical: str = ""  # rel=canonical, absolute
    robots: frozenset[str] = frozenset()  # directives of meta robots, lower case: "noindex", "nofollow"
    refresh: str = ""  # target of a meta refresh with a delay that counts as a redirect, absolute
    links: tuple[Link, ...] = ()  # document order, repeats kept
    links_bad: int = 0  # hrefs that are no URL at all


class Candidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A URL that may enter the frontier."""

    url: str  # the spelling that is fetched
    key: str  # URL key
    hash: int  # unsigned 64-bit hash of the key: "known" is decided by it
    host: str
    level: int  # k in m = m0 * b**k
    sim: int  # 0..MAX_SIM
    depth: int
    text: str = ""  # the link text that gave sim
    refusal: Reason | None = None  # a rule of the crawl keeps it out, whatever its m
    hops: int = 0  # redirects that led here
    request: bytes | None = None  # method, headers, body, callback of a user's Request (msgpack)


class LeaseKind(StrEnum):
    PAGE = "page"
    ROBOTS = "robots"  # robots.txt must be read before this host may be asked


class Lease(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The right to fetch one URL. It ends by `finish`, or by the death of its owner."""

    kind: LeaseKind = LeaseKind.PAGE
    token: int  # grows with every lease: a late finish is told by it
    row: int  # row of urls in link.db; 0 for robots
    url: str
    key: str
    host: str
    level: int = 0
    sim: int = 0
    depth: int = 0
    parent: int | None = None  # row of the page that gave it its m and sim; None for a seed
    text: str = ""
    tries: int = 0  # fetches before this one
    hops: int = 0
    request: bytes | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a lease ended."""

    queue: Queue
    reason: Reason | None = None
    status: int | None = None  # HTTP status, if there was one
    retry: bool = False  # may be tried again: the frontier decides when, and whether
    retry_after: float | None = None  # seconds that the server asked for
    asked: bool = True  # the host was really asked, so its delay counts
    ended_at: float | None = None  # when the fetch ended; None: now
    note: str = ""


class RobotsFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What fetching a robots.txt gave."""

    reachable: bool  # False: 5xx, 429, time-out, DNS ...: the host is deferred
    text: str = ""  # "" means that everything is allowed
    status: int | None = None
    retry_after: float | None = None
    reason: Reason | None = None  # not reachable: what its URLs end with; None: robots-unreachable
    final: bool = False  # not reachable: another try can't help
    ended_at: float | None = None


class Selection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which URLs a command means. Fields that are None don't restrict, but where all are None nothing is meant.

    url is looked up by its key. What is done is meant only where queue or url is given.
    """

    queue: Queue | None = None
    reason: str | None = None  # a Reason, or http-404 for one status
    host: str | None = None
    url: str | None = None


class ScoredLink(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A link with what the crawl made of it."""

    link: Link
    key: str
    hash: int
    sim: int | None = None  # None while the topic is still being learned
    level: int | None = None
    reason: Reason | None = None  # why it would be discarded, if the URL is new
    known_as: Queue | None = None  # the queue in which the URL already stood


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One fetched page: the item that the spider yields and the pipelines store."""

    url: str
    key: str  # URL key, with method and body where they count
    final_url: str
    status: int
    type: str  # Content-Type without parameters
    charset: str
    fetched_at: float  # seconds since the epoch
    request_headers: dict[str, str]
    headers: dict[str, str]
    body: bytes
    sha256: str
    document: Document
    depth: int
    level: int
    sim: int
    parent: int | None = None
    token: int = 0  # of its lease
    ip_address: str | None = None
    relevance: float | None = None  # 0..1; None while the topic is still being learned
    relevant: bool = False
    links: tuple[ScoredLink, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)  # fields that a user's spider adds, written to page_info
