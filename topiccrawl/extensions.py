"""What a person sees of a crawl: a live panel on a terminal, a log line elsewhere, and a summary at the end."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.logformatter import LogFormatter, LogFormatterResult
from scrapy.utils.asyncio import CallLaterResult, call_later
from scrapy.utils.log import get_scrapy_root_handler

from topiccrawl.crawl import Crawl
from topiccrawl.records import Queue

logger = logging.getLogger(__name__)

PANEL_INTERVAL = 0.5  # seconds

WHY = {
    "finished": "nothing is left to fetch",
    "pages": "the limit of pages is reached",
    "shutdown": "it was stopped",
    "topic": "no topic could be learned",
    "database": "link.db can't be written",
    "disk": "the disk can't be written",
    "internal": "of a fault in the program, see the log",
}


def _when(due: float | None, busy: bool) -> str:
    if due is None:
        return "when a request ends" if busy else "never"
    return "now" if due == 0 else f"in {due:.0f} s"


class QuietLog(LogFormatter):
    """No line per page, and no bodies in lines about faults."""

    def crawled(self, request: Any, response: Any, spider: Any) -> LogFormatterResult | None:  # type: ignore[override]
        return None

    def scraped(self, item: Any, response: Any, spider: Any) -> LogFormatterResult | None:  # type: ignore[override]
        return None

    def dropped(self, item: Any, exception: Any, response: Any, spider: Any) -> LogFormatterResult:
        args = {"exception": exception, "item": getattr(item, "url", type(item).__name__)}
        return {"level": logging.WARNING, "msg": "Dropped %(item)s: %(exception)s", "args": args}

    def item_error(self, item: Any, exception: Any, response: Any, spider: Any) -> LogFormatterResult:
        args = {"exception": exception, "item": getattr(item, "url", type(item).__name__)}
        return {"level": logging.ERROR, "msg": "Storing %(item)s failed: %(exception)s", "args": args}


class Progress:
    """Shows pages, speed, harvest rate, the five queues, hosts, and when the next URL is due."""

    def __init__(self, crawler: Crawler, crawl: Crawl, interval: float) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._interval = interval
        self._live: Live | None = None
        self._console = Console(stderr=True)
        self._timer: CallLaterResult | None = None
        self._last = (time.monotonic(), crawl.catalogue.totals.pages)
        self._rate = 0.0
        self._begun = self._last

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        # Extensions are made before the engine: the crawl opens here first.
        interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if crawler.spider is None or not hasattr(crawler.spider, "arguments"):
            raise NotConfigured("only for crawls of topiccrawl's spiders")
        progress = cls(crawler, Crawl.of(crawler), interval)
        crawler.signals.connect(progress._opened, signals.spider_opened)
        crawler.signals.connect(progress._closed, signals.spider_closed)
        return progress

    def _opened(self, spider: Spider) -> None:
        self._begun = self._last = (time.monotonic(), self._crawl.catalogue.totals.pages)
        handler = get_scrapy_root_handler()
        if self._console.is_terminal and isinstance(handler, logging.StreamHandler) and handler.stream is sys.stderr:
            self._live = Live(console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
            handler.setStream(sys.stderr)  # which Live has just replaced
            self._tick_panel()
        elif self._interval:
            self._timer = call_later(self._interval, self._tick_line)

    def _closed(self, spider: Spider, reason: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._live is not None:
            self._live.stop()
            handler = get_scrapy_root_handler()
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(sys.stderr)
        self._count_stats()
        for line in self.summary(reason):
            logger.info("%s", line)

    def _tick_line(self) -> None:
        self._measure()
        logger.info("%s", self.line())
        self._timer = call_later(self._interval, self._tick_line)

    def _tick_panel(self) -> None:
        if time.monotonic() - self._last[0] >= 4 * PANEL_INTERVAL:
            self._measure()
        if self._live is not None:
            with contextlib.suppress(OSError):
                self._live.update(self._panel())
        self._timer = call_later(PANEL_INTERVAL, self._tick_panel)

    def _measure(self) -> None:
        now, pages = time.monotonic(), self._crawl.catalogue.totals.pages
        self._rate = (pages - self._last[1]) / max(now - self._last[0], 1e-9)
        self._last = (now, pages)

    def _figures(self) -> dict[str, str]:
        totals, frontier = self._crawl.catalogue.totals, self._crawl.frontier
        due = frontier.next_due()
        return {
            "pages": str(totals.pages),
            "pages/s": f"{self._rate:.1f}",
            "harvest": f"{totals.harvest_rate:.1%}",
            **{str(queue): str(count) for queue, count in frontier.counts().items()},
            "hosts": str(frontier.index.hosts.waiting()),
            "next due": _when(due, bool(frontier.leases())),
        }

    def line(self) -> str:
        """The figures in one line."""
        return ", ".join(f"{name} {value}" for name, value in self._figures().items())

    def _panel(self) -> Table:
        """Two rows of figures, narrow enough for 80 columns."""
        figures = self._figures()
        queues = [(str(queue), figures.pop(queue)) for queue in Queue]
        table = Table.grid(padding=(0, 2))
        table.title, table.title_justify = f"topiccrawl: {self._crawl.folder.path}", "left"
        for row in (list(figures.items()), queues):
            table.add_row(*(f"[dim]{name}[/] [bold]{escape(value)}[/]" for name, value in row))
        return table

    def summary(self, reason: str) -> list[str]:
        """What was got, why it stopped, and what to run next."""
        crawl, now = self._crawl, time.monotonic()
        totals, counts = crawl.catalogue.totals, crawl.last_counts
        new, seconds = totals.pages - self._begun[1], now - self._begun[0]
        folder = crawl.folder.path
        lines = [
            f"Got {new} pages in {seconds:.0f} s ({new / max(seconds, 1e-9):.1f}/s); {folder} now holds {totals.pages},"
            f" {totals.relevant} of them on topic (harvest rate {totals.harvest_rate:.1%})",
            "Queues: " + ", ".join(f"{queue} {counts[queue]}" for queue in Queue),
            f"Stopped because {crawl.last_due if reason == 'finished' and crawl.last_due else WHY.get(reason, reason)}",
        ]
        at = f" {folder}" if str(folder) != "crawl" else ""
        lines.append(f"Next: `scrapy queues{at}` shows what is where and why; the same command again goes on")
        if counts[Queue.ERROR]:
            lines.append(f"      `scrapy requeue --queue error{at}` gives the URLs in error another chance")
        return lines

    def _count_stats(self) -> None:
        stats, totals = self._crawler.stats, self._crawl.catalogue.totals
        assert stats is not None
        stats.set_value("topiccrawl/pages", totals.pages)
        stats.set_value("topiccrawl/relevant", totals.relevant)
        stats.set_value("topiccrawl/harvest_rate", totals.harvest_rate)
        for queue, count in self._crawl.last_counts.items():
            stats.set_value(f"topiccrawl/queue/{queue}", count)
