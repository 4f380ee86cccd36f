"""What our sub-commands share: the crawl folder as an argument, --json, an example, errors in one line."""

from __future__ import annotations

import argparse
import os
import sys
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from rich.console import Console
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from topiccrawl.errors import TopicCrawlError
from topiccrawl.folder import CrawlFolder
from topiccrawl.urls import seed_url


class FolderCommand(ScrapyCommand):
    """A command on one crawl folder.

    A sub-class names its `positional` arguments (shown in the usage), an `example`, and implements `run_in`.
    The folder is the last positional argument, else the setting CRAWL_DIR.
    """

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}
    positional: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""
    about: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        # Titles of foreign pages may hold what a console can't show.
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        self.console = Console(highlight=False, soft_wrap=True)

    def syntax(self) -> str:
        return " ".join(["[options]", *self.positional, "[CRAWL_DIR]"])

    def short_desc(self) -> str:
        return self.about

    def long_desc(self) -> str:
        return f"{self.about}. Example: {self.example}"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        needed = len(self.positional)
        if not needed <= len(args) <= needed + 1:
            raise UsageError(
                f"{self.example.split()[1]} takes {' '.join(self.positional) or 'no argument'} [CRAWL_DIR]"
            )
        assert self.settings is not None
        folder = CrawlFolder.named(args[needed] if len(args) > needed else self.settings["CRAWL_DIR"])
        try:
            self.run_in(folder, args[:needed], opts)
            sys.stdout.flush()
        except TopicCrawlError as error:
            print(f"scrapy {self.example.split()[1]}: {error}", file=sys.stderr)
            self.exitcode = 1
        except BrokenPipeError:
            # The reader, `head` say, has seen enough. What is still in the buffer must not fail again at the exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.exitcode = 1

    @abstractmethod
    def run_in(self, folder: CrawlFolder, args: Sequence[str], opts: argparse.Namespace) -> None:
        """Do the work. A TopicCrawlError becomes one line on stderr and exit code 1."""

    def print_json(self, value: Any) -> None:
        print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def typed_url(text: str) -> str:
    """The URL that a user means, who may leave out the scheme."""
    return seed_url(text) or text
