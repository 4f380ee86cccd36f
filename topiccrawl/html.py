"""From the decoded text of a response to its facts: title, text, links, robots directives ... One tree per page.

Two steps, so that another parser can do the first: `_read` walks the tree and takes raw values out, `_document` turns
them into absolute URLs and short, folded strings. Nothing here raises on any input, and all work is bounded: libxml2
drops what is nested deeper than 2,048 levels, and `_inner_text` stops after MAX_NODES nodes of a link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from lxml import etree
from parsel.selector import create_root_node

from topiccrawl import urls
from topiccrawl.records import Document, Link

MAX_TITLE: Final = 500
MAX_KEYWORDS: Final = 1000
MAX_SUMMARY: Final = 300
MAX_TEXT: Final = 1000
"""Of one link, or one heading."""
MAX_NODES: Final = 300
MAX_NODE: Final = 4 * MAX_TEXT
"""Text nodes, and characters of one, that are looked at for a link text: the links of a page can contain each other."""
MAX_REFRESH_DELAY: Final = 10
"""Seconds. A meta refresh that waits longer is a page that reloads itself, or a notice to be read."""

_BLOCKS: Final = (
    "address|article|aside|blockquote|body|br|button|caption|center|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption"
    "|figure|footer|form|frameset|h1|h2|h3|h4|h5|h6|header|hgroup|hr|legend|li|listing|main|menu|nav|ol|optgroup|option"
    "|p|plaintext|pre|search|section|select|summary|table|tbody|td|textarea|tfoot|th|thead|tr|ul|xmp"
)
_HIDDEN: Final = "head|iframe|noembed|noframes|noscript|script|style|template|title"
_IMAGES: Final = "img|input|area"
_BREAK, _LINK, _LINK_END = "\ufdd0\ufdd1\ufdd2"  # no characters: they stand for nothing that a page can mean
# In C, over the whole tree: 0.2 ms for a page of 40 KB.
_VISIBLE: Final = etree.XSLT(
    etree.XML(
        '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/>'
        f'<xsl:template match="{_BLOCKS}">{_BREAK}<xsl:apply-templates/>{_BREAK}</xsl:template>'
        f'<xsl:template match="{_IMAGES}"><xsl:text> </xsl:text></xsl:template>'
        f'<xsl:template match="a">{_LINK}<xsl:apply-templates/>{_LINK_END}</xsl:template>'
        f'<xsl:template match="{_HIDDEN}"/></xsl:stylesheet>'
    )
)
_SPACES: Final = dict.fromkeys(f"{_BLOCKS}|{_IMAGES}".split("|"), " ")
_NO_TEXT_IN: Final = frozenset(_HIDDEN.split("|"))
_WITH_ALT: Final = frozenset(_IMAGES.split("|"))
_HAN: Final = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
# A line broken in the source between two Han characters is no space. (Beginning with \n makes the search fast.)
_HAN_LINE_BREAK = re.compile(rf"\n(?<=[{_HAN}]\n)\s*(?=[{_HAN}])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LANGUAGE = re.compile(r"[a-z]{2,8}(?:-[a-z0-9]{1,8})*")
# The HTML standard's reading: seconds, a separator, perhaps url=, a URL that may be quoted.
_REFRESH = re.compile(
    r"""\s*([0-9]{1,9})[0-9.]*(?:\s*[;,]\s*|\s+)(?:url\s*=\s*)?(?:"([^"]*)|'([^']*)|([^"'].*))""", re.I | re.S
)
_PAGE_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
_NOT_FETCHABLE: Final = ("data:", "javascript:", "about:", "blob:")


class _Parser(etree.HTMLParser):
    """Without comments, which nothing here reads."""

    def __init__(self, **options: Any) -> None:
        super().__init__(remove_comments=True, remove_pis=True, **options)


_PARSER: Final = _Parser(recover=True, encoding="utf-8", huge_tree=True)


@dataclass(slots=True)
class _Raw:
    """What `_read` takes from a tree, as the page wrote it."""

    text: str = ""  # visible text, with the marks of _VISIBLE
    titles: list[str] = field(default_factory=list)
    headings: list[tuple[str, str]] = field(default_factory=list)  # tag, text
    metas: dict[str, list[str]] = field(default_factory=dict)  # "name=description" -> contents
    links: list[tuple[str, str, str]] = field(default_factory=list)  # href, text, rel
    canonical: str | None = None
    base: str | None = None
    language: str = ""


def parse_html(text: str, url: str, *, content_language: str = "") -> Document:
    """The facts of an HTML page. `text` is any decoded body, `url` the absolute URL that it came from at last.

    `content_language` is the response header, which counts where the page declares no language.
    """
    return _document(_read(_tree(text)), url, content_language)


def parse_text(text: str, url: str) -> Document:
    """The facts of a text/plain body: its lines, folded, and their beginning as summary."""
    lines = "\n".join(filter(None, map(_fold, _encodable(text).splitlines())))
    return Document(text=lines, summary=lines[:MAX_SUMMARY].replace("\n", " "))


def _tree(text: str) -> etree._Element:
    """The tree that parsel makes of the text, by one parser for all pages: making one takes a third of the time."""
    text = text.lstrip("\ufeff").strip()
    try:
        body = (text.replace("\0", "") if "\0" in text else text).encode() or b"<html/>"
    except UnicodeEncodeError:
        return _tree(_encodable(text))
    try:
        root = etree.fromstring(body, _PARSER)
    except etree.XMLSyntaxError:
        root = None
    return create_root_node(text, _Parser) if root is None else root


def _encodable(text: str) -> str:
    """Without lone surrogates, which neither a parser nor a database takes."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _read(root: etree._Element) -> _Raw:
    """One walk for everything but the text, which comes from one transformation."""
    raw = _Raw()
    # libxml2 makes what stands behind </html> siblings of the root
    for top in (root, *root.itersiblings()):
        for template in list(top.iter("template")):
            template.clear(keep_tail=True)  # type: ignore[call-arg]  # the stubs are older
        for element in top.iter(*_READERS):
            _READERS[element.tag](element, raw)
    raw.text = str(_VISIBLE(root))
    return raw


def _read_link(element: etree._Element, raw: _Raw) -> None:
    href = element.get("href")
    if href is None:
        return
    text = _fold(element.text or "") if not len(element) else _inner_text(element)
    raw.links.append((href, text or _fold(element.get("alt") or element.get("title") or ""), element.get("rel") or ""))


def _read_frame(element: etree._Element, raw: _Raw) -> None:
    src = element.get("src")
    if src is not None:
        raw.links.append((src, "", ""))


def _read_head_link(element: etree._Element, raw: _Raw) -> None:
    href, rel = element.get("href"), element.get("rel")
    if href is None or not rel:
        return
    kinds = set(rel.lower().split())
    if "canonical" in kinds and raw.canonical is None:
        raw.canonical = href
    if kinds & {"canonical", "next", "prev"} or (
        "alternate" in kinds
        and "stylesheet" not in kinds
        and (element.get("hreflang") or _fold(element.get("type") or "").lower() in _PAGE_TYPES)
    ):
        raw.links.append((href, "", rel))


def _read_meta(element: etree._Element, raw: _Raw) -> None:
    content = element.get("content")
    if not content:
        return
    for kind in ("name", "property", "http-equiv"):
        name = element.get(kind)
        if name:
            name = f"{kind}={name.strip().lower()}"
            # A refresh in noscript leads readers without scripts away; following it would lose the page.
            if name != "http-equiv=refresh" or next(element.iterancestors("noscript"), None) is None:
                raw.metas.setdefault(name, []).append(content)


def _read_base(element: etree._Element, raw: _Raw) -> None:
    if raw.base is None:
        raw.base = element.get("href")


def _read_title(element: etree._Element, raw: _Raw) -> None:
    parent = element.getparent()
    if parent is None or parent.tag != "svg":
        raw.titles.append(_fold(element.text or ""))


def _read_heading(element: etree._Element, raw: _Raw) -> None:
    raw.headings.append((element.tag, _inner_text(element)))


def _read_language(element: etree._Element, raw: _Raw) -> None:
    raw.language = element.get("lang") or element.get("xml:lang") or ""


_READERS: Final[dict[str, Callable[[etree._Element, _Raw], None]]] = {
    **dict.fromkeys(("a", "area"), _read_link),
    **dict.fromkeys(("iframe", "frame"), _read_frame),
    **dict.fromkeys(("h1", "h2", "h3"), _read_heading),
    "link": _read_head_link,
    "meta": _read_meta,
    "base": _read_base,
    "title": _read_title,
    "html": _read_language,
}


def _inner_text(element: etree._Element) -> str:
    """The text of an element with `alt` in the place of images, folded and cut."""
    parts: list[str] = []
    _collect(element, parts)
    return _fold("".join(parts))[:MAX_TEXT]


def _collect(element: etree._Element, parts: list[str]) -> None:
    if element.text:
        parts.append(element.text[:MAX_NODE])
    for child in element:
        if len(parts) > MAX_NODES:
            return
        tag = child.tag
        space = _SPACES.get(tag, "")
        parts.append(space)
        if tag in _WITH_ALT:
            parts.append(child.get("alt") or "")
        elif tag not in _NO_TEXT_IN:
            _collect(child, parts)
        parts.append(space + (child.tail or "")[:MAX_NODE])


def _fold(text: str) -> str:
    """White space folded to single spaces."""
    return " ".join((text if text.isascii() else _clean(text)).split())


def _clean(text: str) -> str:
    """Without marks that are no text, and with lines joined that were broken between Han characters."""
    if "\ufeff" in text or "\u00ad" in text:
        text = text.replace("\ufeff", "").replace("\u00ad", "")
    return _HAN_LINE_BREAK.sub("", text) if "\n" in text else text


def _document(raw: _Raw, url: str, content_language: str) -> Document:
    base = _base(raw.base, url)
    links, links_bad = _links(raw.links, base)
    text = _lines(raw.text)
    description = _first(raw.metas, "name=description") or _first(raw.metas, "property=og:description")
    return Document(
        title=(next(filter(None, raw.titles), "") or _first_h1(raw.headings))[:MAX_TITLE],
        keywords=_first(raw.metas, "name=keywords")[:MAX_KEYWORDS],
        summary=(description or text[:MAX_SUMMARY].replace("\n", " "))[:MAX_SUMMARY],
        headings="\n".join(text for _, text in raw.headings if text),
        text=text,
        language=_language(raw.language, _first(raw.metas, "http-equiv=content-language"), content_language),
        canonical=_page_url(base, raw.canonical),
        robots=_robots(raw.metas),
        refresh=_refresh(raw.metas.get("http-equiv=refresh", ()), base, url),
        links=links,
        links_bad=links_bad,
    )


def _lines(text: str) -> str:
    # Links that touch are words of their own (menus); text that touches a link belongs to its word.
    text = _clean(text.replace(_LINK_END + _LINK, " ").replace(_LINK, "").replace(_LINK_END, ""))
    return "\n".join([line for part in text.split(_BREAK) if (line := " ".join(part.split()))])


def _first(metas: dict[str, list[str]], name: str) -> str:
    return next(filter(None, map(_fold, metas.get(name, ()))), "")


def _first_h1(headings: list[tuple[str, str]]) -> str:
    return next((text for tag, text in headings if tag == "h1" and text), "")


def _base(href: str | None, url: str) -> str:
    base = urls.join(url, href) if href is not None else None
    return base if base and urls.is_http(base) else url


def _page_url(base: str, href: str | None) -> str:
    """`href` as an absolute http(s) URL, or ""."""
    url = urls.join(base, href) if href else None
    return url if url and urls.is_http(url) else ""


def _links(raw: list[tuple[str, str, str]], base: str) -> tuple[tuple[Link, ...], int]:
    links, bad, join = [], 0, urls.joiner(base)
    for href, text, rel in raw:
        if href[:1] == "#" or not (href := href.strip()) or href[0] == "#":
            continue
        url = join(href)
        if url is None or url.startswith(_NOT_FETCHABLE):
            bad += 1
        else:
            links.append(Link(url=url, text=text[:MAX_TEXT], nofollow=bool(rel) and "nofollow" in rel.lower().split()))
    return tuple(links), bad


def _robots(metas: dict[str, list[str]]) -> frozenset[str]:
    contents = metas.get("name=robots", []) + metas.get("name=topiccrawl", [])
    directives = frozenset(" ".join(contents).lower().replace(",", " ").split())
    return directives | {"noindex", "nofollow"} if "none" in directives else directives


def _language(*declared: str) -> str:
    """The first of the declared languages that is one; of a list its first."""
    for value in declared:
        code = _LANGUAGE.match(value.strip().lower().replace("_", "-"))
        if code:
            return code[0]
    return ""


def _refresh(contents: Iterable[str], base: str, url: str) -> str:
    """The target of the first refresh that counts as a redirect. One to the page itself is none."""
    for content in contents:
        match = _REFRESH.match(content[: urls.CACHED_LENGTH])
        if match and int(match[1]) <= MAX_REFRESH_DELAY:
            target = _page_url(base, match[2] or match[3] or match[4])
            return target if target and urls.url_key(target) != urls.url_key(url) else ""
    return ""
