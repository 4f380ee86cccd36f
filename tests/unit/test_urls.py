"""urls.py: the field cases about URLs as tables, and the promises that hold for any string."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from topiccrawl import urls
from topiccrawl.urls import IgnoredParameters, UrlParts, host_of, in_domains, join, normalise_domain, seed_url, url_key

CASES = Path(__file__).parents[1] / "data" / "cases"
PAGE = "http://s.test/forum/x.html?q=1#f"


def rows(name: str) -> list[list[str]]:
    lines = (CASES / name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(
    ("href", "url"),
    [
        pytest.param("#c1", "http://s.test/forum/x.html?q=1", id="case_001"),
        pytest.param("?page=2#c2", "http://s.test/forum/x.html?page=2", id="case_001_query"),
        pytest.param("/s?q=%d6%D0#x", "http://s.test/s?q=%d6%D0", id="case_003_bytes_kept"),
        pytest.param("HTTP://S.Test:80/a/./b/../c", "http://s.test/a/c", id="case_005"),
        pytest.param(
            "http://shop.test;jsessionid=A.n1?p=v", "http://shop.test/?p=v", id="case_006_host_can_be_fetched"
        ),
        pytest.param("/l;jsessionid=A.n1?p=v", "http://s.test/l;jsessionid=A.n1?p=v", id="case_006_fetched_as_written"),
        pytest.param("http://my_forum.test/", "http://my_forum.test/", id="case_008_underscore"),
        pytest.param("http://ab--69.test/", "http://ab--69.test/", id="case_008_hyphens"),
        pytest.param("http://例子.test/", "http://xn--fsqu00a.test/", id="case_008_idn"),
        pytest.param("../../../x.html", "http://s.test/x.html", id="case_009"),
        pytest.param("\n  http://s.test/a.html\n ", "http://s.test/a.html", id="case_011"),
        pytest.param("/d\r\n\t.html", "http://s.test/d.html", id="case_011_inner"),
        pytest.param("\xa0 /e.html\u3000\ufeff", "http://s.test/e.html", id="case_011_wide"),
        pytest.param("http://[img]", None, id="case_013_bbcode"),
        pytest.param("http://h.test:port/", None, id="case_013_port"),
        pytest.param("http://h.test:99999/", None, id="case_013_port_range"),
        pytest.param("http://www.h.test]/x", None, id="case_013_bracket"),
        pytest.param("JavaScript:go(1)", "javascript:go(1)", id="case_014_scheme"),
        pytest.param("mailto:A@s.test", "mailto:A@s.test", id="case_014_mail"),
        pytest.param("//cdn.test/p", "http://cdn.test/p", id="case_014_scheme_relative"),
        pytest.param("\\\\cdn.test\\p", "http://cdn.test/p", id="case_014_backslashes"),
        pytest.param("pdf/info sheet.pdf", "http://s.test/forum/pdf/info%20sheet.pdf", id="case_017"),
        pytest.param("/v/{{id}}", None, id="case_019_braces"),
        pytest.param("/v/<%= id %>", None, id="case_019_erb"),
        pytest.param("/v/${id}", None, id="case_019_dollar"),
        pytest.param("\\'http://s.test/q\\'", None, id="case_019_escaped_quote"),
        pytest.param("/a.html>first</a>", None, id="case_036"),
        pytest.param("/a#<Esc>", "http://s.test/a", id="case_036_fragment"),
        pytest.param("/app#/item/1", "http://s.test/app", id="case_064"),
        pytest.param("www.g.test/p", "http://s.test/forum/www.g.test/p", id="case_066"),
        pytest.param("", "http://s.test/forum/x.html?q=1", id="empty"),
        pytest.param("http:?y", "http://s.test/forum/x.html?y", id="scheme_without_slashes"),
        pytest.param("/\ud800", "http://s.test/%EF%BF%BD", id="lone_surrogate"),
    ],
)
def test_join(href: str, url: str | None) -> None:
    assert join(PAGE, href) == url


@pytest.mark.parametrize("base", ["", "no url", "http://", "mailto:a@s.test", "http://[", "\ud800"])
def test_join_on_a_base_that_is_none(base: str) -> None:
    assert join(base, "a/b") is None
    assert join(base, "http://s.test/x") == "http://s.test/x"


def test_join_long_href_is_not_cached() -> None:
    before = urls._join.cache_info().currsize
    assert join(PAGE, " /" + "x" * 5000) == "http://s.test/" + "x" * 5000
    assert urls._join.cache_info().currsize == before


@pytest.mark.parametrize("row", rows("case-002.urls.tsv"), ids=lambda row: row[0])
def test_case_002_reserved_escapes(row: list[str]) -> None:
    url, equal, *differ = row
    if "?b=2&a=1" in url:  # the order of a query can carry meaning: both forms stay apart
        assert url_key(url) != url_key(equal)
        return
    assert url_key(url) == url_key(equal) == url_key(url_key(url))
    assert not any(url_key(url) == url_key(other) for other in differ if other)


@pytest.mark.parametrize("row", rows("case-006.urls.tsv"), ids=lambda row: row[1])
def test_case_006_sessions(row: list[str]) -> None:
    assert url_key(row[0]) == row[1]


@pytest.mark.parametrize(
    ("url", "key"),
    [
        pytest.param("http://f.test/t/7?page=2#c3", "http://f.test/t/7?page=2", id="case_001"),
        pytest.param("http://cn.test/s?q=%d6%d0%b9%fa", "http://cn.test/s?q=%D6%D0%B9%FA", id="case_003"),
        pytest.param("http://cn.test/%c3%28", "http://cn.test/%C3%28", id="case_003_broken_utf8"),
        pytest.param("http://cn.test/%e6%9f%a5?q=%D6%D0", "http://cn.test/%E6%9F%A5?q=%D6%D0", id="case_003_mixed"),
        pytest.param("HTTP://S.Test:80/a/./b/../c", "http://s.test/a/c", id="case_005"),
        pytest.param("http://s.test", "http://s.test/", id="case_005_path"),
        pytest.param("https://s.test:443/", "https://s.test/", id="case_005_https"),
        pytest.param("http://s.test:8080/", "http://s.test:8080/", id="case_005_port"),
        pytest.param("http://shop.test;jsessionid=AB.n1?p=v", "http://shop.test/?p=v", id="case_006_host"),
        pytest.param("http://s.test/a;JSESSIONID=1/b", "http://s.test/a/b", id="case_006_case"),
        pytest.param("http://s.test/a;%6asessionid=1/b", "http://s.test/a/b", id="case_006_escaped"),
        pytest.param("http://s.test/?sid=0af3b2&x=1", "http://s.test/?x=1", id="case_006_sid"),
        pytest.param("http://s.test/?sid=123", "http://s.test/?sid=123", id="case_006_sid_is_an_article"),
        pytest.param("http://s.test/?a=1;sid=2", "http://s.test/?a=1;sid=2", id="case_006_not_in_query_values"),
        pytest.param("http://s.test/b/..;sid=x/c", "http://s.test/c", id="case_006_leaves_dots"),
        pytest.param("http://u;sid=x@s.test/", "http://u%3Bsid%3Dx@s.test/", id="case_006_not_in_user"),
        pytest.param("http://s.test/(X(1)S(ab))/a.aspx", "http://s.test/a.aspx", id="case_006_asp"),
        pytest.param("http://s.test/Tree_(data(x))/", "http://s.test/Tree_(data(x))/", id="case_006_not_asp"),
        pytest.param("http://例子.test/", "http://xn--fsqu00a.test/", id="case_008"),
        pytest.param("http://s.test/a?utm_source=x&b=1&GCLID=2&c", "http://s.test/a?b=1&c", id="trackers"),
        pytest.param("http://s.test/a?utm_source=x", "http://s.test/a", id="only_trackers"),
        pytest.param("http://s.test/a?my_utm_x=1&x=utm_y", "http://s.test/a?my_utm_x=1&x=utm_y", id="no_trackers"),
        pytest.param("http://s.test/a?", "http://s.test/a", id="empty_query"),
        pytest.param("http://s.test/index.html", "http://s.test/index.html", id="index_is_a_page"),
        pytest.param("http://s.test/%%34%31", "http://s.test/%%341", id="no_escape_is_made"),
        pytest.param("http://2130706433/", "http://127.0.0.1/", id="address_as_number"),
        pytest.param("mailto:A@s.test", "mailto:A@s.test", id="mail"),
        pytest.param("no url#x", "no url", id="no_url"),
        pytest.param("", "", id="empty"),
    ],
)
def test_url_key(url: str, key: str) -> None:
    assert url_key(url) == key
    assert url_key(key) == key


def test_url_key_with_own_names() -> None:
    own = IgnoredParameters(sessions=("zz",), trackers=("from",), tracker_prefixes=())
    assert url_key("http://s.test/a;zz=1?from=x&utm_a=1&sid=ab", ignored=own) == "http://s.test/a?utm_a=1&sid=ab"
    none = IgnoredParameters((), (), ())
    assert url_key("http://s.test/a;sid=1?utm_a=1", ignored=none) == "http://s.test/a;sid=1?utm_a=1"


PIECES = (
    "http:// https:// s.test S.Test 例子.test [::1] 127.1 : 80 443 8080 / // .. . %2e %2E %41 %7e %25 % %3 %34 %zz ? & "
    "= # ; @ \\ ;jsessionid= ;sid= sid= utm_a= (S(a)) / a A 你 \ud800 \t \n \xa0 ' \" ( ) mailto: file: data: x"
)
URL_PIECES = st.lists(st.sampled_from(PIECES.split(" ")), max_size=14).map("".join)


@settings(max_examples=400)
@given(st.one_of(URL_PIECES, URL_PIECES.map("http://s.test/".__add__), URL_PIECES.map("http://s".__add__), st.text()))
@example("http://s.test/%%33%34")
@example("http://;sid=x/y")
def test_url_key_is_idempotent_and_never_raises(text: str) -> None:
    key = url_key(text)
    assert url_key(key) == key
    assert 0 <= urls.key_hash(key) < 1 << 64
    assert len(urls.page_id(key)) == 32
    assert isinstance(urls.split(text), UrlParts)
    assert in_domains(host_of(text), frozenset({"s.test"})) in (True, False)
    assert urls.origin(text) == "" or host_of(text)


@settings(max_examples=400)
@given(st.one_of(URL_PIECES, st.text()), st.one_of(URL_PIECES, st.text()))
def test_join_never_raises_and_gives_what_it_gets(base: str, href: str) -> None:
    url = join(base, href)
    assert url is None or "#" not in url
    if url is not None:
        assert urls._join.__wrapped__(base, href) == url  # whatever of the base is kept for the cache
        assert not urls.is_http(url) or join(base, url) == url


@given(st.one_of(URL_PIECES, st.text()))
@example("127.1..")
def test_seeds_and_domains_never_raise(text: str) -> None:
    url = seed_url(text)
    assert url is None or (urls.is_http(url) and seed_url(url) == url and host_of(url))
    domain = normalise_domain(text)
    assert domain is None or normalise_domain(domain) == domain


def test_hash_and_id_are_the_same_for_ever() -> None:
    assert urls.key_hash("http://s.test/") == 7818584469091085419
    assert urls.page_id("http://s.test/") == "e6168e849ed588932e3aefbffe0a025a"


@pytest.mark.parametrize(
    ("url", "parts", "host", "origin"),
    [
        ("http://s.test/a/b.html?x=/y#/z", ("http", "s.test", 80, "/a/", "b.html"), "s.test", "http://s.test"),
        ("https://s.test", ("https", "s.test", 443, "/", ""), "s.test", "https://s.test"),
        ("http://s.test:8080/a/", ("http", "s.test", 8080, "/a/", ""), "s.test:8080", "http://s.test:8080"),
        ("https://s.test:80/", ("https", "s.test", 80, "/", ""), "s.test:80", "https://s.test:80"),
        ("HTTP://S.Test:80/X", ("http", "s.test", 80, "/", "X"), "s.test", "http://s.test"),
        ("http://u:p@s.test/", ("http", "s.test", 80, "/", ""), "s.test", "http://s.test"),
        ("http://s.test@evil.test/", ("http", "evil.test", 80, "/", ""), "evil.test", "http://evil.test"),
        ("http://s.test\\@evil.test/", ("http", "s.test", 80, "/@evil.test/", ""), "s.test", "http://s.test"),
        ("http://[::1]:81/a", ("http", "[::1]", 81, "/", "a"), "[::1]:81", "http://[::1]:81"),
        ("http://10.0.0.1/", ("http", "10.0.0.1", 80, "/", ""), "10.0.0.1", "http://10.0.0.1"),
        ("http://0x7f000001/", ("http", "127.0.0.1", 80, "/", ""), "127.0.0.1", "http://127.0.0.1"),
        ("ftp://f.test/a", ("ftp", "f.test", 21, "/", "a"), "f.test", "ftp://f.test"),
        ("mailto:a@s.test", ("mailto", "", 0, "", "a@s.test"), "", ""),
        ("nonsense", ("", "", 0, "", ""), "", ""),
    ],
)
def test_split_host_origin(url: str, parts: tuple[object, ...], host: str, origin: str) -> None:
    assert urls.split(url) == parts
    assert host_of(url) == host
    assert urls.origin(url) == origin


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://s.test/", True),
        ("HTTPS://s.test", True),
        ("ftp://s.test/", False),
        ("httpx://s.test/", False),
        ("", False),
    ],
)
def test_is_http(url: str, expected: bool) -> None:
    assert urls.is_http(url) is expected


CASE_118 = {
    "file:///etc/hostname": None,
    "gopher://s.test/": None,
    "http://0x7f000001/": "http://127.0.0.1/",  # what it is gets visible; the address guard does the rest
    "http://2130706433/": "http://127.0.0.1/",
}


@pytest.mark.parametrize("text", [row[0] for row in rows("case-118.urls.txt")])
def test_case_118_seeds(text: str) -> None:
    assert seed_url(text) == CASE_118.get(text, text)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("s.test", "http://s.test/"),
        (" s.test/path?x#y\n", "http://s.test/path?x"),
        ("127.0.0.1:8480", "http://127.0.0.1:8480/"),
        ("[::1]:8480", "http://[::1]:8480/"),
        ("localhost", "http://localhost/"),
        ("box:80/x", "http://box/x"),
        ("HTTPS://S.Test:443/A", "https://s.test/A"),
        ("例子.test", "http://xn--fsqu00a.test/"),
        ("\ufeffhttp://s.test/", "http://s.test/"),
        ("http://intranet/", "http://intranet/"),
        ("", None),
        ("word", None),
        ("http://", None),
        ("http:///", None),
        ("http://../", None),
        ("http://s.test/a b", None),
        ("someone@s.test", None),
        ("mailto:a@s.test", None),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("s.test:99999", None),
        ("/etc/hostname", None),
        ("//s.test/", None),
        ("http://s.test/<b>", None),
    ],
)
def test_seed_url(text: str, url: str | None) -> None:
    assert seed_url(text) == url


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        pytest.param("http://S.test/", "s.test", id="case_122_url"),
        pytest.param("s.test:8080", "s.test", id="case_122_port"),
        pytest.param(".s.test", "s.test", id="case_122_dot"),
        pytest.param("例子.test", "xn--fsqu00a.test", id="case_122_idn"),
        pytest.param("*.S.test", "s.test", id="case_122_star"),
        pytest.param("s.test/path", "s.test", id="case_122_path"),
        pytest.param("10.0.0.1", "10.0.0.1", id="case_122_address"),
        pytest.param("[::1]:80", "[::1]", id="case_122_ipv6"),
        pytest.param("test", "test", id="case_122_top_level"),
        pytest.param("s.test.", "s.test", id="case_122_root_dot"),
        *[
            pytest.param(text, None, id=f"case_122_no_{n}")
            for n, text in enumerate(["", "*", ".", "a b", "http://", "<x>"])
        ],
    ],
)
def test_normalise_domain(text: str, domain: str | None) -> None:
    assert normalise_domain(text) == domain


@pytest.mark.parametrize("row", rows("case-123.urls.tsv"), ids=lambda row: row[0])
def test_case_123_scope(row: list[str]) -> None:
    assert in_domains(host_of(row[0]), frozenset({"s.test"})) is (row[1] == "in")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("s.test:8080", True),
        ("a.b.s.test", True),
        ("S.test.", True),
        ("10.0.0.1:80", True),
        ("[::1]:8080", True),
        ("x.[::1]", False),
        ("1.10.0.0.1", False),
        ("test", False),
        ("", False),
    ],
)
def test_case_123_in_domains(host: str, expected: bool) -> None:
    assert in_domains(host, frozenset({"s.test", "10.0.0.1", "[::1]"})) is expected


PLAIN_PARTS = st.one_of(
    st.text("abZ09_-.~/?=&+,;%:#@!", max_size=12),
    st.lists(
        st.sampled_from(["../", "./", "..", "//", "/", "a", "b.html", "%2e", "%2E", "%E5", "%", "?", "#", " ", "é"]),
        max_size=6,
    ).map("".join),
)


@given(
    st.sampled_from(
        [
            *("http://s.test/", "https://s.test:8080/a/b.html?q=/x#f", "http://s.test/a//b/", "HTTP://S.test/a/../b/c"),
            *("http://s.test", "http://s.test/a/b/c/d?x", "http://[::1]/a/b", "http://s.test/a;b/c", "http://s.test//"),
        ]
    ),
    PLAIN_PARTS,
)
def test_plain_hrefs_are_joined_as_the_parser_would(base: str, href: str) -> None:
    """Most hrefs take a short way round the parser: it must not show."""
    assert urls.join(base, href) == urls._join.__wrapped__(base, href)
