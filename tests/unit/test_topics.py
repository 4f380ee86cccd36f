"""Topic files, and topics learned from seed pages."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topiccrawl.errors import TopicError
from topiccrawl.records import Document
from topiccrawl.relevance.text import normalise
from topiccrawl.topics import Topic, format_topic, learn_topic, parse_topic, read_topic

CASES = Path(__file__).parent.parent / "data" / "cases"
FIVE = {"太阳能": 5.0, "电池": 3.0, "solar cell": 4.0, "C++": 2.0, "效率": 1.0}


@pytest.mark.parametrize("kind", ["utf8bom-crlf", "gbk", "utf16le", "tab"])
def test_case_102_every_encoding_gives_the_same_entries(kind: str) -> None:
    """fxsjy/jieba#236, #423: with a BOM the first word never matched; GBK and UTF-16 failed."""
    topic = read_topic(CASES / f"case-102.{kind}.topic.txt")
    assert list(topic.words.items()) == list(FIVE.items())


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gbk", "gb18030", "utf-32"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(encoding: str, end: str) -> None:
    data = end.join(f"{word}\t{weight:g}" for word, weight in FIVE.items()).encode(encoding)
    assert parse_topic(data, "t").words == FIVE


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("容器\t5", ("容器", 5.0)),
        ("容器\t\t 5 ", ("容器", 5.0)),
        ("容器 5", ("容器", 5.0)),
        ("容器　５", ("容器", 5.0)),
        ("容器\t１．５", ("容器", 1.5)),
        ("machine learning  2", ("machine learning", 2.0)),
        ("machine  learning 2e-1", ("machine learning", 0.2)),
        ("machine learning", ("machine learning", 1.0)),
        ("machine\u00a0learning\t.5", ("machine learning", 0.5)),
        ("GB/T 7714\t3", ("GB/T 7714", 3.0)),
        ("C#\t2", ("C#", 2.0)),
        ("*ST样例\t1", ("*ST样例", 1.0)),
        ("K8s", ("K8s", 1.0)),
    ],
)
def test_lines(line: str, entry: tuple[str, float]) -> None:
    assert list(parse_topic(line.encode(), "t").words.items()) == [entry]


@pytest.mark.parametrize(
    ("text", "where", "value"),
    [
        ("a\t-1", "line 1", "'-1'"),
        ("a\n\n# x\nb 0", "line 4", "'0'"),
        ("a\r\nb\tnan", "line 2", "'nan'"),
        ("a inf", "line 1", "'inf'"),
        ("a\t1e300", "line 1", "'1e300'"),
        ("a 2,5", "line 1", "'2,5'"),
        ("a\tmuch", "line 1", "'much'"),
        ("a  much", "line 1", "'much'"),
        ("a\tb\t3", "line 1", "3 fields"),
        ("容器,5", "line 1", "no tab"),
        ("容器：5", "line 1", "no tab"),
        ("Docker\t1\nＤocker\t2", "line 2", "line 1"),
        ("!!\t3", "line 1", "'!!'"),
        ("\t3", "line 1", "'\\t3'"),
    ],
)
def test_errors_are_one_line_with_place_and_value(text: str, where: str, value: str) -> None:
    """Never a silent loss: whatever can't be meant so is refused."""
    with pytest.raises(TopicError) as caught:
        parse_topic(text.encode(), "my/topic.txt")
    message = str(caught.value)
    assert message.startswith(f"my/topic.txt, {where}: ")
    assert value in message
    assert "\n" not in message


@pytest.mark.parametrize("data", [b"", b"\n\r\n", b"\xef\xbb\xbf# nothing\r\n"])
def test_no_words_is_an_error(data: bytes) -> None:
    with pytest.raises(TopicError, match=r"t\.txt: no topic word"):
        parse_topic(data, "t.txt")


@pytest.mark.parametrize("data", [b"ok\t1\n\x81\x20\xff\t2\n", b"ok\t1\n\xff\xff"])
def test_bytes_in_no_encoding_name_their_line(data: bytes) -> None:
    with pytest.raises(TopicError, match=r"t\.txt, line 2: "):
        parse_topic(data, "t.txt")


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TopicError, match=r"nowhere\.txt"):
        read_topic(tmp_path / "nowhere.txt")
    with pytest.raises(TopicError, match=re.escape(str(tmp_path))):
        read_topic(tmp_path)


def test_source_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "topic.txt"
    path.write_text("容器\t2\n", "utf-8")
    assert read_topic(path) == Topic({"容器": 2.0}, f"file {path}")


WORD = st.text("abC容器+-·/ 7", min_size=1, max_size=12).map(lambda text: " ".join(text.split()))


