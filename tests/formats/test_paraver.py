"""Paraver traces, written by hand after their format: what is read of each tool's, what is said."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.runs import read_trace
from tasksim.formats.traces.paraver.header import parse_header
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.tracefolder import save_trace

HEADER = "#Paraver (26/11/2026 at 10:20):1000_ns:1(2):1:1(2:1)\n"
OMPSS_PCF = """\
DEFAULT_OPTIONS

LEVEL               THREAD
UNITS               NANOSEC

STATES
0    Idle
1    Running code

STATES_COLOR
0    {117,195,255}

EVENT_TYPE
9    9200011    Running Name
VALUES
0      End
5      potrf
6      trsm [chol.c:12]

EVENT_TYPE
0    9200002    Task instance
0    9200038    Task priority
"""
CREATION, DATA = 0xFFFFFF00, 0xFFFFFF01
# The main task creates two on the first thread; the second depends on the first, and runs on the
# other thread, from when the first has ended.
OMPSS = f"""\
{HEADER}c:1:1:2:1:2
2:1:1:1:1:0:9200001:0
2:1:1:1:1:100:9000000:7:9200011:5:9200002:2:9200038:3
3:1:1:1:1:50:50:1:1:1:1:100:100:0:{CREATION}
3:1:1:1:1:60:60:2:1:1:2:410:410:3:{CREATION}
2:1:1:1:1:400:9000000:5:9200011:0:9200002:0:9200038:0
3:1:1:1:1:400:400:2:1:1:2:410:410:3:{DATA}
2:2:1:1:2:410:9000000:7:9200011:6:9200002:3:9200038:1
2:2:1:1:2:900:9000000:5:9200011:0:9200002:0:9200038:0
"""
ROW = "LEVEL CPU SIZE 2\n1.host\n2.host\n\nLEVEL THREAD SIZE 2\nmain\nCUDA-D1.S1-host\n"


def trace(folder, text, pcf=None, row=None, name="some.prv"):
    """Return the run that is read from a trace with these files."""
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    for suffix, content in ((".pcf", pcf), (".row", row)):
        if content is not None:
            (folder / f"some{suffix}").write_text(content)
    return read_trace(path)


def stretches(found):
    """Kernel, worker, start and end in ns of each task."""
    run = found.run
    return [
        (run.kernel_names[kernel], run.workers[worker].name, round(start * 1e9), round(end * 1e9))
        for kernel, worker, start, end in zip(
            run.tasks.kernel, run.tasks.worker, run.tasks.start_s, run.tasks.end_s, strict=True
        )
    ]


@pytest.mark.parametrize("name", ["some.prv", "some.prv.gz"])
def test_tasks_of_ompss_with_labels_priorities_creations_and_dependencies(tmp_path, name):
    found = trace(tmp_path, OMPSS, OMPSS_PCF, ROW, name)
    # The clock begins with the first creation, at 50 ns.
    assert stretches(found) == [("potrf", "cpu0", 50, 350), ("trsm [chol.c:12]", "cuda0", 360, 850)]
    run, graph = found.run, found.run.graph
    assert graph.successors_of(0) == [1]
    assert graph.edges == 1
    assert run.tasks.priority.tolist() == [3, 1]
    assert (run.tasks.submitted_s * 1e9).round().tolist() == [0, 10]
    assert [worker.architecture for worker in run.workers] == ["cpu", "cuda"]
    assert "workers: cpu0 is main, cuda0 is CUDA-D1.S1-host" in found.notes
    assert "tasks are the tasks of OmpSs, by Extrae" in found.notes
    tasksim.check_run(run, graph)


def test_an_imported_trace_is_replayed_with_its_own_durations(tmp_path):
    save_trace(trace(tmp_path, OMPSS, OMPSS_PCF), tmp_path / "run")
    again = tasksim.simulate(tmp_path / "run", durations="measured", scheduler="eager")
    assert again.makespan_s == pytest.approx(850e-9)  # as recorded


def test_collective_calls_in_old_traces_are_told(tmp_path):
    old = OMPSS.replace("c:1:1:2:1:2\n", "c:1:1:2:1:2\n4:1:1:1:1:60:91:32:0:10:0\n")
    found = trace(tmp_path, old, OMPSS_PCF)
    assert stretches(found) == stretches(trace(tmp_path, OMPSS, OMPSS_PCF))
    assert "1 records of collective calls (type 4) are not used" in found.notes


def test_without_labels_kernels_are_called_by_number(tmp_path):
    found = trace(tmp_path, OMPSS)
    assert found.run.kernel_names == ("task 5", "task 6")
    assert "no some.pcf: kernels have numbers instead of names" in found.notes
    assert "workers: cpu0 is THREAD 1.1.1, cpu1 is THREAD 1.1.2" in found.notes


def test_tasks_without_numbers_begin_with_their_code(tmp_path):
    events = [(0, 5), (10, 5), (10, 0), (10, 5), (30, 6), (40, 0), (50, 6), (50, 0)]
    text = HEADER + "".join(f"2:1:1:1:1:{time}:9200011:{value}\n" for time, value in events)
    found = trace(tmp_path, text, OMPSS_PCF)
    trsm = "trsm [chol.c:12]"
    assert stretches(found) == [
        ("potrf", "cpu0", 0, 10), ("potrf", "cpu0", 10, 30), (trsm, "cpu0", 30, 40),
        (trsm, "cpu0", 50, 50),
    ]  # fmt: skip
    assert any("the trace has no dependencies" in note for note in found.notes)


OVNI_PCF = """\
EVENT_TYPE
0 35         Nanos6 task ID of the RUNNING thread
VALUES


