"""Run the real crawler as a process of its own, and read what it left in the crawl folder.

    result = run_crawl(folder, [site.url("/")], topic=topic_file, DOWNLOAD_TIMEOUT=1)
    result.code, result.output, result.urls[site.url("/a")].where, result.pages[site.url("/a")]

Names in upper case are Scrapy settings (-s), others arguments of the spider (-a).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[2]
TIMEOUT = 90.0  # seconds for one crawl

FAST: dict[str, Any] = {
    "DOWNLOAD_DELAY": 0,
    "RETRY_BACKOFF": 0.2,
    "ROBOTS_BACKOFF": 0.2,
    "HOST_BACKOFF_MAX": 0.1,
    "RETRY_WAIT": 20,
    "DOWNLOAD_TIMEOUT": 20,
    "LOGSTATS_INTERVAL": 0,
    "HISTORY_INTERVAL": 60,
}
NOT_INHERITED = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SCRAPY_PROJECT")


class Url(NamedTuple):
    """A row of `urls`, without what tests don't look at."""

    id: int
    url: str
    queue: str
    reason: str | None
    status: int | None
    tries: int
    crashes: int
    level: int
    sim: int
    depth: int
    hops: int
    link_text: str
    note: str | None
    retry_at: float | None
    parent: int | None
    target: int | None

    @property
    def where(self) -> str:
        """`done`, `discard type`, `error http 404`."""
        status = self.status if self.reason == "http" else None
        return " ".join(str(part) for part in (self.queue, self.reason, status) if part is not None)


class StoredPage(NamedTuple):
    """What a folder holds of one page."""

    info: dict[str, Any]
    body: bytes
    links: list[list[str]]  # the lines of its page_url file: url, text, sim, m, queue, reason


@dataclass
class Result:
    """How a crawl ended, and its folder afterwards."""

    folder: Path
    code: int | None
    output: str = field(repr=False)  # stdout and stderr
    urls: dict[str, Url] = field(default_factory=dict, repr=False)  # by the spelling that is fetched
    pages: dict[str, StoredPage] = field(default_factory=dict, repr=False)

    def read(self) -> Result:
        self.urls = read_urls(self.folder)
        self.pages = read_pages(self.folder)
        return self

    @property
    def log(self) -> list[list[str]]:
        """The lines of crawl.log: time, level, reason, url, message."""
        path = self.folder / "crawl.log"
        return [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def where(self) -> dict[str, str]:
        return {url: row.where for url, row in self.urls.items()}


def command(*args: str, **given: Any) -> list[str]:
    """`python -m scrapy ARGS` with settings and arguments."""
    line = [sys.executable, "-m", "scrapy", *args]
    for name, value in given.items():
        if value is not None:
            line += ["-s" if name.isupper() else "-a", f"{name}={value}"]
    return line


def crawl_command(folder: Path, seeds: Sequence[str] | None, spider: str = "topic", **given: Any) -> list[str]:
    options = given.pop("options", ())
    listed = None if seeds is None else " ".join(seeds)
    merged = {**FAST, "CRAWL_DIR": folder, "seeds": listed, **given}
    return [*command("crawl", spider, **merged), *options]


def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.lower() not in map(str.lower, NOT_INHERITED)}
    return {**kept, "PYTHONUNBUFFERED": "1", **(extra or {})}


def run(
    line: Sequence[str], *, env: dict[str, str] | None = None, cwd: Path = PROJECT
) -> subprocess.CompletedProcess[str]:
    """A command to its end; stderr is in stdout."""
    return subprocess.run(
        line,
        cwd=cwd,
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
    )


def run_crawl(
    folder: Path, seeds: Sequence[str] | None, *, env: dict[str, str] | None = None, cwd: Path = PROJECT, **given: Any
) -> Result:
    """A crawl to its end."""
    done = run(crawl_command(folder, seeds, **given), env=env, cwd=cwd)
    return Result(folder, done.returncode, done.stdout).read()


