"""Page relevance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topiccrawl.records import Document
from topiccrawl.relevance.page import THRESHOLD, PageModel
from topiccrawl.relevance.vectors import TopicVector

GIT = {"git": 5.0, "version control": 5.0, "commit": 4.0, "branch": 4.0, "merge": 3.0, "repository": 4.0, "clone": 3.0}
ZH = {"容器": 5.0, "Kubernetes": 5.0, "镜像": 4.0, "集群": 4.0, "调度": 3.0, "编排": 3.0, "部署": 1.0}
FILLER = "The weather of the valley stayed mild, and every farmer sold apples on the market. "
FILLER_ZH = "山谷天气一直温和，农民在市场上出售苹果。"
WORDS = st.sampled_from([*GIT, "weather", "valley", "the", "容器", ".", "\n"])


def page(text: str = "", title: str = "", headings: str = "") -> Document:
    return Document(title=title, headings=headings, text=text)


def relevance(text: str = "", title: str = "", headings: str = "", topic: dict[str, float] = GIT) -> float:
    return PageModel(TopicVector(topic)).relevance(page(text, title, headings))


@pytest.mark.parametrize(
    ("topic", "text", "relevant"),
    [
        (GIT, "Git is a version control system. A commit goes to a branch of your repository; merge it. " * 5, True),
        (GIT, FILLER * 20 + "A branch fell. ", False),
        (GIT, FILLER * 5, False),
        (GIT, "", False),
        (ZH, "Kubernetes把容器调度到集群的节点上，镜像从仓库拉取，部署由编排完成。" * 5, True),
        (ZH, FILLER_ZH * 20 + "部署", False),
        (ZH, FILLER_ZH * 5, False),
        ({"git": 1.0}, "Git by example. " + FILLER, True),
        ({"git": 1.0}, FILLER * 100 + "git", False),
    ],
)
def test_is_relevant(topic: dict[str, float], text: str, relevant: bool) -> None:
    model = PageModel(TopicVector(topic))
    assert model.is_relevant(model.relevance(page(text))) is relevant


def test_coverage_beats_repetition() -> None:
    assert relevance("git " * 60 + FILLER * 5) < relevance("git commit branch merge repository clone " + FILLER * 10)


@pytest.mark.parametrize("where", ["title", "headings"])
def test_title_and_headings_count_more_than_text(where: str) -> None:
    assert relevance(FILLER * 10, **{where: "commit"}) > relevance(FILLER * 10 + "commit") > relevance(FILLER * 10)


def test_the_same_mentions_say_less_on_a_longer_page() -> None:
    assert relevance("git commit" + FILLER * 5) > relevance("git commit" + FILLER * 50) > 0


def test_chinese_and_english_are_on_one_scale() -> None:
    english = relevance("the git branch of a repository " + FILLER * 10)
    chinese = relevance("Kubernetes集群的镜像" + FILLER_ZH * 10, topic=ZH)
    assert english == pytest.approx(chinese, abs=0.1)


def test_a_long_topic_is_no_harder_to_reach() -> None:
    long = GIT | {f"word{i}": 3.0 for i in range(40)}
    assert relevance("git commit" + FILLER, topic=long) == pytest.approx(relevance("git commit" + FILLER))


def test_without_words_or_text_relevance_is_0() -> None:
    assert relevance("git", topic={}) == 0
    assert relevance() == 0
    assert relevance("的 了 the ! ？") == 0
    assert PageModel(TopicVector({})).explain(page("git")) == []


def test_the_threshold_is_the_callers() -> None:
    topic = TopicVector(GIT)
    assert PageModel(topic).is_relevant(THRESHOLD)
    assert not PageModel(topic, threshold=0.9).is_relevant(0.89)


@given(*[st.lists(WORDS, max_size=30).map(" ".join)] * 3)
def test_explain_adds_up_to_relevance(title: str, headings: str, text: str) -> None:
    model = PageModel(TopicVector(GIT))
    document = page(text, title, headings)
    value = model.relevance(document)
    assert 0 <= value <= 1
    assert sum(item.contribution for item in model.explain(document)) == pytest.approx(value)


@given(st.lists(WORDS, max_size=30), st.sampled_from(list(GIT)))
def test_swapping_a_filler_for_a_topic_word_never_lowers_relevance(words: list[str], word: str) -> None:
    assert relevance(" , ".join([*words, word])) >= relevance(" , ".join([*words, "valley"]))


def test_explain_names_word_place_and_count() -> None:
    model = PageModel(TopicVector(GIT))
    evidence = model.explain(
        page("Version control: git, commits and a commit.", title="Git", headings="version control")
    )
    assert [tuple(item)[:3] for item in evidence] == [
        ("git", "title", 1),
        ("version control", "headings", 1),
        ("commit", "text", 2),
        ("version control", "text", 1),
        ("git", "text", 1),
    ]
    assert evidence[0].contribution > evidence[-1].contribution > 0
