"""URLs: join them, cut them, and give each its key. Pure functions of strings; none raises, whatever the string.

    base    the URL that relative links of a page are joined on
    href    what a page wrote in a link
    url     an absolute URL in the spelling that is fetched
    key     the canonical form of a URL: equal keys are one page
    host    name or address, in brackets if IPv6, and `:port` where that is not the scheme's own

Changing what a key ignores changes the keys in existing crawl folders: it is a change of the file format, so say so in
docs/reference/files.md. Most links of a crawl are repeats, so the functions that parse are cached, and regular
expressions let plain URLs pass before the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, NamedTuple

import ada_url
import xxhash

SESSION_NAMES: Final = ("jsessionid", "phpsessid", "sid", "sessionid", "session_id", "cfid", "cftoken")
TRACKER_NAMES: Final = (
    *("gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "ttclid", "twclid", "igshid"),
    *("mc_cid", "mc_eid", "_hsenc", "_hsmi", "_openstat", "_ga", "_gl", "vd_source", "spm_id_from", "hmsr", "hmpl"),
)
TRACKER_PREFIXES: Final = ("utm_", "mtm_", "pk_")

CACHE_SIZE: Final = 1 << 15
CACHED_LENGTH: Final = 2048
"""Longer strings are worked out each time, so that a page of huge data: links can't fill the caches."""

