"""What an evaluation prints and writes: a table per topic, the means, page relevance, and all rows as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from topiccrawl.evaluate.measure import AT
from topiccrawl.evaluate.session import PageScores, Run

PLACES = ["R" if times == 1 else f"{times}R" for times in AT]


class Mean(msgspec.Struct, frozen=True, kw_only=True):
    """One strategy over all topics with one set of seeds."""

    seeds: str
    strategy: str
    topics: int
    harvest: tuple[float, ...]
    recall: tuple[float, ...]
    area: float
    worst: float  # the smallest area of a topic
    first_hit: float | None  # over the topics with one
    seconds: float


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """What one strategy found of what another one found, at the same number of fetches."""

    topic: str
    seeds: str
    recall: tuple[float, ...]  # at AT · R


def means(runs: Sequence[Run]) -> list[Mean]:
    """A row per set of seeds and strategy, in the order of the runs."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.seeds, run.strategy), []).append(run)
    return [_mean(seeds, strategy, group) for (seeds, strategy), group in groups.items()]


def ratios(runs: Sequence[Run], strategy: str, reference: str) -> list[Ratio]:
    """The recall of a strategy as a share of another's, topic by topic."""
    found = {(run.seeds, run.topic, run.strategy): run.measures.recall for run in runs}
    return [
        Ratio(topic=topic, seeds=seeds, recall=_share(found[seeds, topic, strategy], found[seeds, topic, reference]))
        for seeds, topic in dict.fromkeys((run.seeds, run.topic) for run in runs)
        if (seeds, topic, strategy) in found and (seeds, topic, reference) in found
    ]


def rows(runs: Sequence[Run], scores: Sequence[PageScores], facts: Mapping[str, Any]) -> bytes:
    """Everything as one JSON object, without the fetched pages."""
    flat = [{"topic": run.topic, "seeds": run.seeds, "strategy": run.strategy} | _figures(run) for run in runs]
    whole = {**facts, "runs": flat, "means": means(runs), "relevance": scores}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"


def print_runs(console: Console, runs: Sequence[Run]) -> None:
    """A table per topic and set of seeds, then the means where there are several topics."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.seeds, run.topic), []).append(run)
    for (seeds, topic), group in groups.items():
        table = _table(f"{topic}, {seeds}/: R = {group[0].measures.reachable}", "strategy")
        for run in group:
            m = run.measures
            first = "-" if m.first_hit is None else str(m.first_hit)
            figures = (*_percent(m.harvest), *_percent(m.recall), f"{m.area:.3f}", first, f"{run.seconds:.1f}")
            table.add_row(run.strategy, *figures)
        console.print(table)
    print_means(console, runs)


def print_means(console: Console, runs: Sequence[Run]) -> None:
    found = means(runs)
    for seeds in dict.fromkeys(mean.seeds for mean in found):
        group = [mean for mean in found if mean.seeds == seeds]
        if group[0].topics < 2:
            continue
        table = _table(f"mean over {group[0].topics} topics, {seeds}/", "strategy", worst=True)
        for mean in group:
            first = "-" if mean.first_hit is None else f"{mean.first_hit:.0f}"
            figures = (*_percent(mean.harvest), *_percent(mean.recall), f"{mean.area:.3f}", f"{mean.worst:.3f}")
            table.add_row(mean.strategy, *figures, first, f"{mean.seconds:.1f}")
        console.print(table)


def print_ratios(console: Console, found: Sequence[Ratio]) -> None:
    """What the learned topic finds of what the given words find."""
    for seeds in dict.fromkeys(ratio.seeds for ratio in found):
        group = [ratio for ratio in found if ratio.seeds == seeds]
        table = Table(title=f"found with a learned topic / found with the given words, {seeds}/", title_justify="left")
        table.add_column("topic")
        for place in PLACES:
            table.add_column(f"at {place}", justify="right")
        for ratio in group:
            table.add_row(ratio.topic, *(f"{value:.2f}" for value in ratio.recall))
        table.add_section()
        columns = zip(*(ratio.recall for ratio in group), strict=True)
        table.add_row("mean", *(f"{fmean(column):.2f}" for column in columns))
        console.print(table)


def print_scores(console: Console, scores: Sequence[PageScores], threshold: float) -> None:
    """How page relevance agrees with the truth."""
    table = Table(title="page relevance against the truth", title_justify="left")
    table.add_column("topic")
    others = list(scores[0].f1_at) if scores else []
    for name in ("pages", "on topic", "AUC", f"F1 at {threshold:g}", *(f"at {other}" for other in others)):
        table.add_column(name, justify="right")
    for s in scores:
        figures = (f"{value:.3f}" for value in (s.auc, s.f1, *s.f1_at.values()))
        table.add_row(s.topic, str(s.pages), str(s.relevant), *figures)
    if scores:
        table.add_section()
        columns = zip(*((s.auc, s.f1, *s.f1_at.values()) for s in scores), strict=True)
        table.add_row("mean", "", "", *(f"{fmean(column):.3f}" for column in columns))
    console.print(table)


def _mean(seeds: str, strategy: str, group: Sequence[Run]) -> Mean:
    measures = [run.measures for run in group]
    first = [m.first_hit for m in measures if m.first_hit is not None]
    return Mean(
        seeds=seeds,
        strategy=strategy,
        topics=len(group),
        harvest=_columns(m.harvest for m in measures),
        recall=_columns(m.recall for m in measures),
        area=fmean(m.area for m in measures),
        worst=min(m.area for m in measures),
        first_hit=fmean(first) if first else None,
        seconds=fmean(run.seconds for run in group),
    )


def _columns(rows: Iterable[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(fmean, zip(*rows, strict=True)))


def _share(found: tuple[float, ...], reference: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(a / b if b else 1.0 for a, b in zip(found, reference, strict=True))


def _figures(run: Run) -> dict[str, Any]:
    figures: dict[str, Any] = msgspec.to_builtins(run.measures)
    return {**figures, "seconds": round(run.seconds, 3), "virtual": run.virtual}


def _table(title: str, first: str, worst: bool = False) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    places = [f"{name} {place}" for name in ("harvest", "recall") for place in PLACES]
    for name in (*places, "area", *(["worst"] if worst else []), "first hit", "s"):
        table.add_column(name, justify="right")
    return table


def _percent(values: Sequence[float]) -> list[str]:
    return [f"{value:.1%}" for value in values]
