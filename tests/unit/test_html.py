"""html.py: the field cases about pages as tables, and the promises that hold for any body."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topiccrawl.html import MAX_KEYWORDS, MAX_SUMMARY, MAX_TEXT, MAX_TITLE, parse_html, parse_text
from topiccrawl.records import Document

CASES = Path(__file__).parents[1] / "data" / "cases"
PAGE = "http://s.test/a/b.html"


def case(name: str, url: str = PAGE, encoding: str = "utf-8") -> Document:
    return parse_html((CASES / name).read_bytes().decode(encoding), url)


def pairs(document: Document) -> list[tuple[str, str]]:
    return [(link.url, link.text) for link in document.links]


def paths(document: Document) -> list[str]:
    return [link.url.removeprefix("http://s.test") for link in document.links]


def test_case_001_fragments_are_the_page() -> None:
    document = case("case-001.html", "http://forum.test/t/7?page=2")
    # "#c1" is no link at all; the other two name the page itself, and their texts count
    assert pairs(document) == [
        ("http://forum.test/t/7?page=2", "second reply"),
        ("http://forum.test/t/7?page=2", "third reply"),
    ]


def test_case_009_climbing_above_the_root() -> None:
    assert paths(case("case-009.html")) == ["/x.html", "/a/y.html"]


def test_case_011_white_space_round_hrefs() -> None:
    assert paths(case("case-011.html")) == ["/a.html", "/b.html", "/c.html", "/d.html", "/e.html", "/e.html"]


def test_case_012_base() -> None:
    document = case("case-012.html", "http://s.test/forum/mv/7/0/")
    assert paths(document) == ["/forum/i.php/9/", "/forum/?q=1"]


@pytest.mark.parametrize(
    ("head", "url"),
    [
        pytest.param("<!-- <base href='/c/'> -->", "http://s.test/a/x", id="comment"),
        pytest.param(
            "<base target=_top><base href='../d/'><base href='/e/'>", "http://s.test/d/x", id="first_with_href"
        ),
        pytest.param("<base href='https://o.test/p/q'>", "https://o.test/p/x", id="absolute"),
        pytest.param("<base href='http://[bad'>", "http://s.test/a/x", id="bad"),
        pytest.param("<base href='javascript:x'><base href='/e/'>", "http://s.test/a/x", id="scheme"),
        pytest.param("<template><base href='/t/'></template>", "http://s.test/a/x", id="template"),
    ],
)
def test_case_012_base_kinds(head: str, url: str) -> None:
    assert [link.url for link in parse_html(f"{head}<p>t</p><a href=x>x</a>", PAGE).links] == [url]


def test_case_012_base_behind_the_links() -> None:
    assert paths(parse_html("<a href=x>x</a><div><base href='/z/'></div>", PAGE)) == ["/z/x"]


def test_case_013_bad_links_are_counted() -> None:
    document = case("case-013.html")
    assert paths(document) == ["/ok1.html", "/ok2.html"]
    assert document.links_bad == 4


def test_case_014_other_schemes() -> None:
    document = case("case-014.html")
    assert [link.url for link in document.links] == [
        "mailto:someone@s.test",
        "tel:+000",
        "ftp://f.test/a",
        "file:///etc/hostname",
        "http://cdn.test/p",
        "http://s.test/real.html",
    ]
    assert document.links_bad == 3  # two javascript:, one data:


def test_case_016_link_text() -> None:
    assert pairs(case("case-016.html")) == [
        ("http://s.test/p1", "solar cell efficiency"),
        ("http://s.test/p2", "more"),
        ("http://s.test/p2", "read the perovskite report"),
    ]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        pytest.param("<a href=x> so<b>lar</b>\n cell </a>", "solar cell", id="inline"),
        pytest.param("<a href=x><div>solar</div><div>cell</div></a>", "solar cell", id="blocks"),
        pytest.param("<a href=x>solar<br>cell</a>", "solar cell", id="br"),
        pytest.param("<a href=x>a<img alt=solar><img alt=cell>b</a>", "a solar cell b", id="images_in_place"),
        pytest.param("<a href=x><span><img alt='太阳能'></span></a>", "太阳能", id="image_inside"),
        pytest.param("<a href=x><input type=image alt=go></a>", "go", id="input"),
        pytest.param("<map><area href=x alt='solar map'></map>", "solar map", id="area"),
        pytest.param("<a href=x title='solar report'><img src=i></a>", "solar report", id="title_if_empty"),
        pytest.param("<a href=x title=no>yes</a>", "yes", id="title_only_if_empty"),
        pytest.param("<a href=x>a<script>b</script><style>c</style></a>", "a", id="script"),
        pytest.param("<a href=x>太阳\n  能</a>", "太阳能", id="han_line_break"),
        pytest.param(f"<a href=x>{'y' * 5000}</a>", "y" * MAX_TEXT, id="cut"),
        pytest.param(f"<a href=x><b>{'y' * 5000}</b></a>", "y" * MAX_TEXT, id="cut_inside"),
        pytest.param("<iframe src=x title=t>in</iframe>", "", id="frame"),
    ],
)
def test_case_016_link_text_kinds(markup: str, text: str) -> None:
    assert pairs(parse_html(markup, PAGE)) == [("http://s.test/a/x", text)]


def test_case_017_joined_on_the_final_url() -> None:
    document = case("case-017.html", "https://s.test/c/curriculum.php")
    assert [link.url for link in document.links] == [
        "https://s.test/c/pdf/info%20sheet.pdf",
        "https://s.test/rings/c/1?x=1",
    ]


def test_case_019_no_links_from_templates() -> None:
    document = case("case-019.html")
    assert paths(document) == ["/real"]
    assert document.links_bad == 2


def test_case_019_template_keeps_what_follows() -> None:
    markup = "<p>a<template><a href=t>t</a><template><a href=u></a></template></template>b<a href=x>x</a>"
    document = parse_html(markup, PAGE)
    assert (document.text, paths(document)) == ("abx", ["/a/x"])


def test_case_024_no_byte_order_mark_in_text() -> None:
    document = case("case-024.utf8bom.html")
    assert document.title == "t"
    assert document.text == "太阳能电池的转换效率逐年提高。"


@pytest.mark.parametrize(
    ("name", "encoding"), [("le-bom", "utf-16"), ("be-bom", "utf-16"), ("le-nobom", "utf-16-le")], ids=lambda x: x
)
def test_case_025_utf16(name: str, encoding: str) -> None:
    document = case(f"case-025.utf16{name}.html", encoding=encoding)
    assert (document.text, paths(document)) == ("太阳能电池的转换效率逐年提高。\nn", ["/n"])


def test_case_031_nul() -> None:
    document = case("case-031.html")
    assert document.text.startswith("ab\n")
    assert pairs(document)[-1] == ("http://s.test/after.html", "after")


def test_case_033_huge_script() -> None:
    body = f'<html><body><a href=/a>a</a><script>var s="{"x" * 12_000_000}"</script><a href=/b>b</a>'
    document = parse_html(body, PAGE)
    assert (document.text, paths(document)) == ("a b", ["/a", "/b"])


@pytest.mark.parametrize(
    "body", ["", "   ", "\ufeff", "\ufeff \n", "\x00", "\ud800", "<", "<!--", "<p", "&#0;", "<html/>"]
)
def test_case_034_empty_bodies(body: str) -> None:
    document = parse_html(body, PAGE)
    assert (document.links, document.links_bad, document.title) == ((), 0, "")
    assert parse_text(body.strip("<>!-p"), PAGE).links == ()


def test_case_034_is_empty() -> None:
    assert case("case-034.html") == Document()


def test_case_036_quote_missing() -> None:
    document = case("case-036.html")
    assert paths(document) == ["/c.html", "/d.html"]
    assert document.links_bad == 1


@pytest.mark.parametrize(
    ("line", "refresh"),
    [
        *[
            pytest.param(line, refresh, id=f"fixture_{n}")
            for n, (line, refresh) in enumerate(
                zip(
                    (CASES / "case-042.html").read_text().splitlines()[1:],
                    ["http://s.test/a/d.html"] * 3 + [""] * 3,
                    strict=True,
                )
            )
        ],
        pytest.param("<base href='/z/'><meta http-equiv=refresh content='0;url=d'>", "http://s.test/z/d", id="base"),
        pytest.param("<meta http-equiv=refresh content='10;d'>", "http://s.test/a/d", id="no_url_word"),
        pytest.param("<meta http-equiv=refresh content='0, url = \"d\" x'>", "http://s.test/a/d", id="comma_quoted"),
        pytest.param("<meta http-equiv=refresh content='11;url=d'>", "", id="long_delay"),
        pytest.param("<meta http-equiv=refresh content='0;url=b.html'>", "", id="itself"),
        pytest.param(
            "<meta http-equiv=refresh content='0;url=B.html?utm_source=x'>",
            "http://s.test/a/B.html?utm_source=x",
            id="x",
        ),
        pytest.param("<meta http-equiv=refresh content='0;url=?utm_source=x'>", "", id="same_key"),
        pytest.param("<meta http-equiv=refresh content='0;url=javascript:x'>", "", id="script"),
        pytest.param("<meta http-equiv=refresh content=';url=d'>", "", id="no_delay"),
        pytest.param("<meta name=refresh content='0;url=d'>", "", id="not_http_equiv"),
        pytest.param("<meta name=x http-equiv=refresh content='0;url=d'>", "http://s.test/a/d", id="name_too"),
        pytest.param(f"<meta http-equiv=refresh content='{'1' * 100_000}'>", "", id="no_backtracking"),
    ],
)
def test_case_042_refresh(line: str, refresh: str) -> None:
    assert parse_html(line, PAGE).refresh == refresh


def test_case_064_hash_routes_are_the_page() -> None:
    markup = "<a href='#/item/1'>1</a><a href='/app#/item/2'>2</a>"
    assert pairs(parse_html(markup, "http://s.test/app")) == [("http://s.test/app", "2")]


def test_case_066_missing_scheme_is_relative() -> None:
    assert paths(case("case-066.html", "http://s.test/d/")) == ["/d/www.g.test/policies/"]


def test_case_101_visible_text() -> None:
    document = case("case-101.html")
    expected = (CASES / "case-101.expect.txt").read_text("utf-8").split()
    assert document.text.split() == expected
    assert document.text.splitlines()[:3] == ["Address", "map", "solarcell report"]
    assert document.headings == "Address"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        pytest.param("<p>a<p>b<div>c</div>d", "a\nb\nc\nd", id="blocks"),
        pytest.param("<table><tr><td>a<td>b<tr><th>c</table>d", "a\nb\nc\nd", id="cells"),
        pytest.param("<select><option>a<option>b</select>", "a\nb", id="options"),
        pytest.param("<dl><dt>a<dd>b</dl>", "a\nb", id="terms"),
        pytest.param("so<b>l</b>a<i>r</i> <u>x</u>", "solar x", id="inline"),
        pytest.param("a \n\t b&nbsp;\u3000c", "a b c", id="folded"),
        pytest.param("<pre>a\nb</pre>", "a b", id="pre"),
        pytest.param("<p>太阳\n能 电池\r\n  板</p>", "太阳能 电池板", id="han_line_breaks"),
        pytest.param("<p>solar\ncell</p>", "solar cell", id="latin_line_break"),
        pytest.param("so&shy;lar\ufeff", "solar", id="soft_hyphen"),
        pytest.param("<a href=x>home</a><a href=y>news</a>", "home news", id="links_that_touch"),
        pytest.param("<a href=x>cell</a>s of <a href=x>sun</a>", "cells of sun", id="links_in_words"),
        pytest.param("solar<img alt=no>cell", "solar cell", id="image"),
        pytest.param(
            "a<noscript>b</noscript><iframe>c</iframe><!-- d --><svg><title>e</title></svg>", "a", id="hidden"
        ),
        pytest.param("<title>t</title><body>a</body>b", "a\nb", id="behind_the_body"),
        pytest.param("<p>1 &lt; 2 &amp; 3 &foo;", "1 < 2 & 3 &foo;", id="entities"),
        pytest.param("<p>&lt;script&gt;x", "<script>x", id="escaped_markup"),
    ],
)
def test_case_101_text_kinds(markup: str, text: str) -> None:
    assert parse_html(markup, PAGE).text == text


def test_case_117_markup_in_text_is_text() -> None:
    document = case("case-117.html")
    assert document.title == "solar <script>alert(1)</script>"
    assert document.links == ()
    assert document.links_bad == 2


FACTS = """<html lang="zh_CN"><head><meta name="Robots" content="NoIndex, follow">
<meta name=topiccrawl content=nofollow>
<meta name=keywords content=" solar,\n cell "><meta property="og:description" content="og">
<meta name=DESCRIPTION content=" a\n summary "><title> The\n title </title><title>second</title>
<link rel=canonical href="/c#x"><link rel="alternate" hreflang=en href=/en><link rel=alternate type="text/html" href=/h>
<link rel="alternate stylesheet" hreflang=x href=/css><link rel=alternate type="application/rss+xml" href=/feed>
<link rel=stylesheet href=/s.css><link rel="prev NoFollow" href=/1><link rel=next href=/3></head>
<body><h1>One</h1><h2>T<i>wo</i></h2><h4>four</h4><h3> </h3>
<a rel="external nofollow" href=/a>a</a><a name=x>no</a></body>"""


def test_facts() -> None:
    document = parse_html(FACTS, PAGE, content_language="de")
    assert document.title == "The title"
    assert document.keywords == "solar, cell"
    assert document.summary == "a summary"
    assert document.headings == "One\nTwo"
    assert document.language == "zh-cn"
    assert document.canonical == "http://s.test/c"
    assert document.robots == {"noindex", "follow", "nofollow"}
    assert [(link.url.removeprefix("http://s.test"), link.text, link.nofollow) for link in document.links] == [
        ("/c", "", False),
        ("/en", "", False),
        ("/h", "", False),
        ("/1", "", True),
        ("/3", "", False),
        ("/a", "a", True),
    ]


def test_facts_second_choices() -> None:
    document = parse_html("<meta property=og:description content=og><svg><title>s</title></svg><h1>One</h1>", PAGE)
    assert (document.title, document.summary) == ("One", "og")
    document = parse_html("<body><p>one<p>two", PAGE, content_language="En-GB, fr")
    assert (document.title, document.summary, document.language) == ("", "one two", "en-gb")
    assert parse_html("<meta http-equiv=content-language content=fr>", PAGE, content_language="de").language == "fr"
    assert parse_html("<html lang='?'>", PAGE).language == ""
    assert parse_html("<meta name=robots content=NONE>", PAGE).robots == {"none", "noindex", "nofollow"}


def test_lengths_are_cut() -> None:
    long = "x" * 5000
    markup = f"<title>{long}</title><meta name=keywords content={long}><h1>{long}</h1><p>{long}"
    document = parse_html(markup, PAGE)
    lengths = len(document.title), len(document.keywords), len(document.summary), len(document.headings)
    assert lengths == (MAX_TITLE, MAX_KEYWORDS, MAX_SUMMARY, MAX_TEXT)
    assert len(document.text) == 10_001


def test_parse_text() -> None:
    document = parse_text("\ufeff太阳能  电池\r\n\n <b>x</b>\t y\ud800", PAGE)
    assert document == Document(text="太阳能 电池\n<b>x</b> y\ufffd", summary="太阳能 电池 <b>x</b> y\ufffd")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("<div>" * 100_000 + "x", id="blocks"),
        pytest.param("<b>x" * 100_000, id="inline"),
        pytest.param("<a href=x><i>" * 100_000, id="links"),
        pytest.param("<a href=x>" + "<i>" * 1500 + "x", id="one_link"),
        pytest.param("<h1><i>" * 1000 + "x" * 1_000_000, id="headings"),
        pytest.param("<noscript><div>" + "<meta http-equiv=refresh content='0;url=x'>" * 20_000, id="refreshes"),
        pytest.param("<template>" * 50_000, id="templates"),
        pytest.param("<p>" + "\n" * 1_000_000 + "x", id="line_breaks"),
        pytest.param("<a>" * 100_000, id="anchors"),
        pytest.param("<" * 300_000, id="brackets"),
        pytest.param("&" * 300_000, id="ampersands"),
        pytest.param("<p " + "a=b " * 20_000, id="attributes"),
        pytest.param("中\n" * 300_000, id="han"),
    ],
)
def test_time_is_bounded(body: str) -> None:
    """Each takes well under a second; a quadratic walk took minutes."""
    start = time.process_time()
    parse_html(body, PAGE)
    parse_text(body, PAGE)
    assert time.process_time() - start < 5


def test_behind_the_end_of_html() -> None:
    document = parse_html("<html><body><a href=/a>a</a></body></html><p>b<a href=/b>c</a></p><p>d", PAGE)
    assert (document.text, paths(document)) == ("a\nbc\nd", ["/a", "/b"])


def test_deep_page_keeps_its_beginning() -> None:
    document = parse_html("<a href=/a>a</a>" + "<div>x" * 100_000 + "<a href=/b>b</a>", PAGE)
    assert paths(document)[0] == "/a"
    assert document.text.startswith("a\nx\nx\n")


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *(
                "<p>",
                "</p>",
                "<a href=x>",
                "<a href='",
                "</a>",
                "<a href=http://[>",
                "<img alt=a>",
                "<br>",
                "<table>",
                "<td>",
            ),
            *(
                "<title>",
                "</title>",
                "<script>",
                "</script>",
                "<style>",
                "<template>",
                "</template>",
                "<noscript>",
                "<svg>",
            ),
            *(
                "<base href=",
                "<base href=/b/>",
                "<meta http-equiv=refresh content='0;url=",
                "<meta name=robots content=",
                "'>",
            ),
            *(
                "<link rel=canonical href=",
                "<html lang=",
                "<body>",
                "<head>",
                "<frameset>",
                "<frame src=q>",
                "<h1>",
                "</h1>",
            ),
            *(
                "<!--",
                "-->",
                "<![CDATA[",
                "]]>",
                "<?xml ?>",
                "<!doctype html>",
                "&amp;",
                "&#0;",
                "&#xd800;",
                "&#xfdd0;",
                "&",
            ),
            *(
                "\x00",
                "\ud800",
                "\ufeff",
                "\ufdd1",
                "\x01",
                "太阳",
                "\n",
                " ",
                ">",
                "<",
                '"',
                "'",
                "=",
                "x",
                "<x:y z>",
                "</x:y>",
            ),
        ]
    ),
    max_size=30,
).map("".join)


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(FRAGMENTS, st.text(), st.text(alphabet="<>/a=\"' \n&;!-")),
    st.sampled_from([PAGE, "", "mailto:x", "\ud800"]),
)
def test_never_raises(body: str, url: str) -> None:
    for document in (parse_html(body, url, content_language=body[:9]), parse_text(body, url)):
        for text in (document.title, document.keywords, document.summary, *(link.text for link in document.links)):
            assert text == " ".join(text.split())
        assert all(line == " ".join(line.split()) and line for line in document.text.splitlines())
