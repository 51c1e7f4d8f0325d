"""How kernels slow each other down, found from runs, and written; by real runs that it is whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from contended import on_one_memory, slowing

from tasksim import InputError, generate, load_platform
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.contention import Measured, calibrate_contended, measure_contention
from tasksim.calibration.fit_contention import alone_s, seen_beside, stretches
from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.engine.choice import Question, replayed
from tasksim.engine.outcome import machine, records
from tasksim.models.contention import Contention
from tasksim.models.files.store import ModelLibrary
from tasksim.run.record import Run
from tasksim.schedulers.registry import create

GRAPH = generate("cholesky", tiles=10)
TRUTH = {
    "gemm": {"gemm": 1.08, "trsm": 1.15, "syrk": 1.05, "potrf": 1.02},
    "trsm": {"gemm": 1.25, "trsm": 1.4, "syrk": 1.2, "potrf": 1.1},
    "syrk": {"gemm": 1.0, "trsm": 1.3, "syrk": 1.1, "potrf": 1.0},
    "potrf": {"gemm": 1.05, "trsm": 1.1, "syrk": 1.15, "potrf": 1.0},
}
SECONDS = {"gemm": 1.7e-3, "trsm": 9e-4, "syrk": 8e-4, "potrf": 5e-4}


def simulated(workers, seed, *, noise, pace=0.0, slowed=True):
    """Return a run on so many workers, *slowed* by each other as TRUTH has it.

    Tasks differ by *noise*; and all of a run are as much slower or faster, by *pace*.
    """
    rng = np.random.default_rng(seed)
    platform = on_one_memory(workers)
    means = np.array([SECONDS[GRAPH.kernels[kernel]] for kernel in GRAPH.kernel])
    means *= np.exp(pace * rng.standard_normal())
    costs = (means * np.exp(noise * rng.standard_normal(len(GRAPH))))[None, :]
    known = {
        kernel: Contention(
            beside={name: (factor if slowed else 1.0,) for name, factor in row.items()}
        )
        for kernel, row in TRUTH.items()
    }
    question = Question(
        GRAPH, platform, create("random"), costs, costs, slowing=slowing(GRAPH, platform, **known)
    )
    outcome = replayed(question, seed, "auto").replay.outcome()
    return Run(
        kind="native", graph_name=GRAPH.name, graph_arguments={}, kernel_names=GRAPH.kernels,
        platform="made", scheduler="random", seed=seed, **machine(platform),
        **records(GRAPH, outcome),
    )  # fmt: skip


@pytest.mark.parametrize(("noise", "within"), [(0.0, 0.005), (0.02, 0.02)])
def test_known_stretches_are_found(noise, within):
    alone = alone_s([simulated(1, seed, noise=noise) for seed in range(12)])
    seen = {}
    for seed in range(20):
        run = simulated(2, 100 + seed, noise=noise)
        for kernel, part in seen_beside(run, GRAPH, alone):
            seen.setdefault(kernel, []).append(part)
    for kernel, neighbour in (("gemm", "gemm"), ("gemm", "trsm"), ("trsm", "gemm")):
        found = stretches(seen[kernel])[GRAPH.kernels.index(neighbour)]
        assert found == pytest.approx(TRUTH[kernel][neighbour], rel=within)
    for kernel, parts in seen.items():  # rare neighbours are drawn to the others
        assert (abs(stretches(parts) - 1.15) < 0.26).all(), kernel


def found_by(rounds, seed, **how):
    """Return the stretches of each kernel that so many rounds of runs tell."""
    alone = alone_s([simulated(1, 1000 * seed + number, **how) for number in range(rounds)])
    seen = {}
    for number in range(rounds):
        run = simulated(2, 1000 * seed + 500 + number, **how)
        for kernel, part in seen_beside(run, GRAPH, alone):
            seen.setdefault(kernel, []).append(part)
    return np.array([stretches(parts) for parts in seen.values()])


@pytest.mark.parametrize("pace", [0.0, 0.05])
def test_noise_is_not_taken_for_contention(pace):
    every = np.array([found_by(3, seed, noise=0.02, pace=pace, slowed=False) for seed in range(12)])
    assert every.mean() < 1.003 + 0.3 * pace
    assert every.max() < 1.05 + 2 * pace  # rare pairs, too


def test_contention_shows_through_the_pace_of_runs():
    trsm = GRAPH.kernels.index("trsm")
    every = [found_by(6, seed, noise=0.02, pace=0.03)[trsm, trsm] for seed in range(12)]
    assert np.mean(every) == pytest.approx(TRUTH["trsm"]["trsm"], rel=0.03)


def test_what_never_ran_beside_anything_is_not_slowed():
    run = simulated(1, 0, noise=0.0)
    parts = dict(seen_beside(run, GRAPH, alone_s([run])))
    assert stretches([parts["gemm"]]).tolist() == [1.0] * 4


def test_tasks_that_lost_their_core_do_not_count():
    runs = [simulated(1, 0, noise=0.0), simulated(2, 1, noise=0.0)]
    durations = runs[1].tasks.end_s.copy()
    durations[::40] += 0.05
    spoilt = replace(runs[1], tasks=replace(runs[1].tasks, end_s=durations))
    clean = dict(seen_beside(runs[1], GRAPH, alone_s(runs[:1])))["gemm"]
    part = dict(seen_beside(spoilt, GRAPH, alone_s(runs[:1])))["gemm"]
    spread = clean._replace(duration_s=part.duration_s)
    assert stretches([spread]) == pytest.approx(stretches([clean]), abs=0.02)


def test_share_of_memory_is_that_of_its_demand():
    found = Measured(demand={"gemm": 2e9, "lacpy": 9e9}, bandwidths=[8e9, 12e9])
    found.beside["gemm"] = {"lacpy": (1.13,)}
    assert found.of("gemm") == Contention(2e9, 0.25, {"lacpy": (1.13,)})
    assert found.of("lacpy") == Contention(8e9, 1.0)  # one core gets no more


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
    found = measure_contention(calls, 2, max_seconds=0.5)
    assert {name: set(row) for name, row in found.beside.items()} == {
        "gemm": {"gemm", "lacpy"}, "lacpy": {"gemm", "lacpy"}
    }  # fmt: skip
    assert all(factor >= 1 for row in found.beside.values() for (factor,) in row.values())
