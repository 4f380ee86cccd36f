"""`scrapy record`: make a recorded web of a crawl folder, for `scrapy evaluate`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from topiccrawl.commandline import FolderCommand
from topiccrawl.evaluate.record import Recorded, record
from topiccrawl.folder import CrawlFolder


class Command(FolderCommand):
    about = "Make a recorded web of a crawl folder, to replay crawls on it with scrapy evaluate"
    example = "scrapy record crawl my-web"
    positional = ("OUT",)

    def syntax(self) -> str:
        return "[options] [CRAWL_DIR] OUT"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--topic", metavar="NAME", help="what the topic is called (default: the folder's name)")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        # The source stands before the target, as in cp; other commands have the folder last.
        super().run([*args[-1:], *args[:-1]], opts)

    def run_in(self, folder: CrawlFolder, args: Sequence[str], opts: argparse.Namespace) -> None:
        out = Path(args[0]).expanduser()
        made = record(folder, out, opts.topic or folder.path.resolve().name)
        if opts.json:
            self.print_json(made)
        else:
            self._print(made, out)

    def _print(self, made: Recorded, out: Path) -> None:
        lines = [f"{made.pages} pages of {made.hosts} hosts and {made.redirects} redirects recorded in {out}"]
        if made.left_out:
            lines.append(f"{len(made.left_out)} pages left out, whose URLs can't be files: {made.left_out[0]} ...")
        lines.append(f"Now give the pages their grades in {out / 'truth' / made.topic}.tsv: 0, 1 or 2")
        lines.append(f"Then: scrapy evaluate --web {out}")
        self.console.print(escape("\n".join(lines)))
