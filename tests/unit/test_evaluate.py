"""The evaluation kit: recorded webs, replays, contenders, measures, and the two commands."""

from __future__ import annotations

import html
import json
import re
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from rich.console import Console
from w3lib.encoding import html_to_unicode

from tests import naive
from topiccrawl.database import Database
from topiccrawl.errors import ParameterError
from topiccrawl.evaluate import picture, report
from topiccrawl.evaluate.contenders import NAMES, ORDERS, contender, sweep
from topiccrawl.evaluate.graph import Graph, oracle
from topiccrawl.evaluate.measure import auc, curve, f1, measure
from topiccrawl.evaluate.parsed import ParsedWeb, cache_folder
from topiccrawl.evaluate.replay import Pace, Replay
from topiccrawl.evaluate.session import Session
from topiccrawl.evaluate.web import RecordedWeb
from topiccrawl.frontier.base import MAX_DEPTH, Politeness
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.judge import Judge
from topiccrawl.records import Queue, Reason
from topiccrawl.scope import Scope
from topiccrawl.topics import Topic

ORDER = json.loads((Path(__file__).parents[1] / "data/order.json").read_text())
Links = dict[str, list[tuple[str, str]]]

SMALL: Links = {
    "/index.html": [("a.html", "comet"), ("b.html", "kettle"), ("gone.html", "comet comet"), ("pic.png", "comet")],
    "/a.html": [("c/", "orbit"), ("/", "home")],
    "/b.html": [("d.html", "ladder")],
    "/c/index.html": [("../e.html", "comet orbit"), ("http://elsewhere.test/", "comet")],
    "/d.html": [("e.html", "carpet")],
    "/e.html": [],
}
"""Every on-topic page (a, c, e) is behind a link that says so, and b, d are not."""
TRUTH = {"/": 0, "/a.html": 2, "/b.html": 0, "/c/": 1, "/d.html": 0, "/e.html": 2}


def make_web(
    folder: Path,
    pages: Links,
    truth: dict[str, int],
    seeds: tuple[str, ...] = ("/",),
    words: dict[str, float] | None = None,
) -> Path:
    """A recorded web of the host s.test with the topic `comets`."""
    for path, links in pages.items():
        file = folder / "hosts/s.test" / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        body = "".join(f'<p><a href="{href}">{html.escape(text)}</a>' for href, text in links)
        file.write_text(f"<title>{path}</title>{body}", encoding="utf-8")
    parts = {
        "hosts.json": json.dumps({"s.test": {"charset_header": "utf-8"}}),
        "topics/comets.txt": "".join(f"{w}\t{v}\n" for w, v in (words or {"comet": 3, "orbit": 2}).items()),
        "seeds/comets.txt": "".join(f"http://s.test{path}\n" for path in seeds),
        "truth/comets.tsv": "url\tgrade\tscore\n" + "".join(f"http://s.test{p}\t{g}\t1\n" for p, g in truth.items()),
    }
    for name, text in parts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return make_web(tmp_path / "web", SMALL, TRUTH)


def replay(web: Path, seeds: tuple[str, ...], words: dict[str, float], name: str = "topic", pace: Pace | None = None):
    """The steps of one replay, no host out of scope."""
    one = contender(name)
    judge = Judge(Topic(words, "test"), Scope(), max_depth=MAX_DEPTH, **one.parameters)
    order = ORDERS[one.kind](judge.vector, judge.model, 1)
    return Replay(ParsedWeb(RecordedWeb(web)), seeds, judge, order, pace).steps()


# ---- a recorded web ----


