"""The parameters of a crawl: their types, ranges and defaults, and where they come from.

Command line (`-a name=value`) before set.conf in the crawl folder, before settings.py (`TOPICCRAWL_<NAME>`).
A parameter belongs here when it says *what* is crawled; *how* (delays, time-outs) are Scrapy settings, which set.conf
may hold too, in its section [settings]. The table of docs/reference/parameters.md is printed from this file.
"""

from __future__ import annotations

import configparser
import difflib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from topiccrawl.errors import ParameterError
from topiccrawl.urls import normalise_domain

CRAWL, SETTINGS = "crawl", "settings"  # sections of set.conf


def _whole(value: Any) -> Any:
    """1e3 and 1000.0 are whole numbers as people write them."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return value
    return int(number) if number.is_integer() else value


def _by_commas(text: str) -> list[str]:
    return [part for part in re.split(r"[\s,]+", text) if part]


_TOKEN = re.compile(
    r"\\.|\{\d*,\d*\}|\[\^?\]?(?:\\.|[^\]\\])*\]"  # escaped, a repetition, a set: nothing in them separates
    r"|(?P<open>\()|(?P<close>\))|(?P<gap>[\s,]+)|.",
    re.DOTALL,
)


def _by_patterns(text: str) -> list[str]:
    """Regular expressions: white space and commas separate them, but not inside brackets of an expression."""
    parts, depth = [""], 0
    for token in _TOKEN.finditer(text):
        if token["gap"] and not depth:
            parts.append("")
            continue
        parts[-1] += token[0]
        depth = max(0, depth + (token["open"] is not None) - (token["close"] is not None))
    return [part for part in parts if part]


def _listed(value: Any, split: Callable[[str], list[str]] = _by_commas) -> Any:
    """A JSON list, or values separated by white space or commas."""
    if not isinstance(value, str):
        return value
    if re.match(r"\s*\[\s*[\"\]]", value):
        try:
            return json.loads(value)
        except ValueError as error:
            raise ValueError(f"no JSON list: {error}") from error
    return split(value)


def _domains(value: Any) -> Any:
    found = [(text, normalise_domain(str(text))) for text in _listed(value)]
    for text, domain in found:
        if domain is None:
            raise ValueError(f"{text!r} is no domain name; write it like example.org")
    return [domain for _, domain in found]


def _patterns(value: Any) -> Any:
    patterns = _listed(value, _by_patterns)
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            raise ValueError(f"{pattern!r} is no regular expression ({error}); escape it, as in \\.pdf$") from error
    return patterns


Whole = Annotated[int, BeforeValidator(_whole)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Parameters(BaseModel):
    """What a crawl is asked to do. Field descriptions are the user's documentation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seeds: str | None = Field(
        None,
        description="a file with one URL a line; or URLs separated by white space or commas; or a JSON list."
        " Default: init_url of the crawl folder",
    )
    topic: str | None = Field(
        None,
        description="a file with one `word<TAB>weight` a line. Default: topic.txt beside the seeds file, else"
        " topic.txt of the crawl folder, else the words are learned from the seed pages",
    )
    strategy: Literal["topic", "breadth", "depth"] = Field("topic", description="the order of fetches")
    m0: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        1.0, description="relevance message value of a seed, and of a URL behind a relevant link"
    )
    b: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = Field(
        0.5, description="what m is multiplied by behind an irrelevant link"
    )
    f: Share = Field(0.02, description="relevance threshold on sim: a link of at least f is relevant")
    m_min: Share = Field(0.05, description="URLs with a smaller m are discarded; 0 keeps all")
    depth: Annotated[Whole, Field(gt=0, le=65535)] | None = Field(None, description="most links from a seed")
    pages: Annotated[Whole, Field(gt=0)] | None = Field(None, description="most pages stored, over all runs")
    domains: Annotated[tuple[str, ...], BeforeValidator(_domains)] = Field(
        (), description="only these domains and their sub-domains, separated by commas"
    )
    deny: Annotated[tuple[str, ...], BeforeValidator(_patterns)] = Field(
        (),
        description="regular expressions, separated by commas or as a JSON list; a URL that one of them finds is"
        " discarded",
    )


NAMES = tuple(Parameters.model_fields)


class Config:
    """set.conf of a crawl folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parser = configparser.ConfigParser(interpolation=None, default_section="\0", delimiters=("=",))
        self._parser.optionxform = str  # type: ignore[assignment,method-assign]
        added = 0
        if path.is_file():
            try:
                text = path.read_text(encoding="utf-8-sig")
                if not re.search(r"^\[", text, re.MULTILINE):  # without sections it holds parameters
                    text, added = f"[{CRAWL}]\n{text}", 1
                self._parser.read_string(text, str(path))
            except (OSError, UnicodeDecodeError, configparser.Error) as error:
                message = re.sub(r"\[line\s+(\d+)\]", lambda m: f"[line {int(m[1]) - added}]", str(error))
                raise ParameterError(f"{path}: {' '.join(message.split())}") from error
        for section in self._parser.sections():
            if section not in (CRAWL, SETTINGS):
                raise ParameterError(f"{path}: unknown section [{section}]; use [{CRAWL}] and [{SETTINGS}]")

    def parameters(self) -> dict[str, str]:
        return dict(self._parser[CRAWL]) if CRAWL in self._parser else {}

    def settings(self) -> dict[str, str]:
        return dict(self._parser[SETTINGS]) if SETTINGS in self._parser else {}

    def line(self, name: str) -> int:
        """The number of the line that sets a parameter."""
        lines = self.path.read_text(encoding="utf-8-sig").splitlines()
        return next((n for n, line in enumerate(lines, 1) if line.partition("=")[0].strip() == name), 0)


def load(arguments: Mapping[str, Any], config: Config, settings: Mapping[str, Any]) -> Parameters:
    """Merge the three sources. ParameterError names the first wrong value, where it stands, and what to do."""
    values: dict[str, Any] = {}
    where: dict[str, str] = {}
    for name in NAMES:
        setting = f"TOPICCRAWL_{name.upper()}"
        if settings.get(setting) is not None:
            values[name], where[name] = settings[setting], f"setting {setting}"
    for name, value in config.parameters().items():
        values[name], where[name] = value, f"{config.path}, line {config.line(name)}"
    for name, value in arguments.items():
        values[name], where[name] = value, f"-a {name}={value}"
    given = {name: value for name, value in values.items() if value != ""}
    try:
        return Parameters(**given)
    except ValidationError as error:
        raise ParameterError(_one_line(error, where)) from error


def _one_line(error: ValidationError, where: Mapping[str, str]) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, NAMES, 1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(NAMES)}"
        return f"{where[name]}: no such parameter; {hint}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where[name]}: {name} is {first['input']!r}: {message[0].lower()}{message[1:]}"


def help_text() -> str:
    """All parameters, one a line, for `-a help=1`."""
    lines = ["scrapy crawl topic -a NAME=VALUE ... [-s CRAWL_DIR=FOLDER]", ""]
    for name, field in Parameters.model_fields.items():
        default = "" if field.default in (None, ()) else f" (default {field.default})"
        lines.append(f"  {name:<9} {field.description}{default}")
    return "\n".join(lines)
