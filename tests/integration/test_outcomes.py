"""DESIGN section 3, "What happens to a URL": each row is a test. One crawl of four servers holds most of them."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import sqlite3
import textwrap
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.integration.crawling import Result, Url, page_files, run_crawl, running_crawl
from tests.servers import (
    Asked,
    Authority,
    Reply,
    Routes,
    Server,
    hang,
    http_date,
    page,
    redirect,
    refusing,
    reset,
    truncated,
)

MAX_SIM = 65535
BAD, OK = Reply(503, "<p>Come back later.</p>"), page(text="Here it is.")
META = '<meta name="robots" content="{}">'.format
REFRESH = '<meta http-equiv="refresh" content="0; url={}">'.format
FAR = "Wed, 21 Oct 20000001111111 07:28:00 GMT"


def tags(*values: str) -> tuple[tuple[str, str], ...]:
    return tuple(("X-Robots-Tag", value) for value in values)


# path: how the server behaves, where the URL belongs, fetches that did not end in done
ONE_ANSWER: dict[str, tuple[object, str, int]] = {
    "/plain.html": (page(), "done", 0),
    "/text.txt": (Reply(body="apples, one a line", type="text/plain"), "done", 0),
    "/no-type": (Reply(body="<p>apples</p>", type=None), "done", 0),
    "/xhtml": (Reply(body="<p>apples</p>", type="application/xhtml+xml"), "done", 0),
    "/empty": (Reply(), "done", 0),
    "/empty-no-type": (Reply(type=None), "done", 0),
    "/204": (Reply(204, type=None), "done", 0),
    "/file.pdf": (Reply(body=b"%PDF-1.7 ...", type="application/pdf"), "discard type", 1),
    "/image.png": (Reply(body=b"\x89PNG\r\n\x1a\n", type="image/png"), "discard type", 1),
    "/data.json": (Reply(body=b"{}", type="application/json"), "discard type", 1),
    "/large-declared": (Reply(body=b"x" * 60_000), "discard size", 1),
    "/large-undeclared": (Reply(body=b"x" * 600_000, length=-1), "discard size", 1),
    "/400": (Reply(400), "error http 400", 1),
    "/401": (Reply(401), "error http 401", 1),
    "/403": (Reply(403), "error http 403", 1),
    "/404": (Reply(404), "error http 404", 1),
    "/410": (Reply(410), "error http 410", 1),
    "/418": (Reply(418), "error http 418", 1),
    "/304": (Reply(304), "error http 304", 1),
    "/302-without-location": (Reply(302), "error http 302", 1),
    "/302-to-nonsense": (redirect("http://[::1/"), "error http 302", 1),
    "/408": (Reply(408), "error http 408", 3),
    "/429": (Reply(429), "error http 429", 3),
    "/500": (Reply(500), "error http 500", 3),
    "/503": (BAD, "error http 503", 3),
    "/599": (Reply(599), "error http 599", 3),
    "/reset": (reset(), "error reset", 3),
    "/closed": (Reply(act="close"), "error reset", 3),
    "/truncated": (truncated(), "error truncated", 3),
    "/500-then-page": ([Reply(500), Reply(502), OK], "done", 2),
    "/408-then-page": ([Reply(408), OK], "done", 1),
    "/429-then-page": ([Reply(429), OK], "done", 1),
    "/reset-then-page": ([reset(), OK], "done", 1),
    "/truncated-then-page": ([truncated(), OK], "done", 1),
    "/500-then-404": ([Reply(500), Reply(404)], "error http 404", 2),
    "/500-then-pdf": ([Reply(500), Reply(type="application/pdf")], "discard type", 2),
    "/noindex-meta": (page("/below-noindex", head=META("noindex")), "done noindex", 0),
    "/500-wild-retry-after": ([Reply(500, headers=(("Retry-After", "\xb2"),)), OK], "done", 1),
    "/500-far-retry-after": ([Reply(500, headers=(("Retry-After", FAR),)), OK], "done", 1),
    "/bomb": (Reply(body=gzip.compress(b"x" * 600_000), headers=(("Content-Encoding", "gzip"),)), "discard size", 1),
    "/gzip": (Reply(body=gzip.compress(b"<p>x"), headers=(("Content-Encoding", "gzip"),)), "done", 0),
    "/noindex-second-header": (Reply(headers=tags("all", "noindex")), "done noindex", 0),
    "/noindex-for-us": (Reply(headers=tags("googlebot: all, topiccrawl: noindex")), "done noindex", 0),
    "/noindex-for-another": (Reply(headers=tags("googlebot: nofollow, noindex")), "done", 0),
    "/noindex-header": (Reply(body="<p>x", headers=(("X-Robots-Tag", "noindex"),)), "done noindex", 0),
    "/none-header": (page("/below-none", head=META("none")), "done noindex", 0),
    "/nofollow-meta": (page("/below-nofollow", head=META("nofollow")), "done", 0),
    "/forbidden/page": (page(), "discard robots", 1),
}
SLOW: dict[str, tuple[object, str, int]] = {
    "/hang": (hang(), "error timeout", 3),
    "/hang-then-page": ([hang(), OK], "done", 1),
}
"""Time out; on a server of their own, with a place for each."""


def with_cookie(asked: Asked) -> Reply:
    return page() if asked.headers.get("cookie") == "seen=1" else redirect(asked.path, 302, "seen=1; Path=/")


def never_content(asked: Asked) -> Reply:
    return redirect(next_spelling(asked))


def endless(asked: Asked) -> Reply:
    to = next_spelling(asked)
    return redirect(to, 302, f"n={len(to)}")


def next_spelling(asked: Asked) -> str:
    path, _, number = asked.path.partition("?utm_n=")
    return f"{path}?utm_n={int(number or 0) + 1}"


def main_site(other: Server, outside: str) -> Routes:
    """The site of most rows. Its front page links to all of them with "apple"; see `world` for the exceptions."""
    shop = redirect("/shop;jsessionid=17AB")
    return {
        **{path: answer for path, (answer, _, _) in ONE_ANSWER.items()},
        # m: two links without the word
        "/pear": page(("/pear/pear", "pear")),
        # depth
        "/1": page("/2"),
        "/2": page("/3"),
        "/3": page("/4"),
        # redirects to another key
        "/to-new": redirect("/new", 301),
        "/new": page("/below-new"),
        "/to-new-307": redirect("/new-307", 307),
        "/new-307": page(),
        "/to-known": redirect("/plain.html"),
        "/to-other-host": redirect(other.url("/arrived"), 308),
        "/to-outside": redirect(f"http://{outside}/"),
        "/to-denied": redirect("/denied-by-pattern"),
        "/to-forbidden": redirect("/forbidden/by-redirect"),
        "/to-ftp": redirect("ftp://127.0.0.1/file"),
        "/to-utf8": redirect("/caf\xc3\xa9"),
        "/caf%C3%A9": page(),
        "/to-latin1": redirect("/th\xe9"),
        "/th%E9": page(),
        "/to-404": redirect("/404-behind-redirect"),
        "/refresh": page(head=REFRESH("/refreshed"), text="You are being taken elsewhere."),
        "/refreshed": page(),
        "/refresh-outside": page(head=REFRESH(f"http://{outside}/refreshed")),
        "/refresh-self": page(head=REFRESH("/refresh-self")),
        # to another spelling of the same key, and to itself
        "/a%7Eb": redirect("/a~b"),
        "/a~b": page(text="Tilde."),
        "/shop": shop,
        "/shop;jsessionid=17AB": page(text="Shop."),
        "/cookie": with_cookie,
        "/self": lambda asked: redirect(asked.path),
        "/tracked": never_content,
        **{f"/tracked?utm_n={n}": never_content for n in range(1, 30)},
        "/cookies": endless,
        **{f"/cookies?utm_n={n}": endless for n in range(1, 30)},
        # loops and long ways over other keys
        "/loop-a": redirect("/loop-b"),
        "/loop-b": redirect("/loop-a"),
        "/three-a": redirect("/three-b"),
        "/three-b": redirect("/three-c"),
        "/three-c": redirect("/three-a"),
        **{f"/hop-{n}": redirect(f"/hop-{n + 1}") for n in range(9)},
        "/refresh-loop": page(head=REFRESH("/refresh-loop-b")),
        "/refresh-loop-b": page(head=REFRESH("/refresh-loop")),
    }


LINKED = (
    *("/1", "/to-new", "/to-new-307", "/to-known", "/to-other-host", "/to-outside", "/to-denied", "/to-forbidden"),
    *(
        "/to-ftp",
        "/to-404",
        "/to-utf8",
        "/to-latin1",
        "/refresh",
        "/refresh-outside",
        "/refresh-self",
        "/a%7Eb",
        "/shop",
        "/cookie",
        "/self",
    ),
    *("/tracked", "/cookies", "/loop-a", "/three-a", "/hop-0", "/refresh-loop", "/denied-by-pattern"),
    *("mailto:someone@example.org", "ftp://127.0.0.1/pub", "tel:123"),
)


@dataclass
class World:
    """The servers and what one crawl of them left."""

    site: Server
    other: Server
    slow: Server
    down: Server  # its robots.txt answers 503
    mute: Server  # its robots.txt never answers
    waits: Server  # Retry-After
    outside: str
    result: Result
    dated: float  # the time.time() that `waits` asked for

    def url(self, path: str) -> Url:
        return self.result.urls[self.site.url(path)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, topic: Path) -> Iterator[World]:
    dated: list[float] = []

    def not_before(asked: Asked) -> Reply:
        if asked.number > 1:
            return page()
        dated.append(float(int(time.time()) + 2))
        return Reply(503, headers=(("Retry-After", http_date(dated[0])),))

    with ExitStack() as stack:
        site, other, slow, down, mute, waits = (stack.enter_context(Server(host=f"127.0.0.{n}")) for n in range(1, 7))
        outside = "127.0.0.99:1"
        refused = stack.enter_context(refusing("127.0.0.7"))
        site.robots = "User-agent: *\nDisallow: /forbidden/\n"
        site.routes = main_site(other, outside)
        first = [*ONE_ANSWER, *LINKED, f"http://{outside}/link", f"http://{refused}/", "http://nowhere.invalid/"]
        first += [server.url(path) for server in (down, mute) for path in ("/one", "/two")]
        first += [slow.url(path) for path in SLOW] + [waits.url("/seconds"), waits.url("/date")]
        site.routes["/"] = page(
            *first, ("/pear", "pear"), (site.url("/half"), "apple and pear"), ("/to-half", "apple or pear or plum")
        )
        site.routes["/to-half"] = redirect("/behind-half")
        site.routes["/behind-half"] = page()
        site.routes["/half"] = page()
        other.routes = {"/arrived": page()}
        slow.routes = {path: answer for path, (answer, _, _) in SLOW.items()}
        down.robots, down.routes = Reply(503), {"/one": page(), "/two": page()}
        mute.robots, mute.routes = hang(), {"/one": page(), "/two": page()}
        waits.routes = {"/seconds": [Reply(429, headers=(("Retry-After", "1"),)), page()], "/date": not_before}
        hosts = "127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5,127.0.0.6,127.0.0.7,invalid"
        result = run_crawl(
            tmp_path_factory.mktemp("world") / "crawl",
            [site.url("/")],
            topic=topic,
            domains=hosts,
            deny="/denied",
            depth=3,
            m_min=0.3,
            DOWNLOAD_TIMEOUT=2,
            DOWNLOAD_MAXSIZE=50_000,
            ROBOTS_TRIES=2,
        )
        yield World(site, other, slow, down, mute, waits, outside, result, dated[0] if dated else 0.0)


def test_the_crawl_ends_by_itself_with_nothing_left(world: World) -> None:
    assert world.result.code == 0, world.result.output
    assert "nothing is left to fetch" in world.result.output
    assert "Unhandled" not in world.result.output
    left = [row for row in world.result.urls.values() if row.queue in ("waiting", "processing")]
    assert not left


@pytest.mark.parametrize("path", ONE_ANSWER)
def test_one_answer(world: World, path: str) -> None:
    _, where, tries = ONE_ANSWER[path]
    row = world.url(path)
    assert row.where == where, row
    if path != "/forbidden/page":
        assert row.tries == tries
        assert len(world.site.asked(path)) == max(1, tries + (row.queue == "done"))
    assert row.retry_at is None
    assert (world.site.url(path) in world.result.pages) == (where == "done")


@pytest.mark.parametrize("path", SLOW)
def test_time_out(world: World, path: str) -> None:
    _, where, tries = SLOW[path]
    row = world.result.urls[world.slow.url(path)]
    assert (row.where, row.tries) == (where, tries)


def test_refused_and_unknown_host_are_tried_three_times(world: World) -> None:
    refused = next(row for url, row in world.result.urls.items() if "//127.0.0.7:" in url)
    unknown = world.result.urls["http://nowhere.invalid/"]
    # already shown by robots.txt, which comes first
    assert (refused.where, unknown.where) == ("error refused", "error dns")


def test_page_stored(world: World) -> None:
    stored = world.result.pages[world.site.url("/plain.html")]
    assert stored.body == ONE_ANSWER["/plain.html"][0].body.encode()  # type: ignore[attr-defined]
    assert stored.info["url"] == stored.info["final_url"] == world.site.url("/plain.html")
    assert (stored.info["status"], stored.info["depth"], stored.info["m"]) == (200, 1, 1.0)
    assert stored.info["parent_url"] == world.site.url("/")
    assert world.result.pages[world.site.url("/empty")].body == b""


def test_every_row_of_pages_has_files_and_no_others_lie_about(world: World) -> None:
    assert len(page_files(world.result.folder)) == 3 * len(world.result.pages)


# ---- new links ----


def test_m_below_m_min(world: World) -> None:
    assert world.url("/pear").where == "done"
    assert world.url("/pear").level == 1
    assert world.url("/pear/pear").where == "discard m"
    assert world.url("/pear/pear").level == 2
    assert not world.site.asked("/pear/pear")


def test_too_deep(world: World) -> None:
    assert world.url("/3").where == "done"
    assert (world.url("/4").where, world.url("/4").depth) == ("discard depth", 4)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.99:1/link", "scope"),
        ("mailto:someone@example.org", "scheme"),
        ("ftp://127.0.0.1/pub", "scheme"),
        ("tel:123", "scheme"),
    ],
)
def test_out_of_scope_or_not_http(world: World, url: str, reason: str) -> None:
    assert world.result.urls[url].where == f"discard {reason}"


def test_denied(world: World) -> None:
    assert world.url("/denied-by-pattern").where == "discard deny"
    assert not world.site.asked("/denied-by-pattern")


# ---- redirects to another key ----


@pytest.mark.parametrize(
    ("source", "target", "where"),
    [
        ("/to-new", "/new", "done"),
        ("/to-new-307", "/new-307", "done"),
        ("/to-known", "/plain.html", "done"),
        ("/to-denied", "/denied-by-pattern", "discard deny"),
        ("/to-forbidden", "/forbidden/by-redirect", "discard robots"),
        ("/to-utf8", "/caf%C3%A9", "done"),
        ("/to-latin1", "/th%E9", "done"),
        ("/to-404", "/404-behind-redirect", "error http 404"),
        ("/refresh", "/refreshed", "done"),
        ("/to-half", "/behind-half", "done"),
    ],
)
def test_redirect(world: World, source: str, target: str, where: str) -> None:
    row = world.url(source)
    assert (row.where, row.target) == ("done redirect", world.url(target).id)
    assert world.site.url(source) not in world.result.pages
    assert world.url(target).where == where
    if target != "/plain.html":
        assert world.url(target)[7:10] == row[7:10], "the source's level, sim, depth"
        assert world.url(target).link_text == row.link_text


def test_redirect_passes_a_sim_on_that_is_not_the_highest(world: World) -> None:
    assert 0 < world.url("/behind-half").sim < MAX_SIM
    assert world.url("/new").sim == MAX_SIM


def test_redirect_to_a_known_url_leaves_it_as_it_is(world: World) -> None:
    assert world.url("/plain.html").hops == 0
    assert len(world.site.asked("/plain.html")) == 1


def test_redirect_target_has_the_depth_of_the_source(world: World) -> None:
    assert world.url("/new").depth == 1
    assert world.url("/below-new").depth == 2


def test_redirect_to_another_host(world: World) -> None:
    assert world.url("/to-other-host").where == "done redirect"
    assert world.result.urls[world.other.url("/arrived")].where == "done"
    assert len(world.other.asked("/robots.txt")) == 1


@pytest.mark.parametrize(("source", "path"), [("/to-outside", "/"), ("/refresh-outside", "/refreshed")])
def test_redirect_out_of_scope(world: World, source: str, path: str) -> None:
    assert world.url(source).where == "done redirect"
    assert world.result.urls[f"http://{world.outside}{path}"].where == "discard scope"


def test_redirect_to_another_scheme(world: World) -> None:
    assert world.url("/to-ftp").where == "done redirect"
    assert world.result.urls["ftp://127.0.0.1/file"].where == "discard scheme"


def test_redirect_to_what_robots_forbids_is_not_fetched(world: World) -> None:
    assert not world.site.asked("/forbidden/by-redirect")
    assert not world.site.asked("/forbidden/page")


# ---- redirects inside the lease ----


@pytest.mark.parametrize(
    ("path", "last", "fetches"),
    [
        ("/a%7Eb", "/a~b", ("/a%7Eb", "/a~b")),
        ("/shop", "/shop;jsessionid=17AB", ("/shop", "/shop;jsessionid=17AB")),
        ("/cookie", "/cookie", ("/cookie", "/cookie")),
        ("/refresh-self", "/refresh-self", ("/refresh-self",)),
    ],
)
def test_another_spelling_or_a_cookie(world: World, path: str, last: str, fetches: tuple[str, ...]) -> None:
    assert world.url(path).where == "done"
    assert world.url(path).tries == 0
    stored = world.result.pages[world.site.url(path)]
    assert stored.info["final_url"] == world.site.url(last)
    assert sum(len(world.site.asked(one)) for one in set(fetches)) == len(fetches)
    if last != path:
        assert world.site.url(last) not in world.result.urls


def test_the_cookie_goes_along_once_only(world: World) -> None:
    first, second = world.site.asked("/cookie")
    assert "cookie" not in first.headers
    assert second.headers["cookie"] == "seen=1"
    others = [asked for asked in world.site.log if "cookie" in asked.headers]
    assert {asked.path.partition("?")[0] for asked in others} == {"/cookie", "/cookies"}


def test_redirect_to_itself_without_a_cookie(world: World) -> None:
    assert world.url("/self").where == "error redirect-loop"
    assert len(world.site.asked("/self")) == 1


@pytest.mark.parametrize("path", ["/tracked", "/cookies"])
def test_hop_limit_inside_the_lease(world: World, path: str) -> None:
    assert world.url(path).where == "error redirect-max"
    asked = [asked for asked in world.site.log if asked.path.partition("?")[0] == path]
    assert len(asked) == 6


# ---- loops ----


def test_loop_of_two(world: World) -> None:
    assert world.url("/loop-a").where == "done redirect"
    assert world.url("/loop-b").where == "error redirect-loop"


def test_loop_of_three(world: World) -> None:
    assert [world.url(f"/three-{n}").where for n in "abc"] == ["done redirect"] * 2 + ["error redirect-loop"]


def test_loop_by_meta_refresh(world: World) -> None:
    assert world.url("/refresh-loop").where == "done redirect"
    assert world.url("/refresh-loop-b").where == "error redirect-loop"


def test_too_many_redirects(world: World) -> None:
    ways = [world.url(f"/hop-{n}").where for n in range(6)]
    assert ways == ["done redirect"] * 5 + ["error redirect-max"]
    assert world.site.url("/hop-6") not in world.result.urls


# ---- robots ----


def test_robots_503_defers_then_errors_while_others_go_on(world: World) -> None:
    for path in ("/one", "/two"):
        assert world.result.urls[world.down.url(path)].where == "error robots-unreachable"
        assert not world.down.asked(path)
    first, second = world.down.asked("/robots.txt")
    assert second.at - (first.ended or 0) >= 0.19
    assert any(first.at < asked.at < second.at for asked in world.site.log)


def test_robots_time_out_errors(world: World) -> None:
    assert {world.result.urls[world.mute.url(path)].where for path in ("/one", "/two")} == {"error robots-unreachable"}
    assert len(world.mute.asked("/robots.txt")) == 2
    assert not world.mute.asked("/one")


def test_robots_404_allows(world: World) -> None:
    assert world.other.asked("/arrived")


def test_robots_is_read_once_per_host(world: World) -> None:
    assert len(world.site.asked("/robots.txt")) == 1


def test_noindex_is_followed(world: World) -> None:
    assert world.url("/below-noindex").parent == world.url("/noindex-meta").id


def test_nofollow_lists_links_but_does_not_follow(world: World) -> None:
    assert world.site.url("/below-nofollow") not in world.result.urls
    assert [line[:2] for line in world.result.pages[world.site.url("/nofollow-meta")].links] == [
        [world.site.url("/below-nofollow"), "apple"]
    ]
    assert world.site.url("/below-none") not in world.result.urls


# ---- retries ----


def test_backoff_grows(world: World) -> None:
    first, second, third = world.site.asked("/500")
    assert second.at - (first.ended or 0) >= 0.19
    assert third.at - (second.ended or 0) >= 0.39


def test_retry_after_seconds(world: World) -> None:
    first, second = world.waits.asked("/seconds")
    assert second.at - (first.ended or 0) >= 0.97
    assert world.result.urls[world.waits.url("/seconds")].where == "done"


def test_retry_after_date(world: World) -> None:
    _, second = world.waits.asked("/date")
    assert second.at - time.monotonic() >= world.dated - time.time() - 0.05
    assert world.result.urls[world.waits.url("/date")].where == "done"


def test_problems_are_in_the_log(world: World) -> None:
    lines = [(line[1], line[2], line[3]) for line in world.result.log]
    assert ("WARNING", "http", world.site.url("/404")) in lines
    assert ("INFO", "type", world.site.url("/file.pdf")) in lines
    assert len([line for line in lines if line[2] == world.site.url("/500")]) == 3
    assert all(len(line) == 5 for line in world.result.log)


# ---- crawls of their own ----


def small(tmp_path: Path, topic: Path, site: Server, *seeds: str, **given: object) -> Result:
    return run_crawl(tmp_path / "crawl", [site.url(seed) for seed in seeds or ("/",)], topic=topic, **given)  # type: ignore[arg-type]


def test_new_link_waits(tmp_path: Path, topic: Path) -> None:
    with Server({"/": page("/a", ("/b", "apple pie"), ("/c", "pear"))}) as site:
        result = small(tmp_path, topic, site, pages=1)
    assert "the limit of pages is reached" in result.output
    rows = [result.urls[site.url(path)] for path in ("/a", "/b", "/c")]
    assert [row.where for row in rows] == ["waiting"] * 3
    assert [(row.level, row.depth) for row in rows] == [(0, 1), (0, 1), (1, 1)]
    assert [row.sim for row in rows] == [MAX_SIM, round(MAX_SIM / 2**0.5), 0]
    assert [row.link_text for row in rows] == ["apple", "apple pie", "pear"]


def test_robots_is_asked_once_whatever_the_concurrency(tmp_path: Path, topic: Path) -> None:
    """A host with an unknown robots.txt was given one lease for it per free place."""
    with Server({"/": page("/a", "/b"), "/a": page(), "/b": page()}) as site:
        result = small(tmp_path, topic, site, "/", "/a", "/b", CONCURRENT_REQUESTS_PER_DOMAIN=4)
    assert set(result.where.values()) == {"done"}
    assert len(site.asked("/robots.txt")) == 1


@pytest.mark.parametrize("robots", [Reply(500), Reply(404)])
def test_no_heartbeat_passes_behind_robots(tmp_path: Path, topic: Path, robots: Reply) -> None:
    """The engine was woken while the fetch of robots.txt still took a place, and slept until its 5 s heartbeat."""
    with Server({"/": page("/a"), "/a": page()}, robots=robots) as site:
        result = small(tmp_path, topic, site, CONCURRENT_REQUESTS=1)
    took = re.search(r"Got \d pages in (\d+) s", result.output)
    assert took is not None
    assert int(took[1]) < 4


def test_robots_503_then_rules(tmp_path: Path, topic: Path) -> None:
    with Server({"/": page("/private"), "/private": page()}) as site:
        site.robots = [Reply(503), Reply(body="User-agent: *\nDisallow: /private\n", type="text/plain")]
        result = small(tmp_path, topic, site)
    assert result.where == {site.url("/"): "done", site.url("/private"): "discard robots"}
    assert len(site.asked("/robots.txt")) == 2


def test_robots_behind_a_redirect(tmp_path: Path, topic: Path) -> None:
    with Server({"/": page("/private")}) as site, Server(host="127.0.0.2") as other:
        other.routes["/rules"] = Reply(body="User-agent: topiccrawl\nDisallow: /private\n", type="text/plain")
        site.robots = redirect(other.url("/rules"))
        result = small(tmp_path, topic, site)
    assert result.where == {site.url("/"): "done", site.url("/private"): "discard robots"}


def test_without_robots(tmp_path: Path, topic: Path) -> None:
    """ROBOTSTXT_OBEY and both settings on meta robots off; what refuses or has no address gets its own reason."""
    with Server({"/noindex": page(head=META("noindex")), "/nofollow": page("/below", head=META("none"))}) as site:
        site.robots = "User-agent: *\nDisallow: /\n"
        site.routes["/below"] = Reply(body="<p>x", headers=(("X-Robots-Tag", "noindex, nofollow"),))
        with refusing("127.0.0.2") as refused:
            seeds = [site.url("/noindex"), site.url("/nofollow"), f"http://{refused}/", "http://nowhere.invalid/"]
            result = run_crawl(
                tmp_path / "crawl", seeds, topic=topic, ROBOTSTXT_OBEY=0, META_NOINDEX_OBEY=0, META_NOFOLLOW_OBEY=0
            )
    assert not site.asked("/robots.txt")
    pages = {site.url(path) for path in ("/noindex", "/nofollow", "/below")}
    assert set(result.pages) == pages
    assert {result.where[url] for url in pages} == {"done"}
    errors = [result.urls[url] for url in seeds[2:]]
    assert [row.where for row in errors] == ["error refused", "error dns"]
    assert [row.tries for row in errors] == [3, 3]
    assert len([line for line in result.log if line[2] == "refused"]) == 3


def test_certificates(tmp_path: Path, topic: Path) -> None:
    good, stranger = Authority(tmp_path / "good.pem"), Authority(tmp_path / "stranger.pem")
    contexts = {
        "fetched": good.server("127.0.0.1"),
        "wrong name": good.server("other.test"),
        "expired": good.server("127.0.0.3", expired=True),
        "unknown authority": stranger.server("127.0.0.4"),
    }
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(Server({"/": page(title=name)}, host=f"127.0.0.{n}", tls=context))
            for n, (name, context) in enumerate(contexts.items(), 1)
        }
        seeds = {name: server.url() for name, server in servers.items()}
        result = run_crawl(
            tmp_path / "crawl",
            list(seeds.values()),
            topic=topic,
            ROBOTSTXT_OBEY=0,
            env={"SSL_CERT_FILE": str(good.file)},
        )
    assert {name: result.where[url] for name, url in seeds.items()} == {
        "fetched": "done",
        "wrong name": "error tls",
        "expired": "error tls",
        "unknown authority": "error tls",
    }
    assert all(result.urls[url].tries == 1 for name, url in seeds.items() if name != "fetched")
    assert not servers["wrong name"].log


def test_certificate_of_a_host_whose_robots_is_obeyed(tmp_path: Path, topic: Path) -> None:
    authority = Authority(tmp_path / "ca.pem")
    with Server({"/": page()}, tls=authority.server("other.test")) as site:
        result = small(tmp_path, topic, site, env={"SSL_CERT_FILE": str(authority.file)})
    assert result.where == {site.url("/"): "error tls"}


def test_a_later_run_takes_up_what_was_due(tmp_path: Path, topic: Path) -> None:
    with Server({"/": [Reply(500), page()]}) as site:
        first = small(tmp_path, topic, site, RETRY_WAIT=0, RETRY_BACKOFF=1)
        assert first.where == {site.url("/"): "error http 500"}
        assert first.urls[site.url("/")].retry_at is not None
        second = small(tmp_path, topic, site, RETRY_WAIT=20)
    assert second.where == {site.url("/"): "done"}
    earlier, later = site.asked("/")
    assert later.at - (earlier.ended or 0) >= 0.97


def test_the_crawl_waits_for_retries_then_says_what_is_due(tmp_path: Path, topic: Path) -> None:
    with Server({"/": [Reply(500), Reply(500), OK]}) as site, Server(host="127.0.0.2") as late:
        late.routes["/"] = Reply(503, headers=(("Retry-After", "90"),))
        began = time.monotonic()
        result = run_crawl(tmp_path / "crawl", [site.url(), late.url()], topic=topic, RETRY_WAIT=4, RETRY_BACKOFF=0.5)
        assert time.monotonic() - began < 60
    assert result.code == 0
    assert result.where[site.url()] == "done", "worth waiting for"
    row = result.urls[late.url()]
    assert (row.where, row.tries) == ("error http 503", 1)
    assert row.retry_at is not None
    assert 60 < row.retry_at - time.time() < 91
    assert "which is later than RETRY_WAIT: run again then" in result.output


def test_killed(tmp_path: Path, topic: Path) -> None:
    """What was being fetched waits again, one try counted; done pages are not fetched again."""
    folder = tmp_path / "crawl"
    with Server({"/": page("/fails", "/x"), "/fails": [hang(), hang(), page()], "/x": page()}) as site:
        with running_crawl(folder, [site.url("/")], topic=topic) as crawl:
            crawl.wait_until(
                lambda urls: any(row.queue == "processing" and "fails" in row.url for row in urls.values())
            )
            site.wait_for("/fails")
            killed = crawl.kill()
        assert killed.where == {
            site.url("/"): "done",
            site.url("/fails"): "processing",
            site.url("/x"): "waiting",
        }
        with closing(sqlite3.connect(folder / "link.db")) as connection:
            connection.execute("UPDATE urls SET tries = 4, crashes = 4 WHERE queue = 'processing'")
            connection.commit()
        result = small(tmp_path, topic, site)
        assert "Resuming" in result.output
        assert result.urls[site.url("/fails")].where == "error crashed"
        assert (result.urls[site.url("/fails")].tries, result.urls[site.url("/fails")].crashes) == (5, 5)
        assert result.where[site.url("/x")] == "done"
        assert len(site.asked("/")) == 1
        assert len(site.asked("/fails")) == 1


def test_killed_once(tmp_path: Path, topic: Path) -> None:
    folder = tmp_path / "crawl"
    with Server({"/": [hang(), page()]}) as site:
        with running_crawl(folder, [site.url("/")], topic=topic) as crawl:
            crawl.wait_until(lambda urls: any(row.queue == "processing" for row in urls.values()))
            crawl.kill()
        result = small(tmp_path, topic, site)
    row = result.urls[site.url("/")]
    assert (row.where, row.tries, row.crashes) == ("done", 1, 1)


def test_stopped(tmp_path: Path, topic: Path) -> None:
    """SIGINT: what is being fetched ends, nothing else begins, and nothing stays in processing."""
    routes = {"/": page("/slow", "/x"), "/slow": replace(page("/below"), pause=1.5), "/x": page()}
    with Server(routes) as site, running_crawl(tmp_path / "crawl", [site.url("/")], topic=topic) as crawl:
        site.wait_for("/slow")
        result = crawl.stop()
    assert "it was stopped" in result.output
    assert result.where == {
        site.url("/"): "done",
        site.url("/slow"): "done",
        site.url("/x"): "waiting",
        site.url("/below"): "waiting",
    }


# ---- faults in what the user wrote ----

FAULTY = """
    from topiccrawl.spiders.topic import TopicSpider

    class Faulty(TopicSpider):
        name = "faulty"
        custom_settings = {
            "ITEM_PIPELINES": {
                "faulty.Before": 50,
                "topiccrawl.pipelines.ScorePipeline": 100,
                "topiccrawl.pipelines.StorePipeline": 800,
                "faulty.After": 900,
            }
        }

        def parse(self, response):
            if "raises-first" in response.url:
                raise ValueError("before any page")
            yield from super().parse(response)
            if "raises-last" in response.url:
                raise ValueError("behind the page")

    class Before:
        def process_item(self, item):
            if "pipeline-before" in item.url:
                raise RuntimeError("no ink")
            if "dropped" in item.url:
                from scrapy.exceptions import DropItem
                raise DropItem("not wanted")
            return item

    class After:
        def process_item(self, item):
            if "pipeline-after" in item.url:
                raise RuntimeError("no paper")
            return item
