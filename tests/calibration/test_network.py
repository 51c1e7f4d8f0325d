"""Calibrated networks: what is written is read again, and says what was measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from study_cases import mpiexec

from tasksim.calibration.network import Calibration, Taken, sizes_of
from tasksim.network.load import read_network


def taken(sizes, seconds):
    return Taken({size: [seconds(size)] * 3 for size in sizes})


@pytest.fixture
def made():
    """A calibration in which all is known: 2 us and 4 GB/s, or 10 us and 8 GB/s above 16 KiB."""
    sizes = sizes_of(quick=False)

    def moved(size):
        return 2e-6 + size / 4e9 if size <= 2**14 else 10e-6 + size / 8e9

    large = [size for size in sizes if size >= 2**16]
    return moved, Calibration(
        ranks=2,
        single=taken(sizes, moved),
        both=taken(large, lambda size: 2 * moved(size)),
        pairs=None,
        fan_in=None,
        posting=taken(sizes, lambda _: 5e-6),
        whole=taken(sizes, lambda size: moved(size) + 5e-6 + 20e-6),
    )


def test_a_network_that_is_written_is_read_and_takes_as_long(made, tmp_path):
    moved, calibration = made
    network = read_network(calibration.write(tmp_path, "here"))
    for size in (8, 1000, 2**14, 2**15, 2**22):
        assert network.sized(2).alone_s(0, 1, size) == pytest.approx(moved(size), rel=1e-3)
    assert not network.topology.full_duplex
    assert network.model.isend_costs[0].fixed_s == pytest.approx(5e-6)
    assert network.model.receive_costs[0].fixed_s == pytest.approx(20e-6, rel=1e-3)
    assert network.model.eager_bytes > 2**30


def test_the_fit_says_how_good_it_is_and_how_quiet_it_was(made):
    said = made[1].to_json()
    assert [piece["above_bytes"] for piece in said["pieces"]] == [0, 2**14]
    assert said["fit_error_worst"] < 1e-6
    assert said["median_over_least"] == 1.0
    assert said["both_ways_ratio"] == pytest.approx(2.0)
    assert said["fan_in_ratio"] is None


def calibrate(*arguments, ranks, tmp_path):
    """Return what ``mpiexec tasksim calibrate network`` has come to."""
    command = [mpiexec(), "-n", str(ranks), sys.executable, "-m", "tasksim", "calibrate", "network"]
    command += ["--library", tmp_path, *arguments]
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("PMI_", "OMPI_"))}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=plain)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_network_is_measured_between_ranks(ranks, tmp_path):
    done = calibrate("--quick", "--max-time", "1s", "--json", ranks=ranks, tmp_path=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert min(said["least_s"]) > 0
    assert (said["fan_in_ratio"] is None) == (ranks < 3)
    crowded = f"Warning: {ranks} ranks share " in done.stderr
    assert crowded == (ranks > len(os.sched_getaffinity(0)))
    assert read_network(said["output"]).alone_s


def test_where_nothing_can_be_written_nothing_is_measured(tmp_path):
    # A calibration of a day would not end in time.
    done = calibrate("--name", "here", "--max-time", "24h", ranks=2, tmp_path="/proc/new")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: rank 0: cannot write /proc/new/networks/here.yaml: ")


def test_a_name_that_leaves_the_library_is_refused(tmp_path):
    done = calibrate("--name", "../up", "--max-time", "24h", ranks=2, tmp_path=tmp_path / "library")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line == "Error: machine '../up': a name with '/', or that begins with '.', is no file"
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_one_rank_has_nobody_to_talk_to(tmp_path):
    done = calibrate(ranks=1, tmp_path=tmp_path)
    assert done.returncode == 2
    assert "mpiexec -n 2" in done.stderr
