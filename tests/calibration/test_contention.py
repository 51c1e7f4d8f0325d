"""Contention of kernels, found from runs and written; real runs show that it is whole."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from contended import on_one_memory, slowing
from tiers import LONG

from tasksim import InputError, generate, load_platform, simulate
from tasksim.calibration import insitu, neighbours
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.contention import calibrate_contended
from tasksim.calibration.fit_contention import Beside, losses, overlaps, seen_beside
from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.calibration.neighbours import MeasuredContention, Neighbours, measure_kernels
from tasksim.engine.choice import replayed
from tasksim.engine.outcome import machine
from tasksim.engine.question import Question
from tasksim.graph.builder import GraphBuilder
from tasksim.models.contention import Contention
from tasksim.models.files.store import ModelLibrary
from tasksim.platform.description import Platform
from tasksim.run.record import Run, TaskTable
from tasksim.schedulers.registry import create

GRAPH = generate("cholesky", tiles=10)
TRUTH = {
    "gemm": {"gemm": 1.08, "trsm": 1.15, "syrk": 1.05, "potrf": 1.02},
    "trsm": {"gemm": 1.25, "trsm": 1.4, "syrk": 1.2, "potrf": 1.1},
    "syrk": {"gemm": 1.0, "trsm": 1.3, "syrk": 1.1, "potrf": 1.0},
    "potrf": {"gemm": 1.05, "trsm": 1.1, "syrk": 1.15, "potrf": 1.0},
}
DURATIONS_S = {"gemm": 1.7e-3, "trsm": 9e-4, "syrk": 8e-4, "potrf": 5e-4}


def linear(workers):
    """Return slowdowns that grow with each busy neighbour; beside all neighbours they are TRUTH."""
    return {
        kernel: {
            name: tuple(1 + (factor - 1) * n / (workers - 1) for n in range(1, workers))
            for name, factor in row.items()
        }
        for kernel, row in TRUTH.items()
    }


def flat(_workers):
    """Return slowdowns where one busy neighbour slows kernels as much as many."""
    return {kernel: {name: (f,) for name, f in row.items()} for kernel, row in TRUTH.items()}


def nothing(_workers):
    return {}


def simulated(workers, seed, *, noise, pace=0.0, speed=1.0, beside=linear, of=2, graph=GRAPH):
    """Return a run on so many workers, slowed by each other as *beside* has it for *of* cores.

    Tasks differ by *noise*; and all of a run are as much slower or faster, by *pace*, on a machine
    on which tasks take *speed* times as long.
    """
    rng = np.random.default_rng(seed)
    platform = on_one_memory(workers)
    means = np.array([DURATIONS_S[graph.kernels[kernel]] for kernel in graph.kernel])
    means *= speed * np.exp(pace * rng.standard_normal())
    costs = (means * np.exp(noise * rng.standard_normal(len(graph))))[None, :]
    known = {kernel: Contention(beside=row) for kernel, row in beside(of).items()}
    question = Question(
        graph, platform, create("random"), costs, costs, slowing=slowing(graph, platform, **known)
    )
    replay = replayed(question, seed, "auto").replay
    return Run(
        kind="native", graph_name=graph.name, graph_arguments={}, kernel_names=graph.kernels,
        platform="made", scheduler="random", seed=seed, **machine(platform),
        **replay.records(),
    )  # fmt: skip


def found_by(rounds, seed, counts=(2,), **how):
    """Return the loss of each kernel that so many rounds of runs tell."""
    seen = {}
    knots = [count - 1 for count in counts]
    alone = [simulated(1, 1000 * seed + number, **how) for number in range(rounds)]
    for place, count in enumerate(counts):
        runs = [
            simulated(count, 1000 * seed + 100 * (1 + place) + number, of=max(counts), **how)
            for number in range(rounds)
        ]
        pairs = [Beside.of(one, run, GRAPH, knots) for one, run in zip(alone, runs, strict=True)]
        for parts in seen_beside(pairs, GRAPH):
            for kernel, part in parts.items():
                seen.setdefault(kernel, []).append(part)
    return losses(seen)


@pytest.mark.parametrize(("noise", "within"), [(0.0, 0.005), (0.02, 0.02)])
def test_known_stretches_are_found(noise, within):
    found = found_by(20, 0, noise=noise)
    for kernel, neighbour in (("gemm", "gemm"), ("gemm", "trsm"), ("trsm", "gemm")):
        stretch = found[kernel].stretches[0, GRAPH.kernels.index(neighbour)]
        assert stretch == pytest.approx(TRUTH[kernel][neighbour], rel=within)
    for kernel, loss in found.items():  # rare neighbours are drawn to the others
        assert (abs(loss.stretches - 1.15) < 0.26).all(), kernel


@pytest.mark.parametrize("beside", [linear, flat])
def test_sixteen_workers_lose_by_the_number_of_busy_neighbours(beside):
    """Seldom do all 16 have a task: the loss beside 15 is not the mean loss of a run."""
    found = found_by(4, 0, counts=(2, 4, 8, 16), noise=0.02, beside=beside)
    truth = beside(16)["gemm"]["gemm"]
    gemm = GRAPH.kernels.index("gemm")
    for place, count in enumerate((1, 3, 7, 15)):
        known = truth[min(count, len(truth)) - 1]
        assert found["gemm"].stretches[place, gemm] == pytest.approx(known, rel=0.04)


@pytest.mark.parametrize("pace", [0.0, 0.05])
def test_noise_is_not_taken_for_contention(pace):
    every = [found_by(3, seed, noise=0.02, pace=pace, beside=nothing) for seed in range(12)]
    stretches = np.array([[loss.stretches for loss in each.values()] for each in every])
    assert stretches.mean() < 1.006 + 0.4 * pace  # half of the errors are cut off at 1
    assert stretches.max() < 1.08 + 2.5 * pace  # rare pairs, too


def test_noise_does_not_hide_contention():
    """Of three runs that differ by a tenth the mean is known to 8 %, not to be 1."""
    every = [found_by(3, seed, noise=0.02, pace=0.1) for seed in range(24)]
    gemm = np.array([loss["gemm"].mean for loss in every])
    assert gemm.mean() == pytest.approx(1.09, abs=0.03)
    errors = np.array([loss["gemm"].deviation for loss in every])
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(gemm.std(), rel=0.4)


def test_contention_shows_through_the_pace_of_runs():
    trsm = GRAPH.kernels.index("trsm")
    every = [
        found_by(6, seed, noise=0.02, pace=0.03)["trsm"].stretches[0, trsm] for seed in range(12)
    ]
    assert np.mean(every) == pytest.approx(TRUTH["trsm"]["trsm"], rel=0.03)


class Machine:
    """A machine whose cores slow each other, and whose speed changes with the time."""

    def __init__(self, speed_at, workers):
        self.speed_at, self.workers, self.clock_s = speed_at, workers, 0.0
        self.makespans_s = {}

    def execute(self, graph, platform, scheduler, *, program, pin):
        workers = len(platform.workers)
        runs = self.makespans_s.setdefault(workers, [])
        run = simulated(
            workers, 1000 * workers + len(runs), noise=0.01, speed=self.speed_at(self.clock_s),
            of=self.workers,
        )  # fmt: skip
        self.clock_s += run.makespan_s
        runs.append(run.makespan_s)
        return replace(run, kind="native", scheduler=scheduler)


def constant(_clock_s):
    return 1.0


def slow_at_first(clock_s):
    return 1.3 if clock_s < 2.0 else 1.0


def slow_every_other_minute(clock_s):
    return 1.3 if clock_s % 3.0 < 1.2 else 1.0


MACHINES = ((constant, 2), (slow_at_first, 2), (slow_every_other_minute, 16))
MORE_MACHINES = ((constant, 16), (slow_at_first, 16), (slow_every_other_minute, 2))
"""The same with another number of workers."""


@pytest.mark.parametrize(("speed_at", "workers"), MACHINES + (MORE_MACHINES if LONG else ()))
def test_durations_and_slowdowns_are_of_the_same_moments(monkeypatch, tmp_path, workers, speed_at):
    """A calibration predicts a typical run of those that it made, whatever the machine did."""
    made = Machine(speed_at, workers)
    for module in (insitu, neighbours):
        monkeypatch.setattr(module, "execute", made.execute)
        monkeypatch.setattr(module, "bind", lambda *_: None)
    monkeypatch.setattr(insitu, "time", SimpleNamespace(monotonic=lambda: made.clock_s))
    monkeypatch.setattr(
        Neighbours, "measure_bandwidth", lambda self: self.found.bandwidths.append(8e9)
    )
    monkeypatch.setattr(neighbours, "busy_s", lambda: None)
    options = CalibrationOptions(max_seconds=8.0, tolerance=1e-6)
    report = calibrate_contended(
        [GRAPH], tmp_path, workers=workers, machine="here", options=options
    )
    library = ModelLibrary(report.models_folder)
    platform = load_platform(str(report.platform_path))
    found = library.contention("gemm", "cpu").beside["gemm"]
    assert len(found) == workers - 1
    assert found[-1] == pytest.approx(TRUTH["gemm"]["gemm"], rel=0.03)
    for count in {2, workers}:
        asked = platform if count == workers else on_one_memory(count)
        spans = [
            simulate(GRAPH, asked, library, "random", seed=seed).makespan_s for seed in range(15)
        ]
        measured = np.median(made.makespans_s[count][1:])  # a typical run
        assert np.median(spans) == pytest.approx(measured, rel=0.04)


def test_what_never_ran_beside_anything_is_not_slowed():
    run = simulated(1, 0, noise=0.0)
    (parts,) = seen_beside([Beside.of(run, run, GRAPH, [1])], GRAPH)
    found = losses({kernel: [part] for kernel, part in parts.items()})
    assert found["gemm"].stretches.tolist() == [[1.0] * 4]


def test_tasks_that_lost_their_core_do_not_count():
    alone = [simulated(1, seed, noise=0.0) for seed in range(4)]
    runs = [simulated(2, 1 + seed, noise=0.0) for seed in range(4)]
    durations = runs[1].tasks.end_s.copy()
    durations[::40] += 0.05
    spoilt = [*runs[:1], replace(runs[1], tasks=replace(runs[1].tasks, end_s=durations)), *runs[2:]]

    def found(several):
        pairs = [Beside.of(*pair, GRAPH, [1]) for pair in zip(alone, several, strict=True)]
        # Overlaps are those of the runs: the tasks after a longer one would have begun later.
        pairs = [
            each._replace(overlap_s=overlaps(run, GRAPH, [1]))
            for each, run in zip(pairs, runs, strict=True)
        ]
        seen = {}
        for parts in seen_beside(pairs, GRAPH):
            for kernel, part in parts.items():
                seen.setdefault(kernel, []).append(part)
        return losses(seen)["gemm"].stretches

    assert found(spoilt) == pytest.approx(found(runs), abs=0.02)


@pytest.mark.parametrize("where", [0, 1])
def test_time_without_a_core_is_neither_slow_nor_beside_anything(where):
    """Of three tasks, the second has its core for half of its time."""
    builder = GraphBuilder("three")
    for name in ("mine", "theirs", "theirs"):
        builder.insert(name)
    graph = builder.build()
    run = by_hand(graph, worker=[0, 1, 1], start_s=[0.0, 0.0, 2.0], end_s=[4.0, 2.0, 4.0])
    whole = overlaps(run, graph, [1])[0, 0].tolist()
    assert whole == [0.0, 4.0]
    cpu_s, preemptions = run.tasks.duration_s.copy(), np.zeros(3, np.int32)
    cpu_s[where], preemptions[where] = cpu_s[where] / 2, 3
    tasks = replace(run.tasks, cpu_s=cpu_s, preemptions=preemptions)
    found = overlaps(replace(run, tasks=tasks), graph, [1])[0, 0].tolist()
    assert found == [0.0, [2.0, 3.0][where]]


def by_hand(graph, worker, start_s, end_s):
    count, workers = len(graph), max(worker) + 1
    return Run(
        kind="native", graph_name=graph.name, graph_arguments={}, kernel_names=graph.kernels,
        platform="made", scheduler="eager", seed=0, **machine(Platform.identical(workers)),
        tasks=TaskTable(
            task=np.arange(count), kernel=graph.kernel, worker=np.array(worker),
            priority=graph.priority, submitted_s=np.zeros(count), ready_s=np.zeros(count),
            start_s=np.array(start_s), end_s=np.array(end_s), released_by=np.full(count, -1),
        ),
    )  # fmt: skip


def test_share_of_memory_is_that_of_its_demand():
    found = MeasuredContention(demand={"gemm": 2e9, "lacpy": 9e9}, bandwidths=[8e9, 12e9])
    found.beside["gemm"] = {"lacpy": (1.13,)}
    assert found.of("gemm") == Contention(2e9, 0.25, {"lacpy": (1.13,)})
    assert found.of("lacpy") == Contention(8e9, 1.0)  # one core gets no more


def test_what_other_programs_use_of_the_cores_is_told(monkeypatch, tmp_path):
    """A program that is busy on one of two cores, beside the runs on the other."""
    begun = time.monotonic()

    def busy():
        return time.process_time() + 1.0 * (time.monotonic() - begun)

    monkeypatch.setattr(neighbours, "busy_s", busy)
    monkeypatch.setattr(neighbours, "usable_cores", lambda: [0, 1])
    options = CalibrationOptions(max_seconds=0.5)
    items = ["cholesky tiles=2 tile_size=32"]
    report = calibrate_contended(items, tmp_path, workers=2, machine="here", options=options)
    (told,) = [note for note in report.notes if note.startswith("other programs used")]
    assert told.startswith("other programs used 50 % of the cores: kernels on one core had")
    monkeypatch.setattr(neighbours, "busy_s", time.process_time)
    report = calibrate_contended(items, tmp_path, workers=2, machine="here", options=options)
    assert not [note for note in report.notes if note.startswith("other programs used")]


def test_one_core_has_no_neighbours(tmp_path):
    with pytest.raises(InputError, match="contention: got 1 workers; legal: at least 2"):
        calibrate_contended(["cholesky tiles=2"], tmp_path, workers=1)


@pytest.mark.slow
def test_a_graph_and_kernels_are_measured_and_written(tmp_path):
    options = CalibrationOptions(max_seconds=1.0)
    items = ["cholesky tiles=3 tile_size=48"]
    report = calibrate_contended(items, tmp_path, workers=2, machine="here", options=options)
    platform = load_platform(str(report.platform_path))
    (domain,) = platform.memory_domains
    assert (domain.workers, len(domain.bandwidths_bytes_per_s)) == ((0, 1), 2)
    known = ModelLibrary(report.models_folder).contention("gemm", "cpu")
    assert set(known.beside) == {"gemm", "potrf", "syrk", "trsm"}
    assert all(len(factors) == 1 and factors[0] >= 1 for factors in known.beside.values())
    assert known.demand_bytes_per_s > 0
    assert any(note.startswith("memory bandwidth ") for note in report.notes)


@pytest.mark.slow
def test_kernels_beside_each_other():
    calls = [
        KernelCall("gemm", {"m": 48, "n": 48, "k": 48}),
        KernelCall("lacpy", {"m": 64, "n": 64}),
    ]
    found, alone = MeasuredContention(), []
    measure_kernels(found, calls, 0.5, lambda kernel, times: alone.append((kernel.name, times)))
    assert {name for name, _ in alone} == {"gemm", "lacpy"}
    assert {name: set(row) for name, row in found.beside.items()} == {
        "gemm": {"gemm", "lacpy"}, "lacpy": {"gemm", "lacpy"}
    }  # fmt: skip
    assert all(factor >= 1 for row in found.beside.values() for (factor,) in row.values())
