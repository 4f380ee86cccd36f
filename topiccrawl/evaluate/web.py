"""A recorded web: a folder of files that answers URLs as its servers did.

    hosts/<host>/...   the files            hosts.json           rules of each host, see `_host`
    topics/<t>.txt     topic words          truth/<t>.tsv        url, grade 0/1/2 (1 and 2 are on topic)
    seeds/<t>.txt      seeds, also in other folders of that form, as seeds-web/

docs/how-to/record-a-web.md describes the format. Two URLs are one page when they lead to the same file, so
`/x/` and `/x/index.html` are; `page` is the name of that page in all that is counted.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from topiccrawl.errors import ParameterError
from topiccrawl.seeds import read_seeds
from topiccrawl.topics import Topic, read_topic

INDEX_FILES = ("index.html", "index.htm", "index.asp")
HTML = "text/html"
TYPES = {
    **dict.fromkeys(("html", "htm", "asp"), HTML),
    **dict.fromkeys(("txt", "rst", "c", "h", "py", "log", "conf"), "text/plain"),
    "xhtml": "application/xhtml+xml",
    "xml": "application/xml",
    "css": "text/css",
    "csv": "text/csv",
    "ly": "text/x-lilypond",
    "js": "application/javascript",
    "json": "application/json",
    "pdf": "application/pdf",
    "zip": "application/zip",
    "gz": "application/gzip",
    "png": "image/png",
    "gif": "image/gif",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "svg": "image/svg+xml",
}
WITH_CHARSET = frozenset({HTML, "application/xhtml+xml"})
GRADES = {"0": 0, "1": 1, "2": 2}
PER_PAGE = "per-page"  # the charset of Content-Type is the one that the page itself declares
_declared = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w-]+)", re.I).search
_url = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?").match


@dataclass(frozen=True)
class Answer:
    """What a server says to one URL."""

    status: int
    location: str = ""  # of a redirect, absolute
    page: str = ""  # the name of the page, whatever spelling was asked for; "" where the status is not 200
    file: Path | None = None
    charset: str = ""  # of the host: a name, `per-page`, or none
    given_type: str = ""  # the whole Content-Type, where the file's name doesn't tell it

    @cached_property
    def body(self) -> bytes:
        return self.file.read_bytes() if self.file else b""

    @cached_property
    def type(self) -> str:
        """The media type without parameters."""
        if self.file is None or self.given_type:
            return self.given_type.partition(";")[0].strip() or HTML
        known = TYPES.get(self.file.suffix[1:].lower())
        return known or (HTML if self.body[:200].lstrip()[:1] == b"<" else "application/octet-stream")

    @property
    def content_type(self) -> str:
        """The header Content-Type."""
        if self.given_type:
            return self.given_type
        charset = self.charset if self.type in WITH_CHARSET else ""
        if charset == PER_PAGE:
            declared = _declared(self.body[:4096])
            charset = declared[1].decode("ascii", "replace") if declared else "utf-8"
        return f"{self.type}; charset={charset}" if charset else self.type


class Judged(NamedTuple):
    """A page of the truth."""

    url: str
    page: str
    grade: int


@dataclass(frozen=True)
class Host:
    """The files of one host by path (`/a/b`, with `?query` where the file's name has it), and its rules."""

    files: dict[str, Path]
    charset: str
    https: bool
    types: dict[str, str]
    redirects: tuple[tuple[re.Pattern[str], str], ...]
    moved: dict[str, str]

    def index(self, folder: str) -> str | None:
        """The path of the index file of a folder (with its slash)."""
        return next((folder + name for name in INDEX_FILES if folder + name in self.files), None)

    def redirect(self, path: str) -> str | None:
        for pattern, replacement in self.redirects:
            if pattern.match(path) and (target := pattern.sub(replacement, path)) != path:
                return target
        return None


class RecordedWeb:
    """A recorded web in a folder; ParameterError where it is none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / "hosts").is_dir():
            raise ParameterError(f"{folder}: no recorded web (no folder hosts in it); see docs/how-to/record-a-web.md")
        rules = self._rules()
        self.hosts = {
            path.name: _host(path, rules.get(path.name, {}), folder / "hosts.json")
            for path in sorted((folder / "hosts").iterdir())
            if path.is_dir()
        }

    def answer(self, url: str) -> Answer:
        """What the server of a URL answers: 502 for a host that is not recorded, 405 for https that was not."""
        parts = _url(url)
        if parts is None:
            return Answer(405)
        scheme, asked, query = parts[1], parts[3] or "/", parts[4] or ""
        name = parts[2].lower()
        name = name if name in self.hosts else name.partition(":")[0]
        host = self.hosts.get(name)
        if host is None:
            return Answer(502)
        if scheme == "https" and not host.https:
            return Answer(405)
        if target := host.moved.get(asked + query):
            return Answer(301, location=target)
        path = next(filter(host.files.__contains__, _spellings(asked, query)), None) or _unquote(asked)
        if path.endswith("/") and path not in host.files:
            path = host.index(path) or path
        if path in host.files:
            page = f"http://{name}{_without_index(path)}"
            return Answer(200, "", page, host.files[path], host.charset, host.types.get(path, ""))
        target = asked + "/" if host.index(path + "/") else host.redirect(path)
        return Answer(301, location=f"{scheme}://{parts[2]}{target}") if target else Answer(404)

    # ---- topics and what belongs to them ----

    @cached_property
    def topics(self) -> list[str]:
        """The names of the topics that have words, seeds and truth."""
        names = sorted(path.stem for path in (self.folder / "topics").glob("*.txt"))
        return [name for name in names if (self.folder / "truth" / f"{name}.tsv").is_file()]

    def topic(self, name: str) -> Topic:
        if name not in self.topics:
            known = ", ".join(self.topics) or "none, each needs topics/NAME.txt and truth/NAME.tsv"
            raise ParameterError(f"{self.folder}: no topic {name!r}; known are: {known}")
        return read_topic(self.folder / "topics" / f"{name}.txt")

    def seeds(self, name: str, folder: str = "seeds") -> tuple[str, ...]:
        """The seeds of a topic, in one of the folders of seeds."""
        path = self.folder / folder / f"{name}.txt"
        if not path.is_file():
            raise ParameterError(f"{path}: no such file; it lists the seeds of {name}, one a line")
        return read_seeds(str(path)).urls

    def truth(self, name: str) -> list[Judged]:
        """The judged pages. A page without a grade has grade 0; one that is not recorded can't be fetched: left out."""
        path = self.folder / "truth" / f"{name}.tsv"
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise ParameterError(f"{path}: {error.strerror}") from error
        judged: dict[str, Judged] = {}
        for number, line in enumerate(lines, 1):
            url, _, rest = line.partition("\t")
            grade = rest.partition("\t")[0].strip() or "0"
            if number == 1 and url == "url":
                continue
            if grade not in GRADES:
                raise ParameterError(f"{path}, line {number}: {line!r} is not url<TAB>grade, the grade 0, 1 or 2")
            if page := self.answer(url).page:
                judged[page] = Judged(url, page, GRADES[grade])
        if not any(one.grade for one in judged.values()):
            raise ParameterError(f"{path}: no page in it has grade 1 or 2; see docs/how-to/record-a-web.md")
        return list(judged.values())

    def stamps(self) -> Iterator[str]:
        """A line per file that changes when the file does."""
        for name, host in self.hosts.items():
            yield f"{name} {host.charset} {sorted(host.types.items())}"
            for path, file in sorted(host.files.items()):
                stat = file.stat()
                yield f"{path!r} {stat.st_size} {stat.st_mtime_ns}"

    def _rules(self) -> dict[str, dict[str, Any]]:
        path = self.folder / "hosts.json"
        try:
            rules = json.loads(path.read_bytes())
        except OSError as error:
            raise ParameterError(f"{path}: {error.strerror}; see docs/how-to/record-a-web.md") from error
        except ValueError as error:
            raise ParameterError(f"{path}: no JSON: {error}") from error
        if not isinstance(rules, dict) or not all(isinstance(rule, dict) for rule in rules.values()):
            raise ParameterError(f"{path}: not one JSON object with an object for each host")
        return rules


def _host(top: Path, rules: dict[str, Any], file: Path) -> Host:
    """A host with its rules in hosts.json, each of which may be missing.

    charset_header   charset in the Content-Type of HTML: a name, or `per-page` for what each page declares
    redirects        [regular expression, replacement] on the path     moved   path with query -> absolute URL
    types            path -> Content-Type, where the name of the file doesn't tell it
    https            true: answers https too
    """
    files = {
        os.path.join(place, name)[len(str(top)) :]: Path(place, name)
        for place, _, names in os.walk(top)
        for name in names
    }
    try:
        return Host(
            files=files,
            charset=str(rules.get("charset_header") or ""),
            https=bool(rules.get("https")),
            types=dict(rules.get("types") or {}),
            redirects=tuple((re.compile(old), str(new)) for old, new in rules.get("redirects") or ()),
            moved=dict(rules.get("moved") or {}),
        )
    except (re.error, TypeError, ValueError) as error:
        raise ParameterError(f"{file}: rules of {top.name}: {error}") from error


def _spellings(path: str, query: str) -> Iterator[str]:
    """How the file of a URL may be named, the exact one first."""
    if query:
        yield path + query
        yield _unquote(path + query)
    yield path
    if "%" in path:
        yield _unquote(path)


def _without_index(path: str) -> str:
    place, slash, name = path.rpartition("/")
    return place + slash if name in INDEX_FILES else path


def _unquote(path: str) -> str:
    """The path as it is named on disk."""
    return os.fsdecode(unquote_to_bytes(path)) if "%" in path else path
