"""One running crawl: its folder, link.db, frontier, catalogue and judge, opened in the right order.

The parts of Scrapy that we fill in (scheduler, middlewares, pipelines, extensions) meet here: each calls `Crawl.of`.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.conf import closest_scrapy_cfg

from topiccrawl import parameters, strategies
from topiccrawl.archive.catalogue import Catalogue
from topiccrawl.archive.pagefiles import Inherited, PageFiles
from topiccrawl.database import Database
from topiccrawl.errors import ParameterError, TopicError
from topiccrawl.folder import CrawlFolder, CrawlLog, write_whole
from topiccrawl.frontier.base import MAX_DEPTH, Politeness, RetryPolicy
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.judge import Judge
from topiccrawl.parameters import Config
from topiccrawl.records import Page, Queue, Selection
from topiccrawl.responses import robots_directives
from topiccrawl.scope import Scope
from topiccrawl.seeds import Seeds, find_file, read_seeds
from topiccrawl.topics import Topic, format_topic, parse_topic, read_topic
from topiccrawl.urls import page_id, seed_url

logger = logging.getLogger(__name__)

LATEST = 1000  # pages that are verified after a crash

NUMBERS = {
    **dict.fromkeys(("DOWNLOAD_DELAY", "DOWNLOAD_DELAY_JITTER", "CRAWL_DELAY_MAX", "RETRY_AFTER_MAX"), 0.0),
    **dict.fromkeys(
        ("HOST_BACKOFF_MAX", "ROBOTS_BACKOFF", "ROBOTS_MAX_AGE", "RETRY_BACKOFF", "RETRY_BACKOFF_MAX"), 0.0
    ),
    **dict.fromkeys(("RETRY_WAIT", "LOGSTATS_INTERVAL", "DOWNLOAD_MAXSIZE", "CONCURRENT_REQUESTS"), 0.0),
    **dict.fromkeys(("CONCURRENT_REQUESTS_PER_DOMAIN", "REDIRECT_MAX_TIMES", "DOWNLOAD_TIMEOUT"), 0.0),
    **dict.fromkeys(("TRIES", "ROBOTS_TRIES"), 1.0),
    **dict.fromkeys(("COMMIT_INTERVAL", "HISTORY_INTERVAL"), 0.001),
}
"""Settings that are numbers, with the least value."""

SWITCHES = ("ROBOTSTXT_OBEY", "META_NOINDEX_OBEY", "META_NOFOLLOW_OBEY", "DOWNLOAD_VERIFY_CERTIFICATES")

FIXED = ("m0", "b", "f")  # with the topic: what scores depend on, and so what a folder can't change


class Crawl:
    """Everything that belongs to one crawl folder while it is being crawled."""

    _all: ClassVar[WeakKeyDictionary[Crawler, Crawl]] = WeakKeyDictionary()

    @classmethod
    def of(cls, crawler: Crawler) -> Crawl:
        """The crawl of a crawler, opened at the first call. Raises TopicCrawlError when it can't be."""
        crawl = cls._all.get(crawler)
        if crawl is None:
            assert crawler.spider is not None
            arguments = getattr(crawler.spider, "arguments", {})
            crawl = cls._all[crawler] = cls(crawler.settings, arguments)
        return crawl

    def __init__(self, settings: BaseSettings, arguments: dict[str, Any]) -> None:
        self.folder = CrawlFolder.named(settings["CRAWL_DIR"])
        config = Config(self.folder.config)
        check_settings(settings, config)
        self.parameters = parameters.load(arguments, config, settings)
        self.seeds = self._read_seeds()
        given = self._given_topic()
        self.folder.create()
        self.folder.lock()
        try:
            self.database = Database.create(self.folder.path)
            self.resumed = self.database.get_meta("m0") is not None
            self.parameters = self._with_kept_values({*arguments, *config.parameters()}, settings)
            self.topic = self._settle_topic(given)
            self._open(settings)
        except BaseException:
            self.folder.unlock()
            raise

    def _open(self, settings: BaseSettings) -> None:
        p = self.parameters
        self._obey_noindex = settings.getbool("META_NOINDEX_OBEY")
        self._obey_nofollow = settings.getbool("META_NOFOLLOW_OBEY")
        scope = Scope(p.domains, p.deny)
        self.judge = Judge(self.topic, scope, m0=p.m0, b=p.b, f=p.f, m_min=p.m_min, max_depth=p.depth or MAX_DEPTH)
        self.frontier = SqliteFrontier(
            self.database,
            limits=self.judge.limits,
            politeness=_politeness(settings),
            retry=RetryPolicy(
                tries=settings.getint("TRIES"),
                base=settings.getfloat("RETRY_BACKOFF"),
                maximum=settings.getfloat("RETRY_BACKOFF_MAX"),
            ),
            priorities=strategies.STRATEGIES[p.strategy],
            user_agent=(settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]).partition("/")[0],
        )
        self.last_counts = self.frontier.counts()
        self.last_due = ""
        self.catalogue = Catalogue(self.database)
        self.files = PageFiles(self.folder.path)
        self.log = CrawlLog(self.folder.log)
        self._begin()

    def _begin(self) -> None:
        """Bring the folder up to what was asked for: recovered leases, changed limits, given seeds."""
        p, counts = self.parameters, self.frontier.counts()
        if self.resumed:
            known = sum(counts.values())
            logger.info("Resuming %s: %d URLs known, %d pages", self.folder.path, known, self.catalogue.totals.pages)
        else:
            logger.info("New crawl in %s", self.folder.path)
        if recovered := self.frontier.recover():
            logger.info("%d URLs were being fetched when the last run ended; they wait again", recovered)
        if self.database.get_meta("ended") == "no":
            self._verify_latest()
        self.database.set_meta("ended", "no")
        limits = json.dumps([p.depth, p.m_min, p.domains, p.deny])
        if self.resumed and self.database.get_meta("limits") != limits:
            lifted, dropped = self.frontier.rejudge(self.judge.scope.refusal)
            logger.info("Limits changed: %d URLs wait again, %d are discarded", lifted, dropped)
        for seed in self.seeds.bad:
            self.log.write("WARNING", "seed", seed.value, f"{seed.where}: no http(s) URL; skipped")
        for candidate in self.judge.seeds(self.seeds.urls):
            if candidate.refusal or self.judge.scope.refusal(candidate.url, candidate.host):
                self.log.write("WARNING", "seed", candidate.url, "outside domains or denied: fetched, its like are not")
        self.frontier.add(self.judge.seeds(self.seeds.urls))
        for name in FIXED:
            self.database.set_meta(name, repr(getattr(p, name)))
        self.database.set_meta("limits", limits)
        self.database.set_meta("m_min", repr(p.m_min))
        self.database.set_meta("strategy", p.strategy)
        if self.topic is not None:
            self.keep_topic(self.topic)
        self._keep_seeds()
        self.database.commit()

    def _verify_latest(self) -> None:
        """After an end that was none: the latest pages are on disk as the catalogue says, or are fetched again.

        A kill can't part the two, but page files are not flushed to the disk one by one, so a power cut can.
        """
        for row, url in self.catalogue.damaged(self.folder.path, LATEST):
            self.log.write("WARNING", "file", url, "its page file is missing or cut short; it waits again")
            logger.warning("Page file of %s (row %d) is missing or cut short; it waits again", url, row)
            self.frontier.requeue(Selection(queue=Queue.DONE, url=url))

    def keeps(self, page: Page) -> bool:
        """False for a page that asks not to be kept (noindex), where that is obeyed."""
        return not (self._obey_noindex and "noindex" in robots_directives(page))

    def follows(self, page: Page) -> bool:
        """False for a page that asks not to follow its links (nofollow), where that is obeyed."""
        return not (self._obey_nofollow and "nofollow" in robots_directives(page))

    def keep_topic(self, topic: Topic) -> None:
        """From now on this is the topic of the folder."""
        self.topic = topic
        self.database.set_meta("topic", json.dumps(topic.words, ensure_ascii=False))
        if not (self.folder.topic.is_file() and read_topic(self.folder.topic).words == topic.words):
            write_whole(self.folder.topic, format_topic(topic).encode())

    def inherited(self, page: Page) -> Inherited:
        """What page info says of a page beyond what was fetched."""
        parent = self.catalogue.address(page.parent)
        key, url = parent or (None, None)
        return Inherited(parent=page_id(key) if key else None, parent_url=url, m=self.judge.m(page.level))

    def close(self, *, whole: bool = True) -> None:
        """Commit, or undo to the last commit where not `whole`, and let go of the folder; the last counts stay."""
        self.last_counts = self.frontier.counts()
        if whole:
            self.database.set_meta("ended", "yes")
            self.database.close()
        else:
            self.database.connection.close()
        self.frontier.close()
        self.log.close()
        self.folder.unlock()

    # ---- reading what the user gave ----

    def _read_seeds(self) -> Seeds:
        text = self.parameters.seeds
        if text is not None:
            return read_seeds(text, self._places())
        if self.folder.seeds.is_file():
            return read_seeds(str(self.folder.seeds))
        raise ParameterError(
            "seeds: none given; name a file or URLs with -a seeds=..., or write them to "
            f"{self.folder.seeds}, one a line"
        )

    def _given_topic(self) -> Topic | None:
        """The topic that the user named, or that lies where it is looked for; None: it is to be learned."""
        text = self.parameters.topic
        if text is not None:
            path = find_file(text, self._places())
            if path is None:
                raise TopicError(f"topic: no such file: {text}; give a file with one word<TAB>weight a line")
            return read_topic(path)
        if self.seeds.file is not None and (beside := self.seeds.file.with_name("topic.txt")).is_file():
            return read_topic(beside)
        return read_topic(self.folder.topic) if self.folder.topic.is_file() else None

    def _with_kept_values(self, told: set[str], settings: BaseSettings) -> parameters.Parameters:
        """A resumed crawl has its m0, b and f without being told again."""
        told |= {name for name in FIXED if _is_from_command_line(settings, f"TOPICCRAWL_{name.upper()}")}
        kept = {name: float(self.database.get_meta(name) or 0) for name in FIXED if name not in told and self.resumed}
        return self.parameters.model_copy(update=kept)

    def _settle_topic(self, given: Topic | None) -> Topic | None:
        """Scores of a folder belong to one topic, m0, b and f."""
        for name in FIXED if self.resumed else ():
            kept = float(self.database.get_meta(name) or 0)
            if kept != getattr(self.parameters, name):
                raise ParameterError(
                    f"{name} is {getattr(self.parameters, name)}, but {self.folder.path} was crawled with {kept};"
                    " leave it, use another folder with -s CRAWL_DIR=..., or see `rescore` in the docs"
                )
        kept_words = self.database.get_meta("topic")
        if kept_words is None:
            return given
        kept_topic = parse_topic(
            "".join(f"{word}\t{weight!r}\n" for word, weight in json.loads(kept_words).items()).encode(),
            str(self.folder.database),
        )
        own = read_topic(self.folder.topic) if self.folder.topic.is_file() else None
        for topic in (given, own):
            if topic is not None and topic.words != kept_topic.words:
                raise TopicError(
                    f"topic: {topic.source} is another topic than that with which {self.folder.path} was crawled;"
                    " use another folder with -s CRAWL_DIR=..., or see `rescore` in the docs"
                )
        return kept_topic

    def _places(self) -> tuple[Path, ...]:
        """Where relative file names are looked for beyond the current folder: the project's own."""
        config = closest_scrapy_cfg()
        return (Path(config).parent,) if config else ()

    def _keep_seeds(self) -> None:
        """Add the seeds that are new to init_url; what a person wrote there stays."""
        text = self.folder.seeds.read_text("utf-8-sig") if self.folder.seeds.is_file() else ""
        known = {seed_url(line) for line in text.splitlines()}
        new = [url for url in self.seeds.urls if url not in known]
        if new:
            head = text if not text or text.endswith("\n") else text + "\n"
            write_whole(self.folder.seeds, (head + "".join(f"{url}\n" for url in new)).encode())

    @property
    def queued(self) -> int:
        """URLs that wait or are being fetched."""
        counts = self.frontier.counts()
        return counts[Queue.WAITING] + counts[Queue.PROCESSING]


