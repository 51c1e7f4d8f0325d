"""`tasksim calibrate --from`: recorded programs, from their runs to predictions."""

from __future__ import annotations

import pytest

from tasksim.base.errors import InputError
from tasksim.models.files.store import load_kernel

PROGRAM = """
from concurrent.futures import ThreadPoolExecutor

def half(number):
    return sum(range(number)) // 2

def total(numbers):
    return sum(numbers)

with ThreadPoolExecutor(2) as pool:
    halves = list(pool.map(half, [2000] * 12))
    pool.submit(total, halves).result()
"""


def test_a_python_program_from_its_recording_to_a_prediction(tasksim, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert tasksim("record -o mine program.py").code == 0
    called = tasksim("calibrate --from mine --name here --library lib --json")
    assert called.code == 0, called.err
    kernels = {row["kernel"]: row for row in called.json["kernels"]}
    assert kernels["half"]["samples"] == 12
    assert kernels["half"]["parameters"] == []
    assert kernels["total"]["fewest"] == 1
    assert "fewer than 10 samples" in called.err
    entry = load_kernel(tmp_path / "lib" / "models" / "here" / "half.json").architectures["cpu"]
    assert entry.measured.how == "tasks of mine"
    assert entry.measured.clock == "processor"
    predicted = tasksim("simulate mine --platform here --library lib --check --json")
    assert predicted.code == 0, predicted.err
    assert predicted.json["platform"] == "here"
    assert tasksim("validate lib").code == 0


def test_the_text_says_what_was_fitted_and_where_it_is(tasksim):
    assert tasksim("run cholesky tiles=3 tile_size=16 --workers 1 -o mine").code == 0
    called = tasksim("calibrate --from mine --name here --library lib")
    assert called.code == 0, called.err
    header, *rows = called.out.splitlines()
    assert header.split() == ["kernel", "samples", "configurations", "total", "MLogQ", "model"]
    assert {row.split()[0] for row in rows} == {"potrf", "trsm", "syrk", "gemm"}
    assert {row.split()[-1] for row in rows} == {"history"}
    assert "Wrote lib/platforms/here.yaml and lib/models/here\n" in called.err
    again = tasksim("calibrate --from mine --name here --library lib")
    assert again.out == called.out
    assert "mine: its tasks are among the earlier samples; they count once" in again.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "Missing argument 'GRAPH|KERNEL' (or --from RUN)."),
        ("cholesky --trust", "--trust is for recorded runs: give --from RUN"),
        ("--from mine cholesky", "--from measures nothing, but got 'cholesky'"),
        ("--from mine --calm", "--calm is for measurements; leave --from out"),
        ("--from mine --no-pin", "--pin is for measurements; leave --from out"),
        ("--from mine --max-time 3s", "--max-time is for measurements; leave --from out"),
        ("--from mine", "mine: no such run"),
        ("--from mine --terms work", "--terms: got 'work'"),
        ("--from mine --terms auto --terms history", "--terms: got both 'auto' and 'history'"),
    ],
)
def test_wrong_lines_are_refused(line, message, tasksim, tmp_path):
    called = tasksim(f"calibrate {line}")
    assert called.code == 2
    assert message in called.err
    assert [path.name for path in tmp_path.iterdir()] == []


def test_options_have_the_names_of_the_command_line(tasksim):
    assert tasksim("run cholesky tiles=3 tile_size=16 --workers 1 -o mine").code == 0
    called = tasksim("calibrate --from mine --name here --terms potrf=m")
    assert (called.code, called.errors) == (2, [f"Error: {_unknown()}"])


def _unknown():
    from tasksim.models.terms.formulas import parse_terms

    with pytest.raises(InputError) as caught:
        parse_terms("m", ("n",))
    return caught.value
