"""The order of waiting: one `KeyQueue` per host, over chunks of the memory pool.

Vocabulary
    key       64-bit integer: priority << 32 | row. Smaller is earlier; the row is "first come"
    front     a heap of few keys, all smaller than every key behind it
    segment   unsorted keys in chunks of the pool, none below its `low` and all below the next segment's

A key goes to the front or to the segment that its size names. When the front is empty the first segment is cut: an
eighth of it, by numpy's partition, becomes a segment of its own, until one is small enough to be sorted. It is a
quicksort that does only as much as is taken (Paredes and Navarro, "Optimal incremental sorting", 2006), so that a
queue of five million keys costs no more per key than a queue of ten thousand.

Keys are never removed from the middle: a URL that is raised gets a second key, and whoever pops a key asks the
record of its row whether that key still counts.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from topiccrawl.frontier.pool import RecordPool

CHUNK = 62  # keys in one record of the pool
FRONT = 32  # keys that a refill brings to the front
SORTED_AT = 4096  # a segment of at most this many keys is sorted whole

ROW_BITS = 32
MAX_PRIORITY = (1 << 32) - 1


def key_pool(block: int = 1024) -> RecordPool:
    """A pool of chunks, shared by the queues of all hosts."""
    return RecordPool({"keys": (np.uint64, (CHUNK,))}, block)


class Segment:
    """Unsorted keys in chunks of the pool."""

    __slots__ = ("chunks", "count")

    def __init__(self) -> None:
        self.chunks = array("q")
        self.count = 0

    def push(self, key: int, pool: RecordPool) -> None:
        place = self.count % CHUNK
        if place == 0:
            self.chunks.append(int(pool.new()[0]))
        pool.column("keys")[self.chunks[-1], place] = key
        self.count += 1

    def fill(self, keys: NDArray[np.uint64], pool: RecordPool) -> None:
        """Write many keys into an empty segment."""
        whole, rest = divmod(len(keys), CHUNK)
        slots = pool.new(whole + bool(rest))
        column = pool.column("keys")
        column[slots[:whole]] = keys[: whole * CHUNK].reshape(whole, CHUNK)
        if rest:
            column[slots[-1], :rest] = keys[whole * CHUNK :]
        self.chunks = array("q", slots.tobytes())
        self.count = len(keys)

    def drain(self, pool: RecordPool) -> NDArray[np.uint64]:
        """All keys, unsorted; the chunks go back to the pool."""
        slots = np.frombuffer(self.chunks, np.int64) if self.count else np.empty(0, np.int64)
        keys = pool.column("keys")[slots].reshape(-1)[: self.count]
        pool.delete(slots)
        self.chunks, self.count = array("q"), 0
        return keys


class KeyQueue:
    """A priority queue of keys whose bulk lives in the pool."""

    __slots__ = ("_front", "_lows", "_pool", "_segments")

    def __init__(self, pool: RecordPool) -> None:
        self._pool = pool
        self._front: list[int] = []
        self._segments: list[Segment] = []
        self._lows: list[int] = []  # of the segments, for bisection

    def __len__(self) -> int:
        return len(self._front) + sum(segment.count for segment in self._segments)

    def push(self, key: int) -> None:
        place = bisect_right(self._lows, key)
        if place:
            self._segments[place - 1].push(key, self._pool)
            return
        heappush(self._front, key)
        if len(self._front) > 4 * FRONT:
            self._spill()

    def extend(self, keys: NDArray[np.uint64]) -> None:
        """Push many keys; fast where the queue is empty."""
        if len(self) or len(keys) <= FRONT:
            for key in keys.tolist():
                self.push(key)
            return
        self._insert(0, keys)

    def peek(self) -> int | None:
        """The smallest key, None where there is none."""
        if not self._front and self._segments:
            self._refill()
        return self._front[0] if self._front else None

    def pop(self) -> int:
        """Take the smallest key. IndexError where there is none."""
        if self.peek() is None:
            raise IndexError("pop from an empty queue")
        return heappop(self._front)

    def drain(self) -> list[int]:
        """Take all keys, in any order."""
        keys, self._front = self._front, []
        for segment in self._segments:
            keys.extend(segment.drain(self._pool).tolist())
        self._segments, self._lows = [], []
        return keys

    def _insert(self, low: int, keys: NDArray[np.uint64]) -> None:
        """A new first segment."""
        segment = Segment()
        segment.fill(keys, self._pool)
        self._segments.insert(0, segment)
        self._lows.insert(0, low)

    def _spill(self) -> None:
        """Move the greater part of the front into the first segment, or into a new one if that is large."""
        self._front.sort()
        rest = self._front[FRONT:]
        del self._front[FRONT:]
        if self._segments and self._segments[0].count < SORTED_AT:
            for key in rest:
                self._segments[0].push(key, self._pool)
            self._lows[0] = rest[0]
        else:
            self._insert(rest[0], np.array(rest, np.uint64))

    def _refill(self) -> None:
        """Bring the smallest keys of the first segment to the empty front."""
        while True:
            low = self._lows.pop(0)
            keys = self._segments.pop(0).drain(self._pool)
            if len(keys) <= SORTED_AT:
                break
            cut = len(keys) // 8
            keys.partition(cut)
            self._insert(int(keys[cut]), keys[cut:])
            self._insert(low, keys[:cut])
        keys.sort()
        self._front = keys[:FRONT].tolist()  # sorted, and so a heap
        if len(keys) > FRONT:
            self._insert(int(keys[FRONT]), keys[FRONT:])
