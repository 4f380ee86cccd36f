"""The curves of recall as one picture, by matplotlib, which is an extra: pip install topiccrawl[evaluate]."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path

from topiccrawl.errors import ParameterError
from topiccrawl.evaluate.contenders import ORACLE
from topiccrawl.evaluate.measure import HORIZON, curve
from topiccrawl.evaluate.session import Run, Subject

COLUMNS = 4
SUFFIXES = (".png", ".svg", ".pdf")


def check(path: Path) -> None:
    """ParameterError where no picture can be drawn; asked before an evaluation, not after."""
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(f"{path}: a picture is one of {', '.join(SUFFIXES)}, by its name")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ParameterError("a picture needs matplotlib; install it with: pip install 'matplotlib>=3.9'") from error


def draw(path: Path, runs: Sequence[Run], subjects: Sequence[Subject]) -> None:
    """One small chart per topic: recall over fetches, up to HORIZON · R, with the oracle in grey."""
    from matplotlib.figure import Figure

    down = ceil(len(subjects) / COLUMNS)
    figure = Figure(figsize=(4 * min(COLUMNS, len(subjects)), 3.2 * down + 0.6), layout="constrained")
    lines = {}
    for place, subject in enumerate(subjects, 1):
        axes = figure.add_subplot(down, min(COLUMNS, len(subjects)), place)
        length, reachable = HORIZON * subject.reachable, max(1, subject.reachable)
        (lines[ORACLE],) = axes.plot(range(1, length + 1), subject.best / reachable, color="0.7", linewidth=3)
        for run in runs:
            if (run.topic, run.seeds) == (subject.name, subject.folder) and run.strategy != ORACLE:
                recall = curve(run.pages, subject.wanted, length) / reachable
                (lines[run.strategy],) = axes.plot(range(1, length + 1), recall, linewidth=1)
        axes.set_title(f"{subject.name}, {subject.folder}/", fontsize=9)
        axes.set_xlabel(f"fetches (R = {subject.reachable})", fontsize=8)
        axes.set_ylabel("recall", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.set_ylim(0, 1.02)
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=6, fontsize=8)
    figure.savefig(path, dpi=90, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
