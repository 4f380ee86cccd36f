"""What links and pages are worth, given the topic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from topiccrawl.judge import Judge
from topiccrawl.records import MAX_SIM, Document, Link, Page, Queue, Reason
from topiccrawl.relevance.inherit import sim_threshold
from topiccrawl.scope import Scope
from topiccrawl.topics import Topic
from topiccrawl.urls import key_hash, page_id

TOPIC = Topic({"comet": 3.0, "orbit": 2.0}, "file x")
FULL = round(MAX_SIM * 3 / np.sqrt(13))  # sim of the one word "comet"


def judge(topic: Topic | None = TOPIC, scope: Scope | None = None, **more: Any) -> Judge:
    return Judge(topic, scope or Scope(), **{"m0": 1.0, "b": 0.5, "f": 0.3, "m_min": 0.2, "max_depth": 5, **more})


def page(*links: Link | tuple[str, str], level: int = 0, depth: int = 1, **document: Any) -> Page:
    found = tuple(link if isinstance(link, Link) else Link(url=link[0], text=link[1]) for link in links)
    return Page(
        url="http://s.test/",
        key="http://s.test/",
        final_url="http://s.test/",
        status=200,
        type="text/html",
        charset="utf-8",
        fetched_at=0.0,
        request_headers={},
        headers={},
        body=b"",
        sha256="",
        document=Document(links=found, **document),
        depth=depth,
        level=level,
        sim=MAX_SIM,
    )


@pytest.mark.parametrize(
    ("text", "parent_level", "level", "sim", "reason"),
    [
        ("comet", 0, 0, FULL, None),  # sim >= f behind m0: m0
        ("comet", 2, 0, FULL, None),  # restored to m0
        ("kettle", 0, 1, 0, None),  # m0 · b
        ("kettle", 1, 2, 0, None),
        ("kettle", 2, 3, 0, Reason.M),  # 0.125 < 0.2
        ("", 0, 1, 0, None),
        ("的 the of", 0, 1, 0, None),
        ("★…→", 0, 1, 0, None),
        ("comet kettle violin ladder carpet", 0, 0, round(FULL / np.sqrt(5)), None),
    ],
)
def test_steps_5_to_7(text: str, parent_level: int, level: int, sim: int, reason: Reason | None) -> None:
    (link,) = judge().score(page(("http://s.test/a", text), level=parent_level)).links
    assert (link.sim, link.level, link.reason, link.known_as) == (sim, level, reason, None)
    assert (link.key, link.hash) == ("http://s.test/a", key_hash("http://s.test/a"))


@pytest.mark.parametrize(("f", "level"), [(FULL / MAX_SIM, 0), ((FULL + 1) / MAX_SIM, 1), (0.0, 0), (1.0, 1)])
def test_the_threshold_itself_is_relevant(f: float, level: int) -> None:
    """Field case 109. With f = 0 every link is relevant, also one without text."""
    assert judge(f=f).child("comet", 0) == (level, FULL)
    assert judge(f=0.0).child("", 7) == (0, 0)


@pytest.mark.parametrize(("level", "m"), [(0, 0.8), (1, 0.4), (3, 0.1), (5000, 0.0)])
def test_m_is_never_outside_0_to_m0(level: int, m: float) -> None:
    assert judge(m0=0.8).m(level) == pytest.approx(m)


def test_limits_follow_from_the_parameters() -> None:
    limits = judge(m0=1.0, b=0.5, m_min=0.25, max_depth=3).limits
    assert [limits.verdict(level, 0) for level in (2, 3)] == [None, Reason.M]
    assert [limits.verdict(0, depth) for depth in (3, 4)] == [None, Reason.DEPTH]


def test_a_link_that_is_too_deep_or_refused_says_so() -> None:
    j = judge(scope=Scope(["s.test"], ["private"]))
    links = [("http://s.test/a", "comet"), ("http://t.test/", "comet"), ("http://s.test/private", "comet")]
    links += [("mailto:x@s.test", "comet"), ("http://s.test/" + "x" * 3000, "comet")]
    near = j.score(page(*links, depth=4)).links
    assert [link.reason for link in near] == [None, Reason.SCOPE, Reason.DENY, Reason.SCHEME, Reason.LENGTH]
    assert j.score(page(links[0], depth=5)).links[0].reason is Reason.DEPTH
    found = j.candidates(j.score(page(*links)))
    assert [c.refusal for c in found] == [None, Reason.SCOPE, Reason.DENY, Reason.SCHEME, Reason.LENGTH]
    assert [c.host for c in found] == ["s.test", "t.test", "s.test", "", "s.test"]


def test_known_links_say_in_which_queue_they_stand() -> None:
    asked = []

    def queues_of(hashes: Any) -> list[Queue | None]:
        asked.extend(hashes.tolist())
        return [Queue.DONE, None]

    links = judge().score(page(("http://s.test/a", ""), ("http://s.test/b", "")), queues_of).links
    assert [link.known_as for link in links] == [Queue.DONE, None]
    assert asked == [key_hash("http://s.test/a"), key_hash("http://s.test/b")]
    assert judge().score(page(), queues_of).links == ()


def test_links_of_a_page_that_asks_not_to_follow_are_scored_and_lead_nowhere() -> None:
    j = judge()
    scored = j.score(page(("http://s.test/a", "comet"), ("mailto:x@s.test", "")), follow=False)
    assert [(link.sim, link.reason) for link in scored.links] == [(FULL, Reason.NOFOLLOW), (0, Reason.NOFOLLOW)]
    assert j.candidates(scored) == []


def test_of_several_links_to_one_url_the_best_sim_counts_and_the_first_spelling() -> None:
    j = judge()
    scored = j.score(
        page(
            ("http://s.test/a?utm_source=x", "kettle"),
            ("http://s.test/b", "orbit"),
            ("http://s.test/a", "comet"),
            ("http://s.test/a", "orbit"),
            level=1,
        )
    )
    a, b = j.candidates(scored)
    assert (a.url, a.key, a.text, a.sim, a.level) == (
        "http://s.test/a?utm_source=x",
        "http://s.test/a",
        "comet",
        FULL,
        0,
    )
    assert (b.url, b.text, b.depth) == ("http://s.test/b", "orbit", 2)


def test_seeds_are_not_scored_and_no_rule_keeps_them_out() -> None:
    one, two = judge(scope=Scope(["other.test"], ["s"])).seeds(["http://s.test/", "http://t.test:81/x"])
    assert (one.level, one.sim, one.depth, one.refusal) == (0, MAX_SIM, 0, None)
    assert (two.host, two.key) == ("t.test:81", "http://t.test:81/x")


def test_one_candidate() -> None:
    made = judge(scope=Scope(deny=["x$"])).one("http://s.test/x", level=2, sim=9, depth=4, text="t", hops=3)
    assert (made.level, made.sim, made.depth, made.text, made.hops, made.refusal) == (2, 9, 4, "t", 3, Reason.DENY)


def test_without_a_topic_nothing_is_scored_but_rules_hold() -> None:
    j = judge(None, Scope(["s.test"]))
    scored = j.score(page(("http://s.test/a", "comet"), ("http://t.test/", "comet"), title="comet"))
    assert [(link.sim, link.level, link.reason) for link in scored.links] == [
        (None, None, None),
        (None, None, Reason.SCOPE),
    ]
    assert (scored.relevance, scored.relevant) == (None, False)
    assert j.child("comet", 3) == (3, 0)
    j.learned(TOPIC)
    assert j.child("comet", 3) == (0, FULL)
    assert j.score(page(title="comet orbit", text="comet")).relevant


@pytest.mark.parametrize(("text", "relevant"), [("comet orbit comet", True), ("kettle violin", False), ("", False)])
def test_a_page_has_its_own_relevance(text: str, relevant: bool) -> None:
    scored = judge().score(page(title=text, headings=text, text=text))
    assert scored.relevance is not None
    assert 0 <= scored.relevance <= 1
    assert scored.relevant is relevant


def test_the_scale_of_f() -> None:
    assert (sim_threshold(0), sim_threshold(0.05), sim_threshold(1)) == (0, 3277, MAX_SIM)
    assert len(page_id("x")) == 32
