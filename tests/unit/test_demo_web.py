"""The demo web hangs together: what its pages link to, what its server answers, and that nothing is left running."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

DEMO = Path(__file__).resolve().parents[2] / "demo"
WEB = DEMO / "web"
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
SERVE = (sys.executable, str(DEMO / "serve.py"), "--port", "0")
FILE_PORT = 8480

DEAD_LINK = ("127.0.0.1", "/harvest/price-list.html")
GBK_PAGE = ("127.0.0.2", "/lei/puer.html")
FORBIDDEN = ("127.0.0.3", "/private/honey-prices.html")

Answer = tuple[int, http.client.HTTPMessage, bytes]


def rows(name: str) -> list[list[str]]:
    lines = (WEB / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


PAGES = {(host, path): topic for host, path, topic, *_ in rows("pages.tsv")}
REDIRECTS = {(host, path): (int(status), target) for host, path, status, target in rows("redirects.tsv")}


class Links(HTMLParser):
    """Every URL a page names: links, images, the meta refresh."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("http-equiv") == "refresh":
            self.found.append((values["content"] or "").partition("url=")[2])
        self.found += [value for name in ("href", "src") if (value := values.get(name))]


def file_of(host: str, path: str) -> Path:
    return WEB / host / path.lstrip("/")


def text_of(page: tuple[str, str]) -> str:
    return file_of(*page).read_bytes().decode("gbk" if page == GBK_PAGE else "utf-8")


def links_of(page: tuple[str, str]) -> Iterator[tuple[str, str]]:
    host, path = page
    for link in Links(text_of(page)).found:
        url = urlsplit(urljoin(f"http://{host}:{FILE_PORT}{path}", link))
        here = (url.scheme, url.port, url.hostname in HOSTS)
        assert here == ("http", FILE_PORT, True), f"{link} on {host}{path}"
        yield url.hostname, url.path


def get(port: int, host: str, path: str, method: str = "GET") -> Answer:
    connection = http.client.HTTPConnection(host, port, timeout=10)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def nobody_listens(port: int) -> bool:
    for host in HOSTS:
        with socket.socket() as probe:
            if probe.connect_ex((host, port)) == 0:
                return False
    return True


@pytest.fixture(scope="module")
def log_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "served.tsv"