EVENT_TYPE
0 36         Nanos6 task type of the RUNNING thread
VALUES
1690940984 work
77         more
"""


def ovni(*events):
    return HEADER + "".join(
        f"2:0:1:1:{row}:{time}:{kind}:{value}\n" for row, time, kind, value in events
    )


def test_a_task_that_is_interrupted_goes_on_as_a_task_after_it(tmp_path):
    """Nanos6 by ovni: a task creates another, which its thread executes at once."""
    text = ovni(
        (1, 0, 35, 0), (1, 0, 36, 0), (1, 100, 35, 1), (1, 100, 36, 1690940984),
        (1, 300, 35, 2), (1, 300, 36, 77), (1, 450, 36, 1690940984), (1, 450, 35, 1),
        (1, 500, 35, 0), (1, 500, 36, 0), (2, 600, 35, 9), (2, 600, 36, 77),
    )  # fmt: skip
    found = trace(tmp_path, text, OVNI_PCF)
    assert stretches(found) == [
        ("work", "cpu0", 0, 200), ("more", "cpu0", 200, 350), ("work (resumed)", "cpu0", 350, 400),
        ("more", "cpu1", 500, 900),
    ]  # fmt: skip
    assert found.run.graph.successors_of(0) == [2]
    said = "\n".join(found.notes)
    assert "1 tasks continue others" in said
    assert "1 tasks had not ended at the end of the trace" in said
    assert "the trace has no dependencies between tasks" in said


def test_numbers_of_tasks_are_those_of_one_process(tmp_path):
    text = ovni(
        (1, 0, 1, 100), (1, 0, 35, 1), (1, 0, 36, 77), (1, 200, 35, 0), (1, 200, 1, 200),
        (1, 300, 35, 1), (1, 300, 36, 77), (1, 400, 35, 0),
    )  # fmt: skip
    assert [kernel for kernel, *_ in stretches(trace(tmp_path, text, OVNI_PCF))] == ["more"] * 2


def test_small_numbers_mean_what_their_labels_say(tmp_path):
    """A type 35 of another tool is no task of Nanos6."""
    text = HEADER + "2:1:1:1:1:5:35:1\n1:1:1:1:1:10:20:1\n1:1:1:1:1:20:30:0\n2:1:1:1:1:25:35:0\n"
    found = trace(tmp_path, text, "EVENT_TYPE\n0 35 Instructions\n")
    assert stretches(found) == [("Running", "cpu0", 0, 10)]


def test_code_of_openmp_begins_within_other_code(tmp_path):
    """Extrae: a 0 ends what began last. A dependency is a communication from end to begin."""
    text = f"""{HEADER}\