@pytest.mark.parametrize(
    ("url", "status", "what"),
    [
        ("http://s.test/", 200, "http://s.test/"),
        ("http://s.test", 200, "http://s.test/"),
        ("http://S.test:80/index.html#top", 200, "http://s.test/"),
        ("http://s.test/?q=1", 200, "http://s.test/"),
        ("http://s.test/c", 301, "http://s.test/c/"),
        ("http://s.test/c/", 200, "http://s.test/c/"),
        ("http://s.test/%61.html", 200, "http://s.test/a.html"),
        ("http://s.test/none/", 404, ""),
        ("http://s.test/old/a.html", 301, "http://s.test/a.html"),
        ("http://s.test/away?x=1", 301, "https://t.test/"),
        ("http://unknown.test/", 502, ""),
        ("https://s.test/", 405, ""),
        ("https://t.test/", 200, "http://t.test/"),
        ("http://t.test/list?page=2", 200, "http://t.test/list?page=2"),
        ("ftp://s.test/", 405, ""),
    ],
)
def test_a_recorded_web_answers_as_its_servers_did(small: Path, url: str, status: int, what: str) -> None:
    (small / "hosts/t.test").mkdir()
    (small / "hosts/t.test/index.html").write_text("<p>t")
    (small / "hosts/t.test/list?page=2").write_text("<p>2")
    rules = {
        "s.test": {"redirects": [["^/old(/.*)$", "\\1"]], "moved": {"/away?x=1": "https://t.test/"}},
        "t.test": {"https": True},
    }
    (small / "hosts.json").write_text(json.dumps(rules))
    answer = RecordedWeb(small).answer(url)
    assert (answer.status, answer.page or answer.location) == (status, what)


