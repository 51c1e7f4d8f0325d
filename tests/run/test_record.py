import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.run.record import TaskTable
from tasksim.run.recordtables import frozen


def table(**changes):
    columns = {name: [0, 0] for name in TaskTable.dtypes}
    return TaskTable(**(columns | changes))


def test_columns_have_the_types_of_the_contract():
    assert {name: str(getattr(table(), name).dtype) for name in TaskTable.dtypes} == {
        "task": "int32",
        "kernel": "int16",
        "worker": "int16",
        "priority": "int32",
        "submitted_s": "float64",
        "ready_s": "float64",
        "start_s": "float64",
        "end_s": "float64",
        "released_by": "int32",
        "popped_s": "float64",
        "cpu_s": "float64",
        "preemptions": "int32",
        "pulse": "float64",
        "beat": "float64",
    }


def test_columns_are_read_only_and_share_nothing():
    end = np.array([1.0, 2.0])
    made = table(end_s=end)
    end[0] = 9.0
    assert made.end_s.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        made.end_s[0] = 3.0


def test_columns_that_nobody_can_write_are_not_copied():
    end = frozen(np.array([1.0, 2.0]))
    assert table(end_s=end).end_s is end
    assert table(end_s=end[:]).end_s.base is end


def test_a_read_only_view_of_what_can_be_written_is_copied():
    below = np.array([1.0, 2.0])
    for view in (frozen(below[:]), np.broadcast_to(below, 2), memoryview(below).toreadonly()):
        assert not np.shares_memory(table(end_s=view).end_s, below)


def test_workers_are_numbered_with_32_bits_where_16_do_not_do():
    assert table(worker=[0, 32_767]).worker.dtype == np.int16
    many = table(worker=[0, 40_000])
    assert (many.worker.dtype, many.worker.tolist()) == (np.int32, [0, 40_000])
    assert many == table(worker=np.array([0, 40_000]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"end_s": [1.0]}, "column 'end_s' of the task table has 1 rows, column 'task' has 2"),
        (
            {"worker": [0, 2**40]},
            "column 'worker' of the task table has values that are not int32",
        ),
        ({"priority": [0.5, 1]}, "column 'priority' of the task table has values that are not"),
        ({"priority": [float("nan"), 1]}, "column 'priority' of the task table has values that"),
        ({"start_s": [[0, 1]]}, "column 'start_s' of the task table has 2 dimensions, not 1"),
        ({"start_s": ["soon", 1]}, "column 'start_s' of the task table: could not convert"),
    ],
)
def test_wrong_columns_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        table(**changes)


def test_makespan_is_the_last_end(small, make):
    assert small.makespan_s == 6.0
    assert make.run([]).makespan_s == 0.0


def test_runs_are_equal_but_for_the_time_they_took(small, make):
    import dataclasses

    assert dataclasses.replace(small, wall_s=5.0) == small
    assert dataclasses.replace(small, seed=1) != small
    later = dataclasses.replace(small.tasks, end_s=small.tasks.end_s + 1)
    assert dataclasses.replace(small, tasks=later) != small


def test_frame_speaks_in_names(make):
    run = make.run([(1, 1, 0, 0, 0, 2.5, -1)], workers=("cpu0", "gpu0"))
    row = run.frame().iloc[0]
    assert (row.kernel, row.worker, row.architecture, row.node) == ("gemm", "gpu0", "gpu", 0)
    assert row.duration_s == 2.5
    assert list(run.frame().columns[:14]) == list(TaskTable.dtypes)


def test_labels(small):
    assert small.label(2) == "gemm #2"
    assert small.graph_label == "test tiles=2"


def test_a_run_knows_what_made_it(small):
    assert list(small.versions) == ["python", "tasksim", "numpy", "scipy", "simpy"]
    assert small.versions["numpy"] == np.__version__