def check_settings(settings: BaseSettings, config: Config) -> None:
    """ParameterError for the first setting of ours, or of Scrapy's that we read, whose value is unusable."""
    for name, least in NUMBERS.items():
        try:
            if settings.getfloat(name) < least:
                raise ValueError
        except (TypeError, ValueError):
            where = _origin(settings, config, name)
            raise ParameterError(f"{where}: {name} is {settings[name]!r}: give a number, at least {least:g}") from None
    for name in SWITCHES:
        try:
            settings.getbool(name)
        except ValueError:
            where = _origin(settings, config, name)
            raise ParameterError(f"{where}: {name} is {settings[name]!r}: give True or False") from None


def _origin(settings: BaseSettings, config: Config, name: str) -> str:
    if _is_from_command_line(settings, name):
        return f"-s {name}={settings[name]}"
    return f"{config.path}, line {config.line(name)}" if name in config.settings() else f"setting {name}"


def _is_from_command_line(settings: BaseSettings, name: str) -> bool:
    return (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["cmdline"]


def _politeness(settings: BaseSettings) -> Politeness:
    return Politeness(
        delay=settings.getfloat("DOWNLOAD_DELAY"),
        jitter=settings.getfloat("DOWNLOAD_DELAY_JITTER"),
        per_host=settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN") or settings.getint("CONCURRENT_REQUESTS"),
        obey_robots=settings.getbool("ROBOTSTXT_OBEY"),
        max_crawl_delay=settings.getfloat("CRAWL_DELAY_MAX"),
        max_retry_after=settings.getfloat("RETRY_AFTER_MAX"),
        max_backoff=settings.getfloat("HOST_BACKOFF_MAX"),
        robots_tries=settings.getint("ROBOTS_TRIES"),
        robots_retry=settings.getfloat("ROBOTS_BACKOFF"),
        robots_age=settings.getfloat("ROBOTS_MAX_AGE"),
    )
