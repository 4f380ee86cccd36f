"""The three files of a page."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from topiccrawl.archive.pagefiles import Inherited, PageFiles, PageNames, links_tsv
from topiccrawl.records import MAX_SIM, Document, Link, Page, Queue, Reason, ScoredLink
from topiccrawl.urls import key_hash, page_id, url_key

KEY = "https://s.test:8443/dir/sub/page.html?x=1"
FIELDS = (
    "host port dir page file pageinfo url title keywords body protocol url_count type code page_size is_handled status"
    " fetched_at final_url depth parent m sim relevance language sha256 children request_headers response_headers"
    " ip_address"
)


def scored(url: str, text: str = "", sim: int | None = 100, level: int | None = 1, **more: Any) -> ScoredLink:
    key = url_key(url)
    return ScoredLink(link=Link(url=url, text=text), key=key, hash=key_hash(key), sim=sim, level=level, **more)


def page(*links: ScoredLink, **more: Any) -> Page:
    values = {
        "url": KEY,
        "key": KEY,
        "final_url": KEY,
        "status": 200,
        "type": "text/html",
        "charset": "gb18030",
        "fetched_at": 12.5,
        "request_headers": {"User-Agent": "topiccrawl"},
        "headers": {"Content-Type": "text/html"},
        "body": b"<html>\xd6\xd0\x00\r\n</html>",
        "sha256": "ab",
        "document": Document(title="彗星", keywords="k", summary="s", language="zh", links=()),
        "depth": 2,
        "level": 1,
        "sim": MAX_SIM,
        "ip_address": "192.0.2.1",
        "relevance": 0.5,
        "relevant": True,
        "links": tuple(links),
    }
    return Page(**{**values, **more})


def m_of(level: int) -> float:
    return float(0.5**level)


INHERITED = Inherited("0" * 32, "http://s.test/", 0.5)


# ---- names ----


def test_names_are_a_hash_of_the_key() -> None:
    name = page_id(KEY)
    assert PageNames.of(KEY) == (
        f"page_db/{name[:2]}/{name}.html",
        f"page_info/{name[:2]}/{name}.json",
        f"page_url/{name[:2]}/{name}.tsv",
    )


def test_names_are_good_on_every_file_system() -> None:
    """Field case 91: 86 Chinese characters are too long, CON can't be opened, and case is folded on NTFS."""
    paths = ["中" * 300, "a?b=1:2*3|4", "a_b=1_2_3_4", "CON", "con", "Con", "nul.txt", "trail.", "trail", "", ".."]
    paths += [
        "../../etc/passwd",
        "..%2f..%2fetc%2fcron",
        "x" * 5000,
        'q"<>',
        "sp ",
        "sp",
        "a\\b",
        "a/b",
        "\ud800",
        "\0",
    ]
    names = [PageNames.of(f"http://s.test/{path}") for path in paths]
    assert len({name.page.lower() for name in names}) == len(paths)
    for name in names:
        for path in name:
            _, middle, file = path.split("/")
            assert len(file) == 32 + len(Path(file).suffix)
            assert set(middle + Path(file).stem) <= set("0123456789abcdef")


# ---- writing and reading ----


def test_the_bytes_of_a_page_are_kept_as_they_came(tmp_path: Path) -> None:
    files = PageFiles(tmp_path)
    names = files.write(page(), INHERITED, m_of)
    assert names == PageNames.of(KEY)
    assert (tmp_path / names.page).read_bytes() == page().body
    assert files.read_page(KEY) == page().body
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")) == sorted(names)


