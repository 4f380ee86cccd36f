"""The catalogue in link.db: stored pages, the links between URLs, and the crawl's history."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from topiccrawl.archive.pagefiles import PageNames
from topiccrawl.database import Database
from topiccrawl.frontier.base import Counts
from topiccrawl.records import Candidate, Page, Queue

MAX_HISTORY = 5000  # rows; beyond, every second of the older half is dropped


class Totals(NamedTuple):
    """Pages stored, and how many of them are on topic."""

    pages: int
    relevant: int

    @property
    def harvest_rate(self) -> float:
        return self.relevant / self.pages if self.pages else 0.0


class Held(NamedTuple):
    """A stored page whose links wait for a topic that is being learned."""

    row: int
    key: str
    url: str
    level: int
    sim: int
    depth: int
    parent: int | None


class NewLink(NamedTuple):
    target: int  # row
    sim: int | None
    nofollow: bool


def new_links(page: Page, candidates: Sequence[Candidate], rows: Sequence[int]) -> list[NewLink]:
    """The links of a page as the catalogue keeps them: one per target, with the best sim."""
    nofollow = {link.hash for link in page.links if link.link.nofollow}
    return [NewLink(row, c.sim, c.hash in nofollow) for c, row in zip(candidates, rows, strict=False)]


class Catalogue:
    """Reads and writes pages, links and history. Totals are kept in memory: the crawler is the one writer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.faults():
            row = database.connection.execute("SELECT count(*), coalesce(sum(relevant), 0) FROM pages").fetchone()
            (self._next_link,) = database.connection.execute("SELECT coalesce(max(id), 0) + 1 FROM links").fetchone()
        self.totals = Totals(*row)

    def add_page(
        self,
        connection: sqlite3.Connection,
        row: int,
        page: Page,
        names: PageNames,
        links: Sequence[NewLink],
        held: bool,
    ) -> None:
        """Write a stored page and its links in place of an older version; within the step that finishes its lease."""
        old = connection.execute("SELECT relevant, first_link, link_count FROM pages WHERE url = ?", (row,)).fetchone()
        if old and old[2]:
            connection.execute("DELETE FROM links WHERE id >= ? AND id < ?", (old[1], old[1] + old[2]))
        first = self._next_link
        connection.executemany(
            "INSERT INTO links (id, source, target, sim, nofollow) VALUES (?, ?, ?, ?, ?)",
            [(first + i, row, *link) for i, link in enumerate(links)],
        )
        connection.execute(
            "INSERT OR REPLACE INTO pages (url, file, pageinfo, links, title, relevance, relevant, status, type,"
            " charset, language, size, sha256, fetched_at, first_link, link_count, held)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row,
                *names,
                page.document.title,
                page.relevance,
                page.relevant,
                page.status,
                page.type,
                page.charset,
                page.document.language,
                len(page.body),
                page.sha256,
                page.fetched_at,
                first,
                len(links),
                held,
            ),
        )
        pages = self.totals.pages + (old is None)
        relevant = self.totals.relevant + page.relevant - (old[0] if old else 0)

        def remember() -> None:
            self.totals, self._next_link = Totals(pages, relevant), first + len(links)

        self._database.after(remember)

    def held(self) -> Iterator[Held]:
        """Pages whose links wait for the topic, first come first."""
        rows = self._database.connection.execute(
            "SELECT u.id, coalesce(u.key, u.url), u.url, u.level, u.sim, u.depth, u.parent"
            " FROM pages p JOIN urls u ON u.id = p.url WHERE p.held = 1 ORDER BY u.id"
        ).fetchall()
        return (Held(*row) for row in rows)

    def damaged(self, folder: Path, latest: int) -> Iterator[tuple[int, str]]:
        """(row, URL) of those of the latest pages whose files are missing, or whose page file has another size."""
        rows = self._database.connection.execute(
            "SELECT u.id, u.url, p.file, p.pageinfo, p.links, p.size FROM pages p JOIN urls u ON u.id = p.url"
            " ORDER BY p.fetched_at DESC LIMIT ?",
            (latest,),
        ).fetchall()
        for row, url, page, info, links, size in rows:
            sizes = [
                path.stat().st_size if path.is_file() else -1 for path in map(folder.joinpath, (page, info, links))
            ]
            if sizes[0] != size or min(sizes[1:]) <= 0:
                yield row, url

    def unhold(self, row: int) -> None:
        """Forget that the links of a page wait for the topic."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE pages SET held = 0 WHERE url = ?", (row,))

    def address(self, row: int | None) -> tuple[str, str] | None:
        """(key, url) of a row."""
        if row is None:
            return None
        found = self._database.connection.execute("SELECT coalesce(key, url), url FROM urls WHERE id = ?", (row,))
        pair: tuple[str, str] | None = found.fetchone()
        return pair

    def add_history(self, at: float, counts: Counts) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (at, *(counts[queue] for queue in Queue), *self.totals),
            )
            (rows,) = connection.execute("SELECT count(*) FROM history").fetchone()
            if rows > MAX_HISTORY:
                connection.execute(
                    "DELETE FROM history WHERE at IN (SELECT at FROM (SELECT at, row_number() OVER (ORDER BY at) AS n"
                    f" FROM history) WHERE n % 2 = 0 AND n < {MAX_HISTORY // 2})"
                )
