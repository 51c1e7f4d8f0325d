"""Debian's StarPU from one end to the other: its examples calibrate, tasksim imports and simulates.

Nothing here depends on how fast the machine is, or on who else uses it: StarPU keeps all samples
(STARPU_HISTORY_MAX_ERROR), however much they differ.
"""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

from benchmarks.starpu_native import (
    MACHINE_NAME,
    PROGRAMS,
    Simulated,
    StarPU,
    debian_examples,
    example_of,
)
from tasksim.models.modelnames import named

TILES, TILE_SIZE, RUNS = 6, 64, 2
DISPLAY_PROGRAM = "starpu_perfmodel_display"
SCHEDULERS = ("eager", "lws", "dmda", "dmdas", "prio")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        debian_examples() is None or shutil.which(DISPLAY_PROGRAM) is None,
        reason="needs StarPU's examples and tools: apt-get install starpu-examples starpu-tools",
    ),
]


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory) -> tuple[StarPU, dict[str, float]]:
    """StarPU, which has run each example twice, and the seconds of these runs."""
    found = StarPU(debian_examples(), tmp_path_factory.mktemp("starpu"))
    keeping_all = {"STARPU_CALIBRATE": "1", "STARPU_HISTORY_MAX_ERROR": "1000000000"}
    seconds = {
        graph: sum(
            found.run((graph, TILES, "dmdas"), TILE_SIZE, **keeping_all) for _ in range(RUNS)
        )
        for graph in PROGRAMS
    }
    return found, seconds


@pytest.fixture(scope="module")
def starpu(calibrated) -> StarPU:
    """StarPU with what it has measured."""
    return calibrated[0]


@pytest.fixture(scope="module")
def simulated(starpu, tmp_path_factory) -> Simulated:
    """Return tasksim's import of StarPU's measurements."""
    return Simulated(starpu.sampling, tmp_path_factory.mktemp("library") / "lib")


@pytest.fixture(scope="module")
def display(starpu):
    """Return what calls StarPU's own reader of performance models."""

    def call(*options: str) -> str:
        command = [DISPLAY_PROGRAM, *options]
        return subprocess.run(
            command, env=starpu.environment(), capture_output=True, text=True, check=True
        ).stdout

    return call


def models_of(simulated, graph):
    """Return the performance models of an example, by kernel."""
    models = simulated.models
    example = example_of(graph, models)
    own = dict.fromkeys(example.kernels, "")
    names = named(next(example.model_names(models.kernels())), own)
    return dict(zip(own, names, strict=True))


def entries(simulated, name):
    """Return the imported entries of a performance model, by footprint."""
    model = simulated.models.model(name, "cpu")
    return {f"{entry.footprint:08x}": entry for entry in model.entries_}


def test_the_kernels_are_those_that_starpu_lists(display, simulated):
    listed = {line.split("<")[1].split(">")[0] for line in display("-l").splitlines()}
    assert {f"{name}.{MACHINE_NAME}" for name in simulated.models.kernels()} == listed


def test_every_number_is_the_one_that_starpu_displays(display, simulated):
    for name in simulated.models.kernels():
        rows = [row.split() for row in display("-s", name).splitlines() if row[:1] != "#"]
        found = entries(simulated, name)
        assert [row[0] for row in rows] == list(found)
        for footprint, size, flops, mean, deviation, count in rows:
            entry = found[footprint]
            assert (int(size), int(count)) == (entry.size, entry.count)
            assert float(flops) == entry.flops
            assert mean == f"{1e6 * entry.mean_s:e}"
            assert deviation == f"{1e6 * entry.deviation_s:e}"
            chosen = ("-s", name, "-f", footprint, "-p")
            assert display(*chosen, "mean").split()[-1] == mean
            assert display(*chosen, "stddev").split()[-1] == deviation


def test_the_workers_are_those_that_starpu_has(starpu, simulated):
    shown = subprocess.run(
        ["starpu_machine_display"],
        env=starpu.environment(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    cores = [line for line in shown.splitlines() if line.strip().startswith("CPU ")]
    run = simulated.run(("cholesky", TILES, "eager"), TILE_SIZE)
    assert len(run.workers) == len(cores)


@pytest.mark.parametrize("graph", PROGRAMS)
def test_tasks_and_their_durations_are_those_that_starpu_measured(simulated, graph):
    """Each execution is a sample, but for the first of each performance model."""
    run = simulated.run((graph, TILES, "eager"), TILE_SIZE)
    names = models_of(simulated, graph)
    tasks: dict[str, int] = {}
    for kernel, number in zip(run.kernel_names, np.bincount(run.tasks.kernel), strict=True):
        tasks[names[kernel]] = tasks.get(names[kernel], 0) + int(number)
    for name, count in tasks.items():
        (entry,) = entries(simulated, name).values()
        assert entry.count == RUNS * count - 1
        of_model = [k for k, kernel in enumerate(run.kernel_names) if names[kernel] == name]
        chosen = np.isin(run.tasks.kernel, of_model)
        durations_s = run.tasks.end_s[chosen] - run.tasks.start_s[chosen]
        assert durations_s == pytest.approx(entry.mean_s, abs=2e-9)


@pytest.mark.parametrize("graph", PROGRAMS)
def test_what_was_measured_fits_into_the_native_runs(calibrated, simulated, graph):
    seconds = calibrated[1][graph]
    names = set(models_of(simulated, graph).values())
    measured = [entry for name in names for entry in entries(simulated, name).values()]
    kernels_s = sum(entry.count * entry.mean_s for entry in measured)
    workers = len(simulated.run((graph, TILES, "eager"), TILE_SIZE).workers)
    rounding_s = 0.5e-3 * RUNS  # it prints whole milliseconds
    assert 0 < kernels_s <= workers * (seconds + rounding_s)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("graph", PROGRAMS)
def test_makespans_are_possible_natively_and_simulated(starpu, simulated, graph, scheduler):
    case = graph, TILES, scheduler
    run = simulated.run(case, TILE_SIZE)
    work_s = float((run.tasks.end_s - run.tasks.start_s).sum())
    assert work_s / len(run.workers) <= run.makespan_s
    # One worker alone takes no longer; a task's overheads are some microseconds.
    assert run.makespan_s <= work_s + 1e-5 * len(run.tasks)
    assert 0 <= starpu.run(case, TILE_SIZE) < 600  # it prints whole milliseconds


def test_the_next_command_runs(tasksim, starpu):
    imported = tasksim(f"import starpu {starpu.home} -o lib")
    assert imported.code == 0, imported.err
    line = imported.out.splitlines()[-1].strip()
    assert line.startswith(
        f"tasksim simulate cholesky tiles=16 tile_size={TILE_SIZE} dtype=float32"
    )
    result = tasksim(line.removeprefix("tasksim "))
    assert (result.code, result.err) == (0, "")