_PORTS: Final = {"http": 80, "https": 443, "ftp": 21, "ws": 80, "wss": 443}
_WEB: Final = ("http://", "https://")
# Browsers keep non-ASCII white space at the ends of an href; editors never mean it.
_TRIM: Final = "".join(map(chr, [*range(0x21), *range(0x2000, 0x2010)])) + "\x7f\x85\xa0\u2028\u2029\u202f\u3000\ufeff"
_SURROGATE = re.compile("[\ud800-\udfff]")
_LEFT_OVER = re.compile(r"""[<>]|\{\{|\$\{|\\['"]""")  # markup, or a template that was never filled in
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
# Decoding an escape right behind a stray % could make a new escape, and a second pass would then change the key.
_SAFE_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%[0-9A-Fa-f]{2}")
_UNRESERVED: Final = {f"%{ord(c):02X}": c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"}
_ASP_SESSION = re.compile(r"/\((?:[SAFX]\([A-Za-z0-9_-]*\))+\)(?=/)")
_ARTICLE = re.compile(r"[0-9]{1,9}|.*/.*", re.S)  # sid=123, sid=99/10/03/1234: story ids of old portals, not sessions
_NAME: Final = r"(?:[a-z0-9_-]+\.)*[a-z][a-z0-9_-]*"  # a host name that can't be meant as an address
_PLAIN_ORIGIN = re.compile(
    rf"(https?)://({_NAME}|[0-9]+(?:\.[0-9]+){{3}}|\[[0-9a-f:.]+\])(?::([1-9][0-9]*))?(?=[/?#]|\Z)"
)
# A URL that is its own key, if the names in its query (group 1) count.
_PLAIN_KEY = re.compile(rf"https?://{_NAME}(?:/(?!\.)[A-Za-z0-9._~!$&*+,=:@-]*)+(?:\?([A-Za-z0-9._~!$&*+,=:@/-]+))?")
_HOST = re.compile(r"\[[0-9a-f:.]+\]|[a-z0-9._-]*[a-z0-9][a-z0-9._-]*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9]+(?:[/?#]|\Z))")  # not host:port


class UrlParts(NamedTuple):
    """The parts of a URL as page_info names them."""

    scheme: str
    host: str  # without port; IPv6 in brackets; "" if there is none
    port: int  # the scheme's own where none is written; 0 if unknown
    path_dir: str  # path up to and with its last slash
    file: str  # the rest of the path, without query


class IgnoredParameters:
    """Names that don't count in a key, whatever their case: sessions in path and query, trackers in the query."""

    __slots__ = ("_names", "_prefixes", "_sessions", "hint", "in_path")

    def __init__(
        self,
        sessions: Iterable[str] = SESSION_NAMES,
        trackers: Iterable[str] = TRACKER_NAMES,
        tracker_prefixes: Iterable[str] = TRACKER_PREFIXES,
    ) -> None:
        self._sessions = frozenset(name.lower() for name in sessions)
        self._names = self._sessions | {name.lower() for name in trackers}
        self._prefixes = tuple(prefix.lower() for prefix in tracker_prefixes)
        any_session = "|".join(map(re.escape, sorted(self._sessions))) or r"(?!)"
        any_start = "|".join(map(re.escape, sorted({*self._names, *self._prefixes}))) or r"(?!)"
        self.in_path = re.compile(f";(?:{any_session})=[^/?#]*", re.I)
        self.hint = re.compile(f"(?:^|&)(?:{any_start})", re.I)  # a query without it has nothing to ignore

    def ignores(self, parameter: str) -> bool:
        """Whether `name=value` of a query doesn't count."""
        name, _, value = parameter.partition("=")
        name = name.lower()
        if name == "sid" and _ARTICLE.fullmatch(value):
            return False
        return name in self._names or name.startswith(self._prefixes)


DEFAULT_IGNORED: Final = IgnoredParameters()


_SEGMENT: Final = r"(?!%2[Ee])[A-Za-z0-9_\-~+,=!*@&()%][A-Za-z0-9_\-~+,=!*@&()%.]*"
# An href that a parser would only put behind a folder of its base: no scheme, no empty segments, none of dots but in
# front. Groups: "/", or "../" some times; the rest without fragment.
_plain = re.compile(
    rf"(/|(?:\.\./)*)((?:{_SEGMENT}(?:/{_SEGMENT})*/?)?(?:\?[A-Za-z0-9_\-~+,=!*@&()%./]+)?)(?:#.*)?", re.S
).fullmatch


def join(base: str, href: str) -> str | None:
    """The URL that `href` means on a page with base URL `base`, without fragment, by the WHATWG rules.

    None when it is no URL at all, or holds markup or a template's left-overs. Escapes stay as they are.
    """
    return joiner(base)(href)


def joiner(base: str) -> Callable[[str], str | None]:
    """`join` with this base, for the many links of a page."""
    folders = _folders(base)

    def join_(href: str) -> str | None:
        plain = _plain(href) if folders and len(href) <= CACHED_LENGTH else None
        if plain is not None:
            up, rest = plain.groups()
            if up == "/":
                return folders[-1] + rest
            if up:
                return folders[min(len(up) // 3, len(folders) - 1)] + rest
            if rest and rest[0] != "?":
                return folders[0] + rest
        return _join_any(base, href)

    return join_


def _join_any(base: str, href: str) -> str | None:
    href = href.partition("#")[0].strip(_TRIM)
    if len(href) > CACHED_LENGTH:
        return _join.__wrapped__(base, href)
    if href.startswith(_WEB):
        return _join("", href)
    return _join(_needed(base, href), href)


@lru_cache(CACHE_SIZE // 32)
def _folders(base: str) -> tuple[str, ...]:
    """The folder of an http(s) base URL ("http://h/a/") and those above it, the root last; none for other bases."""
    url = _parse(base.partition("#")[0]) if base.startswith(_WEB) and ";" not in base else None
    if url is None:
        return ()
    folder = url.partition("?")[0]
    root = url.find("/", 8)
    return tuple(folder[: at + 1] for at in range(len(folder) - 1, root - 1, -1) if folder[at] == "/")


def _needed(base: str, href: str) -> str:
    """The part of `base` that counts for `href`, so that all pages of a folder or a host share the cache."""
    path = base.find("/", 8)
    if path < 0 or not href or href[0] in "?#" or ":" in href or not base.startswith(_WEB):
        return base
    if href[0] in "/\\":
        return base[: path + 1]
    folder = base.partition("?")[0].partition("#")[0]
    return folder[: folder.rfind("/") + 1]


@lru_cache(CACHE_SIZE)
def _join(base: str, href: str) -> str | None:
    href = href.strip(_TRIM).partition("#")[0]
    if _LEFT_OVER.search(href):  # not in the fragment: "term.html#<Esc>" is a good link
        return None
    url = _parse(href) if href.startswith(_WEB) else _parse(href, base.partition("#")[0])
    if url is None:
        return None
    # "http://s.test;jsessionid=1?p": no such host exists, so here the session goes from the fetched spelling too
    return _without_host_session(url, DEFAULT_IGNORED) if ";" in url and url.startswith(_WEB) else url


def _parse(url: str, base: str | None = None) -> str | None:
    """`url` in the parser's spelling, or None."""
    try:
        return ada_url.join_url(base, url) if base is not None else ada_url.normalize_url(url)
    except ValueError:
        pass
    if not _SURROGATE.search(url + (base or "")):
        return None
    return _parse(_SURROGATE.sub("\ufffd", url), base and _SURROGATE.sub("\ufffd", base))


def _without_host_session(url: str, ignored: IgnoredParameters) -> str:
    """An http(s) URL without a session written right behind the host."""
    head, slash, tail = _cut_path(url)
    host = ignored.in_path.sub("", head)
    return url if host == head or host.endswith("/") else _parse(host + slash + tail) or url


def _cut_path(url: str) -> tuple[str, str, str]:
    """An http(s) URL before, at and behind the slash that begins its path."""
    at = url.find("/", 8)
    return (url[:at], "/", url[at + 1 :]) if at > 0 else (url, "", "")


def url_key(url: str, *, ignored: IgnoredParameters = DEFAULT_IGNORED) -> str:
    """The canonical form of `url`: url_key(url_key(u)) == url_key(u). What is no URL is its own key (without fragment).

    The order of the query stays, since it can carry meaning, and index.html is a page like any other.
    """
    if len(url) > CACHED_LENGTH:
        return _url_key.__wrapped__(url, ignored)
    return _url_key(url, ignored)


@lru_cache(CACHE_SIZE)
def _url_key(url: str, ignored: IgnoredParameters) -> str:
    plain = _PLAIN_KEY.fullmatch(url)
    if plain and (plain[1] is None or not ignored.hint.search(plain[1])):
        return url
    url = url.partition("#")[0]
    parsed = _parse(url)
    if parsed is None or not parsed.startswith(_WEB):
        return url if parsed is None else parsed
    key = _clean(parsed, ignored)
    # Taking a session out of "..;sid=1" leaves a dot segment.
    return key if key == parsed else _parse(key) or key


def _clean(url: str, ignored: IgnoredParameters) -> str:
    """An http(s) URL as parsed -> with plain escapes and without what is ignored."""
    if ";" in url:
        url = _without_host_session(url, ignored)
    host, _, rest = _cut_path(url)
    if "%" in rest:
        rest = _SAFE_ESCAPE.sub(_decode_unreserved, _ESCAPE.sub(_upper, rest))
    path, _, query = rest.partition("?")
    path = "/" + path
    if ";" in path:
        path = ignored.in_path.sub("", path)
    if "(" in path:
        path = _ASP_SESSION.sub("", path)
    if query and ignored.hint.search(query):
        query = "&".join(part for part in query.split("&") if not ignored.ignores(part))
    return f"{host}{path}?{query}" if query else host + path


def _upper(escape: re.Match[str]) -> str:
    return escape[0].upper()


def _decode_unreserved(escape: re.Match[str]) -> str:
    return _UNRESERVED.get(escape[0], escape[0])


def key_hash(key: str) -> int:
    """The unsigned 64-bit number by which a key is known."""
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"))


def page_id(key: str) -> str:
    """The stem of a page's files: 32 hex digits."""
    return xxhash.xxh3_128_hexdigest(key.encode("utf-8", "surrogatepass"))


def split(url: str) -> UrlParts:
    """The parts of an absolute URL. All are empty where it is none."""
    scheme, host, port = _authority(url)
    plain = _PLAIN_ORIGIN.match(url)
    path = (url[plain.end() :].partition("#")[0].partition("?")[0] or "/") if plain else _parts(url)[3]
    cut = path.rfind("/") + 1
    return UrlParts(scheme, host, port, path[:cut], path[cut:])


def _authority(url: str) -> tuple[str, str, int]:
    """Scheme, host without port, and port (0 if unknown)."""
    plain = _PLAIN_ORIGIN.match(url)
    scheme, host, port = (plain[1], plain[2], plain[3] or "") if plain else _parts(url)[:3]
    return scheme, host, int(port) if port else _PORTS.get(scheme, 0)


def _parts(url: str) -> tuple[str, str, str, str]:
    """Scheme, host, port as written and not the scheme's own, path: as the parser sees them."""
    try:
        parts = ada_url.parse_url(_SURROGATE.sub("\ufffd", url), ("protocol", "hostname", "port", "pathname"))
    except ValueError:
        return "", "", "", ""
    return parts["protocol"][:-1], parts["hostname"], parts["port"], parts["pathname"]


@lru_cache(CACHE_SIZE)
def host_of(url: str) -> str:
    """The host whose rules the URL falls under: `s.test`, `s.test:8080`, `[::1]`; "" if it has none."""
    plain = _PLAIN_ORIGIN.match(url)
    if plain and plain[3] is None:
        return plain[2]
    scheme, host, port = _authority(url)
    return f"{host}:{port}" if host and port not in (0, _PORTS.get(scheme)) else host


def origin(url: str) -> str:
    """`scheme://host[:port]`; "" if the URL has no host."""
    host = host_of(url)
    return f"{_authority(url)[0]}://{host}" if host else ""


def is_http(url: str) -> bool:
    """Whether the scheme is http or https."""
    return url.startswith(_WEB) or url[:8].lower().startswith(_WEB)


def seed_url(text: str) -> str | None:
    """The http(s) URL that a user means who typed `text` as a seed, in the parser's spelling; None if unusable.

    A host without scheme gets http://, but a single word needs a dot or a port to be taken for a host.
    """
    text = text.strip(_TRIM)
    if not text or text.split() != [text] or _LEFT_OVER.search(text):
        return None
    bare = not is_http(text)
    if bare and (_SCHEME.match(text) or text[0] in "/\\?#" or "@" in text or text.isdigit()):
        return None
    url = _parse("http://" + text if bare else text)
    if url is None:
        return None
    host = _authority(url)[1]
    if not _HOST.fullmatch(host) or (bare and not (set(host) & set(".[") or host == "localhost" or ":" in text)):
        return None
    return url.partition("#")[0]


def normalise_domain(text: str) -> str | None:
    """The host name that a user means by an allowed domain: a URL, `S.test:80`, `.s.test`, `*.s.test`, an IDN name.

    None if unusable. The result has no port; non-ASCII names are in punycode.
    """
    text = text.strip(_TRIM)
    if "://" not in text:
        text = "http://" + text.lstrip("/").removeprefix("*").lstrip(".")
    host = _authority(text)[1].removeprefix("*").strip(".")
    host = _authority(f"http://{host}/")[1]  # "127.1." is a name, but "127.1" an address
    return host if _HOST.fullmatch(host) else None


def in_domains(host: str, domains: frozenset[str]) -> bool:
    """Whether `host` (a port doesn't count) is one of `domains`, or below one of them. Addresses only match as such."""
    if host[:1] == "[":
        return host.partition("]")[0] + "]" in domains
    name = host.partition(":")[0].rstrip(".").lower()
    if name in domains:
        return True
    if name[-1:].isdigit():  # by the URL standard such a name is an IPv4 address
        return False
    while name:
        name = name.partition(".")[2]
        if name in domains:
            return True
    return False
