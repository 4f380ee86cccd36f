"""Politeness without idleness, from the server's own log: no two requests to a host closer than the delay, and no host
that could be asked left waiting; one slow host slows nobody else."""

import itertools
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from tests.web import GeneratedWeb

ROOT = Path(__file__).parents[2]


def crawl(folder: Path, web: GeneratedWeb, seconds: float = 0, **settings: object) -> None:
    (folder.parent / "words.txt").write_text("comet\t2\norbit\t1\n")
    arguments = [f"seeds={' '.join(web.seeds)}", f"topic={folder.parent / 'words.txt'}", "m_min=0"]
    options = [part for argument in arguments for part in ("-a", argument)]
    every = {"CRAWL_DIR": folder, "LOG_LEVEL": "ERROR", "CLOSESPIDER_TIMEOUT": seconds, **settings}
    options += [part for name, value in every.items() for part in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "scrapy", "crawl", "topic", *options]
    assert subprocess.run(command, cwd=ROOT, env=os.environ, timeout=120).returncode == 0


def by_host(web: GeneratedWeb) -> dict[str, list]:
    found = defaultdict(list)
    for request in sorted(web.log, key=lambda request: request.begun):
        found[request.host].append(request)
    return found


def test_hosts_are_asked_as_soon_as_their_delay_is_over_and_no_sooner(tmp_path):
    delay = 1.0
    with GeneratedWeb(hosts=5, pages=400, latency=lambda host: 0.05) as web:
        crawl(tmp_path / "crawl", web, seconds=15, DOWNLOAD_DELAY=delay)
    idle = total = 0.0
    for requests in by_host(web).values():
        assert requests[0].path == "/robots.txt"
        for one, two in itertools.pairwise(requests):
            assert two.begun - one.ended >= delay - 0.01, "closer than the delay, robots.txt included"
            idle += two.begun - one.ended - delay
        total += requests[-1].ended - requests[0].begun
    assert idle / total <= 0.05


def test_one_slow_host_does_not_slow_the_others(tmp_path):
    """20 fast hosts and one that takes 2 s: throughput is at least 0.9 of that without it."""

    def pages_per_second(name: str, slow: bool) -> float:
        latency = {"127.0.0.21": 2.0}
        with GeneratedWeb(hosts=20 + slow, pages=400, latency=lambda host: latency.get(host, 0.02)) as web:
            begun = time.time()
            crawl(tmp_path / name, web, seconds=10, DOWNLOAD_DELAY=0.4, ROBOTSTXT_OBEY=False)
        fast = [request for request in web.log if request.host != "127.0.0.21"]
        assert fast[0].begun >= begun
        return len(fast) / (max(r.ended for r in fast) - min(r.begun for r in fast))

    assert pages_per_second("with", slow=True) >= 0.9 * pages_per_second("without", slow=False)
