"""Archives of OTF2, written by its library and by hand: what is read of them, what is said."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.runs import read_trace
from tasksim.formats.traces.otf2 import printed
from tasksim.formats.traces.tracefolder import save_trace

HERE = Path(__file__).parent
TIMEOUT_S = 300
"""Time in seconds after which a tool counts as hanging."""

# A thread creates two tasks, and waits for them. The first one, on the other thread, creates a
# third, which the first thread executes while both wait. A tick is 100 ns.
OPENMP = """
location 11 main/first location 12 main/second
region 0 work 20 region 1 main 1 region 2 create 21 region 3 taskwait 22 region 4 leaf 34
E 11 1000 1 0 0
E 11 1010 2 0 0 C 11 1012 0 0 1 L 11 1013 2
E 11 1020 2 0 0 C 11 1022 0 0 2 L 11 1023 2
F 11 1024
E 11 1025 3 0 0
S 12 1030 0 0 1 E 12 1030 0 0 0
S 11 1031 0 0 2 E 11 1031 4 0 0 L 11 1035 4 X 11 1035 0 0 2 S 11 1035 0 0 0
C 12 1040 0 1 1
E 12 1050 3 0 0
S 11 1055 0 1 1 E 11 1055 4 0 0 L 11 1065 4 X 11 1065 0 1 1 S 11 1065 0 0 0
L 12 1066 3
L 12 1080 0 X 12 1080 0 0 1
L 11 1085 3
E 11 1090 2 0 0 C 11 1092 0 0 3 L 11 1093 2
S 12 1095 0 0 3 E 12 1095 4 0 0 L 12 1099 4 X 12 1099 0 0 3
L 11 1100 1
"""
# HPX: tasks are regions, one is left and entered again elsewhere.
REGIONS = """
location 1 main/w0 location 2 main/w1
region 0 main 1 region 1 hello 20
E 1 1000 0 0 0
E 1 1010 1 7 3 L 1 1020 1
E 2 1012 1 8 3 L 2 1030 1
E 2 1040 1 7 3 L 2 1060 1
L 1 1100 0
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Return a function that writes an archive of what words say; it returns the anchor file."""
    tools = {"otf2-print": "otf2-tools", "gcc": "gcc"}
    for tool, package in tools.items():
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} (Debian: {package}) is not here")
    writer = tmp_path_factory.mktemp("writer") / "otf2_writer"
    command = ["gcc", HERE / "otf2_writer.c", "-o", writer, "-lotf2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    if "otf2/otf2.h" in done.stderr or "-lotf2" in done.stderr:
        pytest.skip("the library of OTF2 (Debian: libotf2-trace-dev) is not here")
    assert done.returncode == 0, done.stderr

    def write(words: str) -> Path:
        folder = tmp_path_factory.mktemp("archives") / "some"
        subprocess.run(
            [writer, folder], input=words, text=True, check=True, capture_output=True,
            timeout=TIMEOUT_S,
        )  # fmt: skip
        return folder / "traces.otf2"

    return write


def tasks_of(found):
    """Kernel, worker, start and end, in ticks from the first event that counts, of each task."""
    run = found.run
    return [
        (run.kernel_names[kernel], run.workers[worker].name, round(start * 1e7), round(end * 1e7))
        for kernel, worker, start, end in zip(
            run.tasks.kernel, run.tasks.worker, run.tasks.start_s, run.tasks.end_s, strict=True
        )
    ]


def test_tasks_of_openmp_are_cut_where_they_create_and_wait(archive):
    found = read_trace(archive(OPENMP))
    tasks = tasks_of(found)
    assert sorted(tasks, key=lambda task: task[2:]) == [
        ("create", "cpu0", 0, 2),
        ("create", "cpu0", 10, 12),
        ("work", "cpu1", 20, 30),
        ("leaf", "cpu0", 21, 25),
        ("work (resumed)", "cpu1", 30, 40),
        ("leaf", "cpu0", 45, 55),
        ("work (resumed)", "cpu1", 56, 70),
        ("create", "cpu0", 80, 82),
        ("leaf", "cpu1", 85, 89),
    ]
    at = {(kernel, start): number for number, (kernel, _, start, _) in enumerate(tasks)}
    graph = found.run.graph
    edges = {(a, b) for a in range(len(graph)) for b in graph.successors_of(a)}
    first, second, third = (at["create", start] for start in (0, 10, 80))
    begun, created, waited = at["work", 20], at["work (resumed)", 30], at["work (resumed)", 56]
    assert edges == {
        (first, second), (second, third), (first, begun), (second, at["leaf", 21]),
        (begun, created), (begun, at["leaf", 45]), (created, waited), (at["leaf", 45], waited),
        (at["leaf", 21], third), (waited, third), (third, at["leaf", 85]),
    }  # fmt: skip
    tasksim.check_run(found.run, graph)
    said = "\n".join(found.notes)
    assert "workers: cpu0 is first, cpu1 is second" in said
    assert "dependences by depend are not in the trace" in said
    assert "1 events are not about tasks, and are not used (1 THREAD_FORK)" in said


def test_tasks_that_are_called_by_the_thread_that_executes_them(archive):
    """So does EZTrace, whose regions of tasks are of role FUNCTION."""
    words = OPENMP.replace("S 12 1030 0 0 1", "S 12 1030 0 1 5").replace(
        "C 11 1012 0 0 1", "C 11 1012 0 0 5"
    )
    words = words.replace("X 12 1080 0 0 1", "S 12 1080 0 1 0").replace("work 20", "work 1")
    found = read_trace(archive(words))
    assert sorted(tasks_of(found)) == sorted(tasks_of(read_trace(archive(OPENMP))))
    assert found.run.graph.edges == 11
    assert any(note.startswith("1 tasks were executed under the number") for note in found.notes)


def test_an_archive_is_imported_and_simulated(archive, tmp_path):
    found = read_trace(archive(OPENMP))
    assert found.run.graph_name == "some"
    save_trace(found, tmp_path / "run")
    again = tasksim.simulate(tmp_path / "run", durations="measured")
    assert 5e-6 < again.makespan_s < 12e-6
    assert [worker.architecture for worker in again.workers] == ["cpu", "cpu"]


def test_regions_of_role_task_are_tasks_and_are_resumed(archive):
    found = read_trace(archive(REGIONS))
    assert tasks_of(found) == [
        ("hello", "cpu0", 0, 10), ("hello", "cpu1", 2, 20), ("hello (resumed)", "cpu1", 30, 50)
    ]  # fmt: skip
    assert found.run.graph.successors_of(0) == [2]
    assert any("not their dependencies" in note for note in found.notes)


def test_outermost_regions_count_where_there_is_no_task(archive):
    found = read_trace(archive(REGIONS.replace("hello 20", "hello 1")))
    assert tasks_of(found) == [
        ("main", "cpu0", 0, 100), ("hello", "cpu1", 12, 30), ("hello", "cpu1", 40, 60)
    ]  # fmt: skip
    assert any("the trace has no tasks" in note for note in found.notes)


def test_what_otf2_print_has_printed_is_read_as_the_archive(archive, tmp_path):
    anchor = archive(OPENMP)
    done = subprocess.run(
        ["otf2-print", "-A", anchor], capture_output=True, text=True, check=True, timeout=TIMEOUT_S
    )
    (tmp_path / "trace.txt").write_text(done.stdout)
    assert tasks_of(read_trace(tmp_path / "trace.txt")) == tasks_of(read_trace(anchor))
    assert tasks_of(read_trace(anchor.parent)) == tasks_of(read_trace(anchor))


def test_an_archive_without_its_events_is_refused_in_words(archive):
    anchor = archive(OPENMP)
    (anchor.parent / "traces" / "12.evt").unlink()
    with pytest.raises(
        InputError, match=r"traces.otf2: otf2-print cannot read it: Create local"
    ) as e:
        read_trace(anchor)
    assert "12.evt" in str(e.value)


def test_without_otf2_print_it_is_said_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "traces.otf2").write_bytes(b"\x03BOTF2\0")
    monkeypatch.setattr(printed.shutil, "which", lambda _: None)
    with pytest.raises(
        InputError,
        match=r"otf2-print reads archives of OTF2, but is not installed: install otf2-tools",
    ):
        read_trace(tmp_path / "traces.otf2")


HEAD = """
=== OTF2-PRINT ===
=== Global Definitions ===
CLOCK_PROPERTIES                          Ticks per Seconds: 10, Global Offset: 0, Length: 9, Date: UNDEFINED
REGION                                 0  Name: "a "b" c" <5> (Aka. "x" <5>), Descr.: "" <0>, Role: TASK, Paradigm: OPENMP, Flags: NONE
LOCATION                               4  Name: "t0" <9>, Type: ACCELERATOR_STREAM, # Events: 8, Group: UNDEFINED
=== Events ===
"""  # noqa: E501
ENTER_EVENT = 'ENTER     4     10  Region: "a "b" c" <0>\n'
LEAVE_EVENT = 'LEAVE     4     15  Region: "a "b" c" <0>\n'
BAD_TRACES = {
    "no clock": (HEAD.replace("CLOCK", "BLOCK") + ENTER_EVENT, r"8: an event before the clock"),
    "clock": (HEAD.replace("Seconds: 10", "Seconds: 0"), r"4: definition: got 'CLOCK_PROPERTIES"),
    "location": (HEAD + ENTER_EVENT.replace(" 4 ", " 5 "), "8: location 5 is not defined"),
    "region": (HEAD + ENTER_EVENT.replace("<0>", "<1>"), "8: ENTER: region 1 is not defined"),
    "event": (
        HEAD + ENTER_EVENT.replace("Region", "R"),
        '8: ENTER: got \'R: "a "b" c" <0>\'; legal: as',
    ),
    "time": (
        HEAD + ENTER_EVENT.replace(" 10 ", f" {10**20 - 1} "),
        "8: time: 99999999999999999999 ticks are 99",
    ),
    "task": (HEAD + "THREAD_TASK_CREATE  4  5  Thread\n", "8: THREAD_TASK_CREATE: got 'Thread'"),
    "definition": (HEAD.replace("Role", "R"), "5: definition: got 'REGION"),
    "nothing": (HEAD, "no task ran on a worker"),
}


def test_a_text_by_hand(tmp_path):
    (tmp_path / "trace.txt").write_text(
        HEAD
        + ENTER_EVENT
        + LEAVE_EVENT
        + "of two lines\nMETRIC  4  15  Metric: 1\n"
        + ENTER_EVENT.replace("10", "16")
    )
    found = read_trace(tmp_path / "trace.txt")
    assert [kernel for kernel, *_ in tasks_of(found)] == ['a "b" c', 'a "b" c']
    assert [worker.name for worker in found.run.workers] == ["gpu0"]
    assert "1 tasks had not ended at the end of the trace, which counts as their end" in found.notes
    assert "1 lines are not events, and are left out" in found.notes


def test_a_paradigm_that_the_archive_defines_is_read(tmp_path):
    """Score-P defines the paradigms; then it is printed by name and number."""
    head = HEAD.replace("Paradigm: OPENMP", 'Paradigm: "OpenMP" <2>')
    (tmp_path / "trace.txt").write_text(head + ENTER_EVENT + LEAVE_EVENT)
    assert [kernel for kernel, *_ in tasks_of(read_trace(tmp_path / "trace.txt"))] == ['a "b" c']


@pytest.mark.parametrize("what", BAD_TRACES)
def test_what_is_wrong_is_told_with_its_line(tmp_path, what):
    text, message = BAD_TRACES[what]
    (tmp_path / "trace.txt").write_text(text)
    with pytest.raises(InputError, match=r"trace.txt:.*" + re.escape(message.removeprefix("r"))):
        read_trace(tmp_path / "trace.txt")
