"""Seeds as users give them."""

from __future__ import annotations

from pathlib import Path

import pytest

from topiccrawl.errors import ParameterError
from topiccrawl.seeds import find_file, read_seeds


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("http://s.test/", ["http://s.test/"]),
        ('["http://s.test/"]', ["http://s.test/"]),
        ('  ["http://s.test/", "t.test"]  ', ["http://s.test/", "http://t.test/"]),
        ("http://s.test/,https://t.test/", ["http://s.test/", "https://t.test/"]),
        ("http://s.test/ , http://t.test/", ["http://s.test/", "http://t.test/"]),
        ("http://s.test/\nhttp://t.test/\r\n", ["http://s.test/", "http://t.test/"]),
        ("s.test", ["http://s.test/"]),  # a bare host
        ("s.test:8080/x", ["http://s.test:8080/x"]),
        ("localhost", ["http://localhost/"]),
        ("HTTP://S.test", ["http://s.test/"]),
        ("例子.test", ["http://xn--fsqu00a.test/"]),
        ("http://s.test/ http://s.test/ http://s.test/#top", ["http://s.test/"]),  # each once
        ("http://s.test/b http://s.test/a", ["http://s.test/b", "http://s.test/a"]),  # in the order given
        ("http://s.test/list.txt", ["http://s.test/list.txt"]),  # a URL, though it ends like a file
    ],
)
def test_values(text: str, urls: list[str]) -> None:
    """Field case 121: a string that is walked letter by letter gives a seed `h`."""
    seeds = read_seeds(text)
    assert (list(seeds.urls), seeds.bad, seeds.file) == (urls, (), None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no URL in it"),
        ("   ", "no URL in it"),
        ("[]", "no URL in it"),
        ('["http://s.test/"', "no JSON list"),
        ("mailto:x@s.test", "is no http\\(s\\) URL"),
        ("word", "'word' is no http\\(s\\) URL"),
        ("ftp://s.test/", "is no http\\(s\\) URL"),
        ("http://", "is no http\\(s\\) URL"),
        ("http://s.test/{{x}}", "is no http\\(s\\) URL"),
        ("missing.txt", "no such file: missing.txt \\(looked in /"),
        ("some/init_url", "no such file"),
        ("x" * 10_000, "is no http\\(s\\) URL"),
    ],
)
def test_values_without_a_usable_seed(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        read_seeds(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("http://s.test/ word", "word"),
        ('["http://s.test/", ""]', ""),
        ('["http://s.test/", null]', "None"),
        ('["http://s.test/", 1]', "1"),
        ("http://s.test/ 2", "2"),
    ],
)
def test_a_bad_seed_among_good_ones_is_listed(text: str, bad: str) -> None:
    seeds = read_seeds(text)
    assert seeds.urls == ("http://s.test/",)
    assert [(seed.where, seed.value) for seed in seeds.bad] == [("seeds", bad)]


def test_a_comma_inside_a_url_stays() -> None:
    assert read_seeds("http://s.test/?ids=1,2").urls == ("http://s.test/?ids=1,2",)


@pytest.mark.parametrize(
    "data",
    [
        b"http://s.test/\nhttp://t.test/,x\n",
        "\ufeff# comment\r\n\r\n  http://s.test/ \r\nhttp://t.test/,x".encode(),
    ],
)
def test_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "seeds.txt"
    path.write_bytes(data)
    seeds = read_seeds(str(path))
    assert (seeds.urls, seeds.bad, seeds.file) == (("http://s.test/", "http://t.test/,x"), (), path)


def test_bad_lines_of_a_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("# one\nhttp://s.test/\n\nnonsense here\nmailto:x@s.test\n")
    where = [(seed.where, seed.value) for seed in read_seeds(str(path)).bad]
    assert where == [(f"{path}, line 4", "nonsense here"), (f"{path}, line 5", "mailto:x@s.test")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "seeds.txt: no URL in it"),
        (b"# nothing\n", "seeds.txt: no URL in it"),
        (b"\nword\n", "seeds.txt, line 2: 'word' is no http"),
        ("http://例.test/".encode("gbk"), "seeds.txt: byte 7 is no UTF-8; save the file as UTF-8"),
    ],
)
def test_files_without_a_usable_seed(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "seeds.txt"
    path.write_bytes(data)
    with pytest.raises(ParameterError, match=message):
        read_seeds(str(path))


def test_relative_names_are_looked_for_in_the_places_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, project = tmp_path / "here", tmp_path / "project"
    for folder in (here, project / "seeds"):
        folder.mkdir(parents=True)
    (project / "seeds" / "init_url.txt").write_text("http://project.test/")
    monkeypatch.chdir(here)
    assert read_seeds("seeds/init_url.txt", (project,)).urls == ("http://project.test/",)
    (here / "seeds").mkdir()
    (here / "seeds" / "init_url.txt").write_text("http://here.test/")
    assert read_seeds("seeds/init_url.txt", (project,)).urls == ("http://here.test/",)  # the nearer one
    with pytest.raises(ParameterError, match=f"{here}, {project}"):
        read_seeds("other.txt", (project,))


@pytest.mark.parametrize("text", ["a\0b", "x" * 5000, ""])
def test_what_can_be_no_file_name(text: str) -> None:
    assert find_file(text, (Path("/"),)) is None
