"""The topic spider: a response becomes one Page. Everything else happens behind it.

Subclass it to keep more of a page:

    class Recipes(TopicSpider):
        name = "recipes"

        def parse(self, response):
            for page in super().parse(response):
                page.extra["ingredients"] = response.css(".ingredient::text").getall()
                yield page
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Spider
from scrapy.http import Response
from scrapy.settings import BaseSettings

from topiccrawl.folder import CrawlFolder
from topiccrawl.parameters import Config
from topiccrawl.records import Page
from topiccrawl.responses import page_of


class TopicSpider(Spider):
    """`scrapy crawl topic -a seeds=...`; the arguments are those of parameters.py."""

    name = "topic"

    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        self.arguments = arguments

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Settings in the crawl folder's set.conf come before settings.py and after the command line."""
        super().update_settings(settings)
        config = Config(CrawlFolder.named(settings["CRAWL_DIR"]).config)
        for name, value in config.settings().items():
            settings.set(name, value, priority="spider")

    async def start(self) -> AsyncIterator[Any]:
        """Nothing: the scheduler puts the seeds into the frontier itself, where a kill can't lose them."""
        return
        yield

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Page]:
        page = page_of(response, response.meta["lease"])
        if page is not None:
            yield page
