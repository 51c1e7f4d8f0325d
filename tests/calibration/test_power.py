"""Power of a machine whose counters are files: joules exact though counters start again."""

import pytest
from counted_energy import RANGE_UJ, Machine

from tasksim.base.errors import TasksimError
from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.calibration.power import (
    WINDOW_COUNT,
    WINDOW_S,
    MachinePower,
    measure_power,
    write_power,
)
from tasksim.native.energymeter import EnergyMeter
from tasksim.platform.load import load
from tasksim.run.power import power_info

GEMM = KernelCall("gemm", {"m": 64.0, "n": 64.0, "k": 64.0})
POTRF = KernelCall("potrf", {"n": 64.0})


def measured(folder, kernels=(GEMM, POTRF), workers=2):
    machine = Machine(folder, {"package-0": 20.0, "package-1": 15.0})
    return measure_power(
        kernels,
        workers,
        EnergyMeter(folder),
        load=machine.load,
        clock=lambda: machine.now,
        rest=machine.spend,
    )


def test_joules_are_exact_though_counters_begin_anew(tmp_path):
    found = measured(tmp_path)
    # 20 + 15 W idle and more with kernels: each counter of 50 J is full several times.
    assert WINDOW_COUNT * WINDOW_S * 3 * 20 > 3 * RANGE_UJ / 1e6
    assert found.idle_w == pytest.approx({"package-0": 20.0, "package-1": 15.0})
    assert [k.watts for k in found.kernels] == pytest.approx([6.0, 4.0])
    assert [k.joules for k in found.kernels] == pytest.approx([1.5, 2.0])
    assert found.notes == ()


def test_it_is_written_where_runs_read_it_and_the_rest_remains(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "# My machine\nversion: 1\nworkers: {cpu: {count: 2}}\n"
        "power: {static: 1 W, arch: {cpu: {idle: 1 W, busy: 9 W, kernels: {trsm: 7 W}}}}\n"
    )
    write_power(path, measured(tmp_path / "rapl"))
    assert path.read_text().startswith("# My machine")
    info = power_info([load(path)])
    assert (info.static_w, info.kinds[0].idle_w, info.kinds[0].busy_w) == (35.0, 0.0, 5.0)
    assert info.kinds[0].kernels == {"trsm": 7.0, "gemm": 6.0, "potrf": 4.0}


def test_what_does_not_fit_is_said(tmp_path):
    machine = Machine(tmp_path, {"package-0": 20.0})
    windows = iter([20.0, 40.0, 20.0])
    found = measure_power(
        [GEMM],
        1,
        EnergyMeter(tmp_path),
        load=lambda _kernel, _workers, seconds: machine.spend(seconds, -1.0) or 0.1,
        clock=lambda: machine.now,
        rest=lambda seconds: machine.spend(seconds, next(windows) - 20.0),
    )
    assert found.kernels[0].watts == 0.0
    assert "idle: 20 to 40 W: others used the machine" in found.notes[0]
    assert "gemm draws no more than an idle machine" in found.notes[1]


def test_counters_that_stand_still_are_none(tmp_path):
    Machine(tmp_path, {"package-0": 1.0})
    with pytest.raises(TasksimError, match="do not change"):
        measure_power(
            [GEMM], 1, EnergyMeter(tmp_path), load=lambda *_: 0.1, rest=lambda _seconds: None
        )


def test_without_kernels_only_idleness_is_known():
    assert MachinePower({"package-0": 20.0}).section()["static"] == "20 W"
