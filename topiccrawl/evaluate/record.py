"""Makes a recorded web of a crawl folder: its pages, redirects, topic and seeds, and a truth to be filled in.

Bytes stay as they were received. What a plain folder of files can't say of itself goes into hosts.json (see
`web._host`): types, redirects, https. A URL whose path can't be the name of a file is left out, and so is one that
would not be answered with the same bytes afterwards; the summary counts them.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from topiccrawl.database import Database
from topiccrawl.errors import CrawlFolderError, ParameterError
from topiccrawl.evaluate.web import HTML, WITH_CHARSET, RecordedWeb
from topiccrawl.folder import CrawlFolder
from topiccrawl.topics import Topic, format_topic, parse_topic
from topiccrawl.urls import host_of, split

MAX_NAME = 255  # bytes of a file's name
_charset = re.compile(r"charset\s*=\s*[\"']?([\w-]+)", re.I).search


class Kept(NamedTuple):
    """A stored page of the crawl folder."""

    url: str
    file: Path
    content_type: str  # the header; "" if none was sent
    title: str
    relevance: float | None


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What `record` wrote."""

    topic: str
    hosts: int
    pages: int
    redirects: int
    left_out: list[str]  # URLs of pages that the web can't play


def record(folder: CrawlFolder, out: Path, name: str) -> Recorded:
    """Write the recorded web of a crawl into a new folder, with `name` as its topic."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ParameterError(f"{out}: there is something already; name a new folder")
    if not re.fullmatch(r"[\w.-]+", name):
        raise ParameterError(f"topic name {name!r}: letters, digits, dots and hyphens only, since it names files")
    database = Database.read(folder.path)
    try:
        topic, pages, moves = _topic(folder, database), list(_pages(folder, database)), list(_moves(database))
    finally:
        database.close()
    if not pages:
        raise CrawlFolderError(f"{folder.path}: no stored page in it; crawl first")
    try:
        return _write(folder, out, name, topic, pages, moves)
    except OSError as error:
        raise ParameterError(f"{error.filename or out}: {error.strerror}") from error


def _write(
    folder: CrawlFolder, out: Path, name: str, topic: Topic, pages: Sequence[Kept], moves: Sequence[tuple[Any, ...]]
) -> Recorded:
    for part in ("hosts", "topics", "seeds", "truth"):
        (out / part).mkdir(parents=True)
    places = _places(pages)
    for page, place in places.items():
        target = out / "hosts" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(page.file.read_bytes())
    stored = {page.url for page in pages}
    redirects = [(source, target) for source, target in moves if source not in stored]
    rules = _rules(places, redirects)
    for host in rules:  # one that only redirects has no files
        (out / "hosts" / host).mkdir(exist_ok=True)
    (out / "hosts.json").write_text(json.dumps(rules, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (out / "topics" / f"{name}.txt").write_text(format_topic(topic), encoding="utf-8")
    seeds = folder.seeds.read_text(encoding="utf-8") if folder.seeds.is_file() else ""
    (out / "seeds" / f"{name}.txt").write_text(seeds, encoding="utf-8")
    web = RecordedWeb(out)
    # Two spellings of one page, `/` and `/index.html`, are one file.
    left_out = [page.url for page in pages if web.answer(page.url).body != page.file.read_bytes()]
    played = [page for page in places if page.url not in left_out]
    (out / "truth" / f"{name}.tsv").write_text(_truth(played), encoding="utf-8")
    return Recorded(topic=name, hosts=len(web.hosts), pages=len(played), redirects=len(redirects), left_out=left_out)


# ---- reading the crawl folder ----


def _topic(folder: CrawlFolder, database: Database) -> Topic:
    words = json.loads(database.get_meta("topic") or "{}")
    if not words:
        raise CrawlFolderError(f"{folder.path}: its topic is not known yet; let the crawl learn it first")
    text = "".join(f"{word}\t{weight!r}\n" for word, weight in words.items())
    return parse_topic(text.encode(), str(folder.database))


def _pages(folder: CrawlFolder, database: Database) -> Iterator[Kept]:
    """Stored pages, first come first. The file of one that was deleted by hand is passed over."""
    rows = database.rows(
        "SELECT u.url, p.file, p.pageinfo, p.title, p.relevance FROM pages p JOIN urls u ON u.id = p.url ORDER BY u.id"
    )
    for url, file, info, title, relevance in rows:
        try:
            headers = msgspec.json.decode((folder.path / info).read_bytes()).get("response_headers", {})
        except (OSError, msgspec.DecodeError):
            continue
        header = next((value for key, value in headers.items() if key.lower() == "content-type"), "")
        if (folder.path / file).is_file():
            yield Kept(url, folder.path / file, header, title, relevance)


def _moves(database: Database) -> Iterator[tuple[Any, ...]]:
    """(URL, where it redirected to)."""
    return database.rows(
        "SELECT u.url, t.url FROM urls u JOIN urls t ON t.id = u.target WHERE u.reason = 'redirect' ORDER BY u.id"
    )


# ---- files and rules ----


def _places(pages: Sequence[Kept]) -> dict[Kept, str]:
    """Where each page goes below hosts/. One that another page has as a folder becomes that folder's index."""
    wanted = {page: place for page in pages if (place := _place(page.url))}
    folders = {str(parent) for place in wanted.values() for parent in Path(place).parents}
    found: dict[Kept, str] = {}
    taken: set[str] = set()
    for page, place in wanted.items():
        place = f"{place}/index.html" if place in folders else place
        if place not in taken:
            taken.add(place)
            found[page] = place
    return found


