"""Commands on a crawl folder, run without a crawl: how a URL may be typed, what is re-queued, what errors look like."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from topiccrawl.commandline import FolderCommand, typed_url
from topiccrawl.commands import queues, requeue, why
from topiccrawl.database import FILE_NAME, Database
from topiccrawl.frontier.base import Politeness
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.records import MAX_SIM, Candidate, Outcome, Queue, Reason
from topiccrawl.urls import host_of, key_hash


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A done page, an error and a mailto: of one host, and a URL on a port."""
    urls = ["http://s.test/done", "http://s.test/error", "http://127.0.0.1:9301/zh", "mailto:a@s.test"]
    with_port = {"http://127.0.0.1:9301/zh", "http://s.test/error"}
    database = Database.create(tmp_path)
    frontier = SqliteFrontier(database, politeness=Politeness(delay=0, per_host=9, obey_robots=False))
    frontier.add(
        [
            Candidate(
                url=url,
                key=url,
                hash=key_hash(url),
                host=host_of(url),
                level=0,
                sim=MAX_SIM,
                depth=0,
                refusal=Reason.SCHEME if url.startswith("mailto:") else None,
            )
            for url in urls
        ]
    )
    for lease in frontier.take(9):
        failed = Outcome(queue=Queue.ERROR, reason=Reason.TIMEOUT)
        frontier.finish(lease, failed if lease.url in with_port else Outcome(queue=Queue.DONE, status=200))
    database.close()
    return tmp_path


def run(command: FolderCommand, *args: str) -> int:
    command.settings = Settings({"CRAWL_DIR": "crawl"})
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    options, rest = parser.parse_known_args(args)
    command.run(rest, options)
    return command.exitcode


def printed(capsys: pytest.CaptureFixture[str], command: FolderCommand, *args: Any) -> Any:
    assert run(command, *map(str, args), "--json") == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("127.0.0.1:9301/zh", "http://127.0.0.1:9301/zh"),
        ("example.org/x", "http://example.org/x"),
        ("https://s.test/x", "https://s.test/x"),
        ("mailto:a@s.test", "mailto:a@s.test"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_url_may_be_typed_without_its_scheme(typed: str, url: str) -> None:
    assert typed_url(typed) == url


@pytest.mark.parametrize("url", ["s.test/done", "http://s.test/done", "127.0.0.1:9301/zh", "mailto:a@s.test"])
def test_why_and_requeue_take_a_url_as_it_is_typed(folder: Path, capsys: pytest.CaptureFixture[str], url: str) -> None:
    assert printed(capsys, why.Command(), url, folder)["url"].endswith(url)
    fetchable = not url.startswith("mailto:")
    assert printed(capsys, requeue.Command(), "--url", url, folder)["requeued"] == fetchable


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (("--host", "s.test"), 1),  # not the page that is done
        (("--host", "s.test", "--queue", "done"), 1),
        (("--reason", "timeout"), 2),
        (("--reason", "scheme"), 0),
        (("--queue", "discard"), 0),
    ],
)
def test_what_requeue_means(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], count: int
) -> None:
    assert printed(capsys, requeue.Command(), *options, folder)["requeued"] == count


def test_requeue_says_in_its_help_that_done_must_be_asked_for() -> None:
    command = requeue.Command()
    command.settings = Settings()
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    assert "mean error and discard, never done" in " ".join(parser.format_help().split())


@pytest.mark.parametrize("command", [queues.Command, requeue.Command])
def test_a_damaged_file_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], command: type[FolderCommand]
) -> None:
    """A traceback of sqlite3 came out of `requeue`."""
    path = folder / FILE_NAME
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * len(data[4096:])
    path.write_bytes(data)
    options = ["--queue", "error"] if command is requeue.Command else []
    assert run(command(), *options, str(folder)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert f"{path}: " in lines[0]
    assert "move the file away" in lines[0]


def test_a_reader_that_has_seen_enough_is_no_error(folder: Path) -> None:
    """`scrapy queues --json | head -1` ended in a traceback of BrokenPipeError."""
    code = (
        "import sys; from argparse import Namespace; from topiccrawl.commands.queues import Command\n"
        "command = Command(); command.settings = {}\n"
        f"command.run([{str(folder)!r}], Namespace(json=True, top=10))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.stderr == ""
