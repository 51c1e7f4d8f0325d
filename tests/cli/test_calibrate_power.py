"""`tasksim calibrate power`: counters that are not there, that one may not read, that are."""

import os
import threading

import pytest
import yaml
from counted_energy import Machine

from tasksim.native.energymeter import POWERCAP_VARIABLE


def test_where_nothing_is_counted_the_command_ends_with_1(tasksim, tmp_path, monkeypatch):
    monkeypatch.setenv(POWERCAP_VARIABLE, str(tmp_path / "nothing"))
    done = tasksim("calibrate power gemm m=32 n=32 k=32")
    assert done.code == 1
    assert "has no zone intel-rapl:N" in done.err
    assert not (tmp_path / "platforms").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_counters_of_root_end_the_command_with_1(tasksim, tmp_path, monkeypatch):
    Machine(tmp_path / "rapl", {"package-0": 1.0})
    (tmp_path / "rapl" / "intel-rapl:0" / "energy_uj").chmod(0)
    monkeypatch.setenv(POWERCAP_VARIABLE, str(tmp_path / "rapl"))
    done = tasksim("calibrate power")
    assert done.code == 1
    assert "only root may read" in done.err


def test_counters_that_are_refused_end_the_command_with_1(tasksim, tmp_path, monkeypatch):
    Machine(tmp_path / "rapl", {"package-0": 1.0})

    def refused(_zone):
        raise PermissionError(13, "Permission denied", "energy_uj")

    monkeypatch.setattr("tasksim.native.energymeter._Zone.read", refused)
    monkeypatch.setenv(POWERCAP_VARIABLE, str(tmp_path / "rapl"))
    done = tasksim("calibrate power")
    assert done.code == 1
    assert "only root may read" in done.err


def test_graphs_are_refused(tasksim):
    done = tasksim("calibrate power cholesky tiles=4")
    assert done.code == 2
    assert "power is measured for kernels" in done.err


def test_the_command_measures_and_writes(tasksim, tmp_path, monkeypatch):
    monkeypatch.setattr("tasksim.calibration.power.WINDOW_S", 0.05)
    monkeypatch.setenv(POWERCAP_VARIABLE, str(tmp_path / "rapl"))
    machine, stop = Machine(tmp_path / "rapl", {"package-0": 20.0}), threading.Event()

    def tick():
        while not stop.wait(0.002):
            machine.spend(0.002)

    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        done = tasksim("calibrate power gemm m=32 n=32 k=32 --name mine")
    finally:
        stop.set()
        ticking.join()
    assert done.code == 0, done.err
    assert "gemm (m=32, n=32, k=32)" in done.out
    written = yaml.safe_load((tmp_path / "platforms" / "mine.yaml").read_text())
    assert set(written["power"]["arch"]["cpu"]["kernels"]) == {"gemm"}
