"""link.db: opening, migrations, and the group commit.

There is one writer, the crawler. It keeps one transaction open and commits it every `commit_every` seconds, so that
a commit is shared by many pages. `transaction()` is a savepoint of that transaction: what happens in one `with` block
is in the file whole or not at all, also after a kill.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from topiccrawl.errors import DatabaseError, NotACrawlFolderError

FILE_NAME = "link.db"
CHECKPOINT_PAGES = 8000  # 32 MB of write-ahead log between two checkpoints: each one costs an fsync


def migrations() -> list[str]:
    """The SQL of every schema version, oldest first."""
    files = [f for f in resources.files("topiccrawl.sql").iterdir() if f.name.endswith(".sql")]
    return [f.read_text(encoding="utf-8") for f in sorted(files, key=lambda f: f.name)]


class Database:
    """One connection to a link.db.

    `Database.create(folder)` opens for writing, making or migrating the file; `Database.read(folder)` opens read-only
    and never blocks the writer. Errors of SQLite leave as `DatabaseError`, with the path in the message.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.path = path
        self._depth = 0
        self._after: list[Callable[[], None]] = []

    @classmethod
    def create(cls, folder: Path) -> Database:
        path = folder / FILE_NAME
        with _named(path):
            connection = sqlite3.connect(path, isolation_level=None, timeout=30, cached_statements=256)
        try:
            database = cls(connection, path)
            with _named(path):
                connection.executescript(
                    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32768;"
                    f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}; PRAGMA temp_store = MEMORY;"
                )
                database._migrate()
        except BaseException:
            connection.close()
            raise
        return database

    @classmethod
    def read(cls, folder: Path) -> Database:
        path = folder / FILE_NAME
        if not path.is_file():
            raise NotACrawlFolderError(f"{folder}: no crawl folder (no {FILE_NAME} in it); name one, or crawl first")
        try:
            return cls._read(path, "mode=ro")
        except DatabaseError as error:
            # SQLite wants a -shm file even to read. Where none can be made nobody writes, and without a log nothing
            # is missing.
            log = path.with_name(f"{FILE_NAME}-wal")
            if not _is_unopened(error) or (log.exists() and log.stat().st_size):
                raise
        return cls._read(path, "immutable=1")

    @classmethod
    def _read(cls, path: Path, mode: str) -> Database:
        with _named(path):
            connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?{mode}", uri=True, isolation_level=None, timeout=30
            )
        try:
            database = cls(connection, path)
            with _named(path):
                version = database._version()
            if version < (wanted := len(migrations())):
                raise DatabaseError(
                    f"{path}: schema {version}, this program reads {wanted}; run a crawl in it to migrate it"
                )
        except BaseException:
            connection.close()
            raise
        return database

    def _version(self) -> int:
        """The schema of the file; DatabaseError for one that this program can't know."""
        version = int(self.connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(migrations()):
            raise DatabaseError(f"{self.path}: written by a newer topiccrawl (schema {version}); update topiccrawl")
        return version

    def _migrate(self) -> None:
        version, scripts = self._version(), migrations()
        for number, script in enumerate(scripts[version:], version + 1):
            self.connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One step, whole or not at all. May be nested. An exception undoes the step and goes on upwards.

        What must follow the file in memory is given to `after`: it runs when the outermost step has succeeded.
        """
        connection = self.connection
        name, hooks = f"step{self._depth}", len(self._after)
        self._depth += 1
        try:
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"SAVEPOINT {name}")
            yield connection
            connection.execute(f"RELEASE {name}")
        except BaseException as error:
            del self._after[hooks:]
            # A full disk may have rolled the whole transaction back already: then there is no savepoint left.
            if connection.in_transaction:
                connection.execute(f"ROLLBACK TO {name}")
                connection.execute(f"RELEASE {name}")
            if isinstance(error, sqlite3.Error):
                raise _fault(self.path, error) from error
            raise
        finally:
            self._depth -= 1
        if self._depth == 0 and self._after:
            actions, self._after = self._after, []
            for action in actions:
                action()

    def after(self, action: Callable[[], None]) -> None:
        """Run `action` when the step that is open succeeds; forget it when the step fails."""
        self._after.append(action)

    @property
    def pending(self) -> bool:
        """True while memory is behind the step that is open."""
        return bool(self._after)

    def commit(self) -> None:
        """Make all steps so far durable.

        Raises DatabaseError when the file can't be written; memory and file differ then, so the caller must stop.
        """
        if self.connection.in_transaction:
            try:
                self.connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise DatabaseError(f"{self.path}: {error}; nothing written since the last commit") from error

    def get_meta(self, name: str) -> str | None:
        with self.faults():
            row = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, name: str, value: str) -> None:
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def faults(self) -> AbstractContextManager[None]:
        """For reads on `connection`: errors of SQLite leave as DatabaseError."""
        return _named(self.path)

    def rows(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        with self.faults():
            yield from self.connection.execute(sql, values)

    def close(self) -> None:
        try:
            self.commit()
        finally:
            self.connection.close()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _fault(path, error) from error


def _code(error: BaseException | None) -> int:
    """SQLite's error code without its details; 0 for other errors."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _is_unopened(error: DatabaseError) -> bool:
    return _code(error.__cause__) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def _fault(path: Path, error: sqlite3.Error) -> DatabaseError:
    """An error of SQLite that says which file it is about, and what to do."""
    damaged = _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    hint = "; move the file away to start anew, or restore a copy" if damaged else ""
    return DatabaseError(f"{path}: {error}{hint}")
