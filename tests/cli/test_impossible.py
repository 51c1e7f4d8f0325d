"""Runs that cannot have been: refused where numbers are made of them, drawn with a warning."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from tasksim.formats.runs import load_run, save_run

IMPOSSIBLE = {
    "negative start": (
        lambda t: {"start_s": changed(t.start_s, 0, -5.0)},
        "starts at -5.0 s",
    ),
    "end before start": (
        lambda t: {"end_s": changed(t.end_s, 3, t.start_s[3] / 2)},
        "ends at",
    ),
    "a task twice": (lambda t: {"task": changed(t.task, 7, 6)}, "task #6 ran more than once"),
    "overlap": (lambda t: {"worker": np.zeros(len(t))}, "on the same worker"),
}


def changed(column, row, value):
    column = column.copy()
    column[row] = value
    return column


@pytest.fixture(params=IMPOSSIBLE)
def impossible(request, tasksim, tmp_path):
    """A good run, one that cannot have been, and what the message says of it."""
    change, message = IMPOSSIBLE[request.param]
    assert tasksim("simulate cholesky tiles=4 --platform xeon-2c -o good").code == 0
    run = load_run(tmp_path / "good")
    tasks = dataclasses.replace(run.tasks, **change(run.tasks))
    save_run(dataclasses.replace(run, tasks=tasks), tmp_path / "bad")
    return tasksim, message


@pytest.mark.parametrize(
    "command",
    [
        "compare good bad", "compare bad good", "bounds bad", "report kernels bad",
        "simulate --from bad",
    ],
)  # fmt: skip
def test_nothing_is_computed_of_them(impossible, command):
    tasksim, message = impossible
    called = tasksim(command)
    assert called.code == 3
    assert called.out == ""
    assert called.err.startswith("Error: bad: no run has such records: ")
    assert message in called.err


def test_they_are_drawn_with_a_warning(impossible):
    tasksim, message = impossible
    called = tasksim("view bad -o bad.png")
    assert called.code == 0
    assert called.err.startswith("Warning: bad: no run has such records: ")
    assert message in called.err


def test_validate_fails(impossible):
    tasksim, message = impossible
    called = tasksim("validate bad good")
    assert called.code == 3
    assert message in called.err
    assert called.out.startswith("good: ok")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["makespan_s"], 1e-9, "makespan_s is 1e-09, the records of the run say 0.00"),
        (
            ["metrics", "kernels", "gemm", "count"],
            5,
            "gemm.count is 5, the records of the run",
        ),
        (["metrics", "busy_s"], "long", "metrics.busy_s is 'long', the records of the run say 0.0"),
    ],
)
def test_validate_sees_numbers_that_are_not_those_of_the_records(
    tasksim, tmp_path, path, value, message
):
    assert tasksim("simulate cholesky tiles=4 --platform xeon-2c -o good").code == 0
    file = tmp_path / "good/run.json"
    header = json.loads(file.read_text())
    part = header
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    file.write_text(json.dumps(header, indent=2))
    called = tasksim("validate good")
    assert called.code == 3
    assert called.err.startswith("Error: good/run.json:")
    assert message in called.err


def test_times_that_are_no_numbers_are_refused_by_all(tasksim, tmp_path):
    assert tasksim("simulate cholesky tiles=4 --platform xeon-2c -o good").code == 0
    file = tmp_path / "good/tasks.parquet"
    table = pd.read_parquet(file)
    table.loc[2, "start_s"] = np.nan
    table.to_parquet(file)
    (tmp_path / "good").rename(tmp_path / "bad")
    for command in ("validate bad", "view bad", "compare bad bad", "bounds bad"):
        called = tasksim(command)
        assert called.code == 2
        assert "row 2: start_s is nan; legal: finite times" in called.err
