"""`make bench`: one run, ratios, a table; a few minutes.

python -m tests.bench [--write]     --write puts the table into docs/reference/performance.md
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

from tests.bench import crawls

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/performance.md"
ROUNDS = 3  # of each crawl, in turns
SIZES = (500_000, 2_000_000, 5_000_000)
FULL = 2_000_000  # URLs waiting beside a crawl

INTRO = """# Performance

Measured by `make bench` in one run, so that the ratios hold whatever the machine; absolute figures vary by a third
between runs on a shared machine. CPU seconds are those of the crawling process between the opening and the closing of
the spider.

The plain crawl is Scrapy's `CrawlSpider` with `LinkExtractor`, tuned (64 requests at once, no cookies, no console): it
follows the same links of the same server and writes the same bytes. topiccrawl runs with everything on: scoring of
links and pages, page files, page info, link lists, link.db.
"""


def folder_in_memory():
    """Where disks of other tenants don't count."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)


def bench_crawls(lines):
    with crawls.served() as web, folder_in_memory() as name:
        folder = Path(name)
        ours, plain = [], []
        crawls.fill(folder / "full", FULL)
        for n in range(ROUNDS):
            ours.append(crawls.ours(web, folder / f"ours{n}", folder / "meter"))
            plain.append(crawls.plain(web, folder / f"plain{n}", folder / "meter"))
        parts = crawls.ours(web, folder / "parts", folder / "meter", parts=True)
        pages = ours[0]["pages"]  # with so many that wait, the crawl has no end of its own
        empty = crawls.ours(web, folder / "empty", folder / "meter", pages=pages)
        full = crawls.ours(web, folder / "full", folder / "meter", pages=pages)
    a, b = (statistics.median(run["pages"] / run["cpu"] for run in runs) for runs in (ours, plain))
    engine = parts["cpu"] - parts["parse"] - parts["score"] - parts["store"]
    per_page = {name: 1000 * parts[name] / parts["pages"] for name in ("parse", "score", "store")}
    lines += [
        f"| crawl of the {web.name}, {ours[0]['pages']} pages | pages per CPU second | |",
        "|---|---|---|",
        f"| plain CrawlSpider | {b:.0f} | 1 |",
        f"| topiccrawl | {a:.0f} | **{a / b:.2f}** |",
        "",
        "| where topiccrawl's time goes | ms a page | share |",
        "|---|---|---|",
        *(f"| {name} | {ms:.2f} | {parts[name] / parts['cpu']:.0%} |" for name, ms in per_page.items()),
        f"| engine (Scrapy, Twisted) | {1000 * engine / parts['pages']:.2f} | {engine / parts['cpu']:.0%} |",
        "",
        "| URLs waiting beside the crawl | pages per CPU second | |",
        "|---|---|---|",
        f"| none | {empty['pages'] / empty['cpu']:.0f} | 1 |",
        f"| {FULL:,} | {full['pages'] / full['cpu']:.0f} | "
        f"**{(full['pages'] / full['cpu']) / (empty['pages'] / empty['cpu']):.2f}** |",
        "",
    ]


def bench_store(lines):
    rows = []
    for size in SIZES:
        command = [sys.executable, "-m", "tests.bench.store", str(size)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout))
    slope = rows[-1]["take_finish"] / rows[0]["take_finish"]
    lines += [
        "| the store alone, URLs waiting | add/s | take + finish/s | with 5 new and 45 known links each"
        " | memory grown, MB | of which pools | restart, s |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {row['urls']:,} | {row['add']:,.0f} | {row['take_finish']:,.0f} | {row['with_links']:,.0f}"
            f" | {row['megabytes']:.0f} | {row['pools']:.0f} | {row['restart']:.1f} |"
            for row in rows
        ),
        "",
        f"take + finish at {SIZES[-1]:,} against {SIZES[0]:,}: **{slope:.2f}**. After `close` the pools hold"
        f" {rows[-1]['pools_after_close']:.0f} MB.",
        "",
    ]


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reference/performance.md")
    parser.add_argument("--only", choices=["crawls", "store"], help="one half of it")
    options = parser.parse_args()
    lines = [
        f"{date.today():%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}.",
        "",
    ]
    if options.only != "store":
        bench_crawls(lines)
    if options.only != "crawls":
        bench_store(lines)
    print("\n".join(lines))
    if options.write:
        PAGE.write_text(INTRO + "\n" + "\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
