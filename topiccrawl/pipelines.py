"""Pipelines: a Page is scored, written to its files, and staged on its lease. The scheduler then ends the lease."""

from __future__ import annotations

from typing import Any, Self

from scrapy.crawler import Crawler

from topiccrawl import items
from topiccrawl.archive.pagefiles import PageNames
from topiccrawl.crawl import Crawl
from topiccrawl.records import Page
from topiccrawl.urls import url_key

items.register()


class ScorePipeline:
    """Gives a Page its relevance and each of its links sim, level and reason."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Crawl.of(crawler))

    def process_item(self, item: Any) -> Any:
        if not isinstance(item, Page):
            return item
        return self._crawl.judge.score(item, self._crawl.frontier.queues_of, follow=self._crawl.follows(item))


class StorePipeline:
    """Writes the three files of a Page and stages it. A page that is not to be kept is staged without files."""

    def __init__(self, crawl: Crawl, crawler: Crawler) -> None:
        self._crawl = crawl
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Crawl.of(crawler), crawler)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page):
            assert self._crawler.engine is not None
            scheduler: Any = self._crawler.engine.scheduler
            scheduler.stage(item, self._write(item) if self._is_kept(item) else None)
        return item

    def _is_kept(self, page: Page) -> bool:
        if page.document.refresh and url_key(page.document.refresh) != url_key(page.url):
            return False
        return self._crawl.keeps(page)

    def _write(self, page: Page) -> PageNames:
        return self._crawl.files.write(page, self._crawl.inherited(page), self._crawl.judge.m)