"""
FAULTS = ("/raises-first", "/raises-last", "/pipeline-before", "/pipeline-after")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory, topic: Path) -> Iterator[tuple[Server, Result]]:
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "faulty.py").write_text(textwrap.dedent(FAULTY))
    with Server({path: page(f"{path}/child") for path in (*FAULTS, "/dropped", "/fine")}) as site:
        seeds = [site.url(path) for path in (*FAULTS, "/dropped", "/fine")]
        env = {"PYTHONPATH": str(folder)}
        given = {"spider": "faulty", "SPIDER_MODULES": "topiccrawl.spiders,faulty", "pages": 50}
        yield site, run_crawl(folder / "crawl", seeds, topic=topic, env=env, **given)


@pytest.mark.parametrize("path", FAULTS)
def test_a_callback_or_pipeline_that_raises(faulty: tuple[Server, Result], path: str) -> None:
    site, result = faulty
    row = result.urls[site.url(path)]
    assert (row.where, row.tries, row.retry_at) == ("error internal", 1, None)
    assert row.note
    assert site.url(path) not in result.pages
    assert site.url(f"{path}/child") not in result.urls
    assert len(site.asked(path)) == 1
    assert [line[1:3] for line in result.log if line[3] == row.url] == [["WARNING", "internal"]]


def test_the_crawl_goes_on_after_faults(faulty: tuple[Server, Result]) -> None:
    site, result = faulty
    assert result.code == 0, result.output
    assert set(result.pages) == {site.url("/fine")}
    assert result.where[site.url("/fine/child")] == "error http 404"
    assert result.where[site.url("/dropped")] == "discard ignored"


def test_faults_leave_nothing_half_written(faulty: tuple[Server, Result]) -> None:
    _, result = faulty
    assert not [name for name in page_files(result.folder) if name.endswith(".tmp")]
    for info in (result.folder / "page_info").rglob("*.json"):
        json.loads(info.read_bytes())


def test_robots_rules_count_whatever_type_they_are_sent_as(tmp_path: Path, topic: Path) -> None:
    rules = Reply(body="User-agent: *\nDisallow: /private")
    with Server({"/": page("/private"), "/private": page()}, robots=rules) as site:
        result = small(tmp_path, topic, site)
    assert result.where[site.url("/private")] == "discard robots"


def test_redirects_of_robots_txt_keep_the_delay(tmp_path: Path, topic: Path) -> None:
    rules = Reply(body="User-agent: *\nDisallow: /private", type="text/plain")
    routes = {"/": page("/private"), "/r2": redirect("/r3"), "/r3": rules}
    with Server(routes, robots=redirect("/r2")) as site:
        result = small(tmp_path, topic, site, DOWNLOAD_DELAY=0.5)
    assert result.where[site.url("/private")] == "discard robots"
    assert [request.path for request in site.log] == ["/robots.txt", "/r2", "/r3", "/"]
    assert all(later.at - earlier.at >= 0.49 for earlier, later in itertools.pairwise(site.log))
