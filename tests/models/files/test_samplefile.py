from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.base.errors import InputError
from tasksim.models.files.store import read_samples, write_samples
from tasksim.models.samples import Samples

SHARED_FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
"""All examples write to the same folder; and a busy machine is no fault of them."""
CPU = Samples(("m", "n"), [[64, 0.5], [128, 2]], [1.25e-4, 0.1], [0, 3])
GPU = Samples(("n", "m"), [[2, 128]], [3e-5])

TEXT = """\
run,architecture,m,n,duration_s
0,cpu,64,0.5,0.000125
3,cpu,128,2,0.1
,gpu,128,2,3e-05
"""


def same(a, b):
    runs = (a.runs is None) == (b.runs is None) and (a.runs is None or (a.runs == b.runs).all())
    table = (a.parameters == b.parameters).all() and (a.durations_s == b.durations_s).all()
    return a.names == b.names and runs and table


def test_the_file_by_hand(tmp_path):
    path = tmp_path / "gemm.samples.csv"
    write_samples(path, {"cpu": CPU, "gpu": GPU})
    assert path.read_text() == TEXT
    found = read_samples(path)
    assert list(found) == ["cpu", "gpu"]
    assert same(found["cpu"], CPU)
    assert found["gpu"].parameters.tolist() == [[128.0, 2.0]]
    assert found["gpu"].runs is None


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "gemm.samples.csv"
    write_samples(path, {"cpu": CPU})
    write_samples(path, {"gpu": GPU})
    assert list(read_samples(path)) == ["gpu"]


def test_samples_with_different_parameters_are_not_written(tmp_path):
    path = tmp_path / "gemm.samples.csv"
    write_samples(path, {"cpu": CPU})
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"architecture 'gpu' have the parameters \(k\), others"):
        write_samples(path, {"cpu": CPU, "gpu": Samples(("k",), [[1]], [1.0])})
    assert path.read_bytes() == before


@settings(suppress_health_check=SHARED_FIXTURE, max_examples=few(30))
@given(
    st.lists(
        st.tuples(st.floats(0, 1e300), st.floats(1e-300, 1e300), st.integers(-1, 5)), min_size=1
    ),
    st.text(min_size=1, max_size=5).filter(lambda t: "\0" not in t and t.isprintable()),
)
def test_samples_are_read_back_to_the_last_bit(tmp_path, rows, name):
    path = tmp_path / "x.samples.csv"
    parameters, durations, runs = zip(*rows, strict=True)
    samples = Samples((name,), np.array(parameters)[:, None], durations, runs)
    write_samples(path, {"cpu": samples})
    found = read_samples(path)["cpu"]
    assert same(
        found, samples if max(runs) >= 0 else Samples((name,), samples.parameters, durations)
    )


def test_a_kernel_without_parameters(tmp_path):
    path = tmp_path / "task.samples.csv"
    samples = Samples((), np.empty((2, 0)), [1.0, 2.0])
    write_samples(path, {"cpu": samples})
    assert same(read_samples(path)["cpu"], samples)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("3e-05\n", "3e-0", ":4: the last line is cut off"),
        (",3e-05\n", "\n", ":4: expected 5 fields (run, architecture, m, n, duration_s), got 4"),
        ("64,0.5", "64,x", ":2: n: expected a finite number, not negative, got 'x'"),
        ("64,0.5", "-64,0.5", ":2: m: expected a finite number, not negative, got '-64'"),
        ("0.1\n", "0\n", ":3: duration_s: expected a finite number, larger than 0, got '0'"),
        ("0.1\n", "nan\n", ":3: duration_s: expected a finite number, larger than 0, got 'nan'"),
        ("3,cpu", "three,cpu", ":3: run: expected a whole number or nothing, got 'three'"),
        ("3,cpu", "3,", ":3: architecture: expected a name, got nothing"),
        ("3,cpu", '"3,cpu', ":4: unexpected end of data"),
        ("run,arch", "rum,arch", ":1: expected the header 'run,architecture,PARAMETER,...,"),
        (TEXT, "", ":1: expected the header"),
        ("gpu,128", "gpu,\n128", ":4: expected 5 fields"),
    ],
)
def test_garbled_lines_are_named(tmp_path, old, new, message):
    path = tmp_path / "gemm.samples.csv"
    assert old in TEXT
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_samples(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"no such file"):
        read_samples(tmp_path / "no.csv")
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_samples(tmp_path / "x.csv")


def test_constants_and_counters_are_columns_of_the_file(tmp_path):
    """Written without, they were lost."""
    counters = {"instructions": [10.0, 20.0], "memory_accesses": [1.0, 2.0]}
    samples = Samples(("n",), [[1], [2]], [1.0, 2.0], counters=counters, constants={"Order": 5})
    write_samples(tmp_path / "gemm.samples.csv", {"cpu": samples})
    again = read_samples(tmp_path / "gemm.samples.csv")["cpu"]
    assert (again.names, again.parameters.tolist()) == (("n", "Order"), [[1, 5], [2, 5]])
    assert {name: column.tolist() for name, column in again.counters.items()} == counters
