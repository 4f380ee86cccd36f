"""Between Scrapy's Requests and the frontier's records.

A Request of the crawl itself is a URL and nothing else. One that a user's spider yields may carry a method, a body,
headers, a callback by name and plain meta; these are kept as msgpack in the frontier. What is no plain data
(a lambda, a Selector) can't outlive the process, and is refused with NotStorableError.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from topiccrawl.errors import NotStorableError
from topiccrawl.records import Lease
from topiccrawl.urls import key_hash, url_key

OURS = frozenset(
    {"lease", "link_text", "yielded_by", "download_slot", "download_latency", "download_timeout", "depth", "proxy"}
    | {"redirect_times", "redirect_ttl", "redirect_urls", "redirect_reasons", "_scheme_proxy", "_auth_proxy"}
)
"""Keys of meta that belong to one fetch, not to the URL."""

_DEFAULTS = {"method": "GET", "encoding": "utf-8"}
_DROPPED = frozenset({"url", "priority", "dont_filter", "flags"})


@dataclass(frozen=True, slots=True)
class Special:
    """What makes a Request more than its URL."""

    data: bytes
    suffix: str  # of the URL key: method and body are part of what is known


def to_request(lease: Lease, spider: Spider) -> Request:
    """The Request that fetches a lease."""
    if lease.request is None:
        request = Request(lease.url, dont_filter=True)
    else:
        kept = msgspec.msgpack.decode(lease.request)
        request = request_from_dict({"url": lease.url, "dont_filter": True, **kept}, spider=spider)
    request.meta["lease"] = lease
    return request


def special(request: Request, spider: Spider) -> Special | None:
    """What has to be kept of a user's Request beside its URL; None if nothing. Raises NotStorableError."""
    try:
        found = {name: value for name, value in request.to_dict(spider=spider).items() if name not in _DROPPED}
        found["meta"] = {name: value for name, value in request.meta.items() if name not in OURS}
        kept = {name: value for name, value in found.items() if value and _DEFAULTS.get(name) != value}
        if not kept:
            return None
        data = msgspec.msgpack.encode(kept)
        _check(kept, msgspec.msgpack.decode(data))
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise NotStorableError(
            f"{request}: {error}; a Request in the frontier may hold plain data and methods of the spider only"
        ) from error
    return Special(data, _suffix(request.method, request.body))


def _check(kept: dict[str, Any], back: dict[str, Any]) -> None:
    """ValueError where a callback would be given something else than what the spider put in."""
    for part in ("meta", "cb_kwargs"):
        for name, value in kept.get(part, {}).items():
            found = back[part].get(name)
            if not _same(value, found):
                raise ValueError(
                    f"{part}[{name!r}] would come back as {found!r:.80} ({type(found).__name__}), not as {value!r:.80}"
                    f" ({type(value).__name__})"
                )


def _same(value: Any, found: Any) -> bool:
    if isinstance(value, dict) and isinstance(found, dict):
        return value.keys() == found.keys() and all(_same(value[key], found[key]) for key in value)
    if isinstance(value, list) and isinstance(found, list):
        return len(value) == len(found) and all(map(_same, value, found))
    return bool(value == found or (value != value and found != found))  # nan


def redirected(lease: Lease, request: Request | None) -> Special | None:
    """What of a lease's Request goes on to the target of its redirect; None if nothing.

    `request` is Scrapy's for the target, which says whether method and body go along; None: they don't.
    """
    if lease.request is None:
        return None
    kept = msgspec.msgpack.decode(lease.request)
    method, body = (request.method, request.body) if request is not None else ("GET", b"")
    if method == "GET":
        kept.pop("method", None)
    if not body:
        kept.pop("body", None)
    return Special(msgspec.msgpack.encode(kept), _suffix(method, body)) if kept else None


def key_of(request: Request) -> str:
    """The URL key, of which a method other than GET and a body are a part."""
    return url_key(request.url) + _suffix(request.method, request.body)


def _suffix(method: str, body: bytes) -> str:
    if method == "GET" and not body:
        return ""
    return f"#{method} {key_hash(body.decode('latin-1')):x}"
