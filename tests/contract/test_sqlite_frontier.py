"""The frontier contract on the embedded store, and what only this store promises."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from topiccrawl.database import Database
from topiccrawl.frontier.base import Frontier
from topiccrawl.frontier.sqlite import SqliteFrontier

pytest.register_assert_rewrite("tests.contract.frontier_contract")

from tests.contract.frontier_contract import Clock, FrontierContract  # noqa: E402


class TestSqliteFrontier(FrontierContract):
    database: Database
    store: SqliteFrontier

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> Any:
        self._path = tmp_path
        yield
        self.database.close()

    def make(self, clock: Clock, **options: Any) -> Frontier:
        self._options = {"clock": clock, "rng": Random(1), **options}
        return self._open()

    def reopen(self) -> Frontier:
        self.database.close()
        self.store.close()
        return self._open()

    def _open(self) -> Frontier:
        self.database = Database.create(self._path)
        self.store = SqliteFrontier(self.database, **self._options)
        return self.store


class TestSqliteFrontierReopened(TestSqliteFrontier):
    """Once more, with the file closed and opened wherever no lease is open."""

    def between(self, frontier: Frontier) -> Frontier:
        return self.reopen()
