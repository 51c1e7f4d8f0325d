"""Schedulers written in Python, asked of both engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tasksim.engine.question import Question
from tasksim.graph.apps.registry import generate
from tasksim.platform.description import Overheads, Platform
from tasksim.schedulers.central import Eager

ENGINES = ("simpy", "compiled")


def asked(scheduler, graph=None, machine=False, **overheads):
    graph = generate("chain", length=3) if graph is None else graph
    free = Platform.identical(2)
    if machine:
        overheads = {"progress_s": 1e-6, **overheads}
    platform = replace(free, overheads=Overheads(**overheads))
    costs = np.ones((1, len(graph)))
    return Question(graph, platform, scheduler, costs, costs)


both_clocks = pytest.mark.parametrize("machine", [False, True], ids=["memory", "machine"])


class Gives(Eager):
    """Gives the second time that a worker asks what it was told to."""

    def __init__(self, given):
        super().__init__()
        self.given, self.times = given, 0

    def pop(self, worker):
        task = super().pop(worker)
        if task is not None:
            self.times += 1
        return self.given if task is not None and self.times == 2 else task
