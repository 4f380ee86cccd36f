"""The order of fetches: real crawls with concurrency 1 against a fixed web, a small tree, and the recorded web."""

import html
import http.client
import json
import os
import sqlite3
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import naive
from topiccrawl.topics import read_topic

ROOT = Path(__file__).parents[2]
ORDER = json.loads((ROOT / "tests/data/order.json").read_text())
TREE = {"/1": ["2", "3", "4"], "/2": ["5", "6"], "/3": ["7"], "/4": ["8"]}
FETCHES = 300  # of the recorded web, each way


def crawl(folder: Path, seeds: str, *arguments: str, env: dict[str, str] | None = None, **settings: object) -> None:
    """A crawl with one request at a time, no delay, no robots."""
    plain = {"CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0, "ROBOTSTXT_OBEY": False, "LOG_LEVEL": "WARNING"}
    options = [part for name, value in {**plain, **settings}.items() for part in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "scrapy", "crawl", "topic", "-a", f"seeds={seeds}", "-s", f"CRAWL_DIR={folder}"]
    done = subprocess.run(
        [*command, *options, *arguments], cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def site():
    """Serves `pages` (path -> [(href, text)]), and keeps the order of requests."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.server.asked.append(self.path)
            links = self.server.pages.get(self.path, [])
            body = "".join(f'<p><a href="{href}">{html.escape(text)}</a>' for href, text in links).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.base = [], f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_the_fixed_web_is_fetched_in_the_given_order(site, tmp_path):
    site.pages = ORDER["pages"]
    topic = tmp_path / "words.txt"
    topic.write_text("".join(f"{word}\t{weight}\n" for word, weight in ORDER["topic"].items()))
    parameters = [part for name in ("m0", "b", "f", "m_min") for part in ("-a", f"{name}={ORDER[name]}")]
    seeds = " ".join(site.base + path for path in ORDER["seeds"])
    crawl(tmp_path / "crawl", seeds, "-a", f"topic={topic}", *parameters)
    assert site.asked == ORDER["order"]
    rows = sqlite3.connect(tmp_path / "crawl/link.db").execute(
        "SELECT u.url, u.level, u.sim, u.id, u.depth, p.url, u.queue FROM urls u LEFT JOIN urls p ON p.id = u.parent"
        " ORDER BY u.id"
    )
    cut = len(site.base)
    names = ("url", "k", "sim", "seq", "depth", "parent", "queue")
    found = [dict(zip(names, (u[cut:], *rest, p and p[cut:], q), strict=True)) for u, *rest, p, q in rows]
    assert found == ORDER["rows"]


@pytest.mark.parametrize(("strategy", "order"), [("breadth", "12345678"), ("depth", "12563748")])
def test_the_small_tree(site, tmp_path, strategy, order):
    site.pages = {path: [(f"/{child}", child) for child in children] for path, children in TREE.items()}
    topic = tmp_path / "words.txt"
    topic.write_text("comet\t1\n")
    arguments = ["-a", f"strategy={strategy}", "-a", f"topic={topic}"]
    crawl(tmp_path / "crawl", f"{site.base}/1", *arguments)
    assert "".join(path[1:] for path in site.asked) == order


@pytest.fixture(scope="module")
def player(recorded):
    """The recorded web, played as a proxy."""
    with recorded.played() as port:
        yield recorded.folder, port


@pytest.mark.parametrize("strategy", ["topic", "breadth", "depth"])
@pytest.mark.parametrize("name", ["version-control", "zh-containers"])
def test_the_recorded_web_is_fetched_as_a_naive_reading_of_the_algorithm_would(player, tmp_path, name, strategy):
    web, port = player
    seeds, topic = web / "seeds" / f"{name}.txt", web / "topics" / f"{name}.txt"
    arguments = ["-a", f"topic={topic}", "-a", f"strategy={strategy}"]
    # The player refuses https, which is an error like any other; nothing leaves this machine.
    proxy = dict.fromkeys(("http_proxy", "https_proxy"), f"http://127.0.0.1:{port}")
    crawl(tmp_path / "crawl", str(seeds), *arguments, env=proxy, CLOSESPIDER_PAGECOUNT=FETCHES + 20, TRIES=1)
    fetched = [
        url
        for (url,) in sqlite3.connect(tmp_path / "crawl/link.db").execute(
            "SELECT url FROM urls WHERE queue IN ('done', 'error') OR reason = 'type' ORDER BY changed_at"
        )
    ]
    urls = [line for line in seeds.read_text().split() if not line.startswith("#")]
    expected = naive.crawl(urls, read_topic(topic).words, Proxy(port), strategy)
    assert fetched[:FETCHES] == [url for url, _ in zip(expected, range(FETCHES), strict=False)]


class Proxy:
    """Fetches through the proxy, one connection, no redirects followed."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def __call__(self, url: str):
        if url.startswith("https:"):
            return 405, "", None, ""
        self._connection.request("GET", url)
        answer = self._connection.getresponse()
        body = answer.read()
        kind, _, charset = answer.headers.get("Content-Type", "").partition("; charset=")
        return answer.status, kind, answer.headers.get("Location"), self._decode(body, charset, answer.headers)

    def _decode(self, body, charset, headers):
        from w3lib.encoding import html_to_unicode

        return html_to_unicode(headers.get("Content-Type"), body)[1]
