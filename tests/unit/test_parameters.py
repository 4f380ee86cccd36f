"""Parameters: types, ranges, where they come from, and what is said about wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from topiccrawl.errors import ParameterError
from topiccrawl.parameters import NAMES, Config, Parameters, help_text, load


def config(folder: Path, text: str | bytes | None = None) -> Config:
    path = folder / "set.conf"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Config(path)


def given(folder: Path, **arguments: Any) -> Parameters:
    return load(arguments, config(folder), {})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("m0", "0.8", 0.8),
        ("b", " 0.25 ", 0.25),
        ("f", "0", 0.0),
        ("m_min", "1e-3", 0.001),
        ("pages", "1000", 1000),
        ("pages", "1e3", 1000),  # field case 125
        ("pages", "1000.0", 1000),
        ("pages", "", None),  # empty: the default
        ("depth", "65535", 65535),
        ("strategy", "breadth", "breadth"),
        ("seeds", "", None),
        ("domains", "", ()),
        ("domains", "s.test", ("s.test",)),
        ("domains", "http://S.test/", ("s.test",)),  # field case 122
        ("domains", "s.test:8080", ("s.test",)),
        ("domains", ".s.test", ("s.test",)),
        ("domains", "*.s.test", ("s.test",)),
        ("domains", "例子.test", ("xn--fsqu00a.test",)),
        ("domains", "a.test, b.test\nc.test", ("a.test", "b.test", "c.test")),
        ("domains", '["a.test", "b.test"]', ("a.test", "b.test")),
        ("domains", ["a.test"], ("a.test",)),  # from settings.py
        ("deny", r"\.pdf$,/login", (r"\.pdf$", "/login")),
        ("deny", r'["a b", "x{1,2}"]', ("a b", "x{1,2}")),
        ("deny", r"/n\d{2,3}$", (r"/n\d{2,3}$",)),  # was cut at the comma
        ("deny", r"a{,2},b{3,} c{4}", ("a{,2}", "b{3,}", "c{4}")),
        ("deny", r"[,;]x, [^], ]y,[]\],]", ("[,;]x", "[^], ]y", r"[]\],]")),
        ("deny", r"/(a,b|(c d,))$,e", ("/(a,b|(c d,))$", "e")),
        ("deny", r"\(a,\[b,\{c,{d,a\,b,", (r"\(a", r"\[b", r"\{c", "{d", r"a\,b")),
    ],
)
def test_values(tmp_path: Path, name: str, text: Any, value: object) -> None:
    assert getattr(given(tmp_path, **{name: text}), name) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *[("m0", text) for text in ("0", "-1", "1.01", "nan", "inf", "x", "False")],
        *[("b", text) for text in ("0", "1", "nan", "-0.5")],
        *[("f", text) for text in ("-0.1", "1.1", "nan", "inf")],
        *[("m_min", text) for text in ("-0.1", "2", "nan")],
        *[("pages", text) for text in ("0", "-1", "2.5", "ten", "nan", "inf", "False", "off")],
        *[("depth", text) for text in ("0", "65536", "no")],
        *[("strategy", text) for text in ("Topic", "random", "pagerank")],
        *[("domains", text) for text in ("?", "]", '["a"', "http://")],
        *[("deny", text) for text in ("(", "a,*", '["("]', "(a,b", "a),b", "[a,b")],
    ],
)
def test_wrong_values_are_named_with_where_they_stand(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        given(tmp_path, **{name: text})
    message = str(caught.value)
    assert message.startswith(f"-a {name}={text}: {name} is ")
    assert "\n" not in message


def test_a_pattern_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        given(tmp_path, deny='["a", 1]')


def test_a_pattern_may_begin_with_a_bracket(tmp_path: Path) -> None:
    assert given(tmp_path, deny="[?&]sort=").deny == ("[?&]sort=",)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("dept", "did you mean depth?"),
        ("page", "did you mean pages?"),
        ("domain", "did you mean domains?"),
        ("M0", "known are seeds, topic"),
        ("obay_robots", "known are seeds, topic"),
    ],
)
def test_unknown_names_are_refused_with_a_suggestion(tmp_path: Path, name: str, hint: str) -> None:
    """Field case 125: unknown names were swallowed."""
    with pytest.raises(ParameterError, match=f"-a {name}=1: no such parameter") as caught:
        given(tmp_path, **{name: "1"})
    assert hint in str(caught.value)


def test_the_command_line_comes_before_set_conf_before_settings(tmp_path: Path) -> None:
    settings = {"TOPICCRAWL_M0": 0.1, "TOPICCRAWL_B": 0.1, "TOPICCRAWL_F": 0.1, "TOPICCRAWL_DEPTH": None}
    file = config(tmp_path, "[crawl]\nm0 = 0.2\nb = 0.2\n")
    found = load({"m0": "0.3"}, file, settings)
    assert (found.m0, found.b, found.f, found.m_min, found.depth) == (0.3, 0.2, 0.1, 0.05, None)


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("[crawl]\n\nm0 = 2\n", {}, r"set\.conf, line 3: m0 is '2': input should be less than or equal to 1"),
        ("m0 = 0.5\nb = 1\n", {}, r"set\.conf, line 2: b is"),  # without sections
        ("[crawl]\nfoo = 1", {}, r"set\.conf, line 2: no such parameter"),
        ("[other]\nx = 1", {}, r"set\.conf: unknown section \[other\]; use \[crawl\] and \[settings\]"),
        ("[DEFAULT]\nx = 1", {}, r"unknown section \[DEFAULT\]"),
        ("[crawl]\nm0 = 1\nm0 = 1", {}, r"set\.conf: .*already exists"),
        ("[crawl]\ngarbage", {}, r"set\.conf: .*garbage"),
        (b"[crawl]\ntopic = \xd6\xd0", {}, r"set\.conf: .*utf-8"),
        (None, {"TOPICCRAWL_M0": "7"}, "setting TOPICCRAWL_M0: m0 is '7'"),
    ],
)
def test_wrong_files_and_settings(tmp_path: Path, text: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        load({}, config(tmp_path, text), settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "parameters", "settings"),
    [
        (None, {}, {}),
        ("", {}, {}),
        ("m0 = 0.5", {"m0": "0.5"}, {}),
        ("\ufeff; note\n[crawl]\nm0=0.5\n[settings]\nDOWNLOAD_DELAY = 3\n", {"m0": "0.5"}, {"DOWNLOAD_DELAY": "3"}),
        ("[crawl]\ndeny = 100%s:x\n", {"deny": "100%s:x"}, {}),  # no interpolation, and : is no delimiter
        ("[settings]\nUSER_AGENT = a=b\n", {}, {"USER_AGENT": "a=b"}),
    ],
)
def test_set_conf(tmp_path: Path, text: str | None, parameters: dict[str, str], settings: dict[str, str]) -> None:
    file = config(tmp_path, text)
    assert (file.parameters(), file.settings()) == (parameters, settings)


def test_parameters_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        given(tmp_path).m0 = 0.5  # type: ignore[misc]


def test_help_names_every_parameter() -> None:
    lines = help_text().splitlines()
    for name in NAMES:
        assert any(line.startswith(f"  {name} ") for line in lines), name


def test_a_line_that_is_no_parameter_is_named_by_its_number(tmp_path: Path) -> None:
    """Without a section the line was counted one too far."""
    (tmp_path / "set.conf").write_text("b = 0.4\nnonsense\n")
    with pytest.raises(ParameterError, match=r"\[line 2\]"):
        Config(tmp_path / "set.conf")
