"""The proxy middleware, held against Scrapy's own, which it only makes faster."""

import pytest
from scrapy import Request
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware

from topiccrawl.middlewares import ProxyMiddleware

URLS = (
    "http://a.test/",
    "http://b.test:8080/x",
    "https://c.test/",
    "http://sub.b.test/",
    "http://[::1]:80/",
    "data:,x",
)
METAS = ({}, {"proxy": None}, {"proxy": "http://other.test:1"})


@pytest.mark.parametrize("none", ["", "b.test", "a.test,::1", "*"])
@pytest.mark.parametrize("both", [True, False])
def test_proxies_are_chosen_as_scrapy_does(monkeypatch: pytest.MonkeyPatch, none: str, both: bool) -> None:
    for name in ("all_proxy", "http_proxy", "https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("http_proxy", "http://user:word@proxy.test:3128")
    monkeypatch.setenv("no_proxy", none)
    if both:
        monkeypatch.setenv("https_proxy", "http://secure.test:3128")
    ours, theirs = ProxyMiddleware(), HttpProxyMiddleware()
    proxied = 0
    for url in URLS:
        for meta in METAS:
            for _ in range(2):  # the second from memory
                mine, other = Request(url, meta=dict(meta)), Request(url, meta=dict(meta))
                ours.process_request(mine)
                theirs.process_request(other)
                assert (mine.meta, mine.headers) == (other.meta, other.headers)
                proxied += "_scheme_proxy" in mine.meta
    assert (proxied > 0) is (none != "*")
