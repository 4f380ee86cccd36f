"""What of a user's Request the frontier can keep, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from scrapy import Request, Spider

from topiccrawl.errors import NotStorableError
from topiccrawl.records import Lease
from topiccrawl.requests import special, to_request

SPIDER = Spider("s")


def through_the_frontier(request: Request) -> Request:
    kept = special(request, SPIDER)
    lease = Lease(token=1, row=1, url=request.url, key=request.url, host="s.test", request=kept.data if kept else None)
    return to_request(lease, SPIDER)


@pytest.mark.parametrize(
    "value",
    [1, -1.5, "词", b"\xff", None, True, [], [1, [2]], {}, {"a": {"b": [1, {"c": None}]}}, {1: "one"}, [{"x": b""}]],
)
def test_plain_data_comes_back_as_it_was(value: Any) -> None:
    back = through_the_frontier(Request("http://s.test/", meta={"kept": value}, cb_kwargs={"arg": value}))
    assert (back.meta["kept"], back.cb_kwargs["arg"]) == (value, value)


def test_what_is_no_number_is_plain_data_too() -> None:
    assert math.isnan(through_the_frontier(Request("http://s.test/", meta={"kept": [math.nan]})).meta["kept"][0])


@pytest.mark.parametrize("value", [(1, 2), {1}, frozenset({"a"}), [(1,)], {"deep": {"er": {1, 2}}}])
@pytest.mark.parametrize("part", ["meta", "cb_kwargs"])
def test_what_would_come_back_as_something_else_is_refused_by_name(value: Any, part: str) -> None:
    """Sets and tuples came back as lists, and the callback failed far from the line that was wrong."""
    more: dict[str, Any] = {part: {"fine": 1, "tags": value}}
    with pytest.raises(NotStorableError, match=rf"{part}\['tags'\] would come back as .*plain data"):
        special(Request("http://s.test/", **more), SPIDER)


class Point(msgspec.Struct):
    x: int


@pytest.mark.parametrize("value", [Point(1), object(), lambda: 1])
def test_objects_are_refused(value: Any) -> None:
    with pytest.raises(NotStorableError):
        special(Request("http://s.test/", meta={"tags": value}), SPIDER)


def test_headers_cookies_and_body_come_back() -> None:
    request = Request(
        "http://s.test/", method="POST", body="q=1", headers={"X-A": ("1", "2")}, cookies={"a": "b"}, meta={"x": [1]}
    )
    back = through_the_frontier(request)
    assert (back.method, back.body, back.headers, back.cookies) == (
        "POST",
        b"q=1",
        request.headers,
        request.cookies,
    )
