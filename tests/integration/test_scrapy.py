"""Scrapy's side: one end point per request whatever happens, and spiders of users that yield ordinary Requests."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.crawling import Result, run_crawl
from tests.servers import Asked, Reply, Server, hang, page, redirect, refusing, reset, truncated

COUNTING = """
    import json
    from scrapy.exceptions import IgnoreRequest
    from topiccrawl.middlewares import ROBOTS_FETCH
    from topiccrawl.scheduler import TopicScheduler
    from topiccrawl.settings import DOWNLOADER_MIDDLEWARES
    from topiccrawl.spiders.topic import TopicSpider

    class Counting(TopicScheduler):
        # Counts where Scrapy itself counts: requests handed out, results of fetches, removals.

        def open(self, spider):
            self.count = {"next": 0, "fetch": 0, "remove": 0}
            engine = self._crawler.engine
            remove = engine._remove_request

            def counted(result, request):
                self.count["remove"] += 1
                remove(result, request)

            engine._remove_request = counted
            return super().open(spider)

        def next_request(self):
            request = super().next_request()
            self.count["next"] += request is not None
            return request

        def fetched(self, request, result):
            self.count["fetch"] += not request.meta.get(ROBOTS_FETCH)
            super().fetched(request, result)

        def _outcome(self, flight):
            if "our-fault" in flight.lease.url:
                raise KeyError("a fault in the scheduler")
            return super()._outcome(flight)

        def close(self, reason):
            left = {"flights": len(self._flights), "expected": len(self._expected), "resting": len(self._resting)}
            path = self._settings["COUNT_FILE"]
            with open(path, "w") as file:
                json.dump(self.count | left, file)
            return super().close(reason)

    class Stubborn:
        # A middleware of the user's that refuses, and one that fails.

        def process_request(self, request):
            if "refused-by-middleware" in request.url:
                raise IgnoreRequest("not today")
            if "broken-middleware" in request.url:
                raise ZeroDivisionError("in process_request")

        def process_response(self, request, response):
            if "broken-response" in request.url:
                raise ZeroDivisionError("in process_response")
            return response

    class Varied(TopicSpider):
        name = "varied"
        custom_settings = {"DOWNLOADER_MIDDLEWARES": {**DOWNLOADER_MIDDLEWARES, "counting.Stubborn": 50}}

        def parse(self, response):
            if "raises" in response.url:
                raise ValueError("in a callback")
            yield from super().parse(response)
