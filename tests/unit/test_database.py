"""link.db: opening, migrations, steps and the group commit."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from topiccrawl.database import FILE_NAME, Database, migrations
from topiccrawl.errors import DatabaseError, NotACrawlFolderError
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.records import MAX_SIM, Candidate
from topiccrawl.urls import key_hash


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database.create(tmp_path)
    yield database
    database.connection.close()


def put(database: Database, name: str, value: str = "x") -> None:
    database.connection.execute("INSERT INTO meta VALUES (?, ?)", (name, value))


def names(database: Database) -> list[str]:
    return [name for (name,) in database.rows("SELECT name FROM meta ORDER BY name")]


# ---- opening ----


def test_a_new_file_has_the_newest_schema(database: Database) -> None:
    assert next(database.rows("PRAGMA user_version")) == (len(migrations()),)
    assert next(database.rows("PRAGMA journal_mode")) == ("wal",)
    tables = {name for (name,) in database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert {"meta", "hosts", "robots", "urls", "links", "pages", "history"} <= tables


def test_migrations_are_idempotent(tmp_path: Path) -> None:
    schemas = []
    for _ in range(3):
        database = Database.create(tmp_path)
        schemas.append(list(database.rows("SELECT sql FROM sqlite_schema ORDER BY name")))
        database.set_meta("kept", "yes")
        assert database.get_meta("kept") == "yes"
        database.close()
    assert schemas[0] == schemas[1] == schemas[2]


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database.create(tmp_path).close()
    scripts = migrations()
    monkeypatch.setattr("topiccrawl.database.migrations", lambda: [*scripts, "CREATE TABLE extra (x);\nNONSENSE;"])
    with pytest.raises(DatabaseError, match="NONSENSE"):
        Database.create(tmp_path)
    monkeypatch.setattr("topiccrawl.database.migrations", lambda: [*scripts, "CREATE TABLE extra (x);"])
    database = Database.create(tmp_path)
    assert list(database.rows("SELECT * FROM extra")) == []
    database.close()


@pytest.mark.parametrize("opening", [Database.create, Database.read])
def test_a_newer_schema_is_refused(tmp_path: Path, opening: type[Database]) -> None:
    database = Database.create(tmp_path)
    database.connection.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(DatabaseError, match=r"link\.db: written by a newer topiccrawl \(schema 99\); update") as caught:
        opening(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_an_older_schema_is_migrated_by_a_crawl_not_by_a_reader(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / FILE_NAME).close()
    (tmp_path / FILE_NAME).touch()
    with pytest.raises(DatabaseError, match=r"schema 0.*run a crawl"):
        Database.read(tmp_path)
    Database.create(tmp_path).close()
    Database.read(tmp_path).close()


def test_a_folder_without_link_db_is_no_crawl_folder(tmp_path: Path) -> None:
    with pytest.raises(NotACrawlFolderError, match="no crawl folder"):
        Database.read(tmp_path)
    assert not (tmp_path / FILE_NAME).exists()


@pytest.mark.parametrize("opening", [Database.create, Database.read])
def test_a_file_that_is_no_database_is_named(tmp_path: Path, opening: type[Database]) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"<html>not a database</html>" * 200)
    with pytest.raises(DatabaseError, match=r"not a database.*move the file away") as caught:
        opening(tmp_path)
    assert str(path) in str(caught.value)
    assert path.read_bytes().startswith(b"<html>")  # nothing was written over it


def closed_for_shm(folder: Path) -> None:
    """A folder with a link.db whose -shm can't be made, as on a read-only disk; it works for root, too."""
    database = Database.create(folder)
    database.set_meta("a", "1")
    database.close()
    (folder / f"{FILE_NAME}-shm").symlink_to(folder / "nowhere" / "shm")


def test_a_folder_on_a_read_only_disk_is_read(tmp_path: Path) -> None:
    """SQLite makes a -shm file even to read: `unable to open database file` on a copy burnt to a disc."""
    closed_for_shm(tmp_path)
    with sqlite3.connect(f"{(tmp_path / FILE_NAME).as_uri()}?mode=ro", uri=True) as bare, pytest.raises(sqlite3.Error):
        bare.execute("SELECT * FROM meta")
    bare.close()
    database = Database.read(tmp_path)
    assert database.get_meta("a") == "1"
    database.close()


def test_a_log_that_cannot_be_read_is_not_ignored(tmp_path: Path) -> None:
    closed_for_shm(tmp_path)
    (tmp_path / f"{FILE_NAME}-wal").write_bytes(b"x" * 4096)
    with pytest.raises(DatabaseError, match="unable to open"):
        Database.read(tmp_path)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="nowhere"):
        Database.create(tmp_path / "nowhere")


