"""The SQLite frontier alone: adding, taking and finishing, restart and memory at a size. One process per size, so that
memory is that of this size alone.

    python -m tests.bench.store URLS            prints one line of JSON
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from topiccrawl.database import Database
from topiccrawl.frontier.base import Politeness
from topiccrawl.frontier.sqlite import SqliteFrontier
from topiccrawl.records import Candidate, Outcome, Queue
from topiccrawl.urls import key_hash

HOSTS = 1000
BATCH = 50  # new URLs of one page
ROUNDS = 10_000  # take + finish, alone and with the links of a page
NEW, KNOWN = 5, 45  # links of a page
POLITE = Politeness(delay=0, obey_robots=False, per_host=8)


def candidate(number: int) -> Candidate:
    """URL number n: about 60 characters, one of HOSTS hosts, a pair that spreads over the order."""
    host = f"www.host{number % HOSTS:03d}.example.org"
    url = f"http://{host}/section/{number // HOSTS:05d}/article-{number:09d}.html"
    mixed = (number * 2654435761) & 0xFFFFFFFF
    return Candidate(
        url=url,
        key=url,
        hash=key_hash(url),
        host=host,
        level=mixed & 3,
        sim=mixed >> 16,
        depth=3,
        text="an article about something",
    )


def resident() -> float:
    """Megabytes that the process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def measure(urls: int, folder: Path) -> dict[str, float]:
    database = Database.create(folder)
    frontier = SqliteFrontier(database, politeness=POLITE)
    parent = frontier.add([candidate(0)])[0]
    before = resident()
    seconds = _add(database, frontier, parent, urls)
    grown = resident() - before
    found = {"urls": urls, "add": urls / seconds, "megabytes": grown, "pools": _pools(frontier)}
    found["take_finish"] = ROUNDS / _work(database, frontier, urls, new=0, known=0)
    found["with_links"] = ROUNDS / _work(database, frontier, urls, new=NEW, known=KNOWN)
    frontier.close()
    found["pools_after_close"] = _pools(frontier)
    database.close()
    begun = time.perf_counter()
    database = Database.create(folder)
    frontier = SqliteFrontier(database, politeness=POLITE)
    found["restart"] = time.perf_counter() - begun
    frontier.take(1)
    database.close()
    return found


def _add(database: Database, frontier: SqliteFrontier, parent: int, urls: int) -> float:
    """Seconds for adding; making the candidates is not counted."""
    seconds = 0.0
    for start in range(1, urls, BATCH):
        batch = [candidate(n) for n in range(start, min(start + BATCH, urls))]
        begun = time.perf_counter()
        frontier.add(batch, parent)
        if start // BATCH % 20 == 0:
            database.commit()
        seconds += time.perf_counter() - begun
    return seconds


def _work(database: Database, frontier: SqliteFrontier, urls: int, *, new: int, known: int) -> float:
    """Seconds for ROUNDS of take and finish; making the candidates is not counted."""
    seconds = 0.0
    for number in range(ROUNDS):
        links = [candidate(urls + number * new + i) for i in range(new)]
        links += [candidate((number * 7919 + i * 104729) % urls) for i in range(known)]
        begun = time.perf_counter()
        (lease,) = frontier.take(1)
        frontier.finish(lease, Outcome(queue=Queue.DONE, status=200), links)
        if number % 20 == 0:
            database.commit()
        seconds += time.perf_counter() - begun
    return seconds


def _pools(frontier: SqliteFrontier) -> float:
    """Megabytes of the memory pools."""
    return (frontier.index.known.nbytes() + frontier.index.pool.nbytes()) / 1e6


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(int(sys.argv[1]), Path(folder))))
