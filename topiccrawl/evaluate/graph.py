"""What links to what in a recorded web, read as a crawl reads it, and the order of one who knows every grade."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from topiccrawl.evaluate.parsed import ParsedWeb
from topiccrawl.judge import Judge
from topiccrawl.urls import join, url_key


class Graph:
    """Nodes are URL keys, numbered as they are found. `judge` says which links a crawl would follow at all."""

    def __init__(self, parsed: ParsedWeb, judge: Judge) -> None:
        self._parsed = parsed
        self._judge = judge
        self._numbers: dict[str, int] = {}
        self._urls: list[str] = []
        self._links: list[NDArray[np.int64] | None] = []
        self.pages: list[str] = []  # by node: the name of the page, "" where there is none

    def node(self, url: str) -> int:
        key = url_key(url)
        number = self._numbers.setdefault(key, len(self._urls))
        if number == len(self._urls):
            self._urls.append(url)
            self._links.append(None)
            self.pages.append("")
        return number

    def links(self, node: int) -> NDArray[np.int64]:
        """The nodes to which a node leads, each once, in the order of the page."""
        found = self._links[node]
        if found is None:
            found = self._links[node] = np.array(list(dict.fromkeys(map(self.node, self._read(node)))), np.int64)
        return found

    def reach(self, seeds: Sequence[str]) -> list[int]:
        """All nodes that can be reached from the seeds, nearest first."""
        seen = dict.fromkeys(map(self.node, seeds))
        todo = list(seen)
        for node in todo:
            for target in self.links(node).tolist():
                if target not in seen:
                    seen[target] = None
                    todo.append(target)
        return todo

    def _read(self, node: int) -> Iterator[str]:
        url = self._urls[node]
        visit = self._parsed.visit(url)
        if visit.location:
            target = join(url, visit.location)
            yield from [target] if target and self._may_follow(target) else []
            return
        document = visit.document
        if document is None:
            return
        if document.refresh and url_key(document.refresh) != url_key(url):
            yield from [document.refresh] if self._may_follow(document.refresh) else []
            return
        self.pages[node] = visit.page
        if not document.robots & {"nofollow", "none"}:
            yield from (link.url for link in document.links if self._may_follow(link.url))

    def _may_follow(self, url: str) -> bool:
        return self._judge.identity(url).refusal is None


def oracle(graph: Graph, seeds: Sequence[str], wanted: frozenset[str]) -> Iterator[str]:
    """The pages in the order of one who knows what is wanted, "" for a URL that gives no page.

    Discovered pages that are wanted come first, then the discovered one with the fewest links to a wanted page that was
    not fetched yet. Ends when none is left that can be reached.
    """
    walk = _Walk(graph, seeds, wanted)
    while (node := walk.best()) is not None:
        yield walk.fetch(node)


class _Walk:
    """The oracle on its way."""

    def __init__(self, graph: Graph, seeds: Sequence[str], wanted: frozenset[str]) -> None:
        self._graph = graph
        reach = graph.reach(seeds)
        size = len(graph.pages)
        self._left = {page for node in reach if (page := graph.pages[node]) in wanted}
        self._goal = np.zeros(size, bool)  # nodes that give a wanted page not fetched yet
        self._nodes_of: dict[str, list[int]] = {}
        for node in reach:
            if graph.pages[node] in self._left:
                self._goal[node] = True
                self._nodes_of.setdefault(graph.pages[node], []).append(node)
        self._come = np.full(size, -1)  # when a node was discovered, -1: not yet
        self._waits = np.zeros(size, bool)  # discovered and not fetched
        self._ready: list[tuple[int, int]] = []  # discovered goals
        self._start, self._into = _reversed(graph, reach, size)
        self._discovered = 0
        self._discover(map(graph.node, seeds))

    def best(self) -> int | None:
        while self._ready:
            _, node = heappop(self._ready)
            if self._goal[node] and self._waits[node]:
                return node
        return self._nearest() if self._left else None

    def fetch(self, node: int) -> str:
        self._waits[node] = False
        page = self._graph.pages[node]
        if page in self._left:
            self._left.discard(page)
            self._goal[self._nodes_of[page]] = False
        self._discover(self._graph.links(node).tolist())
        return page

    def _discover(self, nodes: Iterator[int] | list[int]) -> None:
        for node in nodes:
            if self._come[node] < 0:
                self._come[node] = self._discovered
                self._waits[node] = True
                self._discovered += 1
                if self._goal[node]:
                    heappush(self._ready, (int(self._come[node]), node))

    def _nearest(self) -> int | None:
        """The waiting node with the fewest links to a goal, of several the one discovered first."""
        seen = self._goal.copy()
        layer = np.flatnonzero(seen)
        while len(layer):
            waiting = layer[self._waits[layer]]
            if len(waiting):
                return int(waiting[np.argmin(self._come[waiting])])
            before = np.zeros(len(seen), bool)
            for node in layer.tolist():
                before[self._into[self._start[node] : self._start[node + 1]]] = True
            before &= ~seen
            seen |= before
            layer = np.flatnonzero(before)
        return None


def _reversed(graph: Graph, reach: Sequence[int], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Who links to a node: `sources[start[node]:start[node + 1]]`."""
    links = [graph.links(node) for node in reach]
    targets = np.concatenate([*links, np.empty(0, np.int64)])
    sources = np.repeat(np.array(reach, np.int64), [len(found) for found in links])
    start = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=size))])
    return start, sources[np.argsort(targets, kind="stable")]
