"""The memory pool: fixed-size records in pre-allocated numpy columns, never an object per URL.

    create   RecordPool(fields, block)      columns for `block` records
    new      pool.new(n) -> slots           n records; recycled ones first, then a further block
    delete   pool.delete(slots)             gives records back
    destroy  pool.destroy()                 gives all memory back

Two users: `KnownTable` (one record per known URL, looked up by hash) and `order.KeyQueue` (chunks of waiting keys,
recycled as URLs leave waiting).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Slots = NDArray[np.int64]


class RecordPool:
    """Columns of equal length; a record is one slot in each of them.

    `fields` maps a column's name to its dtype, or to (dtype, shape of one cell). Columns are reached by name:
    `pool.column("sim")[slots]`. A column that was fetched before `new` may be stale after it: fetch it anew.
    """

    def __init__(self, fields: Mapping[str, DTypeLike | tuple[DTypeLike, tuple[int, ...]]], block: int = 4096) -> None:
        if block < 1:
            raise ValueError(f"block must be at least 1, got {block}")
        self.block = block
        self.capacity = 0
        self.used = 0
        self._end = 0  # slots below were handed out at least once
        self._free: NDArray[np.int64] = np.empty(0, np.int64)
        self._free_count = 0
        self._columns: dict[str, NDArray[Any]] = {}
        for name, kind in fields.items():
            dtype, shape = kind if isinstance(kind, tuple) else (kind, ())
            self._columns[name] = np.zeros((0, *shape), dtype)

    def column(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def new(self, n: int = 1) -> Slots:
        """Slots of n records, in ascending order where they are fresh. Recycled records keep their old content."""
        recycled = min(n, self._free_count)
        slots = np.empty(n, np.int64)
        slots[:recycled] = self._free[self._free_count - recycled : self._free_count]
        self._free_count -= recycled
        fresh = n - recycled
        if self._end + fresh > self.capacity:
            self._grow(self._end + fresh)
        slots[recycled:] = np.arange(self._end, self._end + fresh)
        self._end += fresh
        self.used += n
        return slots

    def delete(self, slots: Slots) -> None:
        """Give records back. A slot must not be given back twice."""
        n = len(slots)
        needed = self._free_count + n
        if needed > len(self._free):
            self._free = np.resize(self._free, max(needed, 2 * len(self._free), 64))
        self._free[self._free_count : needed] = slots
        self._free_count = needed
        self.used -= n

    def destroy(self) -> None:
        """Free all memory. The pool is empty afterwards and may be used again."""
        for name, column in self._columns.items():
            self._columns[name] = np.zeros((0, *column.shape[1:]), column.dtype)
        self._free = np.empty(0, np.int64)
        self.capacity = self.used = self._end = self._free_count = 0

    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._columns.values()) + self._free.nbytes

    def _grow(self, needed: int) -> None:
        # An eighth more at a time keeps growth linear where realloc has to copy; on Linux it only remaps pages.
        step = max(self.block, self.capacity >> 3)
        self.capacity = max(needed, self.capacity + step)
        for column in self._columns.values():
            column.resize((self.capacity, *column.shape[1:]), refcheck=False)


EMPTY = 0
_FULL = 0.66
_SMALLEST = 1 << 12
_FEW = 40


class KnownTable:
    """The set of known keys: 64-bit hash -> row, by open addressing, with the hash itself kept in the record.

    Rows count from 1, as in link.db, and are the slots of `records` plus one. Two URL keys with one hash would be taken
    for one URL: the chance is below 1e-6 for 5 million keys (birthday bound n² / 2^65).
    """

    def __init__(self, fields: Mapping[str, DTypeLike], block: int = 4096) -> None:
        self.records = RecordPool({"hash": np.uint64, **fields}, block)
        self._table: NDArray[np.uint32] = np.empty(0, np.uint32)

    def __len__(self) -> int:
        return self.records.used

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The row of each hash, 0 where it is not known."""
        rows = np.zeros(len(hashes), np.int64)
        if not len(self):
            return rows
        table, mask, known = self._table, np.uint64(len(self._table) - 1), self.records.column("hash")
        todo = np.arange(len(hashes))
        place = hashes & mask
        while len(todo) > _FEW:
            found = table[place]
            same = (found != EMPTY) & (known[found.astype(np.int64) - 1] == hashes[todo])
            rows[todo[same]] = found[same]
            going = ~same & (found != EMPTY)
            todo, place = todo[going], (place[going] + np.uint64(1)) & mask
        self._find_few(hashes, rows, todo.tolist(), place.tolist())
        return rows

    def _find_few(self, hashes: NDArray[np.uint64], rows: NDArray[np.int64], todo: list[int], place: list[int]) -> None:
        """Go on from these places key by key: for few keys that is faster than array by array."""
        table, mask, known = self._table.data, len(self._table) - 1, self.records.column("hash").data
        wanted = hashes.tolist()
        for i, at in zip(todo, place, strict=True):
            while (row := table[at]) != EMPTY:
                if known[row - 1] == wanted[i]:
                    rows[i] = row
                    break
                at = (at + 1) & mask

    def insert(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """New rows for hashes that are not known and differ from each other; rows ascend in the order given."""
        rows = self.records.new(len(hashes)) + 1
        self.records.column("hash")[rows - 1] = hashes
        if len(self) >= _FULL * len(self._table):
            self._rehash()
        else:
            self._place(hashes, rows)
        return rows

    def destroy(self) -> None:
        self.records.destroy()
        self._table = np.empty(0, np.uint32)

    def nbytes(self) -> int:
        return self.records.nbytes() + self._table.nbytes

    def _place(self, hashes: NDArray[np.uint64], rows: NDArray[np.int64]) -> None:
        table, mask = self._table, np.uint64(len(self._table) - 1)
        place = hashes & mask
        while len(rows):
            free = table[place] == EMPTY
            table[place[free]] = rows[free]  # where two rows want one place the last one written gets it
            going = table[place] != rows
            rows, place = rows[going], (place[going] + np.uint64(1)) & mask

    def _rehash(self) -> None:
        size = max(len(self._table), _SMALLEST)
        while len(self) > _FULL * size / 2:
            size *= 2
        self._table = np.zeros(size, np.uint32)
        hashes = self.records.column("hash")
        step = 1 << 16  # bounded scratch memory, however many keys there are
        for start in range(0, len(self), step):
            rows = np.arange(start, min(start + step, len(self))) + 1
            self._place(hashes[rows - 1], rows)