def _place(url: str) -> str | None:
    """The path of a URL's file below hosts/; None where it can't be a file."""
    path, mark, query = _asked(url).partition("?")
    path = path + "index.html" if path.endswith("/") else path
    name = os.fsdecode(unquote_to_bytes(path + mark + query))
    steps = name[1:].split("/")
    usable = all(step not in ("", ".", "..") and len(os.fsencode(step)) <= MAX_NAME for step in steps)
    host = host_of(url)
    return f"{host}{name}" if host and usable and "\0" not in name else None


def _rules(places: dict[Kept, str], redirects: Sequence[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """hosts.json: per host the commonest charset, and what differs from what a file's name would say."""
    hosts = dict.fromkeys(host_of(url) for url in (*(page.url for page in places), *(url for url, _ in redirects)))
    return {host: _rules_of(host, places, redirects) for host in hosts}


def _rules_of(host: str, places: dict[Kept, str], redirects: Sequence[tuple[str, str]]) -> dict[str, Any]:
    own = {page: place[len(host) :] for page, place in places.items() if host_of(page.url) == host}
    moved = {_asked(source): (source, target) for source, target in redirects if host_of(source) == host}
    charset = _commonest_charset(own)
    sources = [page.url for page in own] + [source for source, _ in moved.values()]
    return {
        "charset_header": charset,
        "https": any(url.startswith("https:") for url in sources),
        "types": {
            path: page.content_type or HTML for page, path in own.items() if not _says(path, charset, page.content_type)
        },
        "moved": {asked: target for asked, (_, target) in moved.items()},
    }


def _asked(url: str) -> str:
    """Path and query as they are asked for."""
    parts, (_, mark, query) = split(url), url.partition("#")[0].partition("?")
    return parts.path_dir + parts.file + mark + query


def _commonest_charset(pages: dict[Kept, str]) -> str | None:
    counts = Counter(_charset_of(page.content_type) for page in pages if _is_html(page.content_type))
    return counts.most_common(1)[0][0] or None if counts else None


def _says(place: str, charset: str | None, content_type: str) -> bool:
    """True where name and host rules alone give this Content-Type."""
    return (
        place.lower().endswith((".html", ".htm"))
        and _is_html(content_type)
        and content_type.partition(";")[0].strip().lower() == HTML
        and _charset_of(content_type) == (charset or "")
    )


def _is_html(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() in WITH_CHARSET


def _charset_of(content_type: str) -> str:
    found = _charset(content_type)
    return found[1].lower() if found else ""


def _truth(pages: Sequence[Kept]) -> str:
    """All pages, those that the crawl thought most relevant first: the grades are for a person to fill in."""
    ordered = sorted(pages, key=lambda page: -(page.relevance or 0.0))
    lines = [
        f"{page.url}\t\t{page.relevance or 0:.3f}\t{' '.join(page.title.split())}".encode("utf-8", "replace").decode()
        for page in ordered
    ]
    return "\n".join(["url\tgrade\tscore\ttitle", *lines]) + "\n"
