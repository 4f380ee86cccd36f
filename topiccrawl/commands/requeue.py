"""`scrapy requeue`: give URLs another chance. Applied by the running crawl within a second, else at once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing

from scrapy.exceptions import UsageError

from topiccrawl.commandline import FolderCommand, typed_url
from topiccrawl.database import Database
from topiccrawl.folder import CrawlFolder
from topiccrawl.frontier import rows
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.records import Queue, Reason, Selection


class Command(FolderCommand):
    about = "Put URLs of error, discard or done back into waiting, by queue, reason, host or URL"
    example = "scrapy requeue --queue error --reason timeout crawl"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--queue",
            choices=["error", "discard", "done"],
            help="the queue they are in; without it --reason and --host mean error and discard, never done",
        )
        parser.add_argument("--reason", metavar="REASON", help="their reason, as shown by `scrapy queues`")
        parser.add_argument("--host", metavar="HOST", help="their host, with its port where that is not 80 or 443")
        parser.add_argument("--url", metavar="URL", help="one URL, also one that is done")

    def run_in(self, folder: CrawlFolder, args: Sequence[str], opts: argparse.Namespace) -> None:
        selection = self._selection(opts)
        database = Database.read(folder.path)
        with closing(database), database.faults():
            count = len(rows.select(database.connection, selection))
        running = count > 0 and folder.is_running()
        if running:
            folder.drop(selection)
        elif count:
            count = apply(folder, selection)
        if opts.json:
            self.print_json({"requeued": count, "by": "running crawl" if running else "command"})
        else:
            self.console.print(f"{count} URLs wait again" + (" (asked of the running crawl)" if running else ""))

    def _selection(self, opts: argparse.Namespace) -> Selection:
        if not any((opts.queue, opts.reason, opts.host, opts.url)):
            raise UsageError("say which URLs: --queue, --reason, --host or --url")
        if opts.reason and rows.split_reason(opts.reason)[0] not in {str(reason) for reason in Reason}:
            raise UsageError(f"no such reason: {opts.reason}; known are {', '.join(Reason)}, and http-404 and its like")
        queue = Queue(opts.queue) if opts.queue else None
        url = typed_url(opts.url) if opts.url else None
        return Selection(queue=queue, reason=opts.reason, host=opts.host, url=url)


def apply(folder: CrawlFolder, selection: Selection) -> int:
    """Re-queue in a folder in which no crawl is running."""
    folder.lock()
    try:
        database = Database.create(folder.path)
        frontier = SqliteFrontier(database)
        count = frontier.requeue(selection)
        frontier.close()
        database.close()
    finally:
        folder.unlock()
    return count
