"""`scrapy queues`: the five counts, the head of waiting, reasons in error and discard, the harvest rate."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from topiccrawl.archive.inspect import Folder, Overview
from topiccrawl.commandline import FolderCommand
from topiccrawl.database import Database
from topiccrawl.folder import CrawlFolder
from topiccrawl.records import Queue


class Command(FolderCommand):
    about = "Show the five queues of a crawl, the head of waiting, and reasons in error and discard"
    example = "scrapy queues crawl"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--top", type=int, default=10, metavar="N", help="URLs of waiting to show (default: 10)")

    def run_in(self, folder: CrawlFolder, args: Sequence[str], opts: argparse.Namespace) -> None:
        database = Database.read(folder.path)
        overview = Folder(database).overview(max(0, opts.top))
        database.close()
        if opts.json:
            self.print_json(overview)
        else:
            self._print(overview, folder)

    def _print(self, overview: Overview, folder: CrawlFolder) -> None:
        table = Table(
            title=f"{escape(str(folder.path))}: {sum(overview.queues.values())} URLs known", title_justify="left"
        )
        table.add_column("queue")
        table.add_column("URLs", justify="right")
        table.add_column("reasons")
        for queue in Queue:
            reasons = ", ".join(f"{label} {count}" for label, count in overview.by_queue[queue].items())
            table.add_row(queue, str(overview.queues[queue]), escape(reasons))
        self.console.print(table)
        self.console.print(
            f"{overview.pages} pages stored, {overview.relevant} on topic: harvest rate {overview.harvest_rate:.1%}"
        )
        if overview.next_retry is not None:
            self.console.print(f"next retry in {max(0, overview.next_retry - time.time()):.0f} s")
        if overview.top:
            self.console.print("\nhead of waiting (m, sim, depth):")
        for url in overview.top:
            self.console.print(f"  {url.m:<6.4g} {url.sim:<6.3f} {url.depth:<3} {escape(url.url)}")
