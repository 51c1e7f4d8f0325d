"""Programs that end early, start others, or find no room: what was recorded, and what is said."""

from __future__ import annotations

import os
import resource
import signal
import subprocess

import pytest

import tasksim
from tasksim.base.errors import TasksimError
from tasksim.recording.openmp.program import run_program
from tasksim.recording.openmp.raw_trace import TRACE_FOLDER
from tasksim.recording.openmp.runtime import find_program, find_recorder
from tests.openmp_programs import EXAMPLES

DONE_TASKS = 20


def ending(how, head=""):
    """A program that executes DONE tasks, and in one more ends."""
    return f"""
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
{head}
static volatile double sink;
int main(void)
{{
#pragma omp parallel num_threads(2)
#pragma omp single
    {{
        for (int i = 0; i < {DONE_TASKS}; ++i) {{
#pragma omp task
            for (int k = 0; k < 2000; ++k) sink += k;
        }}
#pragma omp taskwait
#pragma omp task
        {{ {how} }}
    }}
    return 0;
}}
"""


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("exit(7);", 7, "exit code 7"),
        ("_exit(9);", 9, "exit code 9"),
        ("kill(getpid(), SIGKILL);", 128 + signal.SIGKILL, "SIGKILL"),
        ("abort();", 128 + signal.SIGABRT, "SIGABRT"),
        ("*(volatile int *)0 = 1;", 128 + signal.SIGSEGV, "SIGSEGV"),
    ],
)
def test_what_was_done_before_the_end_is_recorded(how, code, said, compiled, recorded):
    found = recorded(compiled(ending(how)))
    recording = found.recording
    assert recording.ended.exit_code == code
    assert said in recording.notes[0]
    assert any("1 task had not ended" in note for note in recording.notes)
    assert recording.tasks == DONE_TASKS + 1
    assert found.counts() == [DONE_TASKS]
    tasksim.check_run(recording.run, recording.graph)


FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile double sink;
static void region(int tasks)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < tasks; ++i) {
#pragma omp task
        sink += i;
    }
}
int main(void)
{
    region(5);
    pid_t child = fork();
    if (!child) {
        alarm(200); // nobody else ends it, should it hang
        region(100);
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    region(6);
    return status != 0;
}
"""


def test_the_child_of_a_fork_is_not_recorded_and_disturbs_nothing(compiled, recorded, monkeypatch):
    monkeypatch.setenv("KMP_INIT_AT_FORK", "FALSE")  # as scikit-learn does when it is imported
    recording = recorded(compiled(FORKS)).recording
    assert recording.ended.exit_code == 0
    assert recording.tasks == 11
    assert any("forked" in note for note in recording.notes)


def test_programs_that_a_program_starts_are_not_recorded(compiled, recorded):
    other = compiled(EXAMPLES / "fib.c")
    source = ending(f'if (system("{other} 10 > /dev/null")) abort();')
    recording = recorded(compiled(source)).recording
    assert recording.ended.exit_code == 0
    assert recording.tasks == DONE_TASKS + 1
    assert any("other processes" in note for note in recording.notes)


def test_a_program_that_only_starts_another_has_nothing_recorded(compiled, recorded):
    other = compiled(EXAMPLES / "fib.c")
    source = f"""
#include <omp.h>
#include <stdlib.h>
int main(int count, char **values)
{{
    if (count > 9) omp_get_wtime();
    return system("{other} 10") != 0;
}}
"""
    recording = recorded(compiled(source)).recording
    assert any("only a process that it started" in note for note in recording.notes)
    with pytest.raises(TasksimError, match="nothing was recorded"):
        recording.graph  # noqa: B018


def test_a_program_without_a_region_has_nothing_recorded(compiled, recorded):
    source = """
#include <omp.h>
int main(int count, char **values) { return count > 9 ? omp_get_num_procs() : 3; }
"""
    recording = recorded(compiled(source)).recording
    assert recording.ended.exit_code == 3
    assert any("did not start" in note for note in recording.notes)
    with pytest.raises(TasksimError, match="did not start"):
        recording.save("somewhere")


def test_a_program_whose_compiler_omitted_its_region_has_nothing_recorded(compiled, recorded):
    source = """
#include <omp.h>
int main(void)
{
    omp_set_dynamic(0);
#pragma omp parallel num_threads(2)
    { }
    return 0;
}
"""
    recording = recorded(compiled(source)).recording
    with pytest.raises(TasksimError, match="nothing was recorded: no parallel region was entered"):
        recording.save("somewhere")


def test_a_program_that_closes_all_files_and_moves_is_recorded(compiled, recorded):
    head = """
static void leave(void)
{
    for (int f = 3; f < 100; ++f) close(f);
    if (chdir("/")) abort();
}
"""
    how = """
        leave();
        for (int i = 0; i < 20000; ++i) {
#pragma omp task
            sink += i;
        }
"""
    recording = recorded(compiled(ending(how, head))).recording
    assert recording.ended.exit_code == 0
    assert recording.tasks == DONE_TASKS + 1 + 20000


def test_a_limit_of_file_sizes_ends_the_recording_and_not_the_program(
    compiled, recorded, monkeypatch
):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, before[1]))
        found = recorded(compiled(EXAMPLES / "fib.c"), "20", "2")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert found.output == "6765\n"
    assert found.recording.ended.exit_code == 0
    assert any("stopped early" in note for note in found.recording.notes)
    assert 1000 < found.recording.tasks < 21890
    tasksim.check_run(found.recording.run, found.recording.graph)


def used_bytes(folder):
    """The bytes of records in a trace, without the room that was reserved for more."""
    total = 0
    for path in folder.glob("thread-*"):
        total += len(path.read_bytes().rstrip(b"\0"))
    return total


@pytest.mark.parametrize("threads", [1, 2])
def test_a_task_takes_less_than_a_hundred_bytes_of_disk(threads, compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    program = find_program(compiled(EXAMPLES / "cholesky.c"))
    with (tmp_path / "output").open("w") as output:
        run_program(program, ("16", "4"), find_recorder(), tmp_path / "here", output)
    tasks = 16 * 17 * 18 // 6
    assert 50 * tasks < used_bytes(tmp_path / "here" / TRACE_FOLDER) < 100 * tasks


def test_signals_reach_the_program(compiled, recorded):
    """The recorder lives on when one is meant for the program."""
    source = ending(f"kill({os.getpid()}, SIGUSR1); sleep(30); exit(1);").replace(
        "int main(void)\n{",
        "static void leave(int number) { _exit(number == SIGUSR1 ? 5 : 6); }\n"
        "int main(void)\n{ signal(SIGUSR1, leave);",
    )
    assert recorded(compiled(source)).recording.ended.exit_code == 5


def test_a_signal_that_comes_before_the_program_runs_waits_for_it(compiled, recorded, monkeypatch):
    class Late(subprocess.Popen):
        def __init__(self, *arguments, **options):
            if options.get("executable") == str(program):
                os.kill(os.getpid(), signal.SIGUSR1)
            super().__init__(*arguments, **options)

    program = compiled(ending("sleep(30);"))
    monkeypatch.setattr(subprocess, "Popen", Late)
    assert recorded(program).recording.ended.signal_name == "SIGUSR1"