2:1:1:1:1:0:60000023:0
2:1:1:1:1:10:60000023:1:60000123:7
2:1:1:1:1:20:60000023:2:60000123:8
2:1:1:1:1:30:60000023:0:60000123:0
2:1:1:1:1:50:60000023:0:60000123:0
3:1:1:1:1:50:50:2:1:1:2:60:60:0:1
2:2:1:1:2:60:60000023:2:60000123:8
2:2:1:1:2:90:60000023:0:60000123:0
"""
    pcf = "EVENT_TYPE\n0 60000023 Executed task\nVALUES\n1 fib\n2 leaf\n"
    found = trace(tmp_path, text, pcf)
    assert stretches(found) == [
        ("fib", "cpu0", 0, 10), ("leaf", "cpu0", 10, 20), ("fib (resumed)", "cpu0", 20, 40),
        ("leaf", "cpu1", 50, 80),
    ]  # fmt: skip
    graph = found.run.graph
    assert [graph.successors_of(task) for task in range(4)] == [[2], [], [3], []]
    assert any("1 ends without a begin" in note for note in found.notes)


def test_parallel_functions_count_where_there_are_no_tasks(tmp_path):
    text = HEADER + "2:1:1:1:1:10:60000018:4\n2:1:1:1:1:30:60000018:0\n2:1:1:1:1:5:42000050:77\n"
    found = trace(tmp_path, text)
    assert stretches(found) == [("function 4", "cpu0", 0, 20)]
    assert "tasks are the parallel functions of OpenMP, by Extrae" in found.notes
    assert "1 events of other types are not about tasks, and are not used" in found.notes


def test_states_count_where_no_event_tells_of_tasks(tmp_path):
    text = HEADER + "1:1:1:1:1:10:20:1\n1:1:1:1:1:20:30:5\n1:2:1:1:2:20:40:1\n"
    found = trace(tmp_path, text, OMPSS_PCF)
    assert stretches(found) == [("Running code", "cpu0", 0, 10), ("Running code", "cpu1", 10, 30)]
    assert any("state 'Running code' counts as a task" in note for note in found.notes)
    assert (
        "1 states are not used: in these states threads run nothing of the program" in found.notes
    )


def test_processes_are_on_their_nodes_and_messages_between_them_are_told(tmp_path):
    text = """\
