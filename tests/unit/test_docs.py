"""The reference pages name everything that the code has: a page that misses something fails here."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from pydantic_core import PydanticUndefined

from topiccrawl import settings
from topiccrawl.archive.pagefiles import Inherited, PageNames, links_tsv, page_info
from topiccrawl.database import Database
from topiccrawl.parameters import Parameters
from topiccrawl.records import Document, Page, Queue, Reason

ROOT = Path(__file__).resolve().parents[2]
CODE, DOCS = ROOT / "topiccrawl", ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_STAT = re.compile(r"""_value\(\s*f?["'](topiccrawl/[^"']+)["']""")
_FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def rows(text: str) -> dict[str, str]:
    """The rows of all tables of a page, by the code word in their first cell."""
    return {match[1]: match[0] for match in re.finditer(r"^\| `([^`]+)`.*$", text, re.MULTILINE)}


def section(text: str, title: str) -> str:
    """The part of a page below a heading, up to the next heading that is not below it."""
    match = re.search(rf"^(#+) {re.escape(title)}\n", text, re.MULTILINE)
    assert match, f"no heading {title!r}"
    end = re.search(rf"^#{{1,{len(match[1])}}} ", text[match.end() :], re.MULTILINE)
    return text[match.end() :][: end.start() if end else None]


def missing(wanted: object, found: object) -> list[str]:
    return sorted(set(map(str, wanted)) - set(map(str, found)))  # type: ignore[call-overload]


def names_of_settings() -> list[str]:
    return [name for name in vars(settings) if name.isupper()]


def test_settings_has_every_setting() -> None:
    assert not missing(names_of_settings(), rows(text_of("reference/settings.md")))


@pytest.mark.parametrize("name", names_of_settings())
def test_settings_tells_the_default(name: str) -> None:
    value = getattr(settings, name)
    if isinstance(value, (bool, int, float, str)):
        assert f"| `{value!r}` |" in rows(text_of("reference/settings.md")).get(name, "")


def test_settings_has_no_setting_that_is_gone() -> None:
    others = {"ROBOTSTXT_USER_AGENT"}
    assert not missing(rows(text_of("reference/settings.md")), {*names_of_settings(), *others})


def test_parameters_has_every_parameter_with_its_default() -> None:
    found = rows(section(text_of("reference/parameters.md"), "Parameters"))
    assert not missing(Parameters.model_fields, found)
    for name, field in Parameters.model_fields.items():
        if field.default not in (None, (), PydanticUndefined):
            assert f"| `{field.default}` |" in found[name]


def test_commands_has_every_command() -> None:
    text = text_of("reference/commands.md")
    for path in (CODE / "commands").glob("[!_]*.py"):
        assert f"\n## scrapy {path.stem}\n" in text, path.stem


def test_commands_has_every_option() -> None:
    text = text_of("reference/commands.md")
    for path in (CODE / "commands").glob("[!_]*.py"):
        for option in re.findall(r'add_argument\("(--[a-z-]+)"', path.read_text(encoding="utf-8")):
            assert option in section(text, f"scrapy {path.stem}"), f"{path.stem} {option}"


def test_reasons_has_every_reason() -> None:
    found = rows(text_of("reference/reasons.md"))
    assert not missing(Reason, found)
    assert not missing(found, Reason)


def test_files_has_every_queue() -> None:
    text = text_of("reference/files.md")
    assert not missing([f"`{queue}`" for queue in Queue], re.findall(r"`[^`]+`", rows(section(text, "urls"))["queue"]))


def test_files_has_every_field_of_page_info() -> None:
    page = Page(
        url="http://s.test/",
        key="http://s.test/",
        final_url="http://s.test/",
        status=200,
        type="text/html",
        charset="utf-8",
        fetched_at=0.0,
        request_headers={},
        headers={},
        body=b"",
        sha256="",
        document=Document(),
        depth=0,
        level=0,
        sim=0,
    )
    info = page_info(page, PageNames.of(page.url), Inherited(parent=None, parent_url=None, m=1.0), [])
    found = rows(section(text_of("reference/files.md"), "page_info"))
    assert not missing(info, found)
    assert not missing(found, info)


def test_files_has_every_column_of_page_url() -> None:
    columns = links_tsv((), lambda level: 1.0).rstrip("\n").split("\t")
    assert list(rows(section(text_of("reference/files.md"), "page_url"))) == columns


def test_files_has_every_table_and_column_of_link_db(tmp_path: Path) -> None:
    database = Database.create(tmp_path)
    text = section(text_of("reference/files.md"), "link.db")
    for (table,) in database.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"):
        columns = [row[1] for row in database.rows(f"PRAGMA table_info({table})")]
        assert list(rows(section(text, table))) == columns, table
    version = next(database.rows("PRAGMA user_version"))[0]
    database.close()
    assert f"`PRAGMA user_version` is {version}" in text_of("reference/files.md")


def test_stats_has_every_stat() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in CODE.rglob("*.py"))
    used = {re.sub(r"\{[^}]+\}", "*", name) for name in _STAT.findall(code)}
    found = {re.sub(r"<[^>]+>", "*", name) for name in rows(text_of("reference/stats.md"))}
    assert used
    assert not missing(used, found)
    assert not missing(found, used)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_between_pages_resolve(page: Path) -> None:
    for link in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.is_file(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_page_is_in_the_index(page: Path) -> None:
    index = DOCS / "README.md"
    linked = {(DOCS / link).resolve() for link in _LINK.findall(index.read_text(encoding="utf-8"))}
    assert page == index or page in linked


def test_queries_on_link_db_run(tmp_path: Path) -> None:
    """The SQL that the pages show is SQL on the schema of today."""
    database = Database.create(tmp_path)
    shown = [
        sql for page in PAGES for sql in re.findall(r'"(SELECT [^"]+)"\s*$', page.read_text("utf-8"), re.MULTILINE)
    ]
    assert shown
    for sql in shown:
        try:
            database.connection.execute(sql).fetchall()
        except sqlite3.Error as error:
            pytest.fail(f"{sql}: {error}")
    database.close()
