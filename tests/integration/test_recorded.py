"""A crawl of 3,000 pages of the recorded web, robots.txt obeyed, every URL accounted for."""

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = 3000


def scrapy(*arguments: str, **env: str) -> str:
    command = [sys.executable, "-m", "scrapy", *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_three_thousand_pages(recorded, tmp_path):
    web, folder, log = recorded.folder, tmp_path / "crawl", tmp_path / "requests.tsv"
    with recorded.played("--robots", "--log", str(log)) as port:
        proxy = f"http://127.0.0.1:{port}"
        arguments = [
            f"seeds={web / 'seeds-web/sql-databases.txt'}",
            f"topic={web / 'topics/sql-databases.txt'}",
            f"domains={','.join(path.name for path in (web / 'hosts').iterdir())}",
            f"pages={PAGES}",
        ]
        settings = {"CRAWL_DIR": folder, "DOWNLOAD_DELAY": 0, "CONCURRENT_REQUESTS_PER_DOMAIN": 8, "LOG_LEVEL": "ERROR"}
        options = [part for argument in arguments for part in ("-a", argument)]
        options += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        scrapy("crawl", "topic", *options, http_proxy=proxy, https_proxy=proxy)
    overview = json.loads(scrapy("queues", "--json", str(folder)))
    assert overview["pages"] == PAGES
    connection = sqlite3.connect(folder / "link.db")
    counts = Counter(queue for (queue,) in connection.execute("SELECT queue FROM urls"))
    assert overview["queues"] == {**dict.fromkeys(overview["queues"], 0), **counts}
    assert overview["queues"]["processing"] == 0
    unexplained = "SELECT url, queue FROM urls WHERE queue IN ('error', 'discard') AND reason IS NULL"
    assert connection.execute(unexplained).fetchall() == []
    robots_obeyed(web, log)


def robots_obeyed(web: Path, log: Path) -> None:
    forbidden = set((web / "robots-disallowed.txt").read_text().split())
    asked = {f"http://{host}{path}" for host, path in (line.split("\t")[1:3] for line in log.read_text().splitlines())}
    assert len(asked) >= PAGES
    assert not asked & forbidden
