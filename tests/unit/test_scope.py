"""The rules that keep a URL out whatever its m."""

from __future__ import annotations

from pathlib import Path

import pytest

from topiccrawl.records import Reason
from topiccrawl.scope import MAX_URL_LENGTH, Scope
from topiccrawl.urls import host_of

CASE_123 = Path(__file__).parents[1] / "data" / "cases" / "case-123.urls.tsv"


def refusal(scope: Scope, url: str) -> Reason | None:
    return scope.refusal(url, host_of(url))


@pytest.mark.parametrize("line", CASE_123.read_text().splitlines())
def test_domains_of_field_case_123(line: str) -> None:
    """A test by substring takes evil-s.test and s.test.evil.test for s.test."""
    url, wanted = line.split("\t")
    assert refusal(Scope(["s.test"]), url) is (None if wanted == "in" else Reason.SCOPE)


@pytest.mark.parametrize(
    ("domains", "url", "inside"),
    [
        ([], "http://anything.test/", True),
        (["s.test"], "http://s.test:8080/", True),  # a port doesn't count
        (["s.test"], "https://a.b.s.test/", True),
        (["www.s.test"], "http://s.test/", False),
        (["s.test", "t.test"], "http://t.test/", True),
        (["test"], "http://s.test/", True),
        (["127.0.0.1"], "http://127.0.0.1:8000/", True),
        (["0.0.1"], "http://127.0.0.1/", False),  # addresses have no sub-domains
        (["[::1]"], "http://[::1]:80/", True),
        (["xn--fsqu00a.test"], "http://xn--fsqu00a.test/", True),
    ],
)
def test_domains(domains: list[str], url: str, inside: bool) -> None:
    assert refusal(Scope(domains), url) is (None if inside else Reason.SCOPE)


@pytest.mark.parametrize(
    ("deny", "url", "denied"),
    [
        ([r"\.pdf$"], "http://s.test/a.pdf", True),
        ([r"\.pdf$"], "http://s.test/a.pdf?x=1", False),
        (["/login", "/logout"], "http://s.test/x/logout.php", True),
        (["^https:"], "http://s.test/", False),
        ([r"\?.*sort="], "http://s.test/?a=1&sort=up", True),
        (["[A-Z]"], "http://s.test/abc", False),
    ],
)
def test_deny(deny: list[str], url: str, denied: bool) -> None:
    assert refusal(Scope(deny=deny), url) is (Reason.DENY if denied else None)


@pytest.mark.parametrize(
    "url", ["mailto:x@s.test", "javascript:void(0)", "ftp://s.test/", "data:text/html,x", "tel:1", "file:///etc", ""]
)
def test_only_http_and_https(url: str) -> None:
    assert refusal(Scope(), url) is Reason.SCHEME


@pytest.mark.parametrize(
    ("length", "reason"),
    [(MAX_URL_LENGTH, None), (MAX_URL_LENGTH + 1, Reason.LENGTH), (1_000_000, Reason.LENGTH)],
)
def test_length(length: int, reason: Reason | None) -> None:
    assert refusal(Scope(), "http://s.test/".ljust(length, "x")) is reason


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mailto:" + "x" * 5000, Reason.SCHEME),
        ("http://evil.test/" + "x" * 5000, Reason.LENGTH),
        ("http://evil.test/denied", Reason.SCOPE),
        ("http://s.test/denied", Reason.DENY),
    ],
)
def test_the_first_rule_that_is_broken_gives_the_reason(url: str, reason: Reason) -> None:
    assert refusal(Scope(["s.test"], ["denied"]), url) is reason
