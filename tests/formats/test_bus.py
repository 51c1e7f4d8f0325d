from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.formats.starpu.bus import (
    Affinity,
    read_affinity,
    read_bandwidth,
    read_config,
    read_latency,
)

MATRIX = "# to 0\t\tto 1\t\tto 2\n0.0\t6030.996807\tnan\n6.517591e+03\t0.0\tnan\nnan\tnan\tnan\n"


@pytest.fixture
def write(tmp_path):
    def file(text, name="laptop.bandwidth"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return file


def error_of(read, path) -> str:
    with pytest.raises(InputError) as error:
        read(path)
    return str(error.value)


def test_bandwidths_are_in_bytes_per_second_from_row_to_column(write):
    found = read_bandwidth(write(MATRIX))
    assert found.shape == (3, 3)
    assert found[0, 1] == 6030.996807e6
    assert found[1, 0] == 6517.591e6
    assert np.isnan(found[2]).all()


def test_latencies_are_in_seconds_to_the_last_digit(write):
    found = read_latency(write("0.000000\t9.836008\n10.565859\t0.000000\n"))
    assert found.tolist() == [[0.0, 9.836008e-06], [1.0565859e-05, 0.0]]


@pytest.mark.parametrize("end", ["\t\n", "\n\n", "\r\n", ""])
def test_ends_of_lines_do_not_matter(write, end):
    assert read_bandwidth(write(f"0.0\t1.0{end or chr(10)}2.0\t0.0{end}"))[1, 0] == 2e6


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("0.0\tfast\n1.0\t0.0\n", ":1:5:", "expected a bandwidth in MB/s, found 'fast'"),
        ("0.0\t-3.0\n1.0\t0.0\n", ":1:5:", "expected a bandwidth in MB/s, found '-3.0'"),
        ("# x\n0.0\t1.0\n1.0\n", ":3:1:", "expected 2 numbers, found 1"),
        ("0.0\t1.0\n1.0\t2.0\t3.0\n", ":2:9:", "expected 2 numbers, found 3"),
        ("0.0\t1.0\n", ":1:1:", "expected as many lines as columns (2), found 1"),
        ("0\n1\n", ":2:1:", "expected as many lines as columns (1), found 2"),
        ("# nothing\n", ":1:1:", "expected as many lines as columns (some), found 0"),
    ],
)
def test_malformed_matrices_are_told_by_line_and_column(write, text, place, what):
    path = write(text)
    assert error_of(read_bandwidth, path) == f"{path}{place} {what}"


def test_all_that_is_wrong_is_told_at_once(write):
    assert len(error_of(read_latency, write("0\tx\ty\n1\t0\n2\t2\t0\n")).splitlines()) == 3


def test_devices_are_counted_by_what_their_comments_say(write):
    old = "# Current configuration\n12 # Number of CPUs\n3 # Number of CUDA devices\n"
    found = read_config(write(old))
    assert (found.cpus, found.devices, found.numa_nodes) == (12, {"CUDA": 3}, 1)
    new = "24 # Number of CPUs\n2 # Number of NUMA nodes\n4 # Number of CUDA nodes\n"
    found = read_config(write(new))
    assert (found.cpus, found.devices, found.numa_nodes) == (24, {"NUMA": 2, "CUDA": 4}, 2)


def test_all_kinds_of_devices_are_counted(write):
    debian = ("CPUs", "NUMA nodes", "CUDA devices", "OpenCL devices", "MIC devices", "MPI devices")
    found = read_config(write("".join(f"{n} # Number of {k}\n" for n, k in enumerate(debian, 2))))
    assert found.cpus == 2
    assert found.devices == {"NUMA": 3, "CUDA": 4, "OpenCL": 5, "MIC": 6, "MPI": 7}
    kinds = ("NUMA", "CUDA", "OpenCL", "FPGA", "Disk", "MPI_MS", "TCPIP_MS", "HIP", "TCP/IP")
    lines = ["8 # Number of CPUs", *(f"{n} # Number of {k} nodes" for n, k in enumerate(kinds))]
    found = read_config(write("\n".join(lines)))
    assert (found.cpus, found.numa_nodes) == (8, 1)
    assert found.devices == {kind: n for n, kind in enumerate(kinds)}


@pytest.mark.parametrize(
    ("numbers", "devices"),
    [
        ([12, 3, 1, 0], {"CUDA": 3, "OpenCL": 1, "MIC": 0}),
        ([12, 1, 3, 0, 2], {"NUMA": 1, "CUDA": 3, "OpenCL": 0, "kind 4": 2}),
    ],
)
def test_without_comments_devices_are_counted_by_their_order(write, numbers, devices):
    found = read_config(write("\n".join(map(str, numbers))))
    assert (found.cpus, found.devices) == (12, devices)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("twelve # Number of CPUs\n", ":1:1: expected a number of devices, found 'twelve'"),
        ("12 3 # Number of CPUs\n", ":1:1: expected one number, found 2"),
        ("# nothing\n", ":1:1: expected the number of CPUs, found nothing"),
    ],
)
def test_malformed_configurations_are_told(write, text, what):
    path = write(text)
    assert error_of(read_config, path) == f"{path}{what}"


def test_affinities_are_nearest_first(write):
    found = read_affinity(write("# GPU\tNUMA0\tNUMA1\t\n0\t1\t0\t\n1\t0\t1\t\n"))
    assert found == (Affinity(0, (1, 0)), Affinity(1, (0, 1)))


def test_malformed_affinities_are_told(write):
    path = write("0\t1\t-1\n1\n")
    assert error_of(read_affinity, path).splitlines() == [
        f"{path}:1:5: expected a number of a device or of a core, found '-1'",
        f"{path}:2:1: expected a device and its nearest nodes, found '1' alone",
    ]


def test_a_file_that_is_not_there_is_named(tmp_path):
    assert "no such file" in error_of(read_config, tmp_path / "none.config")
