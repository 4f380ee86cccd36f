"""Seeds as users give them: a file, URLs separated by white space or commas, or a JSON list."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from topiccrawl.errors import ParameterError
from topiccrawl.urls import seed_url

_BETWEEN = re.compile(
    r",?\s+|,\s*(?=$|[a-z][a-z0-9+.-]*:|[\w.-]+\.[^\W\d_]{2,}(?:[:/,\s]|$)|\d+(?:\.\d+){3}\b)", re.IGNORECASE
)
"""White space, or a comma before what begins like a URL: a comma inside a URL is its own."""

_FILE_LIKE = re.compile(r"\.(txt|tsv|csv|lst|list|urls?)$|(^|/)init_url$")


class BadSeed(NamedTuple):
    where: str  # "FILE, line N"
    value: str


class Seeds(NamedTuple):
    """Usable seeds in the order given, and what was no http(s) URL."""

    urls: tuple[str, ...]
    bad: tuple[BadSeed, ...]
    file: Path | None  # where they came from, if from a file


def find_file(text: str, places: tuple[Path, ...] = ()) -> Path | None:
    """The file that a user means: as it is, else below one of `places`."""
    for path in (Path(text).expanduser(), *(place / text for place in places)):
        try:
            if path.is_file():
                return path
        except (OSError, ValueError):  # longer than a path may be, or with a NUL
            return None
    return None


def read_seeds(text: str, places: tuple[Path, ...] = ()) -> Seeds:
    """ParameterError when there is no usable seed, or the file can't be read."""
    text = text.strip()
    path = find_file(text, places)
    if path is not None:
        return _usable(_lines(path), path)
    if _FILE_LIKE.search(text) and "://" not in text:
        looked = ", ".join(dict.fromkeys(str(place.resolve()) for place in (Path(), *places)))
        raise ParameterError(f"seeds: no such file: {text} (looked in {looked})")
    if text.startswith("["):
        return _usable([("seeds", value) for value in _json_list(text)], None)
    return _usable([("seeds", value) for value in _BETWEEN.split(text) if value], None)


def _lines(path: Path) -> list[tuple[str, str]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ParameterError(f"seeds: {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ParameterError(f"seeds: {path}: byte {error.start} is no UTF-8; save the file as UTF-8") from error
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(f"{path}, line {number}", line) for number, line in lines if line and not line.startswith("#")]


def _json_list(text: str) -> list[str]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise ParameterError(f"seeds: no JSON list of URLs: {error}") from error
    return [str(value) for value in values]


def _usable(values: list[tuple[str, str]], path: Path | None) -> Seeds:
    pairs = [(BadSeed(where, value), seed_url(value)) for where, value in values]
    urls = tuple(dict.fromkeys(url for _, url in pairs if url))
    bad = tuple(seed for seed, url in pairs if not url)
    if not urls:
        first = f"{bad[0].where}: {bad[0].value!r} is no http(s) URL" if bad else f"{path or 'seeds'}: no URL in it"
        raise ParameterError(f"{first}; give one URL a line, like https://example.org/")
    return Seeds(urls, bad, path)
