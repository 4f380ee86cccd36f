"""What topiccrawl is measured against: Scrapy's own CrawlSpider and LinkExtractor, tuned as its docs advise.

It follows the same links (all, within the given domains) and writes the same bytes.
"""

import hashlib
from pathlib import Path

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class PlainSpider(CrawlSpider):
    name = "plain"
    rules = (Rule(LinkExtractor(deny_extensions=()), callback="keep", follow=True),)
    custom_settings = {  # noqa: RUF012
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "LOG_LEVEL": "ERROR",
        "EXTENSIONS": {"tests.bench.meter.Meter": 0},
    }

    def __init__(self, seeds: str, domains: str, folder: str, meter: str) -> None:
        super().__init__()
        self.start_urls = seeds.split()
        self.allowed_domains = domains.split(",")
        self.meter_file = meter
        self._folder = Path(folder)
        self._folder.mkdir(parents=True)

    def parse_start_url(self, response):
        return self.keep(response)

    def keep(self, response):
        if response.headers.get("Content-Type", b"").startswith(b"text/"):
            (self._folder / hashlib.sha1(response.url.encode()).hexdigest()).write_bytes(response.body)
            yield {"url": response.url}
