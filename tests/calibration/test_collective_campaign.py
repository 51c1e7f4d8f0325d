"""Collective operations of the MPI library, measured between ranks over a domain."""

import csv
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_cases import mpiexec

from tasksim.base.errors import InputError
from tasksim.calibration.collective_campaign import (
    CollectiveConfiguration,
    configurations,
)
from tasksim.calibration.domain_campaign import MeasureOptions
from tasksim.formats.samples import samples_in

OPERATIONS = (
    "bcast", "reduce", "allreduce", "allgather", "alltoall", "gather", "scatter", "barrier",
)  # fmt: skip


def measure(*arguments, ranks, folder):
    """Return what ``mpiexec tasksim measure collective`` has come to."""
    tasksim = [mpiexec(), "-n", str(ranks), sys.executable, "-m", "tasksim"]
    command = [*tasksim, "measure", "collective", *arguments]
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("PMI_", "OMPI_"))}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=plain, cwd=folder
    )


@pytest.mark.slow
def test_all_operations_are_measured_between_two_and_three_ranks(tmp_path):
    done = measure(
        f"operation={','.join(OPERATIONS)}", "ranks=2,3", "size_bytes=8,1000", "--design", "grid",
        "--samples", "32", "--repetitions", "3", "--rounds", "2", "-o", "all.csv", "--json",
        ranks=3, folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["wanted"], said["measured"], said["samples"]) == (32, 32, 32 * 3 * 2)
    before = (tmp_path / "all.csv").read_text()
    rows = list(csv.DictReader(before.splitlines()))
    assert len(rows) == 192
    assert {row["operation"] for row in rows} == set(OPERATIONS)
    assert {row["run"] for row in rows} == {"0", "1"}
    assert min(float(row["duration_s"]) for row in rows) > 0
    # A fit reads the same file.
    samples = samples_in(tmp_path / "all.csv")
    assert samples.names == ("operation", "ranks", "size_bytes")
    assert samples.categories["operation"] == tuple(sorted(OPERATIONS))
    again = measure("operation=bcast", "-o", "all.csv", ranks=2, folder=tmp_path)
    assert again.returncode == 2
    assert again.stderr.count("all.csv exists") == 1
    assert (tmp_path / "all.csv").read_text() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "arguments", "said"),
    [
        (1, ["operation=bcast"], "start it with: mpiexec -n 2 tasksim measure collective"),
        (2, ["operation=bcst"], "did you mean 'bcast'?"),
        (2, ["operation=bcast", "ranks=3"], "ranks=3, where mpiexec started 2; legal: 2 to 2"),
        (2, ["operation=bcast", "--resume"], "--resume, --dtype and --until are for kernels"),
    ],
)
def test_what_cannot_be_measured_is_told_once(tmp_path, ranks, arguments, said):
    done = measure(*arguments, "-o", "x.csv", ranks=ranks, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("Error: ") == 1
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


@given(
    operations=st.sets(st.sampled_from(OPERATIONS), min_size=1),
    least=st.integers(2, 4),
    size=st.integers(4, 9),
    samples=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_configurations_are_distinct_and_within_what_was_asked_for(
    operations, least, size, samples, seed
):
    operation = f"operation={','.join(operations)}"
    texts = [operation, f"ranks={least}..{size}", "size_bytes=8..64"]
    options = MeasureOptions(samples=samples, seed=seed)
    found = configurations(texts, (), size, options)
    assert found == configurations(texts, (), size, options)
    assert 1 <= len(found) <= samples
    assert len(set(found)) == len(found)
    for one in found:
        assert one.operation in operations
        assert least <= one.ranks <= size
        assert 8 <= one.size_bytes <= 64


def test_all_ranks_and_a_number_are_what_is_not_given():
    (one,) = configurations(["operation=barrier"], (), 5, MeasureOptions())
    assert one == CollectiveConfiguration("barrier", 5, 8)
    assert one.memory_bytes == 16
    assert CollectiveConfiguration("allgather", 5, 8).memory_bytes == 80


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["ranks=2"], "operation is missing"),
        (["operation=bcast", "algorithm=binomial"], "algorithm is for simulations"),
        (["operation=bcast", "rank=2"], "did you mean 'ranks'"),
        (["operation=bcast", "ranks=1"], "legal: 2 to 4"),
        (["operation=bcast", "ranks=2..5"], "where mpiexec started 4"),
        (["operation=bcast", "size_bytes=x"], "size_bytes"),
    ],
)
def test_settings_that_cannot_be_measured_are_refused(texts, said):
    with pytest.raises(InputError, match=said):
        configurations(texts, (), 4, MeasureOptions(samples=50))