#Paraver (26/11/2026 at 10:20):1000:2(1,1):1:2(1:1,1:2),1
2:1:1:1:1:1:60000018:4
2:2:1:2:1:1:60000018:4
3:1:1:1:1:2:2:2:1:2:1:3:3:8:1
2:1:1:1:1:4:60000018:0
2:2:1:2:1:5:60000018:0
"""
    found = trace(tmp_path, text)
    assert stretches(found) == [
        ("function 4", "node0/cpu0", 0, 3000), ("function 4", "node1/cpu0", 0, 4000)
    ]  # fmt: skip
    assert [worker.node for worker in found.run.workers] == [0, 1]
    assert "times are in microseconds, as the header names no other unit" in found.notes
    assert any("1 messages between processes are not used" in note for note in found.notes)


def test_events_that_are_out_of_order_are_sorted(tmp_path):
    lines = OMPSS.splitlines(keepends=True)
    later = "".join([lines[0], *reversed(lines[1:])])
    assert stretches(trace(tmp_path, later)) == stretches(trace(tmp_path, OMPSS))


EVENT = "2:1:1:1:1:5:9200011:1\n"
BAD_TRACES = {
    "no header": ("#Paraver\n", r"1:1: got '#Paraver'; legal: #Paraver \(DATE\):DURATION"),
    "unit": (HEADER.replace("_ns", "_ps"), r"1:35: unit: got '_ps'; legal: _ns, _us, or none"),
    "nodes": (HEADER.replace("1(2):", "x:"), r"1:40: nodes: got 'x'; legal: 0, or such as 2\(4,"),
    "threads": (HEADER.replace("(2:1)", "(2)"), r"1:47: application: got '1\(2\)'; legal: such as"),
    "applications": (HEADER.replace(":1:1(", ":3:1("), "1:45: 3 applications, but threads of 1"),
    "record": (HEADER + "9:1:1\n", r"2:1: record: got '9:1:1'; legal: 1 \(state\), 2 \(events\)"),
    "fields": (HEADER + EVENT + "2:1:1:1:1:5:9200011\n", "3:1: events of 7 fields; legal: 2:CPU"),
    "value": (HEADER + EVENT[:-2] + "x\n", "2:21: got 'x'; legal: a whole number"),
    "large": (HEADER + EVENT[:-1] + "0" * 25 + "\n", "2:21: value: got '10+'; legal: 64 bits"),
    "time": (HEADER + EVENT.replace(":5:", ":-5:"), "2:11: got '-5'; legal: a time, 0 to"),
    "thread": (HEADER + EVENT.replace("2:1:1:1:1:", "2:1:1:b:1:"), "2:7: got 'b'; legal: a number"),
    "state": (HEADER + "1:1:1:1:1:20:10:1\n", r"2:14: a state ends \(10\) before it begins \(20\)"),
    "state fields": (HEADER + "1:1:1:1:1:20:1\n", "2:1: a state of 7 fields; legal: 1:CPU"),
    "communication": (HEADER + "3:1:1\n", "2:1: a communication of 3 fields; legal: 3:CPU"),
    "size": (HEADER + "3:1:1:1:1:2:2:2:1:2:1:3:3:8:t\n", "2:29: got 't'; legal: a whole number"),
    "nothing": (HEADER, "no task ran on a worker"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD_TRACES)
def test_what_is_wrong_is_told_with_its_place(tmp_path, what):
    text, message = BAD_TRACES[what]
    with pytest.raises(InputError, match=r"some.prv:.*" + message) as error:
        trace(tmp_path, text)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)


def test_bad_records_are_passed_over_and_counted(tmp_path):
    lines = OMPSS.splitlines(keepends=True)
    text = "".join([*lines[:3], "2:1:1\n", "9:9\n", *lines[3:]])
    (tmp_path / "some.prv").write_text(text)
    found = read_trace(tmp_path / "some.prv", skip_bad=True)
    assert len(found.skipped) == 2
    assert found.skipped[0].startswith(f"{tmp_path / 'some.prv'}:4:1: events of 3 fields")
    assert len(found.run) == 2


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), max_size=4), min_size=1),
    st.sampled_from([("_ns", 1), ("_us", 1000), ("", 1000)]),
)
def test_any_header_is_read(applications, unit):
    parts = [f"{len(p)}({','.join(f'{t}:{n}' for t, n in p)})" for p in applications]
    line = f"#Paraver (1/2/26 at 3:04):7{unit[0]}:0:{len(parts)}:{':'.join(parts)}"
    header = parse_header(Records(Path()), line)
    assert header.applications == tuple(map(tuple, applications))
    assert (header.scale, header.end_ns) == (unit[1], 7 * unit[1])
    threads = [
        (a, p, t)
        for a, processes in enumerate(applications, 1)
        for p, (count, _) in enumerate(processes, 1)
        for t in range(1, count + 1)
    ]
    assert [header.number(*each) for each in threads] == list(range(len(threads)))