@given(st.dictionaries(WORD.filter(lambda w: any(map(str.isalnum, w))), st.floats(1e-6, 1e6), min_size=1, max_size=5))
def test_format_topic_round_trips(words: dict[str, float]) -> None:
    words = {word: weight for word, weight in words.items() if normalise(word) == word} or {"a b": 1.0}
    assert parse_topic(format_topic(Topic(words, "learned")).encode(), "t").words == words


@given(st.binary(max_size=60) | st.text("a容\t 5,#\n\0", max_size=20).map(str.encode))
def test_any_bytes_give_a_topic_or_a_topic_error(data: bytes) -> None:
    with suppress(TopicError):
        assert parse_topic(data, "t").words


def seed(title: str, text: str, url: str = "http://s.test/") -> tuple[str, Document]:
    return url, Document(title=title, headings=title, text=text)


MENU = "Home\nContact us\nOur partners in Ruritania\n"


def test_learn_topic_english() -> None:
    topic = learn_topic(
        [
            seed("Comets and their orbits", MENU + "A comet is an icy body. Comets have orbits. 1 2 1986 x y. " * 3),
            seed(
                "The orbit of a comet", MENU + "Each comet follows an orbit around the sun. Click here to login. " * 3
            ),
        ]
    )
    assert topic.source == "learned"
    assert set(list(topic.words)[:2]) <= {"comet", "comets", "orbit", "orbits"}
    assert max(topic.words.values()) == 5
    assert min(topic.words.values()) >= 1
    assert not {"the", "click", "login", "home", "1986", "x", "ruritania", "partners"} & topic.words.keys()
    assert not {"comet", "comets"} <= topic.words.keys()  # one spelling a term


def test_learn_topic_chinese() -> None:
    topic = learn_topic(
        [seed("容器编排入门 - 首页", "容器由集群调度，镜像放在仓库。点击登录。容器的编排很重要。" * 3)], limit=2
    )
    assert list(topic.words) == ["容器", "编排"]
    assert not {"首页", "登录", "的", "点击"} & topic.words.keys()


def test_learned_topic_can_be_written_and_read() -> None:
    topic = learn_topic([seed("C++ templates", "Templates in C++ and .NET 容器")])
    assert parse_topic(format_topic(topic).encode(), "t").words == topic.words
    assert "c++" in topic.words


@pytest.mark.parametrize("documents", [[], [seed("", "")], [seed("Home", "Welcome 2024 the 的 首页")]])
def test_nothing_to_learn_from(documents: list[tuple[str, Document]]) -> None:
    with pytest.raises(TopicError, match="topic"):
        learn_topic(documents)


def test_a_word_of_every_seed_comes_before_one_of_a_single_seed() -> None:
    topic = learn_topic([seed("", "granite granite glacier"), seed("", "glacier basalt"), seed("", "glacier slate")])
    assert next(iter(topic.words)) == "glacier"


def test_the_name_of_the_site_counts_less() -> None:
    text = "granite glacier basalt " * 4
    assert list(learn_topic([seed("", text)]).words.values()) == [5, 5, 5]
    topic = learn_topic([seed("", text, "http://docs.granite.test/")])
    assert set(topic.words) == {"glacier", "basalt"}


def test_words_in_ascii_count_less_on_a_page_of_another_script() -> None:
    text = "granite 容器 集群 容器 集群 "
    assert set(learn_topic([seed("", text * 5)]).words) == {"容器", "集群"}
    assert "granite" in learn_topic([seed("", text + "granite basalt slate " * 5)]).words


def test_words_much_weaker_than_the_strongest_are_left_out() -> None:
    topic = learn_topic([seed("Glacier", "glacier " * 20 + "granite " * 9 + "lantern")])
    assert list(topic.words) == ["glacier"]
    topic = learn_topic([seed("", "glacier " * 20 + "granite " * 9 + "lantern")])
    assert list(topic.words) == ["glacier", "granite"]


@pytest.mark.parametrize(
    ("title", "text", "learned"),
    [
        ("Indexes", "Indexes of glaciers. An index is fast. " * 6, True),
        ("Indexes of glaciers", "Indexes of glaciers. " + "A glacier. " * 20, False),  # named once, then forgotten
        ("Glaciers", "Indexes of glaciers. An index is fast. " * 6, False),  # a word of every website
    ],
)
def test_a_word_of_every_website_counts_where_the_page_is_about_it(title: str, text: str, learned: bool) -> None:
    assert bool({"index", "indexes"} & learn_topic([seed(title, text)]).words.keys()) is learned
