"""http_proxy and https_proxy are honoured; names are then the proxy's to resolve."""

from __future__ import annotations

from pathlib import Path

from tests.integration.crawling import run_crawl
from tests.servers import Authority, Proxy, Server, page, redirect


def test_http_proxy(tmp_path: Path, topic: Path) -> None:
    with Server(
        {"/": page("/a", "/moved", "/forbidden"), "/a": page(), "/moved": redirect("/b"), "/b": page()}
    ) as site:
        site.robots = "User-agent: *\nDisallow: /forbidden\n"
        with Proxy({"site.invalid": (site.host, site.port)}) as proxy:
            seed = "http://site.invalid/"
            result = run_crawl(tmp_path / "crawl", [seed], topic=topic, env={"http_proxy": proxy.url})
    assert result.where == {
        seed: "done",
        f"{seed}a": "done",
        f"{seed}moved": "done redirect",
        f"{seed}forbidden": "discard robots",
        f"{seed}b": "done",
    }
    assert proxy.log == [f"GET {seed}{path}" for path in ("robots.txt", "", "a", "moved", "b")]


def test_https_proxy(tmp_path: Path, topic: Path) -> None:
    """The certificate is that of the site, checked through the tunnel."""
    authority = Authority(tmp_path / "ca.pem")
    good, wrong = authority.server("site.invalid"), authority.server("another.invalid")
    with Server({"/": page("/a"), "/a": page()}, tls=good) as site, Server({"/": page()}, tls=wrong) as other:
        names = {"site.invalid:443": (site.host, site.port), "other.invalid:443": (other.host, other.port)}
        with Proxy(names) as proxy:
            env = {"https_proxy": proxy.url, "SSL_CERT_FILE": str(authority.file)}
            seeds = ["https://site.invalid/", "https://other.invalid/"]
            result = run_crawl(tmp_path / "crawl", seeds, topic=topic, env=env, ROBOTS_TRIES=1)
    assert result.where == {
        seeds[0]: "done",
        f"{seeds[0]}a": "done",
        seeds[1]: "error tls",
    }
    assert set(proxy.log) == {"CONNECT site.invalid:443", "CONNECT other.invalid:443"}
    assert not other.log
    assert any("certificate" in line[4] or "VerificationError" in line[4] for line in result.log), result.log


def test_a_proxy_that_refuses(tmp_path: Path, topic: Path) -> None:
    with Proxy({}) as proxy:
        seeds = ["http://site.invalid/", "https://site.invalid/"]
        env = {"http_proxy": proxy.url, "https_proxy": proxy.url}
        result = run_crawl(tmp_path / "crawl", seeds, topic=topic, env=env, ROBOTSTXT_OBEY=0, TRIES=2)
    assert result.where[seeds[0]] == "error http 502"
    assert result.urls[seeds[1]].queue == "error"
    assert [row.tries for row in result.urls.values()] == [2, 2]
