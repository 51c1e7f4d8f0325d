from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from tasksim.calibration import insitu
from tasksim.run.record import Run, TaskTable, WorkerInfo

GAP_S = 1e-5


def run_of(graph, durations_s, scheduler="eager"):
    """A native run of *graph* as one worker would do it, task after task."""
    ends = np.cumsum(np.asarray(durations_s) + GAP_S)
    starts = ends - durations_s
    return Run(
        kind="native",
        graph_name=graph.name,
        graph_arguments=dict(graph.arguments),
        kernel_names=graph.kernels,
        workers=(WorkerInfo("cpu0", "cpu"),),
        platform="made-up",
        scheduler=scheduler,
        seed=0,
        tasks=TaskTable(
            task=np.arange(len(graph)),
            kernel=graph.kernel,
            worker=np.zeros(len(graph)),
            priority=graph.priority,
            submitted_s=np.arange(len(graph)) * 1e-6,
            ready_s=np.arange(len(graph)) * 1e-6,
            start_s=starts,
            end_s=ends,
            released_by=np.full(len(graph), -1),
        ),
    )


@dataclass
class Machine:
    """Stands in for this one: what a run measures is made up, and each takes *run_s*."""

    durations_s: object = None
    """Called with the number of the run and the graph; returns seconds per task."""
    run_s: float = 1.0
    clock_s: float = 0.0
    runs: list = field(default_factory=list)
    """(graph name, scheduler) of each."""

    def execute(self, graph, platform, scheduler, *, program, pin):
        number = len(self.runs)
        self.runs.append((graph.name, scheduler))
        self.clock_s += self.run_s
        durations = np.broadcast_to(self.durations_s(number, graph), len(graph))
        return run_of(graph, durations, scheduler)


@pytest.fixture
def machine(monkeypatch):
    """A machine whose runs, and whose time, are made up."""
    made_up = Machine(lambda number, graph: 1e-3 * (1 + 0.001 * (number % 2)))
    monkeypatch.setattr(insitu, "execute", made_up.execute)
    monkeypatch.setattr(insitu, "bind", lambda *_: None)
    monkeypatch.setattr(insitu, "time", SimpleNamespace(monotonic=lambda: made_up.clock_s))
    return made_up


def contents(folder):
    """Every file under *folder*, hidden ones too, and what is in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(name="contents")
def _contents():
    return contents


@pytest.fixture(name="run_of")
def _run_of():
    return run_of
