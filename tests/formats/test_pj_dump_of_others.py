"""Output of pj_dump for traces that StarPU of today did not write."""

import pytest

from tasksim.base.errors import InputError
from tasksim.formats.runs import read_trace


def read(folder, text, name="dump.csv"):
    path = folder / name
    path.write_text(text)
    return read_trace(path)


def test_of_nested_states_the_outermost_is_the_task(tmp_path):
    """A program that pushes a state per function: ``f`` and ``g`` are parts of ``main``."""
    trace = read(tmp_path, """\
State, p1, STATE, 0.0, 10.0, 10.0, 0.0, main
State, p1, STATE, 1.0, 3.0, 2.0, 1.0, f
State, p1, STATE, 1.5, 2.0, 0.5, 2.0, g
State, p1, STATE, 3.0, 4.0, 1.0, 1.0, g
State, p1, STATE, 10.0, 11.0, 1.0, 1.0, last
""")  # fmt: skip
    run = trace.run
    assert [run.kernel_names[kernel] for kernel in run.tasks.kernel] == ["main", "last"]
    assert run.tasks.end_s.tolist() == pytest.approx([10.0, 11.0])  # Paje's are in seconds
    assert "times are assumed to be in seconds, as usual in Paje" in trace.notes
    assert "states within others are parts of these, not tasks: 3" in trace.notes


@pytest.mark.parametrize("start", ["x", "nan", "-1", "1e400"])
def test_a_state_without_times_is_refused_in_its_unit(tmp_path, start):
    with pytest.raises(
        InputError, match=r"dump\.csv:1: a state from .* legal: finite seconds from"
    ):
        read(tmp_path, f"State, p1, STATE, {start}, 10.0, 10.0, 0.0, main\n")


def test_a_tasks_own_pushed_over_starpus_states_stay(tmp_path):
    """Old traces push the kernel over ``Idle``: it is at depth 1, but within no other task."""
    trace = read(tmp_path, """\
State, CPU0, Worker State, 0.0, 9.0, 9.0, 0.0, Idle
State, CPU0, Worker State, 1.0, 3.0, 2.0, 1.0, potrf
State, CPU0, Worker State, 4.0, 8.0, 4.0, 1.0, trsm
""")  # fmt: skip
    assert trace.run.makespan_s == pytest.approx(0.007)  # StarPU's are in milliseconds
    assert "times are assumed to be in milliseconds, as StarPU writes them" in trace.notes
    assert len(trace.run) == 2


def test_executing_is_no_task(tmp_path):
    """Old StarPU's threads execute what its workers name: each task once."""
    trace = read(tmp_path, """\
State, 18190, Thread State, 1.0, 3.0, 2.0, 0.0, Executing
State, CPU0, Worker State, 1.0, 3.0, 2.0, 0.0, potrf
""")  # fmt: skip
    assert [worker.name for worker in trace.run.workers] == ["CPU0"]


@pytest.mark.parametrize("comment", ["", "# made by hand\n#\n"])
def test_a_paje_trace_is_refused_with_what_makes_it_readable(tmp_path, comment):
    text = f"{comment}%EventDef PajeDefineContainerType 0\n% Alias string\n%EndEventDef\n"
    with pytest.raises(InputError, match=r"a Paje trace; .* pj_dump old\.trace > old\.csv"):
        read(tmp_path, text, "old.trace")


def test_rows_without_states_are_refused_with_what_is_missing(tmp_path):
    with pytest.raises(InputError, match=r"dump\.csv: no state of a worker .* got 2 other rows"):
        read(tmp_path, "Container, 0, M, 0, 1, 1, m\nVariable, m, power, 0, 1, 1, 5\n")


def test_states_of_two_types_on_one_container_are_one_worker(tmp_path):
    """MPI's states within those of the program are parts of these, others are tasks."""
    trace = read(tmp_path, """\
State, p1, USER, 0.0, 10.0, 10.0, 0.0, solve
State, p1, MPI, 2.0, 3.0, 1.0, 0.0, MPI_Send
State, p1, MPI, 11.0, 12.0, 1.0, 0.0, MPI_Recv
State, p1, USER, 12.0, 13.0, 1.0, 0.0, write
State, p2, MPI, 2.0, 3.0, 1.0, 0.0, MPI_Recv
""")  # fmt: skip
    run = trace.run
    assert [worker.name for worker in run.workers] == ["p1", "p2"]
    names = [run.kernel_names[kernel] for kernel in run.tasks.kernel]
    assert names == ["solve", "MPI_Recv", "MPI_Recv", "write"]
    assert "states within others are parts of these, not tasks: 1" in trace.notes
