"""The catalogue: stored pages, their links, and the history of the crawl."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from topiccrawl.archive import catalogue as module
from topiccrawl.archive.catalogue import Catalogue, NewLink, Totals
from topiccrawl.archive.pagefiles import PageNames
from topiccrawl.database import Database
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.records import MAX_SIM, Candidate, Document, Page, Queue
from topiccrawl.urls import key_hash


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database.create(tmp_path)
    frontier = SqliteFrontier(database)
    for number in range(1, 6):
        url = f"http://s.test/{number}?sid=a1"
        key = f"http://s.test/{number}"
        frontier.add(
            [Candidate(url=url, key=key, hash=key_hash(key), host="s.test", level=1, sim=number, depth=2)],
            parent=None if number == 1 else 1,
        )
    yield database
    database.close()


def page(relevance: float | None = 0.5, relevant: bool = False, title: str = "t") -> Page:
    return Page(
        url="http://s.test/",
        key="http://s.test/",
        final_url="http://s.test/",
        status=200,
        type="text/html",
        charset="utf-8",
        fetched_at=1.0,
        request_headers={},
        headers={},
        body=b"12345",
        sha256="ab",
        document=Document(title=title, language="zh"),
        depth=0,
        level=0,
        sim=MAX_SIM,
        relevance=relevance,
        relevant=relevant,
    )


def add(database: Database, catalogue: Catalogue, row: int, links: Sequence[NewLink] = (), **more: Any) -> None:
    held = more.pop("held", False)
    with database.transaction() as connection:
        catalogue.add_page(connection, row, page(**more), PageNames.of(str(row)), links, held)


def links_of(database: Database, row: int) -> list[tuple[Any, ...]]:
    first, count = next(database.rows("SELECT first_link, link_count FROM pages WHERE url = ?", row))
    return list(
        database.rows(
            "SELECT source, target, sim, nofollow FROM links WHERE id >= ? AND id < ? ORDER BY id", first, first + count
        )
    )


def test_a_page_and_its_links(database: Database) -> None:
    catalogue = Catalogue(database)
    add(database, catalogue, 1, [NewLink(2, 500, False), NewLink(3, None, True)], relevant=True, title="彗星")
    columns = "url, file, title, relevance, relevant, status, type, size, sha256, language, indexed, link_count, held"
    assert list(database.rows(f"SELECT {columns} FROM pages")) == [
        (1, PageNames.of("1").page, "彗星", 0.5, 1, 200, "text/html", 5, "ab", "zh", 0, 2, 0)
    ]
    assert links_of(database, 1) == [(1, 2, 500, 0), (1, 3, None, 1)]


def test_totals_follow_and_are_read_again_at_the_next_start(database: Database) -> None:
    catalogue = Catalogue(database)
    assert (catalogue.totals, catalogue.totals.harvest_rate) == (Totals(0, 0), 0.0)
    for row, relevant in ((1, True), (2, False), (3, True), (4, True)):
        add(database, catalogue, row, relevant=relevant)
    assert (catalogue.totals, catalogue.totals.harvest_rate) == (Totals(4, 3), 0.75)
    assert Catalogue(database).totals == Totals(4, 3)


def test_a_page_stored_again_takes_the_place_of_the_older_version(database: Database) -> None:
    catalogue = Catalogue(database)
    add(database, catalogue, 1, [NewLink(2, 1, False), NewLink(3, 2, False)], relevant=True)
    add(database, catalogue, 2, [NewLink(1, 9, False)])
    add(database, catalogue, 1, [NewLink(4, 3, False)], title="new")
    assert links_of(database, 1) == [(1, 4, 3, 0)]
    assert links_of(database, 2) == [(2, 1, 9, 0)]
    assert next(database.rows("SELECT count(*) FROM links")) == (2,)
    assert next(database.rows("SELECT title FROM pages WHERE url = 1")) == ("new",)
    assert catalogue.totals == Totals(2, 0)
    add(database, catalogue, 1)
    assert next(database.rows("SELECT count(*) FROM links")) == (1,)


def test_links_are_appended_also_after_a_restart(database: Database) -> None:
    add(database, Catalogue(database), 1, [NewLink(2, 1, False)])
    catalogue = Catalogue(database)
    add(database, catalogue, 2, [NewLink(3, 1, False), NewLink(4, 1, False)])
    add(database, catalogue, 3, [NewLink(1, 1, False)])
    assert [len(links_of(database, row)) for row in (1, 2, 3)] == [1, 2, 1]


def test_a_step_that_fails_changes_neither_file_nor_totals(database: Database) -> None:
    catalogue = Catalogue(database)
    add(database, catalogue, 1, [NewLink(2, 1, False)], relevant=True)

    def fail() -> None:
        with database.transaction() as connection:
            names = PageNames.of("2")
            catalogue.add_page(connection, 2, page(relevant=True), names, [NewLink(1, 1, False)], False)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert catalogue.totals == Totals(1, 1)
    assert next(database.rows("SELECT count(*) FROM pages")) == (1,)
    add(database, catalogue, 3, [NewLink(4, 7, False)])
    assert (links_of(database, 1), links_of(database, 3)) == ([(1, 2, 1, 0)], [(3, 4, 7, 0)])


def test_held_pages_come_first_come_first_until_they_are_scored(database: Database) -> None:
    catalogue = Catalogue(database)
    for row in (3, 1):
        add(database, catalogue, row, relevance=None, held=True)
    add(database, catalogue, 2)
    one, three = catalogue.held()
    assert (one.row, three.row) == (1, 3)
    assert (three.key, three.url) == ("http://s.test/3", "http://s.test/3?sid=a1")
    assert (three.level, three.sim, three.depth, three.parent) == (1, 3, 2, 1)
    add(database, catalogue, 1, [NewLink(2, 5, False)], relevant=True)
    assert [held.row for held in catalogue.held()] == [3]
    assert catalogue.totals == Totals(3, 1)


def test_scoring_held_pages_while_they_are_walked_through(database: Database) -> None:
    catalogue = Catalogue(database)
    for row in (1, 2, 3):
        add(database, catalogue, row, relevance=None, held=True)
    seen = []
    for held in catalogue.held():
        seen.append(held.row)
        add(database, catalogue, held.row)
    assert seen == [1, 2, 3]
    assert list(catalogue.held()) == []


@pytest.mark.parametrize(
    ("row", "address"),
    [(1, ("http://s.test/1", "http://s.test/1?sid=a1")), (99, None), (None, None)],
)
def test_address(database: Database, row: int | None, address: tuple[str, str] | None) -> None:
    assert Catalogue(database).address(row) == address


def test_history(database: Database) -> None:
    catalogue = Catalogue(database)
    add(database, catalogue, 1, relevant=True)
    counts = {queue: number for number, queue in enumerate(Queue)}
    catalogue.add_history(10.0, counts)
    catalogue.add_history(10.0, counts)  # the same moment: once
    assert list(database.rows("SELECT * FROM history")) == [(10.0, 0, 1, 2, 3, 4, 1, 1)]


def test_a_long_history_is_thinned_in_its_older_half(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HISTORY", 40)
    catalogue = Catalogue(database)
    counts = dict.fromkeys(Queue, 0)
    for at in range(300):
        catalogue.add_history(float(at), counts)
    times = [at for (at,) in database.rows("SELECT at FROM history ORDER BY at")]
    assert len(times) <= 40
    assert times[0] == 0.0  # the beginning stays
    assert times[-15:] == [float(at) for at in range(285, 300)]  # and so does the recent past