def test_page_info(tmp_path: Path) -> None:
    files = PageFiles(tmp_path)
    new, bad = scored("http://s.test/new"), scored("http://s.test/bad", reason=Reason.M)
    names = files.write(page(new, bad, scored("http://s.test/new#x"), extra={"price": 3}), INHERITED, m_of)
    info = json.loads((tmp_path / names.info).read_text(encoding="utf-8"))
    assert files.read_info(KEY) == info
    assert set(FIELDS.split()) <= set(info)
    assert (info["host"], info["port"], info["dir"], info["page"]) == ("s.test", 8443, "/dir/sub/", "page.html")
    assert (info["file"], info["pageinfo"], info["url"], info["protocol"]) == (names.page, names.info, KEY, 1)
    assert (info["title"], info["code"], info["page_size"]) == ("彗星", "gb18030", len(page().body))
    assert (info["url_count"], info["children"]) == (3, [page_id("http://s.test/new")])
    assert (info["m"], info["sim"], info["parent"], info["parent_url"]) == (0.5, 1.0, "0" * 32, "http://s.test/")
    assert (info["relevance"], info["price"], info["ip_address"]) == (0.5, 3, "192.0.2.1")


def test_page_info_of_a_seed_whose_topic_is_being_learned(tmp_path: Path) -> None:
    files = PageFiles(tmp_path)
    unscored = scored("http://s.test/a", sim=None, level=None)
    files.write(page(unscored, url="http://s.test", relevance=None), Inherited(None, None, 1.0), m_of)
    info = files.read_info(KEY)
    assert (info["relevance"], info["parent"], info["children"], info["protocol"]) == (None, None, [], 0)
    assert (info["dir"], info["page"], info["port"]) == ("/", "", 80)


def test_writing_again_replaces_all_three(tmp_path: Path) -> None:
    files = PageFiles(tmp_path)
    files.write(page(scored("http://s.test/a")), INHERITED, m_of)
    names = PageFiles(tmp_path).write(page(body=b"new"), INHERITED, m_of)
    assert files.read_page(KEY) == b"new"
    assert files.read_info(KEY)["url_count"] == 0
    assert len((tmp_path / names.links).read_text().splitlines()) == 1


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = PageFiles(tmp_path)

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        files.write(page(), INHERITED, m_of)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


# ---- links ----


@pytest.mark.parametrize(
    ("link", "line"),
    [
        (scored("http://s.test/a", "comet", MAX_SIM, 0), "http://s.test/a\tcomet\t1.0000\t1\twaiting\t"),
        (scored("http://s.test/a", "", 0, 3), "http://s.test/a\t\t0.0000\t0.125\twaiting\t"),
        (scored("http://s.test/a", "a\tb\nc\rd", 0, 0), "http://s.test/a\ta b c d\t0.0000\t1\twaiting\t"),
        (scored("http://s.test/a", "x", 0, 5, reason=Reason.M), "http://s.test/a\tx\t0.0000\t0.03125\tdiscard\tm"),
        (
            scored("mailto:a@s.test", "x", 0, 1, reason=Reason.SCHEME),
            "mailto:a@s.test\tx\t0.0000\t0.5\tdiscard\tscheme",
        ),
        (
            scored("http://s.test/a", "x", 0, 1, reason=Reason.M, known_as=Queue.DONE),
            "http://s.test/a\tx\t0.0000\t0.5\tdone\tknown",
        ),
        (scored("http://s.test/a", "x", 0, 1, reason=Reason.NOFOLLOW), "http://s.test/a\tx\t0.0000\t0.5\t\tnofollow"),
        (scored("http://s.test/a", "x", None, None), "http://s.test/a\tx\t\t\t\t"),
    ],
)
def test_a_line_of_the_links_file(link: ScoredLink, line: str) -> None:
    assert links_tsv((link,), m_of) == f"url\ttext\tsim\tm\tqueue\treason\n{line}\n"


def test_every_link_is_listed_in_document_order(tmp_path: Path) -> None:
    links = [scored(f"http://s.test/{i % 3}", f"text {i} \ud800") for i in range(7)]
    names = PageFiles(tmp_path).write(page(*links), INHERITED, m_of)
    lines = (tmp_path / names.links).read_text(encoding="utf-8").splitlines()[1:]
    assert [line.split("\t")[1] for line in lines] == [f"text {i} \\ud800" for i in range(7)]
