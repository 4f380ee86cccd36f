"""An extension that measures a crawl from inside: CPU seconds from opening to closing, and what they went into."""

import functools
import json
import time
from pathlib import Path

from scrapy import signals

PARTS = {
    "parse": [("topiccrawl.spiders.topic", "page_of")],
    "score": [("topiccrawl.judge", "Judge.score")],
    "store": [
        ("topiccrawl.pipelines", "StorePipeline.process_item"),
        ("topiccrawl.scheduler", "TopicScheduler._settle"),
        ("topiccrawl.scheduler", "TopicScheduler._commit"),
        ("topiccrawl.frontier.sqlite", "SqliteFrontier.take"),
    ],
}


class Meter:
    """Writes {"cpu": s, "pages": n, "parse": s, "score": s, "store": s} to the file that `meter_file` names."""

    def __init__(self, crawler):
        self._crawler = crawler
        self._seconds = dict.fromkeys(PARTS, 0.0)
        self._begun = 0.0
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler):
        meter = cls(crawler)
        if crawler.settings.getbool("METER_PARTS"):
            meter.wrap()
        return meter

    def wrap(self):
        """Let each part count its own seconds. None of them calls another."""
        for part, places in PARTS.items():
            for module, path in places:
                owner = __import__(module, fromlist=["_"])
                *outer, name = path.split(".")
                for attribute in outer:
                    owner = getattr(owner, attribute)
                setattr(owner, name, self._counted(part, getattr(owner, name)))

    def _counted(self, part, function):
        @functools.wraps(function)
        def counted(*args, **kwargs):
            begun = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self._seconds[part] += time.perf_counter() - begun

        return counted

    def _opened(self):
        self._begun = time.process_time()

    def _closed(self):
        stats = self._crawler.stats
        pages = stats.get_value("item_scraped_count", 0)
        found = {"cpu": time.process_time() - self._begun, "pages": pages, **self._seconds}
        name = self._crawler.settings.get("METER_FILE") or self._crawler.spider.meter_file
        Path(name).write_text(json.dumps(found))
