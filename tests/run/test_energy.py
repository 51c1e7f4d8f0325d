"""Energy of runs: exact on runs drawn by hand, power integrated, what frequency does to it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tasksim
from tasksim.base.errors import InputError
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.platform.description import (
    Link,
    Memory,
    Platform,
    Worker,
)
from tasksim.platform.power import ArchitecturePower, Frequency, Power
from tasksim.run.energy import energy, power_curve

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
CORE = ArchitecturePower(1.0, 5.0, {"gemm": 9.0})
TWO_CORES = replace(Platform.identical(2), power=Power(10.0, {"cpu": CORE}))


def test_energy_of_a_run_drawn_by_hand():
    # Two workers, 38 s: potrf 4 x 1, trsm 6 x 3, syrk 6 x 3 at 5 W, gemm 4 x 6 at 9 W.
    run = tasksim.simulate("cholesky tiles=4", TWO_CORES, durations=DURATIONS_S)
    used = energy(run)
    assert run.makespan_s == 38.0
    assert used.kernels_j == {"potrf": 20.0, "trsm": 90.0, "syrk": 90.0, "gemm": 216.0}
    assert used.static_j == 380.0
    assert used.idle_j.sum() == 2 * 38.0 - 64.0
    assert used.tasks_j.sum() == 416.0
    assert used.total_j == 380.0 + 12.0 + 416.0
    assert used.to_json(run)["mean_w"] == used.total_j / 38.0


def test_copies_draw_what_their_links_draw():
    workers = (Worker(0, "gpu", "cuda", 1),)
    link = Link(0, "bus", (0, 1), bandwidth_bytes_per_s=1e9, power_w=4.0)
    kinds = {"cuda": ArchitecturePower(0.0, 100.0)}
    platform = Platform(
        "p", workers, (Memory(0, "ram"), Memory(1, "gpu0")), links=(link,),
        power=Power(0.0, kinds),
    )  # fmt: skip
    builder = GraphBuilder("one")
    builder.insert("k", RW(builder.handle("x", size_bytes=10**9)), duration_s=2.0)
    run = tasksim.simulate(builder.build(), platform, durations={"k": 2.0})
    # A second there, before the task, and none back: nobody reads it again.
    used = energy(run)
    assert (used.copies_j, used.tasks_j.tolist()) == (4.0, [200.0])
    curve = power_curve(run, np.array([0.0, 1.0, 3.0]))
    assert [curve[name].tolist() for name in ("copies", "tasks")] == [[4.0, 0.0], [0.0, 100.0]]


@given(
    tiles=st.integers(1, 6),
    workers=st.integers(1, 4),
    idle=st.floats(0, 5),
    more=st.floats(0, 50),
    slices=st.integers(1, 20),
)
def test_energy_is_power_integrated(tiles, workers, idle, more, slices):
    kind = ArchitecturePower(idle, idle + more, {"trsm": idle + 2 * more})
    platform = replace(Platform.identical(workers), power=Power(7.0, {"cpu": kind}))
    run = tasksim.simulate(f"cholesky tiles={tiles}", platform, durations=DURATIONS_S)
    edges = np.linspace(0.0, run.makespan_s, slices + 1)
    curve = power_curve(run, edges)
    integral = sum(float(part @ np.diff(edges)) for part in curve.values())
    used = energy(run)
    assert integral == pytest.approx(used.total_j)
    assert used.total_j == pytest.approx(
        used.static_j + used.idle_j.sum() + sum(used.kernels_j.values())
    )


def test_half_the_frequency_takes_twice_the_time_and_an_eighth_of_the_power():
    slow = replace(TWO_CORES, frequencies={"cpu": Frequency(1e9, models_hz=2e9)})
    fast = tasksim.simulate("cholesky tiles=4", TWO_CORES, durations=DURATIONS_S)
    with pytest.warns(UserWarning, match="all time of potrf, trsm, syrk, gemm counts as"):
        slow = tasksim.simulate("cholesky tiles=4", slow, durations=DURATIONS_S)
    assert slow.makespan_s == 2 * fast.makespan_s
    # 4 W beside idleness become 0.5, 8 become 1: over twice the time.
    assert energy(slow).kernels_j == {
        "potrf": 8 * 1.5, "trsm": 36 * 1.5, "syrk": 36 * 1.5, "gemm": 48 * 2.0,
    }  # fmt: skip


def test_a_run_keeps_what_its_machine_draws(tmp_path):
    run = tasksim.simulate("cholesky tiles=4", TWO_CORES, durations=DURATIONS_S)
    tasksim.save_run(replace(run, counted_j=12.5), tmp_path / "run")
    again = tasksim.load_run(tmp_path / "run")
    assert again == run
    assert again.counted_j == 12.5
    assert energy(again).to_json(again) == energy(run).to_json(run)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"static_w": 10.0', '"static_w": -1', "expected watts, 0 or more, got -1"),
        ('"kind_of": [\n      0,', '"kind_of": [\n      7,', "expected a number below 1 for each"),
    ],
)
def test_a_run_with_impossible_power_is_refused(tmp_path, old, new, message):
    tasksim.save_run(
        tasksim.simulate("cholesky tiles=4", TWO_CORES, durations=DURATIONS_S), tmp_path / "r"
    )
    header = tmp_path / "r" / "run.json"
    assert old in header.read_text()
    header.write_text(header.read_text().replace(old, new))
    with pytest.raises(InputError, match=message):
        tasksim.load_run(tmp_path / "r")


def test_without_power_there_is_no_energy():
    run = tasksim.simulate("cholesky tiles=4", workers=2, durations=DURATIONS_S)
    with pytest.raises(InputError, match="give it a section `power:`"):
        energy(run)
