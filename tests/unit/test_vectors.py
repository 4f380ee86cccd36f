"""sim of link texts."""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topiccrawl.errors import TopicError
from topiccrawl.relevance import vectors
from topiccrawl.relevance.vectors import Match, TopicVector

ON = ["comet", "orbit", "planet", "galaxi"]  # plain words that are their own stems
OFF = ["kettl", "violin", "ladder", "carpet"]
TOPIC = {"comet": 3.0, "orbit": 2.0, "planet": 1.0}


def naive_sim(text: str, topic: dict[str, float]) -> int:
    """The formula as order/make_order.py writes it."""
    words = text.split()
    tf = {word: words.count(word) for word in words}
    dot = sum(n * topic.get(word, 0.0) for word, n in tf.items())
    left, right = sqrt(sum(n * n for n in tf.values())), sqrt(sum(w * w for w in topic.values()))
    return round(65535 * dot / (left * right)) if dot else 0


def sim(text: str, topic: dict[str, float] = TOPIC) -> int:
    return int(TopicVector(topic).sims([text])[0])


@given(
    st.dictionaries(st.sampled_from(ON), st.floats(0.001, 1000), min_size=1),
    st.lists(st.lists(st.sampled_from(ON + OFF), max_size=12).map(" ".join), max_size=8),
)
def test_sim_equals_the_naive_formula(topic: dict[str, float], texts: list[str]) -> None:
    assert TopicVector(topic).sims(texts).tolist() == [naive_sim(text, topic) for text in texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("  \n", 0),
        ("the of and 的 了", 0),  # nothing but stop words
        ("kettle", 0),
        ("…→★", 0),
        ("comet comet comet orbit orbit planet", 65535),  # the topic itself
        ("the comet", naive_sim("comet", TOPIC)),  # stop words are not in the norm
        ("Comets' orbits", naive_sim("comet orbit", TOPIC)),
        ("comet kettle", naive_sim("comet kettl", TOPIC)),  # other words are
    ],
)
def test_sim(text: str, expected: int) -> None:
    assert sim(text) == expected


@given(st.lists(st.text(max_size=30), max_size=5))
def test_sim_of_any_text_is_in_range(texts: list[str]) -> None:
    sims = TopicVector({"容器": 5.0, "a b": 1e6, "1": 1e-6, "C++": 2.0}).sims(texts)
    assert sims.dtype == np.uint16
    assert len(sims) == len(texts)


def test_weights_scale_out() -> None:
    assert sim("comet kettle") == sim("comet kettle", {word: weight / 10 for word, weight in TOPIC.items()})


@pytest.mark.parametrize("weight", [0.0, -1.0, nan, inf, 1e-9, 1e200])
def test_case_108_weights_that_give_no_number_are_refused(weight: float) -> None:
    """scikit-learn#8626: a zero or NaN norm made every comparison in the queue wrong."""
    with pytest.raises(TopicError, match="comet"):
        TopicVector({"orbit": 1.0, "comet": weight})


def test_topic_without_words_has_sim_0() -> None:
    assert TopicVector({}).sims(["comet", ""]).tolist() == [0, 0]


def test_words_with_one_term_are_one_dimension() -> None:
    vector = TopicVector({"index": 2.0, "indexes": 5.0, "scan": 1.0})
    assert vector.weights == {"index": 5.0, "scan": 1.0}
    assert vector.words == {"index": 2.0, "indexes": 5.0, "scan": 1.0}
    assert vector.norm == sqrt(26)
    assert vector.explain("indexing") == [Match("index", "indexes", 1, 5.0)]


def test_explain() -> None:
    vector = TopicVector({"Machine Learning": 3.0, "容器": 2.0, "orbit": 1.0})
    assert vector.explain("容器, the machines learn 容器 kettle") == [
        Match("容器", "容器", 2, 2.0),
        Match("machin learn", "Machine Learning", 1, 3.0),
    ]
    assert vector.explain("kettle") == []


def test_long_link_text_is_cut() -> None:
    padding = "x" * vectors.MAX_TEXT
    assert sim(f"comet {padding} orbit") == sim(f"comet {padding}"[: vectors.MAX_TEXT])


def test_cache_is_bounded_and_never_changes_a_sim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "CACHE", 4)
    vector = TopicVector(TOPIC)
    pages = [["comet", "a1", "comet"], ["comet", "a2", "a3", "orbit"], ["planet", "comet"], [f"b{i}" for i in range(9)]]
    for texts in pages * 2:
        assert vector.sims(texts).tolist() == [naive_sim(text, TOPIC) for text in texts]
        assert len(vector._cache) <= max(4, len(set(texts)))


def test_no_links() -> None:
    assert TopicVector(TOPIC).sims([]).tolist() == []