class Running:
    """A crawl that goes on; `output` is a file that it writes to."""

    def __init__(self, folder: Path, process: subprocess.Popen[str], output: Path) -> None:
        self.folder = folder
        self.process = process
        self._output = output

    def kill(self) -> Result:
        """SIGKILL, as a power cut would be."""
        self.process.kill()
        self.process.wait(10)
        return self.result()

    def stop(self) -> Result:
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self) -> Result:
        self.process.wait(TIMEOUT)
        return self.result()

    def result(self) -> Result:
        return Result(self.folder, self.process.returncode, self._output.read_text()).read()

    def wait_until(self, condition: Any, timeout: float = 30.0) -> None:
        """Poll `condition(urls)` on link.db."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if condition(read_urls(self.folder)):
                return
            assert self.process.poll() is None, f"the crawl ended: {self._output.read_text()}"
            time.sleep(0.05)
        raise TimeoutError(f"{read_urls(self.folder)}\n{self._output.read_text()}")


@contextlib.contextmanager
def running_crawl(
    folder: Path, seeds: Sequence[str] | None, *, env: dict[str, str] | None = None, **given: Any
) -> Iterator[Running]:
    """A crawl in the background, killed when the block ends."""
    output = folder.with_name(f"{folder.name}.{time.monotonic_ns()}.out")
    with output.open("w") as stream:
        process = subprocess.Popen(
            crawl_command(folder, seeds, **given),
            cwd=PROJECT,
            env=environment(env),
            stdout=stream,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        yield Running(folder, process, output)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)


def read_urls(folder: Path) -> dict[str, Url]:
    """Every URL of link.db; {} where there is none yet."""
    if not (folder / "link.db").exists():
        return {}
    with contextlib.closing(sqlite3.connect(f"file:{folder / 'link.db'}?mode=ro", uri=True, timeout=10)) as connection:
        try:
            rows = connection.execute(f"SELECT {', '.join(Url._fields)} FROM urls ORDER BY id").fetchall()
        except sqlite3.OperationalError:  # not made yet
            return {}
    return {row.url: row for row in (Url(*row) for row in rows)}


def read_pages(folder: Path) -> dict[str, StoredPage]:
    """Every page that link.db calls stored, from its files."""
    if not (folder / "link.db").exists():
        return {}
    with contextlib.closing(sqlite3.connect(f"file:{folder / 'link.db'}?mode=ro", uri=True, timeout=10)) as connection:
        try:
            rows = connection.execute(
                "SELECT u.url, p.file, p.pageinfo, p.links FROM pages p JOIN urls u ON u.id = p.url"
            ).fetchall()
        except sqlite3.OperationalError:
            return {}
    return {
        url: StoredPage(
            info=json.loads((folder / info).read_bytes()),
            body=(folder / file).read_bytes(),
            links=[line.split("\t") for line in (folder / links).read_text().splitlines()[1:]],
        )
        for url, file, info, links in rows
    }


def page_files(folder: Path) -> list[str]:
    """The names of all files of pages, temporary ones too."""
    return sorted(
        str(path.relative_to(folder))
        for sub in ("page_db", "page_info", "page_url")
        for path in (folder / sub).rglob("*")
        if path.is_file()
    )


FORKS = """
import json, os, signal, sys, tempfile, traceback
import scrapy.cmdline, scrapy.crawler, topiccrawl.extensions, topiccrawl.pipelines, topiccrawl.scheduler
import topiccrawl.commands.crawl, topiccrawl.commands.queues, topiccrawl.commands.requeue, topiccrawl.commands.why

assert "twisted.internet.reactor" not in sys.modules
for line in sys.stdin:
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            code = 1
            signal.alarm(60)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            try:
                sys.argv = json.loads(line)
                scrapy.cmdline.execute()
            except SystemExit as ended:
                code = ended.code or 0
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        print(json.dumps([status, output.read().decode()]), flush=True)
"""


class Forks:
    """Runs many short commands: a process that has imported everything forks for each. Not for whole crawls."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKS],
            cwd=PROJECT,
            env=environment({"PYTHONPATH": str(PROJECT)}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, line: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """As `run`, for a line made by `command` or `crawl_command`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(["scrapy", *map(str, line[3:])]) + "\n")
        self._process.stdin.flush()
        code, output = json.loads(self._process.stdout.readline())
        return subprocess.CompletedProcess(line, code, output)

    def close(self) -> None:
        """End the process; a child that is left ends by its alarm."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)
        self._process.stdout.close()
