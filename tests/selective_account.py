"""Selective runs whose tasks take what a table says: their account alone."""

from __future__ import annotations

import random

from tasksim.kernels.program import bind
from tasksim.native.this_machine import this_machine
from tasksim.runtime.pathrecords import PathRecords
from tasksim.runtime.view import Facts
from tasksim.schedulers.registry import create
from tasksim.selective.execution import SelectiveExecution

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 2.5, "gemm": 6.0}
"""Of a Cholesky factorisation, by kernel."""


class Told:
    """Executes tasks in no time; they are said to take what the table says."""

    def __init__(self, seconds, workers):
        self.seconds, self.taken, self.tasks = seconds, [0.0] * workers, []

    def expect(self, worker):
        self.taken[worker] = 0.0

    def elapsed_s(self, worker):
        return self.taken[worker]

    def run(self, task, worker, *, safe):
        self.tasks.append((task, safe))
        self.taken[worker] = self.seconds[task]


class Skips:
    """Charges some tasks what they take, and lets the others be executed."""

    def __init__(self, seconds, skipped):
        self.seconds, self.skipped = seconds, skipped

    def charge_s(self, task, worker, before, now_s):
        return self.seconds[task] if self.skipped[task] else None

    def measured(self, task, seconds):
        assert seconds == self.seconds[task]


def account(graph, scheduler, workers, seconds, skipped, chooses=None, of_task=None):
    """Return a run in which what *chooses* does not skip is said to take *seconds*; its parts."""
    platform = this_machine(workers)
    chosen = create(scheduler) if isinstance(scheduler, str) else scheduler
    facts = Facts(graph, platform, chosen, [seconds], [1] * len(graph))
    tasks = Told(seconds, workers)
    paths = PathRecords(graph.kernel.tolist() if of_task is None else of_task, workers)
    done = SelectiveExecution(facts, tasks, chooses or Skips(seconds, skipped), paths)
    program = bind(graph, workers, functions=dict.fromkeys(graph.kernels, print))
    done.run(random.Random(0), program, pin=False)
    return done, tasks, paths
