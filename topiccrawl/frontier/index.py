"""What the embedded store keeps in memory: one fixed-size record per known URL, and the order of waiting.

24 bytes a URL beside the table of key hashes; texts stay in link.db. Nothing here touches the disk: `sqlite.py` writes
first and then changes the index, which therefore never is ahead of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topiccrawl.frontier.base import MAX_DEPTH, Counts, Politeness
from topiccrawl.frontier.hosts import Host, HostTable
from topiccrawl.frontier.order import ROW_BITS, key_pool
from topiccrawl.frontier.pool import KnownTable
from topiccrawl.records import Candidate, Queue
from topiccrawl.strategies import Priorities

QUEUES = list(Queue)
CODES = {queue: code for code, queue in enumerate(Queue)}
WAITING = CODES[Queue.WAITING]
ROW_MASK = (1 << ROW_BITS) - 1

FIELDS = {
    "priority": np.uint32,
    "host": np.uint32,
    "sim": np.uint16,
    "level": np.uint16,
    "depth": np.uint16,
    "queue": np.uint8,
    "https": np.uint8,
}


class Rated(NamedTuple):
    """The part of a known URL's record that another link can change."""

    level: int
    sim: int
    depth: int
    queue: Queue


class UrlIndex:
    """Known URLs by row, with their hosts and the order in which they wait."""

    def __init__(self, politeness: Politeness, priorities: Priorities, rng: Random) -> None:
        self.known = KnownTable(FIELDS)
        self.pool = key_pool()
        self.hosts = HostTable(self.pool, politeness, self._is_current, rng)
        self._priorities = priorities
        self._counts = [0] * len(QUEUES)

    def __len__(self) -> int:
        return len(self.known)

    def counts(self) -> Counts:
        return dict(zip(QUEUES, self._counts, strict=True))

    def column(self, name: str) -> NDArray[Any]:
        return self.known.records.column(name)

    def rated(self, row: int) -> Rated:
        level, sim, depth, queue = (int(self.column(name)[row - 1]) for name in ("level", "sim", "depth", "queue"))
        return Rated(level, sim, depth, QUEUES[queue])

    def queue(self, row: int) -> Queue:
        return QUEUES[int(self.column("queue")[row - 1])]

    def queues(self, hashes: NDArray[np.uint64]) -> list[Queue | None]:
        rows = self.known.find(hashes)
        if not len(self):
            return [None] * len(hashes)
        codes = self.column("queue")[rows - 1]
        return [QUEUES[code] if row else None for row, code in zip(rows.tolist(), codes.tolist(), strict=True)]

    def host(self, row: int) -> Host:
        return self.hosts.numbered(int(self.column("host")[row - 1]))

    def scheme(self, row: int) -> str:
        return "https" if self.column("https")[row - 1] else "http"

    def improvable(self, rows: NDArray[np.int64], candidates: Sequence[Candidate], seeds: bool) -> list[int]:
        """Positions of the candidates that give a known URL a better pair (m, sim) or a smaller depth.

        All those of seeds: what was found as a link is trusted from now on. Done and processing stay as they are:
        their links were judged with the m they had.
        """
        queues = self.column("queue")[rows - 1]
        open_ = np.flatnonzero((queues != CODES[Queue.DONE]) & (queues != CODES[Queue.PROCESSING]))
        positions: list[int] = open_.tolist()
        if seeds or not positions:
            return positions
        slots = rows[open_] - 1
        levels, sims, depths = (self.column(name)[slots] for name in ("level", "sim", "depth"))
        offered = [candidates[i] for i in positions]
        new_levels, new_sims, new_depths = np.array([(c.level, c.sim, c.depth) for c in offered], np.int64).T
        better = (new_levels < levels) | ((new_levels == levels) & (new_sims > sims)) | (new_depths < depths)
        improved: list[int] = open_[better].tolist()
        return improved

    def insert(self, candidates: Sequence[Candidate], hosts: Sequence[Host], queues: Sequence[Queue]) -> None:
        """New records; their rows follow the last known row, in the order given. Hosts are to be placed afterwards."""
        n = len(candidates)
        rows = self.known.insert(np.fromiter((c.hash for c in candidates), np.uint64, n))
        slots = rows - 1
        levels = np.fromiter((c.level for c in candidates), np.int64, n)
        sims = np.fromiter((c.sim for c in candidates), np.int64, n)
        depths = np.fromiter((min(c.depth, MAX_DEPTH) for c in candidates), np.int64, n)
        priorities = self._priorities(levels, sims, depths)
        for name, values in (("level", levels), ("sim", sims), ("depth", depths), ("priority", priorities)):
            self.column(name)[slots] = values
        self.column("host")[slots] = [host.number for host in hosts]
        self.column("queue")[slots] = [CODES[queue] for queue in queues]
        self.column("https")[slots] = [c.url.startswith("https:") for c in candidates]
        keys = (priorities.astype(np.uint64) << np.uint64(ROW_BITS)) | rows.astype(np.uint64)
        for host, queue, key in zip(hosts, queues, keys.tolist(), strict=True):
            self._counts[CODES[queue]] += 1
            if queue is Queue.WAITING:
                host.queue.push(key)

    def rate(self, row: int, rated: Rated, now: float) -> None:
        """Give a record another pair, depth or queue."""
        slot = row - 1
        for name, value in (("level", rated.level), ("sim", rated.sim), ("depth", rated.depth)):
            self.column(name)[slot] = value
        part = (self.column(name)[slot : slot + 1].astype(np.int64) for name in ("level", "sim", "depth"))
        before, priority = int(self.column("priority")[slot]), int(self._priorities(*part)[0])
        self.column("priority")[slot] = priority
        if rated.queue is not self.queue(row):
            self.move(row, rated.queue, now)
        elif rated.queue is Queue.WAITING and priority != before:
            self._enter(row, now)

    def move(self, row: int, queue: Queue, now: float) -> None:
        """The URL is in another queue now."""
        column = self.column("queue")
        self._counts[column[row - 1]] -= 1
        self._counts[CODES[queue]] += 1
        column[row - 1] = CODES[queue]
        if queue is Queue.WAITING:
            self._enter(row, now)

    def load(self, part: NDArray[np.int64]) -> NDArray[np.int64]:
        """Records as the start scan gives them: hash, host, level, sim, depth, queue, https. Gives their rows."""
        rows = self.known.insert(part[:, 0].astype(np.uint64))
        slots = slice(rows[0] - 1, rows[-1])
        host, level, sim, depth, queue, https = part[:, 1:].T
        named = {"host": host, "level": level, "sim": sim, "depth": depth, "queue": queue, "https": https}
        for name, values in (*named.items(), ("priority", self._priorities(level, sim, depth))):
            self.column(name)[slots] = values
        self._counts = (self._counts + np.bincount(queue, minlength=len(QUEUES))).tolist()
        return rows

    def loaded(self, now: float) -> None:
        """Put every waiting URL that was loaded in its place, host by host."""
        waiting = np.flatnonzero(self.column("queue")[: len(self)] == WAITING)
        if not len(waiting):
            return
        hosts = self.column("host")[waiting]
        order = np.argsort(hosts, kind="stable")
        waiting, hosts = waiting[order], hosts[order]
        keys = self.column("priority")[waiting].astype(np.uint64) << np.uint64(ROW_BITS)
        keys |= waiting.astype(np.uint64) + np.uint64(1)
        starts = [0, *(np.flatnonzero(np.diff(hosts)) + 1).tolist(), len(hosts)]
        for start, end in pairwise(starts):
            host = self.hosts.numbered(int(hosts[start]))
            host.queue.extend(keys[start:end])
            self.hosts.place(host, now)

    def reprioritise(self, priorities: NDArray[np.uint32], now: float) -> None:
        """One priority a row, in the place of those that the strategy gave."""
        self.column("priority")[: len(self)] = priorities
        for host in self.hosts:
            host.queue.drain()
            self.hosts.head(host)
        self.loaded(now)

    def destroy(self) -> None:
        self.known.destroy()
        self.hosts.destroy()
        self.pool.destroy()

    def _enter(self, row: int, now: float) -> None:
        host = self.host(row)
        host.queue.push(int(self.column("priority")[row - 1]) << ROW_BITS | row)
        self.hosts.place(host, now)

    def _is_current(self, key: int) -> bool:
        slot = (key & ROW_MASK) - 1
        return bool(self.column("queue")[slot] == WAITING and self.column("priority")[slot] == key >> ROW_BITS)
