"""Integration tests: the real crawler as a process, against real servers on loopback (tests/servers.py)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that `tests.servers` is found

from tests.integration.crawling import Forks


@pytest.fixture(scope="session")
def topic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A topic of one word: a link "apple" has sim 1, "apple and pear" less, "pear" 0."""
    path = tmp_path_factory.mktemp("topic") / "topic.txt"
    path.write_text("apple\t1\n")
    return path


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Runs short commands without the second that each start of Python and Scrapy costs."""
    runner = Forks()
    yield runner
    runner.close()
