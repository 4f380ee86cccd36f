"""Scrapy settings of the project: polite and safe by default. Every name of ours is in docs/reference/settings.md."""

from __future__ import annotations

BOT_NAME = "topiccrawl"
SPIDER_MODULES = ["topiccrawl.spiders"]
NEWSPIDER_MODULE = "topiccrawl.spiders"
COMMANDS_MODULE = "topiccrawl.commands"
USER_AGENT = "topiccrawl/0.1"
LOG_LEVEL = "INFO"
LOG_VERSIONS: list[str] = []

# ---- what is crawled: parameters that `-a` and set.conf override (parameters.py) ----
CRAWL_DIR = "crawl"  # the crawl folder
TOPICCRAWL_STRATEGY = "topic"
TOPICCRAWL_M0 = 1.0
TOPICCRAWL_B = 0.5
TOPICCRAWL_F = 0.02
TOPICCRAWL_M_MIN = 0.05

# ---- retries: the frontier's, not Scrapy's ----
TRIES = 3  # fetches of a URL before it stays in error
RETRY_BACKOFF = 10.0  # seconds before the second try; doubled for each further one
RETRY_BACKOFF_MAX = 3600.0
RETRY_WAIT = 600.0  # seconds to wait when only retries are left
RETRY_ENABLED = False

# ---- politeness: the frontier's, nothing waits in the downloader ----
ROBOTSTXT_OBEY = True
ROBOTS_TRIES = 3  # fetches of a robots.txt before the URLs of its host go to error
ROBOTS_BACKOFF = 30.0  # seconds for which a host without a reachable robots.txt is deferred; doubled each time
ROBOTS_MAX_AGE = 86400.0  # seconds after which a robots.txt is fetched again
CRAWL_DELAY_MAX = 30.0  # seconds of Crawl-delay that are obeyed
RETRY_AFTER_MAX = 3600.0  # seconds of Retry-After that are obeyed
HOST_BACKOFF_MAX = 300.0  # seconds to which 429 and 503 can slow a host down
DOWNLOAD_DELAY = 1.0
DOWNLOAD_DELAY_JITTER = 0.0  # only upward
CONCURRENT_REQUESTS_PER_DOMAIN = 1
CONCURRENT_REQUESTS = 64
META_NOINDEX_OBEY = True  # meta robots / X-Robots-Tag noindex: the page is not kept
META_NOFOLLOW_OBEY = True  # meta robots / X-Robots-Tag nofollow: its links are not followed

# ---- the record ----
COMMIT_INTERVAL = 0.05  # seconds between group commits of link.db
HISTORY_INTERVAL = 10.0  # seconds between rows of history
LOGSTATS_INTERVAL = 60.0

# ---- limits of a download ----
DOWNLOAD_TIMEOUT = 30
DOWNLOAD_MAXSIZE = 10 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
DOWNLOAD_VERIFY_CERTIFICATES = True
REDIRECT_MAX_TIMES = 5
REDIRECT_PRIORITY_ADJUST = 0

# ---- Scrapy's parts, ours in their places ----
SCHEDULER = "topiccrawl.scheduler.TopicScheduler"
DOWNLOADER = "topiccrawl.downloader.TrackDownloader"
DOWNLOAD_HANDLERS = {
    "http": "topiccrawl.downloader.PatientHandler",
    "https": "topiccrawl.downloader.PatientHandler",
    "data": None,
    "file": None,
    "ftp": None,
    "s3": None,
}
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "topiccrawl.middlewares.RobotsMiddleware": 100,
    "topiccrawl.middlewares.RedirectMiddleware": 600,
    "topiccrawl.middlewares.ProxyMiddleware": 750,
}
SPIDER_MIDDLEWARES = {
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
    "topiccrawl.middlewares.ParentMiddleware": 900,
}
ITEM_PIPELINES = {
    "topiccrawl.pipelines.ScorePipeline": 100,
    "topiccrawl.pipelines.StorePipeline": 800,
}
EXTENSIONS = {
    "scrapy.extensions.logstats.LogStats": None,
    "topiccrawl.extensions.Progress": 0,
}
CONCURRENT_ITEMS = 1  # one item a page: a second worker per response would only cost plumbing
DOWNLOADER_STATS = False  # counted by outcome instead
COOKIES_ENABLED = False
METAREFRESH_ENABLED = False  # read from the parsed page instead
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
WARN_ON_GENERATOR_RETURN_VALUE = False
STATS_DUMP = False  # the summary says what matters; True lists all figures
LOG_FORMATTER = "topiccrawl.extensions.QuietLog"
