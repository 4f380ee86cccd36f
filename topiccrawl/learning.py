"""A topic learned from the seed pages.

Without a topic the pages of the seeds are stored with their links unscored ("held"). When every seed has ended the
topic is learned once, kept in link.db, and the held pages are scored like any other, each in one step. A kill at any
point leaves either no topic, and then it is learned at the next start, or held pages, which `finish` takes up.
"""

from __future__ import annotations

import logging

import msgspec

from topiccrawl.archive.catalogue import Held, new_links
from topiccrawl.archive.pagefiles import PageNames, page_info
from topiccrawl.crawl import Crawl
from topiccrawl.errors import TopicError
from topiccrawl.html import parse_html, parse_text
from topiccrawl.records import Page, Queue, Reason, Selection
from topiccrawl.responses import HTML_TYPES
from topiccrawl.topics import learn_topic

logger = logging.getLogger(__name__)


def learn(crawl: Crawl) -> None:
    """Learn the topic from the pages of the seeds, and score what they hold. TopicError when they give none."""
    pages = [page for held in crawl.catalogue.held() if held.depth == 0 and (page := reread(crawl, held))]
    if not pages:
        raise TopicError(
            "topic: none given, and no seed page could be fetched to learn it from; give one with -a topic=FILE"
            " (see the reasons with `scrapy queues`)"
        )
    topic = learn_topic([(page.final_url, page.document) for page in pages])
    # The links of a seed that asked not to be kept are nowhere: it is fetched once more, now that they can be scored.
    crawl.frontier.requeue(Selection(queue=Queue.DONE, reason=Reason.NOINDEX))
    crawl.keep_topic(topic)
    crawl.judge.learned(topic)
    crawl.database.commit()
    words = ", ".join(f"{word} {weight:g}" for word, weight in topic.words.items())
    logger.info("Topic learned from %d seed pages and written to %s: %s", len(pages), crawl.folder.topic, words)
    finish(crawl)


def finish(crawl: Crawl) -> None:
    """Score the pages that are still held. One whose files are gone is fetched again."""
    for held in crawl.catalogue.held():
        page = reread(crawl, held)
        if page is None:
            crawl.log.write("WARNING", "file", held.url, "its files are gone; it waits again")
            crawl.catalogue.unhold(held.row)
            crawl.frontier.requeue(Selection(queue=Queue.DONE, url=held.url))
            continue
        page = crawl.judge.score(page, crawl.frontier.queues_of, follow=crawl.follows(page))
        candidates = crawl.judge.candidates(page)
        names = crawl.files.write(page, crawl.inherited(page), crawl.judge.m)
        with crawl.database.transaction() as connection:
            rows = crawl.frontier.add(candidates, parent=held.row)
            links = new_links(page, candidates, rows)
            crawl.catalogue.add_page(connection, held.row, page, names, links, held=False)


def reread(crawl: Crawl, held: Held) -> Page | None:
    """A stored page as the spider made it, from its files; None where they are gone."""
    try:
        info, body = crawl.files.read_info(held.key), crawl.files.read_page(held.key)
    except (OSError, msgspec.DecodeError):
        return None
    text = body.decode(info["code"] or "utf-8", "replace").removeprefix("\ufeff")
    language = info["response_headers"].get("Content-Language", "")
    is_html = info["type"] in HTML_TYPES or not info["type"]
    parsed = parse_html(text, info["final_url"], content_language=language) if is_html else None
    page = Page(
        url=held.url,
        key=held.key,
        final_url=info["final_url"],
        status=info["status"],
        type=info["type"],
        charset=info["code"],
        fetched_at=info["fetched_at"],
        request_headers=info["request_headers"],
        headers=info["response_headers"],
        body=body,
        sha256=info["sha256"],
        document=parsed or parse_text(text, info["final_url"]),
        depth=held.depth,
        level=held.level,
        sim=held.sim,
        parent=held.parent,
        ip_address=info["ip_address"],
    )
    known = page_info(page, PageNames.of(held.key), crawl.inherited(page), [])
    page.extra.update((name, value) for name, value in info.items() if name not in known)
    return page