def many(n: int) -> list[Candidate]:
    urls = [f"http://s.test/{'x' * 50}/{i}" for i in range(n)]
    return [
        Candidate(url=u, key=u, hash=key_hash(u), host="s.test", level=0, sim=MAX_SIM, depth=0, text="words " * 9)
        for u in urls
    ]


@pytest.mark.parametrize("damage", ["middle", "cut"])
def test_a_damaged_file_is_named_when_the_frontier_is_filled(tmp_path: Path, damage: str) -> None:
    """Pages in the middle are read only by the scan at start: its error came out of sqlite3 bare, without the path."""
    database = Database.create(tmp_path)
    SqliteFrontier(database).add(many(2000))
    database.close()
    path = tmp_path / FILE_NAME
    data = bytearray(path.read_bytes())
    if damage == "middle":
        data[len(data) // 2 : len(data) // 2 + 40_000] = b"\xff" * 40_000
    else:
        del data[len(data) // 2 :]
    path.write_bytes(data)
    with pytest.raises(DatabaseError, match=r"malformed.*move the file away") as caught:
        SqliteFrontier(Database.create(tmp_path))
    assert str(path) in str(caught.value)


def test_rows_that_are_missing_are_refused(tmp_path: Path) -> None:
    """Memory takes the n-th URL for row n: behind a gap every URL would be fetched and finished as another."""
    database = Database.create(tmp_path)
    SqliteFrontier(database).add(many(20))
    database.connection.execute("DELETE FROM urls WHERE id IN (7, 8)")
    with pytest.raises(DatabaseError, match=r"row 9 in the place of row 7; move the file away") as caught:
        SqliteFrontier(database)
    assert str(tmp_path / FILE_NAME) in str(caught.value)
    database.close()


@pytest.mark.parametrize("cut", [3, 1000, 4096 + 24])
def test_a_log_that_is_cut_short_loses_the_last_commits_only(tmp_path: Path, cut: int) -> None:
    """Field case 76: a file cut short by a crash or a full disk made every later start fail."""
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    whole.mkdir()
    torn.mkdir()
    database = Database.create(whole)
    frontier = SqliteFrontier(database)
    frontier.add(many(100)[:40])
    database.commit()
    frontier.add(many(100)[40:])
    database.commit()
    for name in (FILE_NAME, f"{FILE_NAME}-wal"):
        shutil.copy(whole / name, torn / name)
    log = torn / f"{FILE_NAME}-wal"
    log.write_bytes(log.read_bytes()[:-cut])
    database.close()
    again = Database.create(torn)
    assert sum(SqliteFrontier(again).counts().values()) == 40
    again.close()


# ---- steps ----


def test_a_step_is_whole_or_not_at_all(database: Database) -> None:
    with database.transaction():
        put(database, "a")
    with pytest.raises(KeyError), database.transaction():  # noqa: PT012
        put(database, "b")
        raise KeyError
    assert names(database) == ["a"]
    database.commit()
    assert names(database) == ["a"]


def test_an_inner_step_that_fails_is_undone_alone(database: Database) -> None:
    with database.transaction():
        put(database, "outer")
        with pytest.raises(KeyError), database.transaction():  # noqa: PT012
            put(database, "inner")
            raise KeyError
        with database.transaction():
            put(database, "second")
    assert names(database) == ["outer", "second"]


def test_an_outer_step_that_fails_undoes_the_inner_ones(database: Database) -> None:
    with pytest.raises(KeyError), database.transaction():  # noqa: PT012
        with database.transaction():
            put(database, "inner")
        raise KeyError
    assert names(database) == []


def test_hooks_run_when_the_outermost_step_has_succeeded(database: Database) -> None:
    ran: list[str] = []
    with database.transaction():
        database.after(lambda: ran.append("first"))
        with database.transaction():
            database.after(lambda: ran.append("second"))
        assert ran == []
        assert database.pending
    assert ran == ["first", "second"]
    assert not database.pending
    with database.transaction():
        pass
    assert ran == ["first", "second"]


def test_hooks_of_a_step_that_failed_never_run(database: Database) -> None:
    ran: list[str] = []
    with pytest.raises(KeyError), database.transaction():  # noqa: PT012
        database.after(lambda: ran.append("outer"))
        with database.transaction():
            database.after(lambda: ran.append("inner"))
        raise KeyError
    with database.transaction():
        database.after(lambda: ran.append("next"))
    assert ran == ["next"]


def test_an_inner_failure_takes_only_its_own_hooks(database: Database) -> None:
    """It forgot the hooks of the step around it too: the file had the outer step, memory had not."""
    ran: list[str] = []
    with database.transaction():
        database.after(lambda: ran.append("outer"))
        with pytest.raises(KeyError), database.transaction():  # noqa: PT012
            database.after(lambda: ran.append("inner"))
            raise KeyError
        database.after(lambda: ran.append("later"))
    assert ran == ["outer", "later"]


def test_a_hook_may_begin_a_step(database: Database) -> None:
    with database.transaction():
        database.after(lambda: database.set_meta("from", "hook"))
    assert database.get_meta("from") == "hook"


def test_a_transaction_that_sqlite_rolled_back_itself_leaves_no_step_open(database: Database) -> None:
    """A full disk does that. The depth of steps stayed too great afterwards, and no hook ever ran again."""
    ran: list[str] = []
    with pytest.raises(DatabaseError), database.transaction():  # noqa: PT012
        with pytest.raises(KeyError), database.transaction():  # noqa: PT012
            database.connection.execute("ROLLBACK")
            raise KeyError
        put(database, "outside of any step")
    database.connection.execute("DELETE FROM meta")
    with database.transaction():
        put(database, "a")
        database.after(lambda: ran.append("a"))
    assert (names(database), ran) == (["a"], ["a"])


def test_errors_of_sqlite_name_the_file(database: Database, tmp_path: Path) -> None:
    put(database, "a")
    with pytest.raises(DatabaseError, match="UNIQUE") as caught, database.transaction():
        put(database, "a")
    assert str(tmp_path) in str(caught.value)
    assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)


def test_a_full_disk_is_an_error_of_the_database(database: Database) -> None:
    (pages,) = next(database.rows("PRAGMA page_count"))
    database.connection.execute(f"PRAGMA max_page_count = {pages}")
    ran: list[str] = []
    with pytest.raises(DatabaseError, match="full"), database.transaction():  # noqa: PT012
        database.after(lambda: ran.append("a"))
        for i in range(1000):
            put(database, f"{i}", "x" * 1000)
    assert (names(database), ran, database.pending) == ([], [], False)


# ---- the group commit ----


def test_steps_are_seen_by_others_after_the_commit_only(database: Database, tmp_path: Path) -> None:
    reader = Database.read(tmp_path)
    with database.transaction():
        put(database, "a")
    with database.transaction():
        put(database, "b")
    assert (names(database), names(reader)) == (["a", "b"], [])
    database.commit()
    assert names(reader) == ["a", "b"]
    database.commit()  # nothing to do
    reader.close()


def test_close_commits(tmp_path: Path) -> None:
    database = Database.create(tmp_path)
    database.set_meta("a", "1")
    database.close()
    reader = Database.read(tmp_path)
    assert reader.get_meta("a") == "1"
    assert reader.get_meta("b") is None
    reader.close()


def test_a_reader_cannot_write(database: Database, tmp_path: Path) -> None:
    reader = Database.read(tmp_path)
    with pytest.raises(DatabaseError, match="readonly"):
        reader.set_meta("a", "1")
    reader.close()


def test_a_long_read_does_not_block_the_writer(database: Database, tmp_path: Path) -> None:
    """Field case 94: a page of the UI held a read for 10 s, and `database is locked` ended the crawl."""
    for i in range(100):
        database.set_meta(str(i), "x" * 1000)
    database.commit()
    reader = Database.read(tmp_path)
    rows = reader.rows("SELECT name FROM meta")
    next(rows)  # a read transaction that stays open
    begun = time.monotonic()
    for i in range(100, 200):
        database.set_meta(str(i), "x" * 1000)
        database.commit()
    assert time.monotonic() - begun < 5
    assert sum(1 for _ in rows) == 99  # the reader sees what was there when it began
    assert len(names(reader)) == 200
    reader.close()


def test_a_second_writer_waits_for_the_commit_of_the_first(database: Database, tmp_path: Path) -> None:
    database.set_meta("a", "1")

    def commit_soon() -> None:
        time.sleep(0.2)
        other.connection.execute("COMMIT")

    other = Database(
        sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None, timeout=10, check_same_thread=False), tmp_path
    )
    database.commit()
    other.set_meta("b", "2")
    thread = threading.Thread(target=commit_soon)
    thread.start()
    database.set_meta("c", "3")
    thread.join()
    assert names(database) == ["a", "b", "c"]
    other.connection.close()
