"""`scrapy crawl`, with errors in one line and an exit code."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import sys

from scrapy.commands import crawl
from scrapy.exceptions import UsageError

from topiccrawl.errors import TopicCrawlError
from topiccrawl.parameters import help_text

logger = logging.getLogger(__name__)

QUIET = ("utils.log", "addons", "middleware", "crawler", "core.engine", "spidermiddlewares.httperror")
"""Scrapy's loggers whose INFO lines tell a crawl's user nothing that our own don't; all speak with -L DEBUG."""

FAULTS = frozenset({"topic", "database", "disk", "internal"})


class Command(crawl.Command):
    """Scrapy's command, quieter and with one line for what is wrong."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if self.settings["LOG_LEVEL"] != "DEBUG":
            for name in QUIET:
                # A filter, since Scrapy sets the levels of its loggers anew when the process is made.
                logging.getLogger(f"scrapy.{name}").addFilter(lambda record: record.levelno > logging.INFO)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args == ["topic"] and opts.spargs.get("help"):
            print(help_text())
            return
        if len(args) != 1:
            raise UsageError("name one spider, as in: scrapy crawl topic -a seeds=seeds/init_url.txt")
        process = self.crawler_process
        assert process is not None
        # Millions of long-lived records and few cycles: collecting rarely saves time.
        gc.set_threshold(50_000, 20, 100)
        gc.freeze()  # what was imported stays
        try:
            crawler = self._create_crawler(args[0])
            task = process.crawl(crawler, **opts.spargs)
        except TopicCrawlError as error:
            self._fail(error)
            return
        if isinstance(task, asyncio.Future):
            task.add_done_callback(self._ended)
        process.start()
        if process.bootstrap_failed:
            self.exitcode = 1
            return
        if crawler.stats and crawler.stats.get_value("finish_reason") in FAULTS:
            self.exitcode = 1

    def _ended(self, task: asyncio.Future[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, TopicCrawlError):
            self._fail(error)
        elif error is not None:
            logger.error("The crawl could not be started: %s: %s", type(error).__name__, error, exc_info=error)
            self.exitcode = 1

    def _fail(self, error: TopicCrawlError) -> None:
        print(f"scrapy crawl: {error}", file=sys.stderr)
        self.exitcode = 1