@pytest.mark.parametrize(
    ("name", "body", "rules", "expected"),
    [
        ("a.html", b"x", {}, "text/html"),
        ("a.html", b"x", {"charset_header": "gbk"}, "text/html; charset=gbk"),
        ("a.html", b"<meta charset=euc-kr>", {"charset_header": "per-page"}, "text/html; charset=euc-kr"),
        ("a.html", b"x", {"charset_header": "per-page"}, "text/html; charset=utf-8"),
        ("a", b" <html>", {"charset_header": "utf-8"}, "text/html; charset=utf-8"),
        ("a", b"\x00", {"charset_header": "utf-8"}, "application/octet-stream"),
        ("a.txt", b"<", {"charset_header": "utf-8"}, "text/plain"),
        ("a.PDF", b"<", {}, "application/pdf"),
        ("a", b"x", {"types": {"/a": "text/html; charset=big5"}}, "text/html; charset=big5"),
    ],
)
def test_content_types(tmp_path: Path, name: str, body: bytes, rules: dict[str, object], expected: str) -> None:
    (tmp_path / "hosts/s.test").mkdir(parents=True)
    (tmp_path / "hosts/s.test" / name).write_bytes(body)
    (tmp_path / "hosts.json").write_text(json.dumps({"s.test": rules}))
    assert RecordedWeb(tmp_path).answer(f"http://s.test/{name}").content_type == expected


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("hosts.json", None, "hosts.json: No such file"),
        ("hosts.json", "[", "hosts.json: no JSON"),
        ("hosts.json", "[]", "not one JSON object"),
        ("hosts.json", '{"s.test": {"redirects": [["(", ""]]}}', "rules of s.test"),
        ("truth/comets.tsv", "url\tgrade\nhttp://s.test/\tgood\n", "line 2: .* is not url<TAB>grade"),
        ("truth/comets.tsv", "url\tgrade\nhttp://s.test/\t\n", "no page in it has grade 1 or 2"),
        ("truth/comets.tsv", None, "no topic 'comets'"),
        ("seeds/comets.txt", None, "seeds/comets.txt: no such file"),
        ("topics/comets.txt", None, "no topic 'comets'"),
    ],
)
def test_a_bad_web_is_told_in_one_line(small: Path, file: str, content: str | None, message: str) -> None:
    if content is None:
        (small / file).unlink()
    else:
        (small / file).write_text(content)
    with pytest.raises(ParameterError, match=message) as caught:
        Session(RecordedWeb(small)).subject("comets", "seeds")
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_no_web(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no recorded web"):
        RecordedWeb(tmp_path)


# ---- parsed once ----


def test_pages_are_parsed_once_and_kept(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = ParsedWeb(RecordedWeb(small), tmp_path / "cache")
    visits = {url: parsed.visit(url) for url in ("http://s.test/", "http://s.test/c/", "http://s.test/none")}
    parsed.close()
    monkeypatch.setattr("topiccrawl.responses.page_of", None)  # any parsing from now on is an error
    again = ParsedWeb(RecordedWeb(small), tmp_path / "cache")
    assert {url: again.visit(url).document for url in visits} == {url: visit.document for url, visit in visits.items()}
    again.close()


def test_a_changed_web_is_parsed_anew(small: Path, tmp_path: Path) -> None:
    def title() -> str:
        parsed = ParsedWeb(RecordedWeb(small), tmp_path / "cache")
        document = parsed.visit("http://s.test/a.html").document
        parsed.close()
        return document.title if document else ""

    assert title() == "/a.html"
    (small / "hosts/s.test/a.html").write_text("<title>another</title>")
    assert title() == "another"


# ---- the order of fetches ----


def test_the_fixed_web_is_fetched_in_the_given_order(tmp_path: Path) -> None:
    pages = {path: [tuple(link) for link in links] for path, links in ORDER["pages"].items()}
    web = make_web(tmp_path / "web", pages, {}, tuple(ORDER["seeds"]))
    name = "topic:" + ",".join(f"{name}={ORDER[name]}" for name in ("m0", "b", "f", "m_min"))
    steps = replay(web, tuple(f"http://s.test{path}" for path in ORDER["seeds"]), ORDER["topic"], name)
    assert [urlsplit(step.url).path for step in steps] == ORDER["order"]


@pytest.mark.parametrize("strategy", ["topic", "breadth"])
@pytest.mark.parametrize("name", ["version-control", "zh-containers"])
def test_the_recorded_web_is_fetched_as_a_naive_reading_would(recorded, name: str, strategy: str) -> None:
    fetches = 300
    web = RecordedWeb(recorded.folder)
    words, seeds = web.topic(name).words, web.seeds(name)

    def fetch(url: str) -> tuple[int, str, str, str]:
        answer = web.answer(url)
        return answer.status, answer.type, answer.location, html_to_unicode(answer.content_type, answer.body)[1]

    expected = [url for url, _ in zip(naive.crawl(seeds, words, fetch, strategy), range(fetches), strict=False)]
    one = contender(f"{strategy}:b=0.5,f=0.05,m_min=0.05")
    session = Session(web, cache=cache_folder())
    judge = Judge(web.topic(name), Scope(), max_depth=MAX_DEPTH, **one.parameters)
    order = ORDERS[one.kind](judge.vector, judge.model, 1)
    found = [step.url for step in islice(Replay(session.parsed, seeds, judge, order).steps(), fetches)]
    session.close()
    assert found == expected


def test_the_ends_of_leases(small: Path) -> None:
    (small / "hosts/s.test/pic.png").write_bytes(b"\x89PNG")
    steps = replay(small, ("http://s.test/",), {"comet": 3, "orbit": 2})
    ends = {step.url: (step.page, step.queue, step.reason) for step in steps}
    assert ends["http://s.test/"] == ("http://s.test/", Queue.DONE, None)
    assert ends["http://s.test/gone.html"] == ("", Queue.ERROR, Reason.HTTP)
    assert ends["http://s.test/pic.png"] == ("", Queue.DISCARD, Reason.TYPE)
    assert ends["http://elsewhere.test/"] == ("", Queue.ERROR, Reason.HTTP)


@pytest.mark.parametrize(
    ("pages", "rules", "ends"),
    [
        ({"/index.html": [("c", "comet")], "/c/index.html": []}, {}, ["/:", "/c:redirect", "/c/:"]),
        ({"/index.html": [("x", "comet")]}, {"moved": {"/x": "http://s.test/x"}}, ["/:", "/x:redirect-loop"]),
        (
            {"/index.html": [("x", "comet")]},
            {"moved": {"/x": "http://s.test/y", "/y": "http://s.test/x"}},
            ["/:", "/x:redirect", "/y:redirect-loop"],
        ),
        (
            {"/index.html": [("0", "comet")]},
            {"moved": {f"/{n}": f"http://s.test/{n + 1}" for n in range(9)}},
            ["/:", "/0:redirect", "/1:redirect", "/2:redirect", "/3:redirect", "/4:redirect", "/5:redirect-max"],
        ),
        (
            {"/index.html": [("x;jsessionid=1", "comet")], "/x": [("y", "comet")], "/y": []},
            {"moved": {"/x;jsessionid=1": "http://s.test/x"}},
            ["/:", "/x;jsessionid=1:", "/y:"],
        ),
    ],
)
def test_redirects(tmp_path: Path, pages: Links, rules: dict[str, object], ends: list[str]) -> None:
    web = make_web(tmp_path / "web", pages, {})
    (web / "hosts.json").write_text(json.dumps({"s.test": rules}))
    steps = replay(web, ("http://s.test/",), {"comet": 1})
    assert [f"{step.url.removeprefix('http://s.test')}:{step.reason or ''}" for step in steps] == ends


@pytest.mark.parametrize(
    ("head", "ends"),
    [
        ('<meta http-equiv=refresh content="0; url=a.html">', ["/:redirect", "/a.html:"]),
        ("<meta name=robots content=nofollow>", ["/:"]),
        ("<meta name=robots content=noindex>", ["/:noindex", "/a.html:"]),
    ],
)
def test_what_a_page_asks_for(tmp_path: Path, head: str, ends: list[str]) -> None:
    web = make_web(tmp_path / "web", {"/index.html": [], "/a.html": []}, {})
    (web / "hosts/s.test/index.html").write_text(f"{head}<a href=a.html>comet</a>")
    steps = replay(web, ("http://s.test/",), {"comet": 1})
    assert [f"{step.url.removeprefix('http://s.test')}:{step.reason or ''}" for step in steps] == ends


def test_virtual_time(tmp_path: Path) -> None:
    pages: Links = {"/index.html": [(f"{n}.html", "comet") for n in range(4)], **{f"/{n}.html": [] for n in range(4)}}
    web = make_web(tmp_path / "web", pages, {})

    def ends(**pace: float) -> list[float]:
        return [step.at for step in replay(web, ("http://s.test/",), {"comet": 1}, pace=Pace(**pace))]

    assert ends() == [0.0] * 5
    assert ends(latency=2.0) == [2.0, 4.0, 6.0, 8.0, 10.0]
    assert ends(latency=2.0, delay=1.0) == [2.0, 5.0, 8.0, 11.0, 14.0]
    assert ends(latency=2.0, concurrency=4, per_host=2) == [2.0, 4.0, 4.0, 6.0, 6.0]
    assert ends(latency=2.0, concurrency=4, per_host=1) == [2.0, 4.0, 6.0, 8.0, 10.0]


# ---- contenders ----


@pytest.mark.parametrize(
    ("name", "pages"),
    [
        ("topic", "/ /a.html /c/ /e.html /b.html /d.html"),
        ("best-first", "/ /a.html /c/ /e.html /b.html /d.html"),
        ("breadth", "/ /a.html /b.html /c/ /d.html /e.html"),
        ("depth", "/ /a.html /c/ /e.html /b.html /d.html"),
        ("url-words", "/ /a.html /b.html /c/ /d.html /e.html"),
        ("oracle", "/ /a.html /c/ /e.html"),
    ],
)
def test_contenders(small: Path, name: str, pages: str) -> None:
    session = Session(RecordedWeb(small))
    run = session.run(session.subject("comets", "seeds"), contender(name))
    assert [page.removeprefix("http://s.test") for page in run.pages] == pages.split()


def test_url_words_prefers_urls_with_more_of_the_words(tmp_path: Path) -> None:
    links = [("x.html", ""), ("comet.html", ""), ("Comet-Orbit.html", "")]
    pages: Links = {"/index.html": links, **{f"/{href}": [] for href, _ in links}}
    steps = replay(make_web(tmp_path / "web", pages, {}), ("http://s.test/",), {"comet": 1, "orbit": 1}, "url-words")
    assert [step.url.rpartition("/")[2] for step in steps] == ["", "Comet-Orbit.html", "comet.html", "x.html"]


def test_shark_inherits_from_relevant_pages(tmp_path: Path) -> None:
    pages: Links = {
        "/index.html": [("dull.html", "one"), ("good.html", "two")],
        "/dull.html": [("x.html", "three")],
        "/good.html": [("y.html", "comet comet comet"), ("z.html", "four")],
        **{f"/{name}.html": [] for name in "xyz"},
    }
    steps = replay(make_web(tmp_path / "web", pages, {}), ("http://s.test/",), {"comet": 1}, "shark")
    order = [step.url.rpartition("/")[2] for step in steps]
    assert order.index("z.html") < order.index("x.html")


def test_pagerank_takes_the_much_linked_first(tmp_path: Path) -> None:
    hubs = [f"hub{n}.html" for n in range(12)]
    pages: Links = {
        "/index.html": [(hub, "hub") for hub in hubs],
        **{f"/{hub}": [(f"{hub}-only.html", "once"), ("popular.html", "often")] for hub in hubs},
        **{f"/{hub}-only.html": [] for hub in hubs},
        "/popular.html": [],
    }
    steps = list(replay(make_web(tmp_path / "web", pages, {}), ("http://s.test/",), {"comet": 1}, "pagerank"))
    order = [step.url.rpartition("/")[2] for step in steps]
    assert len(order) == 26
    assert order.index("popular.html") < min(order.index(f"{hub}-only.html") for hub in hubs)


def test_the_oracle_goes_the_shortest_way_to_what_is_left(tmp_path: Path) -> None:
    pages: Links = {
        "/index.html": [("far1.html", ""), ("near.html", "")],
        "/far1.html": [("far2.html", "")],
        "/far2.html": [("t1.html", "")],
        "/near.html": [("t2.html", "")],
        "/t1.html": [],
        "/t2.html": [("t3.html", "")],
        "/t3.html": [],
    }
    parsed = ParsedWeb(RecordedWeb(make_web(tmp_path / "web", pages, {})))
    judge = Judge(None, Scope(), m0=1, b=0.5, f=0, m_min=0, max_depth=MAX_DEPTH)
    wanted = frozenset(f"http://s.test/t{n}.html" for n in (1, 2, 3))
    found = oracle(Graph(parsed, judge), ["http://s.test/"], wanted)
    names = [page.rpartition("/")[2] for page in found]
    assert names == ["", "near.html", "t2.html", "t3.html", "far1.html", "far2.html", "t1.html"]


def test_names_with_parameters() -> None:
    assert contender("topic:f=0.2,m_min=0,stem=0").parameters["f"] == 0.2
    assert not contender("topic:stem=0").stem
    assert contender("breadth").parameters["m_min"] == 0
    assert contender("learned").learned
    assert len({one.name for one in sweep()}) == len(sweep())


@pytest.mark.parametrize(
    ("text", "message"),
    [("best", "known are topic"), ("topic:f", "NAME=NUMBER"), ("topic:f=x", "NAME=NUMBER"), ("topic:g=1", "'g'")],
)
def test_names_that_mean_nothing(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        contender(text)


@pytest.mark.parametrize(
    ("switch", "text", "terms"),
    [
        ("stem=1", "the orbits", ["orbit"]),
        ("stem=0", "the orbits", ["orbits"]),
        ("stop=0", "the orbits", ["the", "orbit"]),
    ],
)
def test_tokenisation_switches(switch: str, text: str, terms: list[str]) -> None:
    tokenizer = contender(f"topic:{switch}").tokenizer(["comet"])
    assert (tokenizer.terms(text) if tokenizer else terms) == terms


# ---- measures ----


def test_measures_of_a_known_order() -> None:
    wanted, best = {"a", "b"}, curve(["a", "b"], {"a", "b"}, 8)
    assert best.tolist() == [1, 2, 2, 2, 2, 2, 2, 2]
    found = measure(["x", "a", "a", "y", "b"], wanted, 2, best)
    assert curve(["x", "a", "a", "y", "b"], wanted, 8).tolist() == [0, 1, 1, 1, 2, 2, 2, 2]
    assert (found.fetches, found.hits, found.first_hit) == (5, 2, 2)
    assert found.harvest == (1 / 2, 1 / 4, 2 / 5)  # the crawl ended before 4R
    assert found.recall == (0.5, 0.5, 1.0)
    assert found.area == 11 / 15


def test_the_first_hit_is_no_seed() -> None:
    best = curve(["a", "b"], {"a", "b"}, 8)
    assert measure(["a", "x", "b"], {"a", "b"}, 2, best, seeds={"a"}).first_hit == 3
    assert measure(["a"], {"a", "b"}, 2, best, seeds={"a"}).first_hit is None


def test_nothing_to_reach() -> None:
    found = measure(["x"], set(), 0, curve([], set(), 0))
    assert (found.area, found.hits, found.recall) == (0.0, 0, (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("scores", "relevant", "expected"),
    [
        ([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1], 1.0),
        ([0.4, 0.3, 0.2, 0.1], [0, 0, 1, 1], 0.0),
        ([0.5, 0.5, 0.5, 0.5], [0, 1, 0, 1], 0.5),
        ([0.1, 0.2, 0.2, 0.3], [0, 0, 1, 1], 0.875),
        ([0.1], [1], 0.5),
    ],
)
def test_auc(scores: list[float], relevant: list[int], expected: float) -> None:
    assert auc(np.array(scores), np.array(relevant, bool)) == expected


def test_f1() -> None:
    said, relevant = np.array([1, 1, 1, 0, 0], bool), np.array([1, 1, 0, 1, 0], bool)
    assert f1(said, relevant) == pytest.approx(2 / 3)
    assert f1(np.zeros(2, bool), np.zeros(2, bool)) == 0.0


def test_the_measures_of_a_small_web(small: Path) -> None:
    session = Session(RecordedWeb(small))
    subject = session.subject("comets", "seeds")
    assert subject.reachable == 3
    assert subject.best.tolist() == [0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3]
    assert session.run(subject, contender("topic")).measures.area == 1.0
    breadth = session.run(subject, contender("breadth")).measures
    assert breadth.area == (0 + 1 + 1 + 2 + 2 + 3 * 7) / 30
    assert breadth.recall == (1 / 3, 1.0, 1.0)


def test_dead_urls_count_only_when_asked_for(small: Path) -> None:
    every = Session(RecordedWeb(small), everything=True)
    run = every.run(every.subject("comets", "seeds"), contender("topic"))
    assert run.pages.count("") == 2  # gone.html and pic.png, within the recorded hosts
    assert run.measures.fetches == 8


def test_page_scores(small: Path) -> None:
    for path, grade in TRUTH.items():
        file = small / "hosts/s.test" / (path[1:] + ("index.html" if path.endswith("/") else ""))
        file.write_text("<title>Comets in orbit</title>" if grade else "<title>Kettles</title>")
    scores = Session(RecordedWeb(small)).page_scores("comets", [0.99])
    assert (scores.pages, scores.relevant, scores.auc, scores.f1) == (6, 3, 1.0, 1.0)
    assert set(scores.f1_at) == {"0.99"}


def test_the_same_seed_gives_the_same_rows(small: Path) -> None:
    def rows(seed: int) -> bytes:
        session = Session(RecordedWeb(small), seed=seed)
        subject = session.subject("comets", "seeds")
        runs = [session.run(subject, contender(name)) for name in NAMES]
        return re.sub(rb'"seconds": [0-9.e-]+', b"", report.rows(runs, [], {}))

    assert rows(1) == rows(1)
    assert len({rows(seed) for seed in range(5)}) > 1


# ---- reports ----


def test_tables(small: Path) -> None:
    session = Session(RecordedWeb(small))
    subject = session.subject("comets", "seeds")
    runs = [session.run(subject, contender(name)) for name in ("topic", "learned", "oracle")]
    console = Console(width=140, record=True)
    report.print_runs(console, runs)
    report.print_ratios(console, report.ratios(runs, "learned", "topic"))
    report.print_scores(console, [session.page_scores("comets", [0.3])], 0.5)
    text = console.export_text()
    assert "comets, seeds/: R = 3" in text
    assert "oracle" in text
    assert "mean" in text


def test_a_picture(small: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    session = Session(RecordedWeb(small))
    subject = session.subject("comets", "seeds")
    picture.draw(tmp_path / "curves.svg", [session.run(subject, contender("topic"))], [subject])
    assert "<svg" in (tmp_path / "curves.svg").read_text()


def test_a_picture_needs_a_known_name_and_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match=r"curves\.txt"):
        picture.check(Path("curves.txt"))
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ParameterError, match=r"pip install .matplotlib"):
        picture.check(Path("curves.png"))


# ---- the verb of the frontier that PageRank needs ----


def test_waiting_is_ordered_anew(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    database = Database.create(tmp_path / "crawl")
    frontier = SqliteFrontier(database, politeness=Politeness(delay=0, per_host=9, obey_robots=False), clock=lambda: 0)
    judge = Judge(None, Scope(), m0=1, b=0.5, f=0, m_min=0, max_depth=MAX_DEPTH)
    frontier.add(judge.seeds([f"http://{host}.test/{n}" for n in range(3) for host in "ab"]))
    (first,) = frontier.take(1)
    frontier.reprioritise(np.array([0, 5, 4, 3, 2, 1], np.uint32))
    assert [lease.row for lease in (first, *frontier.take(9))] == [1, 6, 5, 4, 3, 2]
    assert frontier.take(1) == []
    frontier.close()
    database.close()
