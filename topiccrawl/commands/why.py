"""`scrapy why URL`: where a URL is, why, how its score came about, and the path of parents back to a seed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import datetime

from rich.markup import escape

from topiccrawl.archive.inspect import Folder, Verdict
from topiccrawl.commandline import FolderCommand, typed_url
from topiccrawl.database import Database
from topiccrawl.folder import CrawlFolder


class Command(FolderCommand):
    about = "Explain one URL: its queue, reason, score parts, and the path of parents back to a seed"
    example = "scrapy why https://example.org/page crawl"
    positional = ("URL",)

    def run_in(self, folder: CrawlFolder, args: Sequence[str], opts: argparse.Namespace) -> None:
        database = Database.read(folder.path)
        verdict = Folder(database).why(typed_url(args[0]))
        database.close()
        if verdict is None:
            print(f"scrapy why: {args[0]}: not known in {folder.path}: no fetched page links to it", file=sys.stderr)
            self.exitcode = 1
        elif opts.json:
            self.print_json(verdict)
        else:
            self._print(verdict)

    def _print(self, v: Verdict) -> None:
        lines = [v.url, f"  queue      {v.queue}" + (f" ({v.reason})" if v.reason else "")]
        lines += [f"  note       {v.note}"] if v.note else []
        lines.append(f"  since      {datetime.fromtimestamp(v.changed_at).astimezone():%Y-%m-%d %H:%M:%S}")
        if v.retry_at is not None:
            lines.append(f"  next try   in {max(0, v.retry_at - time.time()):.0f} s")
        lines.append(
            f"  tries      {v.tries}" + (f", of which {v.crashes} ended with the process" if v.crashes else "")
        )
        lines.append(f"  m          {v.m:.4g} (m0·b^{v.level}; URLs below {v.m_min:g} are discarded)")
        if len(v.path) > 1:
            word = "relevant" if v.relevant_link else "not relevant"
            lines.append(f"  sim        {v.sim:.4f}: {word}, the threshold f is {v.f:g}")
            lines.append(f"  link text  {v.link_text!r}")
            matched = ", ".join(f"{m['word']} ×{m['count']} (weight {m['weight']:g})" for m in v.matches)
            lines.append(f"  matched    {matched or 'no word of the topic'}")
        lines.append(f"  depth      {v.depth}")
        lines += [f"  leads to   {v.redirects_to}"] if v.redirects_to else []
        if v.file:
            relevance = "not judged yet" if v.relevance is None else f"{v.relevance:.3f}"
            lines += [f"  file       {v.file}", f"  relevance  {relevance}"]
        lines.append("  path       " + ("a seed" if len(v.path) == 1 else "from the seed:"))
        for n, step in enumerate(v.path if len(v.path) > 1 else []):
            text = f"  by {step.link_text!r}, sim {step.sim:.3f}" if n else ""
            lines.append(f"    {n}. m {step.m:<6.4g} {step.url}{text}")
        self.console.print(escape("\n".join(lines)))
