"""The crawl folder: its lock, its inbox, its log, and files that are whole or not there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from topiccrawl.errors import CrawlFolderError, FolderLockedError
from topiccrawl.folder import CrawlFolder, CrawlLog, write_whole
from topiccrawl.records import Queue, Selection


@pytest.fixture
def folder(tmp_path: Path) -> CrawlFolder:
    folder = CrawlFolder(tmp_path / "deep" / "crawl")
    folder.create()
    return folder


# ---- files ----


def test_create_makes_the_folders_and_leaves_what_is_there(folder: CrawlFolder) -> None:
    assert {path.name for path in folder.path.iterdir()} == {"page_db", "page_info", "page_url", "inbox"}
    folder.seeds.write_text("http://s.test/")
    folder.create()
    assert folder.seeds.read_text() == "http://s.test/"


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "crawl").write_text("")
    with pytest.raises(CrawlFolderError, match=f"{tmp_path / 'crawl'}.*name another folder with -s CRAWL_DIR"):
        CrawlFolder(tmp_path / "crawl").create()


def test_the_home_folder_may_be_written_as_tilde(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert CrawlFolder.named("~/crawl").path == tmp_path / "crawl"


def test_write_whole_replaces(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"long first content")
    write_whole(path, b"second")
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# ---- lock ----


def test_one_writer_at_a_time(folder: CrawlFolder) -> None:
    other = CrawlFolder(folder.path)
    assert not other.is_running()
    folder.lock()
    assert other.is_running()
    with pytest.raises(FolderLockedError, match=r"process \d+ is crawling in .*; stop it, or name another"):
        other.lock()
    folder.unlock()
    folder.unlock()
    assert not other.is_running()
    other.lock()
    other.unlock()


def test_the_lock_of_a_process_that_was_killed_is_free(folder: CrawlFolder) -> None:
    """A lock that is the mere existence of a file stays for ever after kill -9."""
    code = (
        "import sys; from pathlib import Path; from topiccrawl.folder import CrawlFolder;"
        "folder = CrawlFolder(Path(sys.argv[1])); folder.lock(); print('locked', flush=True); input()"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code, str(folder.path)]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        with pytest.raises(FolderLockedError, match=f"process {process.pid} is crawling"):
            folder.lock()
        process.send_signal(signal.SIGKILL)
    folder.lock()
    folder.unlock()


def test_no_folder_no_lock(tmp_path: Path) -> None:
    with pytest.raises(CrawlFolderError, match="lock"):
        CrawlFolder(tmp_path / "nowhere").lock()


# ---- inbox ----


def test_what_was_dropped_is_read_in_order_and_until_it_is_removed(folder: CrawlFolder) -> None:
    selections = [Selection(queue=Queue.ERROR), Selection(reason="http-404", host="例.test"), Selection(url="s.test")]
    for selection in selections:
        folder.drop(selection)
    for _ in range(2):
        assert [selection for _, selection in folder.inbox()] == selections
    for path, _ in folder.inbox():
        path.unlink()
    assert list(folder.inbox()) == []


@pytest.mark.parametrize("data", [b"", b"{", b'{"queue": "nonsense"}', b"[]", b"\xff", b'{"url": 5}', b'{"foo": 1}'])
def test_a_file_that_cannot_be_read_is_put_aside(folder: CrawlFolder, data: bytes) -> None:
    bad = folder.path / "inbox" / "1.json"
    bad.write_bytes(data)
    folder.drop(Selection(url="http://s.test/"))
    assert [selection.url for _, selection in folder.inbox()] == ["http://s.test/"]
    assert not bad.exists()
    assert bad.with_suffix(".bad").read_bytes() == data


def test_files_that_are_being_written_are_not_read(folder: CrawlFolder) -> None:
    for name in (".5.json.77.tmp", "5.json.77.tmp"):
        (folder.path / "inbox" / name).write_bytes(b"{")
    assert list(folder.inbox()) == []


def test_drop_makes_the_inbox(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)
    folder.drop(Selection())
    assert [selection for _, selection in folder.inbox()] == [Selection()]


# ---- log ----


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (("ERROR", "dns", "http://s.test/", "not found"), "ERROR\tdns\thttp://s.test/\tnot found"),
        (("INFO", "type", "http://s.test/"), "INFO\ttype\thttp://s.test/\t"),
        (("INFO", "x", "u", "two\nlines\tand tabs\r\n"), "INFO\tx\tu\ttwo lines and tabs"),
        (("INFO", "x", "u", "fake\u2028line \x1b彗星"), "INFO\tx\tu\tfake line \x1b彗星"),
        (("INFO", "x", "u", "\ud800"), "INFO\tx\tu\t\\ud800"),
    ],
)
def test_a_problem_is_one_line(tmp_path: Path, fields: tuple[str, ...], line: str) -> None:
    log = CrawlLog(tmp_path / "crawl.log")
    log.write(*fields)
    text = (tmp_path / "crawl.log").read_text(encoding="utf-8")  # at once, not only after close
    log.close()
    time, _, rest = text.partition("\t")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d", time)
    assert rest == line + "\n"


def test_the_log_goes_on_where_it_was(tmp_path: Path) -> None:
    for number in range(2):
        log = CrawlLog(tmp_path / "crawl.log")
        log.write("INFO", "x", str(number))
        log.close()
    assert len((tmp_path / "crawl.log").read_text().splitlines()) == 2