@pytest.fixture(scope="module")
def port(log_file: Path) -> Iterator[int]:
    with subprocess.Popen([*SERVE, "--log", str(log_file)], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            word, *urls = server.stdout.readline().split()
            found = urlsplit(urls[0]).port
            assert word == "serving"
            assert found
            assert urls == [f"http://{host}:{found}/" for host in HOSTS]
            yield found
        finally:
            server.terminate()
    assert server.returncode == 128 + signal.SIGTERM
    assert nobody_listens(found)


def test_pages_tsv_names_every_page() -> None:
    files = [file for host in HOSTS for file in (WEB / host).rglob("*") if file.is_file()]
    html = [file for file in files if file.suffix in (".html", ".shtml", "")]
    assert sorted(html) == sorted(file_of(*page) for page in PAGES)
    assert 55 <= len(PAGES) <= 75
    assert {host for host, _ in PAGES} == set(HOSTS)
    assert set(PAGES.values()) == {"bees", "tea", "-"}


def test_every_link_leads_somewhere(port: int) -> None:
    dead = set()
    for target in {link for page in PAGES for link in links_of(page)}:
        status, _, _ = get(port, *target)
        if target in REDIRECTS:
            assert status == REDIRECTS[target][0], target
        elif target == DEAD_LINK:
            assert status == 404
            dead.add(target)
        else:
            assert status == 200, target
    assert dead == {DEAD_LINK}


def test_every_page_is_reached_by_links() -> None:
    starts = {(url.hostname or "", url.path) for url in map(urlsplit, seeds(DEMO / "seeds" / "init_url.txt"))}
    reached, todo = set(starts), list(starts)
    while todo:
        page = todo.pop()
        targets = set(links_of(page))
        for target in targets & set(REDIRECTS):
            url = urlsplit(urljoin(f"http://{target[0]}:{FILE_PORT}", REDIRECTS[target][1]))
            targets.add((url.hostname or "", url.path))
        new = (targets & set(PAGES)) - reached
        reached |= new
        todo += new
    assert reached == set(PAGES)


@pytest.mark.parametrize(
    ("target", "only_from"),
    [
        (("127.0.0.2", "/chayuan/laochashu.html"), ("127.0.0.2", "/zagan/lvyou.html")),
        (("127.0.0.3", "/features/bees-in-the-roof.html"), ("127.0.0.3", "/news/school-roof.html")),
        (("127.0.0.4", "/garden/moving-hives.html"), ("127.0.0.4", "/cars/trailer.html")),
        (("127.0.0.4", "/zh/chahui.html"), ("127.0.0.4", "/zh/index.html")),
    ],
)
def test_tunnels_lead_through_an_off_topic_page(target: tuple[str, str], only_from: tuple[str, str]) -> None:
    assert PAGES[target] != "-"
    assert PAGES[only_from] == "-"
    assert {page for page in PAGES if target in links_of(page)} == {only_from}


def test_gbk_page_declares_itself(port: int) -> None:
    _, headers, body = get(port, *GBK_PAGE)
    assert headers["Content-Type"] == "text/html"
    assert b'<meta charset="gbk">' in body
    assert "普洱茶" in body.decode("gbk")
    with pytest.raises(UnicodeDecodeError):
        body.decode("utf-8")


def test_port_in_pages_is_the_one_served(port: int) -> None:
    _, headers, body = get(port, "127.0.0.1", "/")
    assert b":%d/" % port in body
    assert b":8480" not in body
    assert int(headers["Content-Length"]) == len(body)


def test_redirects_answer(port: int) -> None:
    assert sorted(status for status, _ in REDIRECTS.values()) == [301, 302]
    for (host, path), (status, target) in REDIRECTS.items():
        got, headers, _ = get(port, host, path)
        assert (got, headers["Location"]) == (status, target.replace(str(FILE_PORT), str(port)))


@pytest.mark.parametrize(
    ("month", "before", "after"),
    [
        ("2024/05", "2024/04", "2024/06"),
        ("2024/12", "2024/11", "2025/01"),
        ("9999/12", "9999/11", "0000/01"),
        ("0000/01", "9999/12", "0000/02"),
    ],
)
def test_calendar_never_ends(port: int, month: str, before: str, after: str) -> None:
    status, _, body = get(port, "127.0.0.4", f"/calendar/{month}/")
    assert status == 200
    assert Links(body.decode()).found == [f"/calendar/{before}/", f"/calendar/{after}/"]


@pytest.mark.parametrize(
    ("host", "path", "kind"),
    [
        ("127.0.0.1", "/glossary", "text/html"),
        ("127.0.0.1", "/swarms/hotline.shtml", "text/html"),
        ("127.0.0.1", "/data/hive-weights.csv", "text/csv"),
        ("127.0.0.1", "/images/hive.svg", "image/svg+xml"),
        ("127.0.0.3", "/robots.txt", "text/plain"),
    ],
)
def test_content_types(port: int, host: str, path: str, kind: str) -> None:
    status, headers, _ = get(port, host, path)
    assert (status, headers["Content-Type"]) == (200, kind)


@pytest.mark.parametrize(
    "path", ["/calendar/2024/13/", "/../127.0.0.1/index.html", "/%2e%2e/pages.tsv", "/a%00b", "/zh"]
)
def test_what_is_not_there_is_404(port: int, path: str) -> None:
    assert get(port, "127.0.0.4", path)[0] == 404


def test_robots_forbids_a_page_that_others_link_to() -> None:
    assert "Disallow: /private/" in file_of("127.0.0.3", "/robots.txt").read_text(encoding="utf-8")
    assert any(FORBIDDEN in links_of(page) for page in PAGES)


def test_connection_is_kept_alive_and_logged(port: int, log_file: Path) -> None:
    connection = http.client.HTTPConnection("127.0.0.3", port, timeout=10)
    for method, path, status in (("HEAD", "/index.html", 200), ("GET", "/kept-alive", 404), ("GET", "/bees", 302)):
        connection.request(method, path)
        sock = connection.sock
        response = connection.getresponse()
        response.read()
        assert response.status == status
        assert connection.sock is sock
    connection.close()
    logged = [line.split("\t")[1:] for line in log_file.read_text(encoding="utf-8").splitlines()]
    assert logged[-3:] == [
        ["127.0.0.3", "/index.html", "200"],
        ["127.0.0.3", "/kept-alive", "404"],
        ["127.0.0.3", "/bees", "302"],
    ]


def test_run_hands_over_port_and_exit_code() -> None:
    code = "import os, sys; print(os.environ['DEMO_PORT'], sys.argv[1]); sys.exit(7)"
    done = subprocess.run([*SERVE, "--run", sys.executable, "-c", code, "{port}"], capture_output=True, text=True)
    assert done.returncode == 7
    in_environment, in_argument = done.stdout.split()
    assert in_environment == in_argument
    assert nobody_listens(int(in_argument))


def test_run_ends_its_command_when_it_is_ended() -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with subprocess.Popen([*SERVE, "--run", sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        child = int(server.stdout.readline())
        server.terminate()
        server.wait(20)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def seeds(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


@pytest.mark.parametrize("folder", [DEMO / "seeds", DEMO.parent / "seeds", DEMO.parent / "seeds" / "zh"])
def test_seed_and_topic_files_are_well_formed(folder: Path) -> None:
    urls = seeds(folder / "init_url.txt")
    assert 3 <= len(urls) == len(set(urls))
    assert all(urlsplit(url).scheme in ("http", "https") and urlsplit(url).hostname for url in urls)
    terms = [line.split("\t") for line in seeds(folder / "topic.txt")]
    assert 8 <= len(terms) <= 15
    assert all(word.strip() and float(weight) > 0 for word, weight in terms)
