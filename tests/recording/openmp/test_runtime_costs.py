"""Costs of an OpenMP runtime: measured, written, and charged to recordings on one thread."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest
from click.testing import CliRunner

import tasksim
from tasksim.base.errors import InputError, TasksimError
from tasksim.cli.main import cli
from tasksim.core.compiler import NotBuilt, find_compiler
from tasksim.graph.taskgraph import Binding
from tasksim.native.this_machine import usable_cores
from tasksim.platform.costs import Overheads
from tasksim.recording.openmp import runtime_costs
from tasksim.recording.openmp.runtime_costs import RuntimeCosts, measure_runtime, write_runtime
from tests.openmp_graphs import Program
from tests.openmp_programs import EXAMPLES

KERNELS = ("potrf", "trsm", "syrk", "gemm")
COSTS = Overheads(creation_s=1e-6, dependence_s=5e-7, start_s=3e-4)


@pytest.fixture
def _measurable(_needs):
    try:
        find_compiler()
    except NotBuilt as error:
        pytest.skip(str(error))
    if len(usable_cores()) < 2:
        pytest.skip("one core")


def recorded_on(threads):
    """A run in which a task creates two: one with two data, one that is undeferred."""
    program = Program()
    x, y = (program.builder.handle(name, 8) for name in "xy")
    first = program.piece(1.0, binding=Binding.HELD)
    program.builder.insert("first", tasksim.W(x), tasksim.R(y), duration_s=1.0, after=[first])
    for values, value in (
        (program.continues, -1),
        (program.creator, first),
        (program.binding, int(Binding.TIED)),
        (program.seconds, 1.0),
    ):
        values.append(value)
    second = program.piece(1.0, continues=first)
    held = program.piece(1.0, creator=second, binding=Binding.HELD)
    program.piece(1.0, [held], continues=second)
    graph = program.build()
    run = tasksim.simulate(graph, workers=threads)
    return replace(run, kind="native", graph=graph)


def durations(run, workers, costs=COSTS):
    platform = replace(tasksim.Platform.identical(workers), overheads=costs)
    found = tasksim.simulate(run, platform, scheduler="libomp", durations="measured")
    seconds = np.zeros(len(found))
    seconds[found.tasks.task] = found.tasks.duration_s
    return seconds.tolist()


def test_what_follows_a_creation_takes_longer_on_more_threads_than_were_recorded():
    longer = [1.0, 1.0, 1.0 + 1e-6 + 2 * 5e-7, 1.0, 1.0]
    assert durations(recorded_on(1), 2) == pytest.approx(longer, abs=1e-10)


@pytest.mark.parametrize(
    ("threads", "workers", "costs"),
    [(1, 1, COSTS), (2, 2, COSTS), (2, 3, COSTS), (1, 2, Overheads(task_s=1e-6))],
)
def test_nothing_else_is_charged_for_creations(threads, workers, costs):
    assert durations(recorded_on(threads), workers, costs) == pytest.approx([1.0] * 5, abs=1e-10)


def test_runs_of_other_programs_are_charged_nothing():
    run = tasksim.simulate("cholesky tiles=3", workers=1, durations=dict.fromkeys(KERNELS, 1.0))
    again = durations(replace(run, kind="native"), 2)
    assert again == pytest.approx([1.0] * len(run), abs=1e-10)


def test_a_recording_on_one_thread_is_charged_per_task_and_datum(compiled, recorded):
    recording = recorded(compiled(EXAMPLES / "cholesky.c"), "6", "16", threads=1).recording
    alone = durations(recording.run, 2, Overheads())
    more = np.array(durations(recording.run, 2)) - alone
    accesses = len(recording.graph.access_handle)
    assert more.sum() == pytest.approx(recording.tasks * 1e-6 + accesses * 5e-7, rel=1e-3)
    assert any("tasksim calibrate openmp" in note for note in recording.notes)


@pytest.mark.usefixtures("_measurable")
def test_a_runtime_is_measured():
    told = []
    found = measure_runtime(rounds=2, progress=lambda text, share: told.append((text, share)))
    assert found.runtime.is_file()
    assert told[0] == ("1 threads, 0 data", 0.0)
    assert told[-1] == ("2 threads, 3 data", 0.5)
    for field in fields(Overheads):
        seconds = getattr(found.overheads, field.name)
        assert 0.0 <= seconds < math.inf
    assert found.overheads.start_s > 0.0


def test_costs_are_written_beside_what_is_known(tmp_path):
    path = tmp_path / "lib" / "platforms" / "here.yaml"
    costs = RuntimeCosts(tmp_path, Overheads(creation_s=1.23456e-8, start_s=2e-4))
    assert write_runtime(path, costs) == {}
    first = tasksim.load_platform(path)
    assert first.name == "here"
    assert first.overheads == Overheads(creation_s=1.235e-8, start_s=2e-4)
    path.write_text(
        "# Mine.\nversion: 1\nname: here\nworkers: {cpu: {count: 7}}\noverheads: {push: 1 s}\n"
    )
    assert write_runtime(path, costs) == {"push": "1 s"}
    assert write_runtime(path, costs) == {}
    again = tasksim.load_platform(path)
    assert (len(again.workers), again.overheads) == (7, first.overheads)
    assert path.read_text().startswith("# Mine.\n")


@pytest.mark.usefixtures("_needs")
def test_a_machine_of_one_core_measures_nothing(monkeypatch):
    monkeypatch.setattr(runtime_costs, "usable_cores", lambda: (0,))
    with pytest.raises(TasksimError, match="needs two cores"):
        measure_runtime()


def test_what_is_no_runtime_is_refused(tmp_path):
    with pytest.raises(InputError, match="is no shared library"):
        measure_runtime(tmp_path)


@pytest.mark.parametrize("rounds", [0, 1.5, "three"])
def test_rounds_are_a_number(rounds):
    with pytest.raises(InputError, match="rounds: got"):
        measure_runtime(rounds=rounds)


def test_the_calmest_recordings_count_and_unrest_is_told():
    kinds = [runtime_costs._Figures(share, 1.0, 0.0, 0.0, 0.0) for share in (0.5, 0.02, 0.9, 0.2)]
    calm = runtime_costs._calmest(kinds)
    assert [each.lost_share for each in calm] == [0.02, 0.2]
    assert "no core for 11 %" in next(runtime_costs._notes(calm))
    assert list(runtime_costs._notes(calm[:1])) == []


@pytest.mark.slow
@pytest.mark.usefixtures("_measurable")
def test_the_command_writes_a_platform_that_predicts(compiled, recorded, tmp_path):
    run = tmp_path / "one"
    recorded(compiled(EXAMPLES / "cholesky.c"), "6", "16", threads=1).recording.save(run)
    library = ["--library", str(tmp_path / "lib"), "--json"]
    done = CliRunner().invoke(cli, ["calibrate", "openmp", "--name", "team", *library])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    platform = tasksim.load_platform(told["output"])
    for name in ("creation_s", "dependence_s", "task_s", "fetch_s", "wakeup_s", "start_s"):
        assert getattr(platform.overheads, name) == pytest.approx(told[name], rel=1e-3)
    done = CliRunner().invoke(cli, ["simulate", str(run), "--platform", "team", *library])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["makespan_s"] > 0.0
