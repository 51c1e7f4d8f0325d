"""Logs of GNU parallel, ninja, Nextflow and Taskflow, and tables of tasks without workers."""

import struct

import pytest
from click.testing import CliRunner

from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.formats.runs import read_trace

PARALLEL_LOG = """\
Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand
2\t:\t1599839779.692\t     2.000\t0\t59014\t0\t0\tN=2 ./bin/fit -r "a\tb" 2
1\t:\t1599839779.690\t     1.000\t0\t59014\t0\t0\t./bin/fit 1
3\t:\t1599839780.689\t     0.500\t0\t59014\t7\t0\tconvert 3
Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand
3\t:\t1599839781.689\t     0.500\t0\t59014\t0\t0\tconvert 3
"""

NINJA_LOG = """\
# ninja log v5
0\t900\t1\told.o\taa
0\t100\t1\tobj/a.cpp.o\t1a
10\t200\t1\tobj/b.cpp.o\t1b
200\t250\t1\tlibx.so.1.2\t1c
200\t250\t1\tlibx.so\t1c
250\t260\t1\tapp\t1d
"""

NEXTFLOW_TRACE = """\
task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu
1\tfb/cc\t5\tQC:COUNT (one)\tCOMPLETED\t0\t2025-05-25 12:00:00.000\t1m 30s\t1m\t34.4%
2\t88/2b\t6\tQC:COUNT (two)\tFAILED\t1\t2025-05-25 12:00:30.500\t1h\t59m 30s\t28.7%
3\t24/5f\t7\tALIGN\tCACHED\t0\t2025-05-01 12:00:00.000\t7.2s\t4s\t-
4\t24/60\t-\tALIGN (x)\tABORTED\t-\t2025-05-25 12:00:00.000\t-\t-\t-
"""


def read(tmp_path, name, text, **more):
    path = tmp_path / name
    path.write_text(text)
    return read_trace(path, **more)


def rows(trace):
    """Return kernel, worker, start and end of each task, by its start."""
    run = trace.run
    tasks = run.tasks
    return sorted(
        (round(start, 6), round(end, 6), run.kernel_names[kernel], run.workers[worker].name)
        for kernel, worker, start, end in zip(
            tasks.kernel.tolist(), tasks.worker.tolist(), tasks.start_s.tolist(),
            tasks.end_s.tolist(), strict=True,
        )
    )  # fmt: skip


def test_jobs_of_gnu_parallel_are_on_as_few_workers_as_ran_at_once(tmp_path):
    """Job 3 seems to begin a millisecond before job 1 ends: times are rounded."""
    trace = read(tmp_path, "jobs.log", PARALLEL_LOG)
    assert rows(trace) == [
        (0.0, 1.0, "fit", "cpu0"),
        (0.002, 2.002, "fit", "cpu1"),
        (1.0, 1.499, "convert", "cpu0"),
        (1.999, 2.499, "convert", "cpu0"),
    ]
    assert "1 failed job (Exitval is not 0): tasks like others" in trace.notes
    assert "no workers are named: as many as tasks ran at once are assumed, 2" in trace.notes


def test_jobs_of_several_hosts_have_workers_of_their_own(tmp_path):
    trace = read(tmp_path, "jobs.log", PARALLEL_LOG.replace("2\t:", "2\tnode7"))
    assert {worker.name for worker in trace.run.workers} == {"node7-0", "cpu0"}


def test_the_last_build_in_the_log_of_ninja_counts(tmp_path):
    """Both names of the library are of one command; the first line is of a build before."""
    trace = read(tmp_path, ".ninja_log", NINJA_LOG)
    assert rows(trace) == [
        (0.0, 0.1, "o", "cpu0"),
        (0.01, 0.2, "o", "cpu1"),
        (0.2, 0.25, "so", "cpu0"),
        (0.25, 0.26, "file", "cpu0"),
    ]
    assert "the log has 2 builds: the last one counts" in trace.notes


def test_tasks_of_nextflow_run_at_the_end_of_their_time(tmp_path):
    """A task waits for its executor first: duration counts from its submission, realtime runs."""
    trace = read(
        tmp_path, "trace.txt", NEXTFLOW_TRACE.replace("4\t24/60", "4\t24/60"), skip_bad=True
    )
    assert rows(trace) == [
        (30.0, 90.0, "QC:COUNT", "cpu0"),
        (60.5, 3630.5, "QC:COUNT", "cpu1"),
    ]
    assert trace.run.tasks.submitted_s.tolist() == [0.0, 30.5]
    assert "1 tasks did not run, as their results were cached" in trace.notes
    assert "1 tasks were not completed: they count as tasks" in trace.notes
    assert len(trace.skipped) == 1


def test_raw_traces_of_nextflow_are_in_milliseconds(tmp_path):
    text = "name\tstatus\tstart\tcomplete\thash\nA (1)\tCOMPLETED\t1000\t1500\tx\n"
    assert rows(read(tmp_path, "trace.txt", text)) == [(0.0, 0.5, "A", "cpu0")]


