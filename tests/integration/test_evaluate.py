"""`scrapy record` and `scrapy evaluate` as processes: a real crawl is recorded, and its replay has the same order."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.integration.crawling import FAST, PROJECT, command, run

PAGES = 50


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of the demo web with one request at a time."""
    folder = tmp_path_factory.mktemp("kit") / "crawl"
    settings = {**FAST, "ROBOTSTXT_OBEY": False, "CONCURRENT_REQUESTS": 1, "CRAWL_DIR": folder, "TRIES": 1}
    seeds = "http://127.0.0.3:{port}/ http://127.0.0.1:{port}/swarms/swarming.html"
    line = command("crawl", "topic", **settings, seeds=seeds, topic="demo/seeds/topic.txt", pages=PAGES)
    done = run([sys.executable, "demo/serve.py", "--port", "0", "--run", *line])
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="module")
def web(crawled: Path) -> Path:
    """The crawl, recorded; bees and hives are on topic."""
    out = crawled.with_name("web")
    done = run(command("record", str(crawled), str(out), "--topic", "bees"))
    assert done.returncode == 0, done.stdout
    assert "left out" not in done.stdout
    truth = out / "truth/bees.tsv"
    lines = [line.split("\t") for line in truth.read_text().splitlines()]
    assert PAGES - 3 <= len(lines) - 1 <= PAGES  # `/` and `/index.html` are one
    assert f"{len(lines) - 1} pages of 4 hosts" in done.stdout
    truth.write_text("".join(f"{line[0]}\t{2 * ('hive' in line[0] or 'bee' in line[0])}\n" for line in lines[1:]))
    return out


def evaluate(web: Path, *options: str):
    return run(command("evaluate", "--web", str(web), "--no-cache", *options))


def test_the_replay_of_a_recorded_crawl_has_its_order(crawled: Path, web: Path) -> None:
    from topiccrawl.evaluate.contenders import contender
    from topiccrawl.evaluate.session import Session
    from topiccrawl.evaluate.web import RecordedWeb

    rows = sqlite3.connect(crawled / "link.db").execute(
        "SELECT u.url FROM pages p JOIN urls u ON u.id = p.url ORDER BY u.changed_at"
    )
    played = RecordedWeb(web)
    order = [played.answer(url).page for (url,) in rows]
    session = Session(played, budget=PAGES)
    run = session.run(session.subject("bees", "seeds"), contender("topic"))
    assert run.pages == order


def test_evaluate_prints_and_writes(web: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    done = evaluate(web, "--strategies", "topic", "breadth", "oracle", "--json", str(rows), "--relevance")
    assert done.returncode == 0, done.stdout
    assert "bees, seeds/: R =" in done.stdout
    found = {run["strategy"]: run for run in json.loads(rows.read_text())["runs"]}
    assert found["oracle"]["area"] == 1.0
    assert found["breadth"]["area"] < found["topic"]["area"] <= 1.0
    assert set(found) == {"topic", "breadth", "oracle", "learned"}


def test_evaluate_is_deterministic(web: Path, tmp_path: Path) -> None:
    def rows(name: str) -> list[dict[str, object]]:
        options = ("--strategies", "random", "topic", "--seed", "7", "--concurrency", "4", "--delay", "1")
        evaluate(web, *options, "--latency", "0.5", "--json", str(tmp_path / name))
        return [{**run, "seconds": 0} for run in json.loads((tmp_path / name).read_text())["runs"]]

    assert rows("a.json") == rows("b.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--web", "/nowhere"), "/nowhere: no recorded web"),
        (("--topic", "wasps"), "no topic 'wasps'; known are: bees"),
        (("--seeds", "sprouts"), "sprouts/bees.txt: no such file"),
        (("--strategies", "worst"), "no strategy 'worst'"),
        (("--concurrency", "0"), "at least 1"),
        (("--picture", "curves.txt"), "curves.txt: a picture is one of"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(web: Path, options: tuple[str, ...], message: str) -> None:
    done = evaluate(web, *options)
    assert done.returncode == 1
    assert done.stdout.startswith("scrapy evaluate: ")
    assert message in done.stdout
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("folder", "out", "message"),
    [
        ("{tmp}", "{tmp}/new", "no crawl folder"),
        ("{crawl}", "{crawl}", "there is something already"),
        ("{crawl}", str(PROJECT / "README.md"), "there is something already"),
    ],
)
def test_what_record_refuses(crawled: Path, tmp_path: Path, folder: str, out: str, message: str) -> None:
    names = {"tmp": tmp_path, "crawl": crawled}
    done = run(command("record", folder.format(**names), out.format(**names)))
    assert done.returncode == 1
    assert message in done.stdout
    assert done.stdout.count("\n") == 1