"""


@dataclass
class Varied:
    site: Server
    result: Result
    count: dict[str, int]

    def where(self, path: str) -> str:
        return self.result.where[self.site.url(path)]


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory, topic: Path) -> Iterator[Varied]:
    folder = tmp_path_factory.mktemp("varied")
    (folder / "counting.py").write_text(textwrap.dedent(COUNTING))

    def with_cookie(asked: Asked) -> Reply:
        return page() if asked.headers.get("cookie") else redirect(asked.path, 302, "seen=1")

    routes: dict[str, object] = {
        **{
            path: page()
            for path in ("/plain", "/broken-middleware", "/broken-response", "/raises", "/a~b", "/target", "/our-fault")
        },
        "/refused-by-middleware": page(),
        "/to-target": redirect("/target"),
        "/to-plain": redirect("/plain"),
        "/to-robots": redirect("/forbidden"),
        "/loop": redirect("/loop"),
        "/back": redirect("/forth"),
        "/forth": redirect("/back"),
        "/a%7Eb": redirect("/a~b"),
        "/cookie": with_cookie,
        "/404": Reply(404),
        "/500": Reply(500),
        "/reset": reset(),
        "/truncated": truncated(),
        "/hang": hang(),
        "/pdf": Reply(type="application/pdf"),
        "/large": Reply(body=b"x" * 60_000),
        "/bad-gzip": Reply(body=b"no gzip", headers=(("Content-Encoding", "gzip"),)),
        "/noindex": page(head='<meta name="robots" content="noindex">'),
        "/refresh": page(head='<meta http-equiv="refresh" content="0; url=/target">'),
        "/forbidden": page(),
    }
    with ExitStack() as stack:
        refused = stack.enter_context(refusing("127.0.0.2"))
        site = stack.enter_context(Server(routes))
        down = stack.enter_context(Server(host="127.0.0.3", robots=Reply(500)))
        site.robots = "User-agent: *\nDisallow: /forbidden\n"
        site.routes["/"] = page(*routes, f"http://{refused}/", down.url("/"))
        result = run_crawl(
            folder / "crawl",
            [site.url("/")],
            topic=topic,
            spider="varied",
            env={"PYTHONPATH": str(folder)},
            SPIDER_MODULES="counting",
            SCHEDULER="counting.Counting",
            COUNT_FILE=folder / "count.json",
            DOWNLOAD_TIMEOUT=2,
            DOWNLOAD_MAXSIZE=50_000,
            TRIES=2,
            ROBOTS_TRIES=2,
            CONCURRENT_REQUESTS_PER_DOMAIN=4,
        )
        assert result.code == 0, result.output
        yield Varied(site, result, json.loads((folder / "count.json").read_text()))


def test_every_request_has_one_fetch_and_one_end(varied: Varied) -> None:
    count = varied.count
    assert count["next"] == count["fetch"] == count["remove"] > 25
    assert (count["flights"], count["expected"], count["resting"]) == (0, 0, 0)


def test_nothing_is_left_open_or_vanished(varied: Varied) -> None:
    found = set(varied.result.where.values())
    assert not {"waiting", "processing", "error vanished"} & found
    assert {"done", "done redirect", "done noindex", "discard size", "error truncated", "error internal"} <= found


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("/refused-by-middleware", "discard ignored"),
        ("/raises", "error internal"),
        ("/broken-middleware", "error download"),
        ("/broken-response", "error download"),
        ("/bad-gzip", "error download"),
        ("/our-fault", "error internal"),
    ],
)
def test_faults(varied: Varied, path: str, where: str) -> None:
    assert varied.where(path) == where


# ---- spiders of users ----

USERS = """
    from scrapy import Request
    from scrapy.http import JsonRequest
    from topiccrawl.spiders.topic import TopicSpider

    class Users(TopicSpider):
        name = "users"

        def parse(self, response, **kwargs):
            yield from super().parse(response)
            if response.url.endswith("/start"):
                yield Request(response.urljoin("/good"), meta={"link_text": "apple"})
                yield Request(response.urljoin("/half"), meta={"link_text": "apple pie"})
                yield Request(response.urljoin("/plain"))
                yield Request(response.urljoin("/lambda"), callback=lambda response: None)
                yield Request(response.urljoin("/selector"), meta={"where": response.css("a")})
                yield Request(response.urljoin("/form"), method="POST", body=b"a=1", meta={"link_text": "apple"})
                yield Request(response.urljoin("/form"), method="POST", body=b"a=2", meta={"link_text": "apple"})
                yield Request(response.urljoin("/form"), method="POST", body=b"a=2", meta={"link_text": "apple"})
                yield Request(response.urljoin("/posted"), method="POST", body=b"x", meta={"link_text": "apple"})
                yield JsonRequest(response.urljoin("/api"), data={"q": "apple"}, callback=self.parse_api)
                yield Request(response.urljoin("/other"), callback=self.parse_other, headers={"X-Mine": "yes"},
                              cb_kwargs={"number": 7}, meta={"kept": ["along"]})
                yield Request(response.urljoin("/moved"), callback=self.parse_other, cb_kwargs={"number": 8})
                yield Request("http://127.0.0.99:1/outside")
                yield Request(response.urljoin("/forbidden"))
                yield Request(response.urljoin("/fails"), callback=self.parse_other, errback=self.failed)
                yield {"an": "item that is no Page"}
                yield Request(response.urljoin("/last"), meta={"link_text": "apple"})

        def parse_other(self, response, number=0):
            self.logger.info("parse_other %s %s %s", number, response.url, response.meta.get("kept"))
            for page in self.parse(response):
                page.extra["number"] = number
                yield page

        def parse_api(self, response):
            self.logger.info("parse_api got %s", response.json()["answer"])
            yield Request(response.urljoin("/from-api"), meta={"link_text": "apple"})

        def failed(self, failure):
            self.logger.info("errback called")
