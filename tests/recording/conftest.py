"""Programs to be recorded, and what is read off a recording."""

from __future__ import annotations

import pytest

import tasksim


@pytest.fixture
def no_own_work(monkeypatch):
    """Have neither work between waits nor starts of workers be tasks, however long they take."""
    monkeypatch.setattr("tasksim.recording.log.OWN_S", float("inf"))
    monkeypatch.setattr("tasksim.recording.worker_starts.MIN_START_S", float("inf"))


@pytest.fixture
def edges():
    """Return a function that lists the dependencies of a recording by the names of kernels."""

    def found(recording):
        graph = recording.graph
        names = [f"{graph.kernel_of(task)} {task}" for task in range(len(graph))]
        return {
            names[task]: [names[after] for after in graph.successors_of(task)]
            for task in range(len(graph))
            if graph.successors_of(task)
        }

    return found


@pytest.fixture
def checked():
    """Return a function that checks a recording: its run is possible, and is one of its graph."""

    def check(recording):
        tasksim.check_run(recording.run, recording.graph)
        recording.graph.validate()
        assert recording.run.tasks.submitted_s.min() == 0
        assert recording.run.graph is recording.graph
        return recording

    return check
