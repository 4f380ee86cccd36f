"""The crawl folder: where its files are, the lock of its one writer, its inbox, and crawl.log.

with folder.locked(): ...        one writer at a time
folder.drop(Selection(...))      ask the running crawl for a change
folder.inbox()                   the changes asked for, oldest first
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO

import msgspec

from topiccrawl.database import FILE_NAME
from topiccrawl.errors import CrawlFolderError, FolderLockedError
from topiccrawl.records import Selection


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    # Plain os calls: pathlib and buffered files would take twice the time, three times for each page.
    name = os.fspath(path)
    temporary = f"{name}.{os.getpid()}.tmp"
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(file, view) :]
        finally:
            os.close(file)
        os.replace(temporary, name)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


class CrawlFolder:
    """Paths and small files of one crawl. See docs/reference/files.md."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / FILE_NAME
        self.seeds = path / "init_url"
        self.topic = path / "topic.txt"
        self.config = path / "set.conf"
        self.log = path / "crawl.log"
        self._inbox = path / "inbox"
        self._lock: IO[str] | None = None

    @classmethod
    def named(cls, text: str) -> CrawlFolder:
        """The folder that a user names; `~` is the home folder."""
        if not text.strip():
            raise CrawlFolderError("CRAWL_DIR is empty; name a folder, as in -s CRAWL_DIR=crawl")
        try:
            return cls(Path(text).expanduser())
        except RuntimeError as error:
            raise CrawlFolderError(f"CRAWL_DIR is {text}: {error}") from error

    def create(self) -> None:
        """Make the folder. A file in its place or a folder that can't be written is a CrawlFolderError."""
        try:
            for sub in ("page_db", "page_info", "page_url", "inbox"):
                (self.path / sub).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CrawlFolderError(
                f"{self.path}: {error.strerror}; name another folder with -s CRAWL_DIR=..."
            ) from error

    def lock(self) -> None:
        """Become the folder's one writer, until `unlock` or the end of the process."""
        path = self.path / "lock"
        try:
            file = path.open("a+", encoding="ascii")
        except OSError as error:
            raise CrawlFolderError(f"{path}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise FolderLockedError(
                f"{self.path}: process {owner} is crawling in it; stop it, or name another with -s CRAWL_DIR=..."
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._lock = file

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def is_running(self) -> bool:
        """True while a process crawls in the folder. A shared lock asks, so that two who ask don't see each other."""
        path = self.path / "lock"
        try:
            with path.open("a+", encoding="ascii") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError as error:
            raise CrawlFolderError(f"{path}: {error.strerror}") from error
        return False

    def drop(self, selection: Selection) -> None:
        """Ask the running crawl to re-queue a selection."""
        self._inbox.mkdir(exist_ok=True)
        write_whole(self._inbox / f"{time.time_ns()}.json", msgspec.json.encode(selection))

    def inbox(self) -> Iterator[tuple[Path, Selection]]:
        """What was asked for, oldest first. A file that can't be read is moved aside, never taken twice."""
        for path in sorted(self._inbox.glob("*.json")):
            try:
                yield path, msgspec.json.decode(path.read_bytes(), type=Selection)
            except (OSError, msgspec.DecodeError):
                path.replace(path.with_suffix(".bad"))


class CrawlLog:
    """crawl.log: problems only, one line each: time, level, reason, url, message, separated by tabs."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1)

    def write(self, level: str, reason: str, url: str, message: str = "") -> None:
        now = datetime.now().astimezone().isoformat(timespec="milliseconds")
        fields = (now, level, reason, url, message)
        self._file.write("\t".join(" ".join(str(field).split()) for field in fields) + "\n")

    def close(self) -> None:
        self._file.close()
