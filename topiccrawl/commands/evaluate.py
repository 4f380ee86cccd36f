"""`scrapy evaluate`: replay crawls on a recorded web and compare the orders. See docs/how-to/record-a-web.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from topiccrawl.errors import ParameterError, TopicCrawlError
from topiccrawl.evaluate import picture, report
from topiccrawl.evaluate.contenders import LEARNED, NAMES, Contender, contender, sweep
from topiccrawl.evaluate.parsed import cache_folder
from topiccrawl.evaluate.replay import Pace
from topiccrawl.evaluate.session import PageScores, Run, Session, Subject
from topiccrawl.evaluate.web import RecordedWeb
from topiccrawl.relevance.page import THRESHOLD

THRESHOLDS = (0.2, 0.3, 0.4, 0.45, 0.55, 0.6, 0.7, 0.8)


class Command(ScrapyCommand):
    """The recorded web is parsed once and kept in the user's cache folder, so later runs begin at once."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "--web DIR [options]"

    def short_desc(self) -> str:
        return "Replay crawls on a recorded web and compare the orders of fetches"

    def long_desc(self) -> str:
        return (
            f"{self.short_desc()}. Example: scrapy evaluate --web ~/web --topic mail-server --strategies topic breadth"
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--web", metavar="DIR", type=Path, help="the recorded web")
        parser.add_argument(
            "--topic", metavar="NAME", nargs="+", action="extend", help="topics of the web (default: all)"
        )
        orders = f"{', '.join(NAMES)}; also topic:f=0.1,m_min=0 and its like (default: all)"
        parser.add_argument("--strategies", metavar="NAME", nargs="+", action="extend", help=orders)
        parser.add_argument(
            "--seeds", metavar="FOLDER", nargs="+", default=["seeds"], help="folders of seeds (default: seeds)"
        )
        parser.add_argument("--budget", metavar="N", type=int, help="fetches of each crawl (default: 4 R)")
        parser.add_argument(
            "--concurrency", metavar="N", type=int, default=1, help="open requests, and so many per host (default: 1)"
        )
        parser.add_argument(
            "--delay", metavar="S", type=float, default=0.0, help="virtual seconds between requests to a host"
        )
        parser.add_argument(
            "--latency", metavar="S", type=float, default=0.0, help="virtual seconds that a request takes"
        )
        parser.add_argument(
            "--dead", action="store_true", help="URLs that give no page (404, redirects, other types) are fetches too"
        )
        parser.add_argument(
            "--sweep", action="store_true", help="sweep f, b, m_min, m0 and tokenisation of topic as well"
        )
        parser.add_argument(
            "--relevance", action="store_true", help="page relevance against the truth, learned against given words"
        )
        parser.add_argument("--seed", metavar="N", type=int, default=1, help="of what is random (default: 1)")
        parser.add_argument("--means", action="store_true", help="print the means only")
        parser.add_argument("--json", metavar="FILE", type=Path, help="write every row to FILE")
        parser.add_argument(
            "--picture", metavar="FILE", type=Path, help="draw the curves of recall: .png, .svg or .pdf"
        )
        parser.add_argument("--no-cache", action="store_true", help="parse the pages anew, keep nothing on disk")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args or opts.web is None:
            raise UsageError("evaluate takes --web DIR, the folder of a recorded web, and no other argument")
        try:
            self._evaluate(opts)
        except TopicCrawlError as error:
            print(f"scrapy evaluate: {error}", file=sys.stderr)
            self.exitcode = 1

    def _evaluate(self, opts: argparse.Namespace) -> None:
        contenders = chosen(opts)
        if opts.concurrency < 1 or opts.delay < 0 or opts.latency < 0 or (opts.budget is not None and opts.budget < 1):
            raise ParameterError("--concurrency and --budget are at least 1, --delay and --latency not below 0")
        if opts.picture:
            picture.check(opts.picture)
        pace = Pace(concurrency=opts.concurrency, per_host=opts.concurrency, delay=opts.delay, latency=opts.latency)
        session = Session(
            RecordedWeb(opts.web.expanduser()),
            cache=None if opts.no_cache else cache_folder(),
            pace=pace,
            budget=opts.budget,
            seed=opts.seed,
            everything=opts.dead,
        )
        try:
            topics = opts.topic or session.web.topics
            if not topics:
                raise ParameterError(f"{opts.web}: no topics in it; see docs/how-to/record-a-web.md")
            for name in topics:  # a wrong name is told before any work is done
                session.web.topic(name)
                for folder in opts.seeds:
                    session.web.seeds(name, folder)
            scores = [session.page_scores(name, THRESHOLDS) for name in topics] if opts.relevance else []
            subjects, runs = compare(session, topics, opts.seeds, contenders)
        finally:
            session.close()
        self._tell(opts, runs, scores, subjects)

    def _tell(
        self, opts: argparse.Namespace, runs: list[Run], scores: list[PageScores], subjects: list[Subject]
    ) -> None:
        console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
        (report.print_means if opts.means else report.print_runs)(console, runs)
        if opts.relevance:
            report.print_scores(console, scores, THRESHOLD)
            report.print_ratios(console, report.ratios(runs, LEARNED, "topic"))
        try:
            if opts.json:
                facts = {"web": str(opts.web), "seed": opts.seed, "concurrency": opts.concurrency, "delay": opts.delay}
                opts.json.write_bytes(report.rows(runs, scores, {**facts, "latency": opts.latency, "dead": opts.dead}))
            if opts.picture:
                picture.draw(opts.picture, runs, subjects)
        except OSError as error:
            raise ParameterError(f"{error.filename}: {error.strerror}") from error


def chosen(opts: argparse.Namespace) -> list[Contender]:
    """The contenders that the options name, each once."""
    names = list(opts.strategies or ([] if opts.sweep else NAMES))
    if opts.relevance:
        names += ["topic", LEARNED]
    found = [contender(name) for name in names] + (sweep() if opts.sweep else [])
    return list({one.name: one for one in found}.values())


def compare(
    session: Session, topics: list[str], folders: list[str], contenders: list[Contender]
) -> tuple[list[Subject], list[Run]]:
    """Every contender on every topic with every set of seeds; progress on stderr where that is a terminal."""
    subjects: list[Subject] = []
    runs: list[Run] = []
    for folder in folders:
        for name in topics:
            subjects.append(session.subject(name, folder))
            for one in contenders:
                if sys.stderr.isatty():
                    print(f"\r\033[K{folder}/{name}: {one.name}", end="", file=sys.stderr, flush=True)
                runs.append(session.run(subjects[-1], one))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return subjects, runs
