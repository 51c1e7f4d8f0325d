"""Durations of tasks whose flop are known, at a speed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.formats.workflows.jobs import DURATION, FLOP

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["with_durations"]


def with_durations(graph: TaskGraph, flop_per_s: float) -> TaskGraph:
    """Return *graph* with a parameter ``duration_s``: flop by speed.

    Raises
    ------
    InputError
        If tasks of a kernel have no parameter ``flop``.
    """
    tables, names = [], []
    for kernel, known, table in zip(
        graph.kernels, graph.parameter_names, graph.parameters, strict=True
    ):
        if FLOP not in known:
            raise InputError(f"graph {graph.name}: tasks of {kernel} do not say their flop")
        seconds = table[:, [known.index(FLOP)]] / flop_per_s
        kept = [at for at, name in enumerate(known) if name != DURATION]
        tables.append(np.hstack([table[:, kept], seconds]))
        names.append((*(known[at] for at in kept), DURATION))
    return replace(graph, parameters=tuple(tables), parameter_names=tuple(names))
