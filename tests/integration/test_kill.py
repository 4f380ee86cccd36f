"""kill -9 at any moment: nothing is lost, nothing is half-written, only what was in flight is fetched again."""

import hashlib
import itertools
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.web import GeneratedWeb

ROOT = Path(__file__).parents[2]
KILLS = 10
IN_FLIGHT = 0.5  # seconds from an answer to the commit of its page, on a busy machine
SETTINGS = {"DOWNLOAD_DELAY": 0, "CONCURRENT_REQUESTS_PER_DOMAIN": 4, "CONCURRENT_REQUESTS": 12, "LOG_LEVEL": "ERROR"}


def start(folder: Path, seeds: list[str]) -> subprocess.Popen:
    topic = folder.parent / "words.txt"
    topic.write_text("comet\t2\norbit\t1\n")
    arguments = [f"seeds={' '.join(seeds)}", f"topic={topic}", "m_min=0"]
    options = [part for argument in arguments for part in ("-a", argument)]
    options += [part for name, value in {**SETTINGS, "CRAWL_DIR": folder}.items() for part in ("-s", f"{name}={value}")]
    return subprocess.Popen([sys.executable, "-m", "scrapy", "crawl", "topic", *options], cwd=ROOT)


def done_pages(folder: Path) -> int:
    """Pages done so far; 0 while there is no link.db yet."""
    try:
        with sqlite3.connect(f"file:{folder / 'link.db'}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM urls WHERE queue = 'done'").fetchone()[0]
    except sqlite3.Error:
        return 0


def check_conservation(folder: Path) -> Counter:
    """Each URL key stands once, in one of the five queues."""
    connection = sqlite3.connect(folder / "link.db")
    rows = connection.execute("SELECT hash, queue FROM urls").fetchall()
    assert len({hash_ for hash_, _ in rows}) == len(rows)
    counts = Counter(queue for _, queue in rows)
    assert set(counts) <= {"waiting", "processing", "error", "done", "discard"}
    assert counts.total() == connection.execute("SELECT max(id) FROM urls").fetchone()[0]
    return counts


def test_kill_drill(tmp_path):
    rng = random.Random(20)
    folder = tmp_path / "crawl"
    with GeneratedWeb(hosts=4, pages=200, latency=lambda host: 0.03) as web:
        kills = []
        for number in range(KILLS):
            before = done_pages(folder)
            process = start(folder, web.seeds)
            goal = before + rng.randrange(5, 75)
            deadline = time.time() + 60
            while done_pages(folder) < goal and process.poll() is None and time.time() < deadline:
                time.sleep(rng.random() * 0.03)
            assert process.poll() is None, f"run {number} ended before it was killed"
            process.send_signal(signal.SIGKILL)
            kills.append(time.time())
            process.wait()
            check_conservation(folder)
        assert start(folder, web.seeds).wait(120) == 0
        check_folder(folder, web.urls())
        check_refetches(web, kills)


def check_folder(folder: Path, urls: set[str]) -> None:
    counts = check_conservation(folder)
    assert counts == {"done": len(urls)}
    connection = sqlite3.connect(folder / "link.db")
    pages = connection.execute(
        "SELECT u.url, p.file, p.pageinfo, p.links, p.sha256 FROM pages p JOIN urls u ON u.id = p.url"
    )
    found = set()
    for url, file, info, links, sha256 in pages:
        found.add(url)
        assert hashlib.sha256((folder / file).read_bytes()).hexdigest() == sha256
        assert json.loads((folder / info).read_text())["sha256"] == sha256
        assert (folder / links).read_text().startswith("url\ttext\tsim\tm\tqueue\treason\n")
    assert found == urls
    files = [path for name in ("page_db", "page_info", "page_url") for path in (folder / name).rglob("*.*")]
    assert len(files) == 3 * len(urls) + sum(path.name.endswith(".tmp") for path in files)


def check_refetches(web: GeneratedWeb, kills: list[float]) -> None:
    """Whatever was fetched again had been asked for, or answered and not yet committed, when a kill came."""
    asked: dict[tuple[str, str], list] = {}
    for request in sorted(web.log, key=lambda request: request.begun):
        asked.setdefault((request.host, request.path), []).append(request)
    again = 0
    for requests in asked.values():
        if requests[0].path == "/robots.txt":
            continue
        for first, second in itertools.pairwise(requests):
            again += 1
            killed = [kill for kill in kills if first.begun - 0.1 <= kill <= second.begun]
            assert killed, f"{second.path} was fetched again without a kill in between"
            assert killed[0] - first.ended <= IN_FLIGHT, (
                f"{second.path} was done {killed[0] - first.ended:.2f} s before"
            )
    assert again <= KILLS * (SETTINGS["CONCURRENT_REQUESTS"] + 20)


def test_a_url_that_takes_the_process_down_again_and_again_ends_in_error(tmp_path):
    """A page that kills the crawler must not kill it for ever: after five deaths it stays in error `crashed`."""
    folder = tmp_path / "crawl"
    with GeneratedWeb(hosts=1, pages=1, latency=lambda host: 5.0 if os.path.exists(tmp_path / "slow") else 0) as web:
        (tmp_path / "slow").touch()
        for crashes in range(5):
            process = start_without_robots(folder, web.seeds)
            deadline = time.time() + 30
            while not in_processing(folder, crashes) and time.time() < deadline:
                time.sleep(0.05)
            process.kill()
            process.wait()
        (tmp_path / "slow").unlink()
        assert start_without_robots(folder, web.seeds).wait(60) == 0
    row = sqlite3.connect(folder / "link.db").execute("SELECT queue, reason, tries, crashes FROM urls").fetchone()
    assert row == ("error", "crashed", 5, 5)


def start_without_robots(folder: Path, seeds: list[str]) -> subprocess.Popen:
    options = ["-a", f"seeds={seeds[0]}", "-a", f"topic={folder.parent / 'words.txt'}", "-s", f"CRAWL_DIR={folder}"]
    (folder.parent / "words.txt").write_text("comet\t2\n")
    settings = ["-s", "ROBOTSTXT_OBEY=False", "-s", "LOG_LEVEL=ERROR"]
    return subprocess.Popen([sys.executable, "-m", "scrapy", "crawl", "topic", *options, *settings], cwd=ROOT)


def in_processing(folder: Path, crashes: int) -> bool:
    try:
        with sqlite3.connect(f"file:{folder / 'link.db'}?mode=ro", uri=True) as connection:
            found = connection.execute("SELECT 1 FROM urls WHERE queue = 'processing' AND crashes = ?", (crashes,))
            return found.fetchone() is not None
    except sqlite3.Error:
        return False
