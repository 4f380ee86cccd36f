"""The three files of a page: its bytes, its page info, its links. Named by a hash of the URL key, never by the URL.

Each is written to a temporary name and renamed, so a file that is there is whole. Fields of page info are listed in
docs/reference/files.md; adding one means adding it there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from topiccrawl.folder import write_whole
from topiccrawl.records import MAX_SIM, Page, Queue, Reason, ScoredLink
from topiccrawl.urls import page_id, split

_JSON = msgspec.json.Encoder()


class PageNames(NamedTuple):
    """Paths of a page's files, relative to the crawl folder."""

    page: str
    info: str
    links: str

    @classmethod
    def of(cls, key: str) -> PageNames:
        name = page_id(key)
        place = f"{name[:2]}/{name}"
        return cls(f"page_db/{place}.html", f"page_info/{place}.json", f"page_url/{place}.tsv")


class Inherited(NamedTuple):
    """What page info says beyond the page itself."""

    parent: str | None  # page id of the parent
    parent_url: str | None
    m: float


class PageFiles:
    """Writes and reads page files of one crawl folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._prefix = os.path.join(folder, "")
        self._made: set[str] = set()

    def write(self, page: Page, inherited: Inherited, m_of: Callable[[int], float]) -> PageNames:
        """All three files. `m_of` gives the relevance message value of a level."""
        names = PageNames.of(page.key)
        children = [page_id(link.key) for link in _led_to(page.links)]
        self._put(names.page, page.body)
        self._put(names.info, _JSON.encode(page_info(page, names, inherited, children)))
        self._put(names.links, links_tsv(page.links, m_of).encode("utf-8", "backslashreplace"))
        return names

    def read_page(self, key: str) -> bytes:
        return (self._folder / PageNames.of(key).page).read_bytes()

    def read_info(self, key: str) -> dict[str, Any]:
        info: dict[str, Any] = msgspec.json.decode((self._folder / PageNames.of(key).info).read_bytes())
        return info

    def _put(self, name: str, data: bytes) -> None:
        folder = name[: name.rindex("/")]
        if folder not in self._made:
            os.makedirs(self._prefix + folder, exist_ok=True)
            self._made.add(folder)
        write_whole(self._prefix + name, data)


def page_info(page: Page, names: PageNames, inherited: Inherited, children: list[str]) -> dict[str, Any]:
    """The fields of the original design, then those of today."""
    parts = split(page.url)
    document = page.document
    return {
        "host": parts.host,
        "port": parts.port,
        "dir": parts.path_dir,
        "page": parts.file,
        "file": names.page,
        "pageinfo": names.info,
        "url": page.url,
        "title": document.title,
        "keywords": document.keywords,
        "body": document.summary,
        "protocol": int(parts.scheme == "https"),
        "url_count": len(page.links),
        "type": page.type,
        "code": page.charset,
        "page_size": len(page.body),
        "is_handled": 1,
        "status": page.status,
        "fetched_at": page.fetched_at,
        "final_url": page.final_url,
        "canonical": document.canonical,
        "depth": page.depth,
        "parent": inherited.parent,
        "parent_url": inherited.parent_url,
        "children": children,
        "m": inherited.m,
        "sim": page.sim / MAX_SIM,
        "relevance": page.relevance,
        "relevant": page.relevant,
        "language": document.language,
        "sha256": page.sha256,
        "links_bad": document.links_bad,
        "ip_address": page.ip_address,
        "request_headers": page.request_headers,
        "response_headers": page.headers,
        **page.extra,
    }


def links_tsv(links: tuple[ScoredLink, ...], m_of: Callable[[int], float]) -> str:
    """A header, then every link of the page: url, link text, sim, m, queue it went to, reason."""
    lines = ["url\ttext\tsim\tm\tqueue\treason"]
    ms: dict[int, str] = {}
    for scored in links:
        text = scored.link.text
        if not text.isprintable():
            text = text.replace("\t", " ").replace("\n", " ").replace("\r", " ")
        if scored.sim is None or scored.level is None:
            lines.append(f"{scored.link.url}\t{text}\t\t\t\t")
            continue
        queue, reason = _went_to(scored)
        m = ms.get(scored.level) or ms.setdefault(scored.level, f"{m_of(scored.level):.4g}")
        sim = f"{scored.sim / MAX_SIM:.4f}" if scored.sim else "0.0000"
        lines.append(f"{scored.link.url}\t{text}\t{sim}\t{m}\t{queue}\t{reason}")
    return "\n".join(lines) + "\n"


def _went_to(scored: ScoredLink) -> tuple[str, str]:
    """(queue, reason); no queue for the links of a page that asks not to follow them.

    A known URL stays where it stood, unless this link revives or raises it: link.db has the last word.
    """
    if scored.known_as is not None:
        return scored.known_as, "known"
    if scored.reason is Reason.NOFOLLOW:
        return "", scored.reason
    if scored.reason is not None:
        return Queue.DISCARD, scored.reason
    return Queue.WAITING, ""


def _led_to(links: tuple[ScoredLink, ...]) -> list[ScoredLink]:
    """The links that brought a new URL into waiting, one per URL key."""
    new = {link.key: link for link in links if link.sim is not None and not link.known_as and not link.reason}
    return list(new.values())
