"""The pages of a recorded web as the crawl would read them, each parsed once and kept in the user's cache folder.

One SQLite file per web and per version of the code that reads pages; changing either begins another. A page is parsed
when a replay first asks for it, by `responses.page_of` from the bytes and headers that a server would send.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import zlib
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
from scrapy.http import Response
from scrapy.responsetypes import responsetypes

from topiccrawl import html, records, responses, urls
from topiccrawl.evaluate.web import Answer, RecordedWeb
from topiccrawl.records import Document, Lease, Link

READERS = (html, records, responses, urls)
LIBRARIES = ("lxml", "parsel", "w3lib", "scrapy", "ada-url")
COMPRESSION = 1

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Document).decode


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """What asking for one URL gives."""

    status: int
    location: str  # of a redirect
    page: str  # name of the page, as in the truth; "" where there is none
    type: str
    document: Document | None  # None: no page, or neither HTML nor text


class ParsedWeb:
    """Visits of a recorded web. `cache` is a folder, None: only in memory."""

    def __init__(self, web: RecordedWeb, cache: Path | None = None) -> None:
        self.web = web
        self._visits: dict[str, Visit] = {}
        self._strings: dict[str, str] = {}
        self._file: sqlite3.Connection | None = None
        if cache is not None:
            self._file = _open(cache, web)

    def visit(self, url: str) -> Visit:
        found = self._visits.get(url)
        if found is None:
            answer = self.web.answer(url)
            document = self._document(url, answer) if answer.status == 200 else None
            found = Visit(answer.status, answer.location, answer.page, answer.type, document)
            self._visits[url] = found
        return found

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _document(self, url: str, answer: Answer) -> Document | None:
        kept = self._file and self._file.execute("SELECT data FROM documents WHERE url = ?", (url,)).fetchone()
        if kept:
            document = _decode(zlib.decompress(kept[0])) if kept[0] else None
        else:
            page = responses.page_of(response_of(url, answer), _lease(url))
            document = page.document if page else None
            self._keep(url, document)
        return None if document is None else self._shared(document)

    def _keep(self, url: str, document: Document | None) -> None:
        if self._file is None:
            return
        data = b"" if document is None else zlib.compress(_encode(document), COMPRESSION)
        self._file.execute("INSERT OR REPLACE INTO documents VALUES (?, ?)", (url, data))

    def _shared(self, document: Document) -> Document:
        """The document with the strings of its links shared among all pages: most links are repeats."""
        share = self._strings.setdefault
        links = tuple(
            Link(url=share(link.url, link.url), text=share(link.text, link.text), nofollow=link.nofollow)
            for link in document.links
        )
        return replace(document, links=links)


def response_of(url: str, answer: Answer) -> Response:
    """The response that Scrapy's downloader would have made."""
    headers: dict[Any, Any] = {b"Content-Type": answer.content_type.encode()}
    kind = responsetypes.from_args(headers=headers, url=url, body=answer.body)
    return kind(url, status=answer.status, headers=headers, body=answer.body)


def cache_folder() -> Path:
    """Where parsed pages are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "topiccrawl" / "evaluate"


def _lease(url: str) -> Lease:
    return Lease(token=0, row=0, url=url, key=url, host="")


def _open(cache: Path, web: RecordedWeb) -> sqlite3.Connection:
    """The cache of this web as this code reads it; what other code has read is deleted."""
    of_web, of_code = _web_digest(web), _code_digest()
    path = cache / f"{of_web}-{of_code}.db"
    cache.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        for old in cache.glob(f"{of_web}-*"):
            old.unlink(missing_ok=True)
    # Each page is written at once, so that several evaluations may fill one file.
    file = sqlite3.connect(path, timeout=60, isolation_level=None)
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("PRAGMA synchronous = OFF")
    file.execute("CREATE TABLE IF NOT EXISTS documents (url TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID")
    return file


def _web_digest(web: RecordedWeb) -> str:
    known = hashlib.sha256(str(web.folder.resolve()).encode())
    for stamp in web.stamps():
        known.update(stamp.encode("utf-8", "surrogateescape"))
    return known.hexdigest()[:12]


def _code_digest() -> str:
    known = hashlib.sha256(sys.version.encode())
    for module in READERS:
        known.update(Path(str(module.__file__)).read_bytes())
    for library in LIBRARIES:
        known.update(metadata.version(library).encode())
    return known.hexdigest()[:12]
