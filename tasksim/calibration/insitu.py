"""Measuring kernels where they work: in native runs of the application, all workers busy.

Two cores of a machine are often two threads of one, and they share caches and memory: a kernel
measured alone can be far faster than the same kernel between busy neighbours.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from tasksim.calibration.book import MOST_RUNS
from tasksim.calibration.locality import FarSamples, far_samples
from tasksim.calibration.overheads import Gaps, gaps
from tasksim.kernels.program import bind
from tasksim.native.execute import execute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tasksim.calibration.book import Book, Options
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["Observed", "measure_in_situ"]


@dataclass
class Observed:
    """What runs tell besides the durations of kernels."""

    gaps: list[Gaps] = field(default_factory=list)
    """Per run: the costs of the runtime."""
    far: list[FarSamples] = field(default_factory=list)
    """How long ago the data of each task were last used."""


def measure_in_situ(
    graphs: Sequence[TaskGraph],
    platform: Platform,
    book: Book,
    options: Options,
    observed: Observed,
    after_round: Callable[[str, float], None],
) -> None:
    """Run *graphs* in turn until *book* is settled or the time is over.

    The first round warms up and is dropped. Rounds interleave the graphs and change the
    scheduler, so that a slow minute of the machine falls on all alike. *after_round* is called
    with a message and the share of the time that is used; what it raises ends the measuring.
    What is measured is in *book* and *observed* at once.
    """
    programs = [bind(graph, len(platform.workers), options.seed) for graph in graphs]
    begun = time.monotonic()
    for turn in count():
        scheduler = options.schedulers[turn % len(options.schedulers)]
        for graph, program in zip(graphs, programs, strict=True):
            run = execute(graph, platform, scheduler, program=program, pin=options.pin)
            if turn > 0:
                book.add_run(run, graph)
                observed.gaps.append(gaps(run))
                observed.far.extend(_kept(far_samples(run, graph), turn, book))
        used = (time.monotonic() - begun) / options.max_seconds
        after_round(f"round {turn}", used)
        if turn > 0 and (used >= 1 or book.settled(options)):
            return


def _kept(samples: list[FarSamples], turn: int, book: Book) -> Iterable[FarSamples]:
    """Return those of *samples* that are kept: of linear models, those of the first rounds."""
    if turn <= MOST_RUNS:
        return samples
    return (part for part in samples if part.kernel not in book.linear)