def test_tasks_of_a_table_without_workers_may_overlap(tmp_path):
    trace = read(tmp_path, "table.csv", "task,start,end\na,0,2\nb,1,3\nc,2,4\n")
    assert [row[3] for row in rows(trace)] == ["worker0", "worker1", "worker0"]


TASKFLOW = """\
[
{"executor":"0","data":[{"worker":6,"level":0,"data":[{"span":[168,182],"name":"6_0","type":"static"},
{"span":[188,190],"name":"load","type":"condition"}]},{"worker":7,"level":0,"data":[
{"span":[119,160],"name":"load","type":"static"}]},{"worker":7,"level":1,"data":[
{"span":[120,130],"name":"inner","type":"static"}]}]}
]
"""


def test_tasks_of_taskflow_are_those_of_its_workers(tmp_path):
    trace = read(tmp_path, "profile.json", TASKFLOW)
    assert rows(trace) == [
        (0.0, 41e-6, "load", "cpu7"),
        (49e-6, 63e-6, "static", "cpu6"),
        (69e-6, 71e-6, "load", "cpu6"),
    ]
    assert "1 tasks ran inside of others (level 1 and more), and are part of them" in trace.notes


def varint(value):
    """A number as Taskflow writes it: seven bits in a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def executor(uid, origin, names, workers):
    """An executor of a binary profile; *workers* have a number, a level, and their tasks.

    A task is its begin since that of the task before, its duration, its name and its type.
    """
    text = "".join(names).encode()
    data = struct.pack("<QQII", uid, origin, len(text), len(workers)) + text
    for worker, level, tasks in workers:
        data += struct.pack("<III", worker, level, len(tasks))
        for after, duration, name, kind in tasks:
            place = text.index(name.encode())
            data += varint(after) + varint(duration)
            data += struct.pack("<IB", place, kind << 5 | len(name))
    return data


def binary_profile():
    """The tasks of TASKFLOW, and one of a second executor that began 100 us later."""
    names = ["load", "inner"]
    one = executor(0, 5000, names, [
        (6, 0, [(168, 14, "", 0), (20, 2, "load", 2)]),
        (7, 0, [(119, 41, "load", 0)]),
        (7, 1, [(120, 10, "inner", 0)]),
    ])  # fmt: skip
    two = executor(1, 5100, names, [(0, 0, [(200, 300, "inner", 4)])])
    return b"TFPX" + struct.pack("<HHI", 1, 0, 2) + one + two


def test_a_binary_profile_of_taskflow_says_the_same_as_json(tmp_path):
    path = tmp_path / "profile.tfp"
    path.write_bytes(binary_profile())
    trace = read_trace(path)
    assert rows(trace) == [
        (0.0, 41e-6, "load", "cpu7"),
        (49e-6, 63e-6, "static", "cpu6"),
        (69e-6, 71e-6, "load", "cpu6"),
        (181e-6, 481e-6, "inner", "1/cpu0"),
    ]
    assert "1 tasks ran inside of others (level 1 and more), and are part of them" in trace.notes


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (binary_profile()[:10], "the file ends within its header"),
        (binary_profile()[:-5], r"the file ends within \[1\].data\[0\].data\[0\]"),
        (
            b"TFPX\x02" + binary_profile()[5:],
            "got version 2 of Taskflow's binary profiles; legal: 1, or a profile in JSON",
        ),
        (
            binary_profile()[:-9] + b"\xff" * 20,
            r"\[1\].data\[0\].data\[0\]: a number of more than 10 bytes",
        ),
    ],
)
def test_a_binary_profile_of_taskflow_that_is_damaged_is_refused(data, message, tmp_path):
    path = tmp_path / "profile.tfp"
    path.write_bytes(data)
    with pytest.raises(InputError, match=f"profile.tfp: .*{message}"):
        read_trace(path)


NSYS = """\
Start (ns),Duration (ns),CorrId,GrdX,Reg/Trd,Bytes (MB),Device,Ctx,Strm,Name
1000,500,17,64,32,,NVIDIA H100 (0),1,7,"void gemm<float, 128>(float *)"
1400,300,18,,,4.2,NVIDIA H100 (0),1,13,[CUDA memcpy Host-to-Device]
1480,100,18,64,32,,NVIDIA H100 (0),1,7,"void gemm<float, 128>(float *)"
1499,200,19,64,32,,NVIDIA H100 (0),1,13,scale
"""


def test_kernels_of_nsys_are_on_their_streams(tmp_path):
    """Launches of a CUDA graph share a correlation; a kernel may begin before the last one ends."""
    trace = read(tmp_path, "gpu.csv", NSYS)
    gemm, device = "void gemm<float, 128>(float *)", "NVIDIA H100 (0)"
    assert {row[2:] for row in rows(trace)} == {
        (gemm, f"{device}/stream 7"),
        ("[CUDA memcpy Host-to-Device]", f"{device}/stream 13"),
        (gemm, f"{device}/stream 7 (2)"),
        ("scale", f"{device}/stream 13 (2)"),
    }
    assert trace.run.makespan_s == pytest.approx(700e-9)
    assert {worker.architecture for worker in trace.run.workers} == {"stream"}
    assert trace.run.graph.parameters_of(0)["GrdX"] == 64
    assert "CorrId" not in trace.run.graph.parameters_of(0)


ROCPROF = """\
"Kind","Agent_Id","Queue_Id","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp"
"KERNEL_DISPATCH","Agent 4",1,1,"axpy(int)",74100000000100,74100000000300
"KERNEL_DISPATCH","Agent 4",2,2,"axpy(int)",74100000000200,74100000000400
"KERNEL_DISPATCH","Agent 4",1,3,"axpy(int)",74100000000300,74100000000700
"""


def test_kernels_of_rocprof_are_on_their_queues(tmp_path):
    trace = read(tmp_path, "7_kernel_trace.csv", ROCPROF)
    assert sorted(row[2:] for row in rows(trace)) == [
        ("axpy(int)", "Agent 4/queue 1"),
        ("axpy(int)", "Agent 4/queue 1"),
        ("axpy(int)", "Agent 4/queue 2"),
    ]
    assert trace.run.makespan_s == pytest.approx(600e-9, rel=1e-4)
    assert trace.run.graph.successors_of(0) == [2]


SACCT = """\
JobID|JobName|State|Submit|Start|End
101|train|COMPLETED|2024-01-01T09:59:00|2024-01-01T10:00:00|2024-01-01T10:05:00
101.batch|batch|COMPLETED|2024-01-01T10:00:00|2024-01-01T10:00:00|2024-01-01T10:05:00
102|eval|FAILED|2024-01-01T09:59:30|2024-01-01T10:02:00|2024-01-01T10:03:30
"""


def test_jobs_of_slurm_are_tasks_without_their_steps(tmp_path):
    trace = read(tmp_path, "jobs.txt", SACCT)
    assert rows(trace) == [
        (60.0, 360.0, "train", "worker0"),
        (180.0, 270.0, "eval", "worker1"),
    ]
    assert trace.run.tasks.submitted_s.tolist() == [0.0, 30.0]
    assert "1 step of jobs, such as 7.batch, counted with their jobs" in trace.notes


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "j",
            PARALLEL_LOG.replace("     1.000", "error"),
            "j:3: Starttime and JobRuntime: got '1599",
        ),
        (
            "j",
            PARALLEL_LOG.replace("\t0\t59014\t7\t0", ""),
            "j:4: got 5 fields; legal: 9, separated",
        ),
        (
            "n",
            NINJA_LOG.replace("10\t200", "x\t200"),
            "n:4: start and end: got 'x' and '200'; legal",
        ),
        ("p", TASKFLOW.replace("[119,160]", "[119]"), "p: [0].data[1].data[0]: span: got [119]"),
        (
            "p",
            TASKFLOW.replace("[119,160]", "[160,119]"),
            "p: [0].data[1].data[0]: task 2: it ends",
        ),
        ("p", TASKFLOW.replace("[{", "[{,", 1), "p:2:26: not JSON"),
        ("p", TASKFLOW.replace('[{"worker":6', '{"worker":6'), "not JSON"),
        ("s", SACCT.replace("2024-01-01T10:03:30", "Unknown"), "s:4: "),
        ("n", "# ninja log v5\n", "n: no task ran on a worker"),
        ("t", NEXTFLOW_TRACE, "t:5: task ALIGN (x): its times are not known"),
        (
            "t",
            NEXTFLOW_TRACE.replace("realtime", "cpus"),
            "t:1: got columns task_id, hash, native_id",
        ),
        (
            "t",
            NEXTFLOW_TRACE.replace("1m 30s", "1m 30"),
            "t:2: task QC:COUNT (one): its times are not",
        ),
    ],
)
def test_wrong_lines_of_logs_are_told_with_their_line(tmp_path, name, text, message):
    with pytest.raises(InputError) as caught:
        read(tmp_path, name, text)
    assert message in str(caught.value)


def test_a_log_is_imported_and_simulated_by_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.log").write_text(PARALLEL_LOG)
    found = CliRunner().invoke(cli, ["import", "trace", "jobs.log", "-o", "jobs"])
    assert found.exit_code == 0, found.output
    command = [
        "simulate",
        "jobs",
        "--durations",
        "measured",
        "--set",
        "platform.workers.cpu.count=4",
    ]
    found = CliRunner().invoke(cli, command)
    assert found.exit_code == 0, found.output
    assert "(4 cpu)" in found.output


def test_a_kernel_whose_name_fits_no_file_has_no_model(tmp_path, monkeypatch):
    """The import goes on: the durations are in the run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text('kernel,start,end\na/b,0,1\n"ns::f(int, float)",1,3\n')
    found = CliRunner().invoke(cli, ["import", "trace", "t.csv", "-o", "t", "--models"])
    assert found.exit_code == 0, found.output
    assert "no model of a kernel: kernel 'a/b': a name must not contain '/'" in found.output
    assert [path.name for path in (tmp_path / "t" / "models").iterdir()] == [
        "ns::f(int, float).json"
    ]
    found = CliRunner().invoke(cli, ["simulate", "t", "--durations", "measured"])
    assert found.exit_code == 0, found.output
