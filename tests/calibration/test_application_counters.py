"""Counters of an application's tasks: when they are timed, and what a sample is."""

from types import SimpleNamespace

import numpy as np

from tasksim.calibration.application_campaign import parse_settings_domain
from tasksim.calibration.counters import campaign
from tasksim.calibration.counters.campaign import (
    CounterOptions,
    measure_application_counters,
    timed_application,
)
from tasksim.formats.samples import read_samples

SETTINGS = [{"length": 2}, {"length": 3}, {"length": 4}]
STALL_S = 7e-3


def held_up(monkeypatch):
    """Let executions take their number of tasks in seconds, and one of each visit a stall more."""
    calls = []

    def execute(graph, platform, scheduler, *, program):
        durations = np.full(len(graph), float(len(graph)))
        calls.append(len(graph))
        if len(calls) % 4 == 3:  # the second that is measured: the first of four is not
            durations[0] += STALL_S
        return SimpleNamespace(tasks=SimpleNamespace(duration_s=durations))

    monkeypatch.setattr(campaign, "execute", execute)
    monkeypatch.setattr(campaign, "undisturbed_s", lambda run: run.tasks.duration_s)
    monkeypatch.setattr(campaign, "BURST_S", 0.0)
    return calls


def test_each_run_visits_all_settings_in_an_order_of_its_own(monkeypatch):
    held_up(monkeypatch)
    visits = list(timed_application("chain", SETTINGS, CounterOptions(runs=6)))
    assert [visit.run for visit in visits] == [run for run in range(6) for _ in SETTINGS]
    orders = [tuple(visit.number for visit in visits if visit.run == run) for run in range(6)]
    assert {tuple(sorted(order)) for order in orders} == {(0, 1, 2)}
    assert len(set(orders)) > 1


def test_one_execution_that_is_held_up_is_in_no_sample(monkeypatch):
    calls = held_up(monkeypatch)
    for visit in timed_application("chain", SETTINGS, CounterOptions(runs=2)):
        assert visit.durations_s.tolist() == [float(len(visit.graph))] * len(visit.graph)
    assert len(calls) == 2 * len(SETTINGS) * 4


def test_samples_are_counts_with_durations_of_each_run(monkeypatch, tmp_path):
    held_up(monkeypatch)
    counts = {
        f"{number}.{task}": {"instructions": 10.0 * number + task, "memory_accesses": 1.0}
        for number in range(3)
        for task in range(20)
    }
    told = {"core": "Haswell", "by_python": []}
    monkeypatch.setattr(campaign, "count", lambda _: (counts, told))
    domain = parse_settings_domain("cholesky", ["tiles=2,3", "tile_size=8"])
    summary = measure_application_counters(domain, tmp_path / "out", CounterOptions(runs=3))
    assert (summary.configurations, summary.samples) == (2, 3 * (4 + 10))
    samples = read_samples(tmp_path / "out" / "potrf-counters.csv")
    assert np.bincount(samples.runs).tolist() == [2 + 3] * 3
    tasks = {3 * 2: 4.0, 3 * 3: 10.0}  # potrf of so many tiles in three runs: tasks of the graph
    first = samples.counters["instructions"] < 10
    for part in (first, ~first):
        assert set(samples.durations_s[part].tolist()) == {tasks[int(part.sum())]}
