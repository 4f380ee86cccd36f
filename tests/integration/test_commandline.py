"""What a user types: values that are wrong, where values come from, resuming, and the commands on a crawl folder."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.integration.crawling import (
    Forks,
    Result,
    Running,
    command,
    crawl_command,
    page_files,
    run_crawl,
    running_crawl,
)
from tests.servers import Reply, Server, hang, page

SEED = "http://127.0.0.1:9/"  # never asked: these crawls don't begin


# ---- wrong values ----


def refused(forks: Forks, folder: Path, *says: str, seeds: str | None = SEED, **given: Any) -> str:
    """Run a crawl that must not begin; gives its one line."""
    before = listing(folder)
    done = forks.run(crawl_command(folder, None if seeds is None else [seeds], **given))
    lines = [line for line in done.stdout.splitlines() if line.startswith("scrapy crawl: ")]
    assert done.returncode != 0, done.stdout
    assert len(lines) == 1, done.stdout
    assert "Traceback" not in done.stdout
    for part in says:
        assert part in lines[0]
    assert listing(folder) == before, "something was written"
    return lines[0]


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")} | (
        {".": b""} if folder.exists() else {}
    )


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("b", "2", "less than 1"),
        ("f", "x", "valid number"),
        ("m0", "0", "greater than 0"),
        ("m_min", "nan", "finite"),
        ("depth", "0", "greater than 0"),
        ("pages", "1.5", "whole number|valid integer"),
        ("strategy", "best", "'topic', 'breadth' or 'depth'"),
        ("deny", "(", "escape it"),
        ("domains", "a.test :::", "no domain"),
    ],
)
def test_wrong_value(forks: Forks, tmp_path: Path, topic: Path, name: str, value: str, says: str) -> None:
    line = refused(forks, tmp_path / "crawl", f"-a {name}={value}", topic=topic, **{name: value})
    assert any(part in line for part in says.split("|")), line


def test_unknown_parameter(forks: Forks, tmp_path: Path, topic: Path) -> None:
    refused(forks, tmp_path / "crawl", "-a dept=3", "no such parameter", "did you mean depth?", topic=topic, dept=3)
    refused(forks, tmp_path / "crawl", "known are seeds, topic", topic=topic, zzz=3)


@pytest.mark.parametrize(
    ("seeds", "says"),
    [
        ("ftp://127.0.0.1/", ("'ftp://127.0.0.1/'", "no http(s) URL")),
        ("mailto:a@b.c, nothing", ("'mailto:a@b.c'",)),
        ("[1, ", ("no JSON list",)),
        ("missing.txt", ("no such file: missing.txt", "looked in")),
        (None, ("seeds: none given", "-a seeds=")),
    ],
)
def test_wrong_seeds(forks: Forks, tmp_path: Path, topic: Path, seeds: str | None, says: tuple[str, ...]) -> None:
    refused(forks, tmp_path / "crawl", *says, seeds=seeds, topic=topic)


def test_wrong_seeds_file(forks: Forks, tmp_path: Path, topic: Path) -> None:
    path = tmp_path / "seeds.txt"
    for content, says in (
        (b"# mine\n\nnot a url\nftp://a.test/\n", (f"{path}, line 3: 'not a url'", "no http(s) URL")),
        (b"# nothing\n", (f"{path}: no URL in it",)),
        (b"http://a.test/\xff\n", (str(path), "byte 14", "UTF-8")),
    ):
        path.write_bytes(content)
        refused(forks, tmp_path / "crawl", *says, seeds=str(path), topic=topic)


def test_unreadable_seeds_file(forks: Forks, tmp_path: Path, topic: Path) -> None:
    unreadable = "/proc/self/mem"  # for root too
    refused(forks, tmp_path / "crawl", f"seeds: {unreadable}: Input/output error", seeds=unreadable, topic=topic)


def test_a_folder_in_the_place_of_a_file(forks: Forks, tmp_path: Path, topic: Path) -> None:
    (tmp_path / "seeds.txt").mkdir()
    refused(forks, tmp_path / "crawl", "seeds.txt", seeds=str(tmp_path / "seeds.txt"), topic=topic)
    refused(forks, tmp_path / "crawl", str(tmp_path), topic=tmp_path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"# no words\n", "no topic word in it"),
        (b"", "no topic word in it"),
        (b"apple\t1\npear\theavy\n", "line 2: weight 'heavy' is not a number"),
        (b"apple\t1\n\npear\t-1\n", "line 3: weight '-1' is not between"),
        (b"apple,3\n", "line 1: 'apple,3' has no tab"),
        (b"apple\t1\nApple\t2\n", "line 2: 'Apple' stands already in line 1"),
        (b"---\t1\n", "line 1: '---' has no letter"),
    ],
)
def test_wrong_topic(forks: Forks, tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    refused(forks, tmp_path / "crawl", str(path), says, topic=path)


def test_missing_topic(forks: Forks, tmp_path: Path) -> None:
    refused(forks, tmp_path / "crawl", "topic: no such file: nowhere.txt", topic="nowhere.txt")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("# mine\nb = 7\n", "line 2: b is '7'"),
        ("[crawl]\n\ndepth = deep\n", "line 3: depth is 'deep'"),
        ("[crawl]\ndepht = 3\n", "line 2: no such parameter; did you mean depth?"),
        ("[crawls]\ndepth = 3\n", "unknown section [crawls]"),
        ("[crawl]\nno equals sign\n", "no equals sign"),
        ("[crawl]\nb = 0.4\nb = 0.5\n", "'b'"),
    ],
)
def test_wrong_set_conf(forks: Forks, tmp_path: Path, topic: Path, content: str, says: str) -> None:
    folder = tmp_path / "crawl"
    folder.mkdir()
    (folder / "set.conf").write_text(content)
    refused(forks, folder, str(folder / "set.conf"), says, topic=topic)


def test_a_file_in_the_place_of_the_folder(forks: Forks, tmp_path: Path, topic: Path) -> None:
    (tmp_path / "crawl").write_text("mine")
    line = forks.run(crawl_command(tmp_path / "crawl", [SEED], topic=topic))
    assert line.returncode != 0
    assert f"scrapy crawl: {tmp_path / 'crawl'}: " in line.stdout
    assert "Traceback" not in line.stdout
    assert (tmp_path / "crawl").read_text() == "mine"


def test_help(forks: Forks, tmp_path: Path) -> None:
    done = forks.run(command("crawl", "topic", CRAWL_DIR=tmp_path / "crawl", help=1))
    assert done.returncode == 0
    for name in ("seeds", "topic", "strategy", "m0", "b", "f", "m_min", "depth", "pages", "domains", "deny"):
        assert f"\n  {name} " in done.stdout
    assert not (tmp_path / "crawl").exists()


# ---- good seeds among bad ones, and where values come from ----


def test_good_seeds_among_bad(tmp_path: Path, topic: Path) -> None:
    with Server({"/": page(), "/b": page()}) as site:
        path = tmp_path / "seeds.txt"
        path.write_text(f"\ufeff# mine\n{site.url('/')}\nno url\n{site.address}/b\nftp://x.test/\n{site.url('/')}\n")
        result = run_crawl(tmp_path / "crawl", [str(path)], topic=topic)
    assert result.code == 0
    assert result.where == {site.url("/"): "done", site.url("/b"): "done"}
    bad = [(line[1], line[2], line[3], line[4]) for line in result.log]
    assert bad == [
        ("WARNING", "seed", "no url", f"{path}, line 3: no http(s) URL; skipped"),
        ("WARNING", "seed", "ftp://x.test/", f"{path}, line 5: no http(s) URL; skipped"),
    ]
    assert (result.folder / "init_url").read_text() == f"{site.url('/')}\n{site.url('/b')}\n"


def test_precedence(tmp_path: Path, topic: Path) -> None:
    """settings.py, then set.conf, then the command line; for parameters and for settings."""
    chain = {f"/{n}": page(f"/{n + 1}") for n in range(6)}
    with Server({**chain, "/6": page()}) as site:
        folder = tmp_path / "crawl"
        folder.mkdir()
        (folder / "set.conf").write_text("[crawl]\ndepth = 2\nf = 0.1\n\n[settings]\nUSER_AGENT = from-conf/1\n")
        given = {"topic": topic, "TOPICCRAWL_DEPTH": 1, "TOPICCRAWL_B": 0.25}
        by_conf = run_crawl(folder, [site.url("/0")], **given)
        assert max(row.depth for row in by_conf.urls.values() if row.queue == "done") == 2
        assert {asked.headers["user-agent"] for asked in site.log} == {"from-conf/1"}
        with closing(sqlite3.connect(folder / "link.db")) as connection:
            meta = dict(connection.execute("SELECT name, value FROM meta"))
        assert (meta["f"], meta["b"], meta["m0"]) == ("0.1", "0.25", "1.0")
        site.log.clear()
        by_line = run_crawl(folder, [site.url("/0")], depth=4, USER_AGENT="from-line/1", **given)
        assert max(row.depth for row in by_line.urls.values() if row.queue == "done") == 4
        assert {asked.headers["user-agent"] for asked in site.log} == {"from-line/1"}


def test_everything_in_the_folder(tmp_path: Path) -> None:
    """init_url, topic.txt and set.conf of the folder are enough; a set.conf may do without sections."""
    with Server({"/": page("/a", ("/b", "pear")), "/a": page(), "/b": page()}) as site:
        folder = tmp_path / "crawl"
        folder.mkdir()
        (folder / "init_url").write_text(site.url("/") + "\n")
        (folder / "topic.txt").write_text("apple\t2\n")
        (folder / "set.conf").write_text("m_min = 0.6\n")
        result = run_crawl(folder, None)
    assert result.where == {site.url("/"): "done", site.url("/a"): "done", site.url("/b"): "discard m"}


# ---- resuming ----


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory, topic: Path) -> Iterator[tuple[Server, Path]]:
    """A folder with a crawl of depth 1 on two hosts."""
    with Server() as site, Server({"/": page()}, host="127.0.0.2") as other:
        site.routes = {
            "/": page("/a", "/404", other.url("/")),
            "/a": page("/a/a"),
            "/a/a": page("/a/a/a"),
            "/new": page(),
        }
        result = run_crawl(tmp_path_factory.mktemp("crawled") / "crawl", [site.url("/")], topic=topic, depth=1)
        assert result.where == {
            site.url("/"): "done",
            site.url("/a"): "done",
            site.url("/404"): "error http 404",
            other.url("/"): "done",
            site.url("/a/a"): "discard depth",
        }
        yield site, result.folder


@pytest.mark.parametrize(("name", "value"), [("m0", 0.5), ("b", 0.4), ("f", 0.2)])
def test_resuming_with_another_score_is_refused(
    forks: Forks, crawled: tuple[Server, Path], name: str, value: float
) -> None:
    site, folder = crawled
    before = (folder / "link.db").read_bytes()
    done = forks.run(crawl_command(folder, [site.url("/new")], depth=1, **{name: value}))
    assert done.returncode != 0
    lines = [line for line in done.stdout.splitlines() if line.startswith("scrapy crawl: ")]
    assert len(lines) == 1
    assert f"{name} is {value}" in lines[0]
    assert "rescore" in lines[0]
    assert (folder / "link.db").read_bytes() == before


def test_resuming_with_another_topic_is_refused(forks: Forks, crawled: tuple[Server, Path], tmp_path: Path) -> None:
    site, folder = crawled
    (tmp_path / "pears.txt").write_text("pear\t1\n")
    done = forks.run(crawl_command(folder, [site.url("/new")], depth=1, topic=tmp_path / "pears.txt"))
    lines = [line for line in done.stdout.splitlines() if line.startswith("scrapy crawl: ")]
    assert done.returncode != 0
    assert len(lines) == 1
    assert str(tmp_path / "pears.txt") in lines[0]
    assert "rescore" in lines[0]
    assert (folder / "topic.txt").read_text() == "apple\t1\n"


def test_resuming_after_changed_limits(crawled: tuple[Server, Path]) -> None:
    """In one test, since each step goes on from the one before."""
    site, folder = crawled
    fetches = len(site.asked("/"))

    added = run_crawl(folder, [site.url("/new")], depth=1)
    assert added.code == 0
    assert f"Resuming {folder}: 5 URLs known, 3 pages" in added.output
    assert added.where[site.url("/new")] == "done"
    assert (folder / "init_url").read_text() == f"{site.url('/')}\n{site.url('/new')}\n"

    deeper = run_crawl(folder, None, depth=2)
    assert "Limits changed: 1 URLs wait again, 0 are discarded" in deeper.output
    assert deeper.where[site.url("/a/a")] == "done"
    assert deeper.where[site.url("/a/a/a")] == "discard depth"

    narrower = run_crawl(folder, None, domains="127.0.0.2", depth=5, pages=5)
    assert narrower.where[site.url("/a/a/a")] == "discard scope"
    assert narrower.where[site.url("/")] == "done"

    wider = run_crawl(folder, None, domains="127.0.0.1", depth=5)
    assert wider.where[site.url("/a/a/a")] == "error http 404"
    assert len(site.asked("/")) == fetches


# ---- a crawl that is running ----


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, topic: Path) -> Iterator[tuple[Server, Running]]:
    """A crawl that hangs on one page, with a place left for others."""
    folder = tmp_path_factory.mktemp("running") / "crawl"
    with Server(host="127.0.0.2") as slow, Server() as site:
        slow.routes = {"/hang": hang()}
        site.routes = {"/": page("/404", "/[bold]", slow.url("/hang"), slow.url("/waits"), ("/pear", "pear"))}
        site.routes |= {"/pear": page("/pear/child"), "/%5Bbold%5D": page()}
        with running_crawl(folder, [site.url("/")], topic=topic, DOWNLOAD_TIMEOUT=80) as crawl:
            slow.wait_for("/hang")
            crawl.wait_until(lambda urls: len(urls) == 7 and site.url("/pear") in urls and settled(urls))
            yield site, crawl


def settled(urls: dict[str, Any]) -> bool:
    return sorted(row.queue for row in urls.values()) == ["done"] * 3 + ["error"] * 2 + ["processing", "waiting"]


def scrapy(forks: Forks, folder: Path, *args: str) -> tuple[int, str]:
    done = forks.run([*command(*args), str(folder)])
    return done.returncode, done.stdout


def json_of(forks: Forks, folder: Path, *args: str) -> Any:
    code, output = scrapy(forks, folder, *args, "--json")
    assert code == 0, output
    return json.loads(output)


def test_a_second_crawl_is_refused(forks: Forks, running: tuple[Server, Running], topic: Path) -> None:
    _, crawl = running
    done = forks.run(crawl_command(crawl.folder, [SEED], topic=topic))
    lines = [line for line in done.stdout.splitlines() if line.startswith("scrapy crawl: ")]
    assert done.returncode != 0
    assert len(lines) == 1
    assert f"process {crawl.process.pid} " in lines[0]
    assert "CRAWL_DIR" in lines[0]
    assert crawl.process.poll() is None


def test_queues_of_a_running_crawl(forks: Forks, running: tuple[Server, Running]) -> None:
    _, crawl = running
    found = json_of(forks, crawl.folder, "queues")
    assert found["queues"]["processing"] == 1
    assert found["queues"]["waiting"] == 1
    assert found["pages"] == 3
    assert found["by_queue"]["error"] == {"http-404": 2}
    assert [row["depth"] for row in found["top"]] == [1]
    code, text = scrapy(forks, crawl.folder, "queues")
    assert code == 0
    assert "http-404 2" in text
    assert "3 pages stored" in text
    assert "/waits" in text


def test_why_of_a_running_crawl(forks: Forks, running: tuple[Server, Running]) -> None:
    site, crawl = running
    found = json_of(forks, crawl.folder, "why", site.url("/404"))
    assert (found["queue"], found["reason"], found["tries"]) == ("error", "http-404", 1)
    assert found["matches"] == [{"word": "apple", "count": 1, "weight": 1.0}]
    assert [step["url"] for step in found["path"]] == [site.url("/"), site.url("/404")]
    code, text = scrapy(forks, crawl.folder, "why", site.url("/pear/child"))
    assert code == 0
    for part in (
        "error (http-404)",
        "m          1 ",
        "'apple'",
        "from the seed",
        "1. m 0.5",
        f"2. m 1      {site.url('/pear/child')}",
    ):
        assert part in text, text
    code, text = scrapy(forks, crawl.folder, "why", site.url("/pear"))
    assert "not relevant, the threshold f is 0.02" in text
    assert "no word of the topic" in text
    code, text = scrapy(forks, crawl.folder, "why", site.url("/[bold]"))
    assert site.url("/[bold]") in text
    code, text = scrapy(forks, crawl.folder, "why", site.url("/never-seen"))
    assert code == 1
    assert "not known in" in text
    assert "Traceback" not in text


def test_requeue_on_a_running_crawl(forks: Forks, running: tuple[Server, Running]) -> None:
    """Through the inbox, which the crawl reads by itself."""
    site, crawl = running
    site.routes["/404"] = page("/found-later", text="Here after all.")
    found = json_of(forks, crawl.folder, "requeue", "--url", site.url("/404"))
    assert found == {"requeued": 1, "by": "running crawl"}
    crawl.wait_until(lambda urls: urls[site.url("/404")].where == "done" and site.url("/found-later") in urls)
    assert len(site.asked("/404")) == 2
    assert not list((crawl.folder / "inbox").iterdir())
    code, text = scrapy(forks, crawl.folder, "requeue", "--reason", "timeout")
    assert (code, text.strip()) == (0, "0 URLs wait again")


# ---- commands on other folders ----


def test_requeue_where_no_crawl_runs(forks: Forks, tmp_path: Path, topic: Path) -> None:
    folder = tmp_path / "crawl"
    with Server({"/": page("/404", "/500"), "/500": [Reply(500), page()]}) as site:
        run_crawl(folder, [site.url("/")], topic=topic, TRIES=1)
        assert json_of(forks, folder, "requeue", "--queue", "error", "--reason", "http-404") == {
            "requeued": 1,
            "by": "command",
        }
        assert json_of(forks, folder, "queues")["queues"] == {
            "waiting": 1,
            "processing": 0,
            "error": 1,
            "done": 1,
            "discard": 0,
        }
        code, text = scrapy(forks, folder, "requeue", "--host", site.address, "--queue", "error")
        assert (code, text.strip()) == (0, "1 URLs wait again")
        verdict = json_of(forks, folder, "why", site.url("/500"))
        assert (verdict["queue"], verdict["reason"], verdict["tries"]) == ("waiting", "", 0)
        result = run_crawl(folder, None, TRIES=1)
    assert result.where == {site.url("/"): "done", site.url("/404"): "error http 404", site.url("/500"): "done"}


@pytest.mark.parametrize(
    ("args", "json_too"),
    [(("queues",), True), (("why", SEED), True), (("requeue", "--queue", "error"), True)],
)
def test_commands_on_no_folder(forks: Forks, tmp_path: Path, args: Sequence[str], json_too: bool) -> None:
    for more in ((), ("--json",)) if json_too else ((),):
        code, text = scrapy(forks, tmp_path / "nowhere", *args, *more)
        assert code == 1
        assert text.strip() == (
            f"scrapy {args[0]}: {tmp_path / 'nowhere'}: no crawl folder (no link.db in it); name one, or crawl first"
        )
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("requeue",), "say which URLs"),
        (("requeue", "--reason", "nonsense"), "no such reason: nonsense; known are m, depth"),
        (("requeue", "--queue", "waiting"), "invalid choice"),
        (("why",), "why takes URL [CRAWL_DIR]"),
    ],
)
def test_commands_used_wrongly(forks: Forks, tmp_path: Path, args: Sequence[str], says: str) -> None:
    done = forks.run(command(*args))
    assert done.returncode == 2
    assert says in done.stdout
    assert "Traceback" not in done.stdout


# ---- a topic learned from the seeds ----

ORCHARD = "Apples and orchards. The apple grower prunes the apple tree in the orchard. Apple cider, apple harvest."


def orchard(*links: tuple[str, str]) -> Reply:
    return page(*links, title="Apple orchard", text=ORCHARD)


def test_topic_learned_from_the_seeds(tmp_path: Path) -> None:
    links = (("/apple", "apple orchard"), ("/car", "click here"))
    with Server({"/one": orchard(*links), "/two": [Reply(500), orchard(("/cider", "apple cider"))]}) as site:
        site.routes |= {path: page() for path in ("/apple", "/car", "/cider")}
        result = run_crawl(tmp_path / "crawl", [site.url("/one"), site.url("/two"), site.url("/404")])
        assert "Topic learned from 2 seed pages" in result.output
        retried = site.asked("/two")[1]
        assert all(asked.at > retried.at for path in ("/apple", "/car", "/cider") for asked in site.asked(path))
    words = dict(line.split("\t") for line in (result.folder / "topic.txt").read_text().splitlines())
    assert float(words["apple"]) == max(map(float, words.values()))
    assert set(result.pages) == {site.url(path) for path in ("/one", "/two", "/apple", "/car", "/cider")}
    assert [result.urls[site.url(path)].level for path in ("/apple", "/car", "/cider")] == [0, 1, 0]
    assert result.urls[site.url("/apple")].sim > 0
    scored = {line[0]: line[2:5] for line in result.pages[site.url("/one")].links}
    assert scored[site.url("/car")] == ["0.0000", "0.5", "waiting"]
    assert scored[site.url("/apple")][1:] == ["1", "waiting"]
    assert result.pages[site.url("/one")].info["relevance"] > 0


def test_topic_can_not_be_learned(forks: Forks, tmp_path: Path) -> None:
    with Server({}) as site:
        done = forks.run(crawl_command(tmp_path / "crawl", [site.url("/404")]))
    assert done.returncode == 1
    assert "no seed page could be fetched to learn it from; give one with -a topic=FILE" in done.stdout
    assert "Traceback" not in done.stdout


def test_killed_between_seeds_and_learning(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with Server({"/one": orchard(("/apple", "apple orchard")), "/apple": page()}) as site:
        site.routes["/two"] = [hang(), orchard(("/cider", "apple cider"))]
        site.routes["/cider"] = page()
        with running_crawl(folder, [site.url("/one"), site.url("/two")]) as crawl:
            crawl.wait_until(lambda urls: {row.queue for row in urls.values()} == {"done", "processing"})
            killed = crawl.kill()
        assert set(killed.where) == {site.url("/one"), site.url("/two")}
        assert not (folder / "topic.txt").exists()
        assert killed.pages[site.url("/one")].info["relevance"] is None
        assert [line[:3] for line in killed.pages[site.url("/one")].links] == [
            [site.url("/apple"), "apple orchard", ""]
        ]
        result = run_crawl(folder, None)
    assert "Topic learned from 2 seed pages" in result.output
    assert set(result.where.values()) == {"done"}
    assert set(result.pages) == {site.url(path) for path in ("/one", "/two", "/apple", "/cider")}
    assert len(site.asked("/one")) == 1


def test_killed_between_learning_and_scoring(tmp_path: Path) -> None:
    """The state that a kill right behind the commit of the topic leaves: a topic, and pages that are still held."""
    folder = tmp_path / "crawl"
    with Server({"/one": orchard(("/apple", "apple orchard")), "/apple": page(), "/two": hang()}) as site:
        with running_crawl(folder, [site.url("/one"), site.url("/two")]) as crawl:
            crawl.wait_until(lambda urls: {row.queue for row in urls.values()} == {"done", "processing"})
            crawl.kill()
        with closing(sqlite3.connect(folder / "link.db")) as connection:
            connection.execute("INSERT INTO meta VALUES ('topic', ?)", (json.dumps({"apple": 1.0}),))
            connection.commit()
        site.routes["/two"] = page()
        result: Result = run_crawl(folder, None)
    assert set(result.pages) == {site.url(path) for path in ("/one", "/two", "/apple")}
    assert (folder / "topic.txt").read_text() == "apple\t1\n"
    with closing(sqlite3.connect(folder / "link.db")) as connection:
        assert connection.execute("SELECT count(*) FROM pages WHERE held").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM links").fetchone() == (1,)
    assert len(page_files(folder)) == 3 * len(result.pages)


@pytest.mark.parametrize(
    "setting", ["DOWNLOAD_DELAY=abc", "TRIES=0", "RETRY_WAIT=x", "CONCURRENT_REQUESTS=-1", "ROBOTSTXT_OBEY=maybe"]
)
def test_wrong_setting(forks: Forks, tmp_path: Path, topic: Path, setting: str) -> None:
    """Such a value once ended the command without a word, or made it hang."""
    folder = tmp_path / "crawl"
    done = forks.run([*crawl_command(folder, [SEED], topic=topic), "-s", setting])
    name, _, value = setting.partition("=")
    assert done.returncode == 1
    assert f"scrapy crawl: -s {setting}: {name} is '{value}'" in done.stdout
    assert not folder.exists()


def test_topic_edited_beside_the_seeds_is_refused(forks: Forks, tmp_path: Path) -> None:
    with Server({"/": page()}) as site:
        seeds, words = tmp_path / "seeds.txt", tmp_path / "topic.txt"
        seeds.write_text(f"{site.url('/')}\n")
        words.write_text("comet\t1\n")
        command = crawl_command(tmp_path / "crawl", [str(seeds)])
        assert forks.run(command).returncode == 0
        assert forks.run(command).returncode == 0
        words.write_text("kettle\t1\n")
        done = forks.run(command)
    assert done.returncode == 1
    assert "is another topic than that with which" in done.stdout


def test_what_lies_in_the_inbox_is_taken_up_at_the_start(forks: Forks, tmp_path: Path, topic: Path) -> None:
    with Server({"/": page("/x"), "/x": [Reply(404), page()]}) as site:
        command = crawl_command(tmp_path / "crawl", [site.url("/")], topic=topic)
        forks.run(command)
        (tmp_path / "crawl/inbox/1.json").write_text('{"reason": "http-404"}')
        forks.run(command)
    rows = dict(sqlite3.connect(tmp_path / "crawl/link.db").execute("SELECT url, queue FROM urls"))
    assert rows[site.url("/x")] == "done"
    assert not list((tmp_path / "crawl/inbox").iterdir())


def test_a_page_file_that_a_power_cut_took_is_fetched_again(forks: Forks, tmp_path: Path, topic: Path) -> None:
    with Server({"/": page("/x"), "/x": page()}) as site:
        command = crawl_command(tmp_path / "crawl", [site.url("/")], topic=topic)
        forks.run(command)
        connection = sqlite3.connect(tmp_path / "crawl/link.db")
        (file,) = connection.execute("SELECT file FROM pages JOIN urls ON id = pages.url WHERE depth = 1").fetchone()
        (tmp_path / "crawl" / file).write_bytes(b"")
        connection.execute("UPDATE meta SET value = 'no' WHERE name = 'ended'")
        connection.commit()
        connection.close()
        forks.run(command)
        assert [request.path for request in site.log].count("/x") == 2
    assert (tmp_path / "crawl" / file).stat().st_size > 0


def test_the_first_line_of_the_log_says_whether_a_crawl_is_new(forks: Forks, tmp_path: Path, topic: Path) -> None:
    with Server({"/": page()}) as site:
        command = crawl_command(tmp_path / "crawl", [site.url("/")], topic=topic)
        first, second = forks.run(command).stdout, forks.run(command).stdout
    assert "New crawl in" in first.splitlines()[0]
    assert "Resuming" in second.splitlines()[0]