"""


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory, topic: Path) -> Iterator[tuple[Server, Result]]:
    folder = tmp_path_factory.mktemp("users")
    (folder / "users.py").write_text(textwrap.dedent(USERS))

    def form(asked: Asked) -> Reply:
        return page(title=f"{asked.method} {asked.body.decode()}")

    def posted(asked: Asked) -> Reply:
        return page(title="thanks") if asked.method == "GET" else redirect("/posted", 303)

    paths = ("/start", "/good", "/half", "/plain", "/other", "/arrived", "/last", "/forbidden", "/from-api", "/linked")
    with Server({path: page() for path in paths}) as site:
        site.robots = "User-agent: *\nDisallow: /forbidden\n"
        site.routes["/start"] = page("/linked")
        site.routes |= {"/form": form, "/posted": posted, "/moved": redirect("/arrived"), "/fails": reset()}
        site.routes["/api"] = lambda asked: Reply(
            body=json.dumps({"answer": asked.body.decode()}), type="application/json"
        )
        result = run_crawl(
            folder / "crawl",
            [site.url("/start")],
            topic=topic,
            spider="users",
            env={"PYTHONPATH": str(folder)},
            SPIDER_MODULES="users",
            domains="127.0.0.1",
            TRIES=2,
            options=["-O", str(folder / "pages.jsonl")],
        )
        yield site, result


def test_a_users_requests_are_crawled(users: tuple[Server, Result]) -> None:
    site, result = users
    assert result.code == 0, result.output
    where = {path: result.where[site.url(path)] for path in ("/good", "/half", "/plain", "/other", "/last", "/linked")}
    assert set(where.values()) == {"done"}, where
    assert result.where["http://127.0.0.99:1/outside"] == "discard scope"
    assert result.where[site.url("/forbidden")] == "discard robots"


def test_link_text_scores_a_request(users: tuple[Server, Result]) -> None:
    site, result = users
    good, half, plain = (result.urls[site.url(path)] for path in ("/good", "/half", "/plain"))
    assert (good.level, good.sim, good.link_text, good.depth) == (0, 65535, "apple", 1)
    assert (half.level, half.sim) == (0, round(65535 / 2**0.5))
    assert (plain.level, plain.sim) == (1, 0)
    assert good.parent == result.urls[site.url("/start")].id


def test_bodies_are_part_of_what_is_known(users: tuple[Server, Result]) -> None:
    site, _ = users
    assert sorted(asked.body for asked in site.asked("/form")) == [b"a=1", b"a=2"]
    assert {asked.method for asked in site.asked("/form")} == {"POST"}


def test_post_then_redirect_to_the_same_url_as_get(users: tuple[Server, Result]) -> None:
    """It was taken for a redirect to itself: error redirect-loop."""
    site, result = users
    assert [asked.method for asked in site.asked("/posted")] == ["POST", "GET"]
    assert result.where[site.url("/posted")] == "done"


@pytest.mark.parametrize("path", ["/lambda", "/selector"])
def test_what_cant_be_stored_is_a_clear_error(users: tuple[Server, Result], path: str) -> None:
    site, result = users
    lines = [line for line in result.log if line[2] == "not-storable" and line[3] == site.url(path)]
    assert len(lines) == 1
    assert "plain data and methods of the spider" in lines[0][4]
    assert lines[0][4] in " ".join(result.output.split())
    assert site.url(path) not in result.urls


def test_another_callback_headers_and_meta(users: tuple[Server, Result]) -> None:
    site, result = users
    assert f"parse_other 7 {site.url('/other')} ['along']" in result.output
    assert result.pages[site.url("/other")].info["number"] == 7
    assert site.asked("/other")[0].headers["x-mine"] == "yes"


def test_a_callback_goes_along_with_a_redirect(users: tuple[Server, Result]) -> None:
    """The target of a redirect was parsed by the default callback."""
    site, result = users
    assert result.where[site.url("/moved")] == "done redirect"
    assert f"parse_other 8 {site.url('/arrived')}" in result.output
    assert result.pages[site.url("/arrived")].info["number"] == 8


def test_a_callback_that_makes_no_page(users: tuple[Server, Result]) -> None:
    site, result = users
    assert 'parse_api got {"q": "apple"}' in result.output
    assert result.where[site.url("/api")] == "done"
    assert result.where[site.url("/from-api")] == "done"


def test_an_errback_is_called_for_each_try(users: tuple[Server, Result]) -> None:
    site, result = users
    assert result.output.count("errback called") == 2
    assert result.where[site.url("/fails")] == "error reset"


def feed(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in (result.folder.parent / "pages.jsonl").read_text().splitlines()]


def test_feed_export_does_not_disturb_the_crawl(users: tuple[Server, Result]) -> None:
    _, result = users
    assert result.code == 0
    assert {"an": "item that is no Page"} in feed(result)


def test_feed_export_holds_the_pages(users: tuple[Server, Result]) -> None:
    site, result = users
    assert site.url("/good") in {item.get("url") for item in feed(result)}


def test_two_bodies_have_two_pages(users: tuple[Server, Result]) -> None:
    """Their files had one name, so the second overwrote the first."""
    _, result = users
    bodies = [path.read_text() for path in (result.folder / "page_db").rglob("*.html")]
    assert sum("<title>POST a=" in body for body in bodies) == 2
