"""The frontier contract: what the scheduler may rely on, whatever store lies below.

Every store passes tests/contract. All verbs are plain functions; the store owns the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from topiccrawl.records import Candidate, Lease, Outcome, Queue, Reason, RobotsFile, Selection

Counts = dict[Queue, int]
MAX_LEVEL = MAX_DEPTH = 65535
SEEDS_EXEMPT = frozenset({Reason.M, Reason.DEPTH, Reason.SCOPE, Reason.DENY, Reason.LENGTH})
"""Reasons by which the limits and rules of a crawl discard a link, but never a seed."""
MAX_EXPIRED = 1024
"""URLs that `drain_expired` keeps for its caller."""
MAX_CRASHES = 5
"""A URL whose fetch went down with the process this often stays in error."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a URL must keep to in order to wait."""

    max_level: int = MAX_LEVEL  # greatest k with m0·b^k >= m_min
    max_depth: int = MAX_DEPTH

    def verdict(self, level: int, depth: int) -> Reason | None:
        if depth > self.max_depth:
            return Reason.DEPTH
        return Reason.M if level > self.max_level else None


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """How hosts are treated. Times in seconds."""

    delay: float = 1.0  # from the end of a request to the start of the next
    jitter: float = 0.0  # up to this share of the delay is added at random
    per_host: int = 1  # open leases
    obey_robots: bool = True
    max_crawl_delay: float = 30.0
    max_retry_after: float = 3600.0
    max_backoff: float = 300.0
    robots_tries: int = 3  # before the URLs of a host go to error robots-unreachable
    robots_retry: float = 30.0  # first deferral of a host; doubled each time
    robots_age: float = 86400.0  # older rules are fetched again


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Exponential backoff of failed fetches: base · 2^(n-1) seconds after the n-th failure, plus jitter."""

    tries: int = 3
    base: float = 10.0
    maximum: float = 3600.0
    jitter: float = 0.25  # up to this share is added at random


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """What `finish` did."""

    queue: Queue  # where the URL went
    retry_at: float | None  # when it will be tried again
    rows: tuple[int, ...]  # the row of each candidate, in the order given


class Expired(NamedTuple):
    """A URL that `take` moved to error, since the robots.txt of its host can't be had."""

    url: str
    reason: Reason


class Frontier(Protocol):
    """One crawl's URLs. Each URL key is in exactly one queue at any time, also after a kill."""

    late: int
    """How many leases were finished when they were no longer open."""

    def add(self, candidates: Sequence[Candidate], parent: int | None = None) -> tuple[int, ...]:
        """One step decides for each candidate: new, known, raised, or revived from discard.

        Without a parent they are seeds: no limit keeps them out, and one that a limit discarded as a link is revived.
        Atomic. Idempotent: a repetition finds known URLs. Returns the row of each, in the order given. New URLs get
        rising rows in the order given, which is "first come".

        A known URL keeps the `request` that it was first found with; the result doesn't tell that another was dropped.
        """

    def take(self, n: int) -> list[Lease]:
        """At most n leases: the best URLs, in order, of the hosts that may be asked now.

        A host whose robots.txt is not known gives a lease of kind ROBOTS instead. Never blocks. URLs whose robots.txt
        can't be had go to error on the way: `drain_expired` names them.
        """

    def drain_expired(self) -> list[Expired]:
        """What `take` moved to error since the last call, in order. At most MAX_EXPIRED are kept, the latest.

        One `take` moves fewer than that, so who asks after each `take` misses none.
        """

    def finish(self, lease: Lease, outcome: Outcome, candidates: Sequence[Candidate] = ()) -> Finished | None:
        """End a lease and add what was found, in one atomic step.

        None for a lease that is not open (late or repeated): then nothing changes and `late` counts it.
        """

    def finish_robots(self, lease: Lease, robots: RobotsFile) -> None:
        """End a lease of kind ROBOTS; one that is not open is counted in `late`, and nothing changes."""

    def allows(self, url: str) -> bool:
        """True unless the robots.txt known for the URL's origin forbids it."""

    def delay(self, host: str) -> float:
        """Seconds that a host is left alone after a request."""

    def redirects_to(self, hash: int, row: int) -> bool:
        """True if the chain of redirects that begins at a URL key is known to come to a row."""

    def next_due(self) -> float | None:
        """Seconds until `take` may give something that it doesn't give now; 0 if it gives something; None: never."""

    def next_retry(self) -> float | None:
        """Seconds until the first URL in error returns to waiting; None where none will."""

    def counts(self) -> Counts:
        """How many URLs are in each queue. Their sum is the number of known URLs."""

    def queues_of(self, hashes: NDArray[np.uint64]) -> list[Queue | None]:
        """The queue of each URL key, None where it is not known."""

    def recover(self) -> int:
        """Return what a dead process had in processing to waiting, one try counted; says how many.

        To be called once, before `take`.
        """

    def requeue(self, selection: Selection) -> int:
        """Return the selected URLs to waiting, tries counted from zero, with the score they have; says how many.

        Never those of another scheme than http(s): they can't be fetched. Done URLs only where queue or url names them.
        """

    def close(self) -> None:
        """Free memory. Nothing depends on it being called."""
