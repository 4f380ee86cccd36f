"""The frontier's tables in link.db: every statement on urls, hosts and robots that the embedded store makes.

Plain functions on a connection; the caller holds the transaction. Rows are written by id or appended, never looked up
by another column on the way of a crawl. `select` scans, and is for commands.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from topiccrawl.frontier.base import MAX_CRASHES, MAX_DEPTH, SEEDS_EXEMPT
from topiccrawl.records import Candidate, Outcome, Queue, Reason, Selection
from topiccrawl.urls import key_hash, url_key

_CODE = "CASE queue " + " ".join(f"WHEN '{queue}' THEN {code}" for code, queue in enumerate(Queue)) + " END"


def signed(value: int) -> int:
    """SQLite has no unsigned 64-bit integers."""
    return value - (1 << 64) if value >= 1 << 63 else value


class Giver(NamedTuple):
    """The link to which a URL owes its pair, and the state it brought."""

    parent: int | None
    link_text: str
    hops: int
    reason: Reason | None
    changed_at: float


def insert(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    connection.executemany(
        "INSERT INTO urls (id, hash, host, queue, level, sim, depth, url, key, parent, link_text, hops, reason,"
        " changed_at, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )


def new_row(
    row: int, candidate: Candidate, host: int, parent: int | None, reason: Reason | None, now: float
) -> tuple[Any, ...]:
    """The values of `insert` for one candidate."""
    c = candidate
    queue = Queue.WAITING if reason is None else Queue.DISCARD
    key = None if c.key == c.url else c.key
    place = (row, signed(c.hash), host, queue, c.level, c.sim, min(c.depth, MAX_DEPTH))
    return (*place, c.url, key, parent, c.text, c.hops, reason, now, c.request)


def giver(connection: sqlite3.Connection, row: int) -> Giver:
    found = connection.execute("SELECT parent, link_text, hops, reason, changed_at FROM urls WHERE id = ?", (row,))
    parent, text, hops, reason, changed_at = found.fetchone()
    return Giver(parent, text, hops, Reason(reason) if reason else None, changed_at)


def rate(
    connection: sqlite3.Connection, row: int, level: int, sim: int, depth: int, queue: Queue, giver: Giver
) -> None:
    connection.execute(
        "UPDATE urls SET level = ?, sim = ?, depth = ?, queue = ?, parent = ?, link_text = ?, hops = ?,"
        " reason = ?, changed_at = ? WHERE id = ?",
        (level, sim, depth, queue, *giver, row),
    )


def lease(connection: sqlite3.Connection, row: int, now: float) -> tuple[Any, ...]:
    """Mark as processing; gives url, key, parent, link_text, tries that failed by themselves, hops, request."""
    connection.execute("UPDATE urls SET queue = 'processing', changed_at = ? WHERE id = ?", (now, row))
    found: tuple[Any, ...] = connection.execute(
        "SELECT url, key, parent, link_text, tries - crashes, hops, request FROM urls WHERE id = ?", (row,)
    ).fetchone()
    return found


def finish(
    connection: sqlite3.Connection,
    row: int,
    outcome: Outcome,
    *,
    failed: bool,
    retry_at: float | None,
    target: int | None,
    now: float,
) -> None:
    connection.execute(
        "UPDATE urls SET queue = ?, reason = ?, status = ?, tries = tries + ?, retry_at = ?, changed_at = ?,"
        " target = ?, note = ? WHERE id = ?",
        (
            outcome.queue,
            outcome.reason,
            outcome.status,
            failed,
            retry_at,
            now,
            target,
            outcome.note or None,
            row,
        ),
    )


def rest(connection: sqlite3.Connection, host: int, next_allowed: float, crawl_delay: float | None) -> None:
    """How long a host is left alone, also by the next run."""
    connection.execute(
        "UPDATE hosts SET next_allowed = ?, crawl_delay = ? WHERE id = ?", (next_allowed, crawl_delay, host)
    )


def target(connection: sqlite3.Connection, row: int) -> int | None:
    """Where a row that is done by a redirect leads to."""
    found = connection.execute("SELECT target FROM urls WHERE id = ? AND queue = 'done'", (row,)).fetchone()
    return found[0] if found else None


def move(connection: sqlite3.Connection, row: int, queue: Queue, reason: Reason | None, now: float) -> None:
    connection.execute(
        "UPDATE urls SET queue = ?, reason = ?, retry_at = NULL, changed_at = ? WHERE id = ?", (queue, reason, now, row)
    )


def reset(connection: sqlite3.Connection, rows: Sequence[int], now: float) -> None:
    """To waiting, as if never tried."""
    connection.executemany(
        "UPDATE urls SET queue = 'waiting', reason = NULL, retry_at = NULL, tries = 0, crashes = 0, changed_at = ?"
        " WHERE id = ?",
        [(now, row) for row in rows],
    )


def crash(connection: sqlite3.Connection, row: int, now: float) -> Queue:
    """The process died while this URL was in processing. Gives the queue that it is in now."""
    connection.execute(
        "UPDATE urls SET tries = tries + 1, crashes = crashes + 1, changed_at = ?,"
        f" queue = iif(crashes + 1 >= {MAX_CRASHES}, 'error', 'waiting'),"
        f" reason = iif(crashes + 1 >= {MAX_CRASHES}, '{Reason.CRASHED}', NULL) WHERE id = ?",
        (now, row),
    )
    return Queue(connection.execute("SELECT queue FROM urls WHERE id = ?", (row,)).fetchone()[0])


def scan(connection: sqlite3.Connection) -> sqlite3.Cursor:
    """id, hash, host, level, sim, depth, code of queue, https: of every URL, first come first."""
    return connection.execute(
        f"SELECT id, hash, host, level, sim, depth, {_CODE}, substr(url, 1, 6) = 'https:' FROM urls ORDER BY id"
    )


def url(connection: sqlite3.Connection, row: int) -> str:
    return str(connection.execute("SELECT url FROM urls WHERE id = ?", (row,)).fetchone()[0])


def retries(connection: sqlite3.Connection) -> Iterator[tuple[float, int]]:
    return iter(connection.execute("SELECT retry_at, id FROM urls WHERE retry_at IS NOT NULL"))


def limited(connection: sqlite3.Connection, after: int, most: int) -> list[tuple[int, str, int | None, str | None]]:
    """(row, url, parent, reason) of what waits, and of what a limit of the crawl discarded; rows above `after`."""
    return connection.execute(
        "SELECT id, url, parent, reason FROM urls WHERE id > ? AND (queue = 'waiting' OR queue = 'discard'"
        f" AND reason IN ({', '.join('?' * len(SEEDS_EXEMPT))})) ORDER BY id LIMIT ?",
        (after, *SEEDS_EXEMPT, most),
    ).fetchall()


def select(connection: sqlite3.Connection, selection: Selection) -> list[int]:
    """Rows that a selection means: none where it is empty.

    What waits or is being fetched is left alone, and so is what can't be fetched. What is done must be meant by its
    queue or its URL.
    """
    if selection == Selection():
        return []
    queues = "'error', 'discard'" if selection.queue is None and selection.url is None else "'error', 'discard', 'done'"
    where, values = [f"queue IN ({queues})", f"reason IS NOT '{Reason.SCHEME}'"], []
    if selection.queue is not None:
        where.append("queue = ?")
        values.append(str(selection.queue))
    if selection.reason is not None:
        reason, status = split_reason(selection.reason)
        where.append("reason = ?")
        values.append(reason)
        if status:
            where.append("status = ?")
            values.append(status)
    if selection.host is not None:
        where.append("host = (SELECT id FROM hosts WHERE name = ?)")
        values.append(selection.host)
    if selection.url is not None:
        where.append(f"hash = {signed(key_hash(url_key(selection.url)))}")
    return [row for (row,) in connection.execute(f"SELECT id FROM urls WHERE {' AND '.join(where)}", values)]


def split_reason(label: str) -> tuple[str, str]:
    """`http-404` -> (`http`, `404`); every other label is a reason by itself."""
    head, _, status = label.partition("-")
    return (head, status) if head == Reason.HTTP and status.isdigit() else (label, "")
