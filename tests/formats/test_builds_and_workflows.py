"""Runs of cargo, Snakemake and Spark, from what these write."""

import base64
import json

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.runs import read_trace


def rows(trace):
    """Return kernel, start, end and successors of each task, by its number."""
    run = trace.run
    tasksim.check_run(run, run.graph)
    return [
        (run.kernel_names[kernel], round(start, 6), round(end, 6), run.graph.successors_of(task))
        for task, (kernel, start, end) in enumerate(zip(
            run.tasks.kernel.tolist(), run.tasks.start_s.tolist(), run.tasks.end_s.tolist(),
            strict=True,
        ))
    ]  # fmt: skip


def unit(number, name, target, start, duration, unblocked=(), early=(), **more):
    return {
        "i": number, "name": name, "version": "1.0.0", "mode": "todo", "target": target,
        "start": start, "duration": duration, "unblocked_units": list(unblocked),
        "unblocked_rmeta_units": list(early), "sections": None,
    } | more  # fmt: skip


UNITS = [
    unit(0, "log", "", 0.1, 0.5, early=[2], sections=[
        ["frontend", {"start": 0.0, "end": 0.3}], ["codegen", {"start": 0.3, "end": 0.5}],
    ]),
    unit(1, "cc", " build-script", 0.1, 0.2, unblocked=[3]),
    unit(2, "app", ' app "bin"', 0.39, 0.4),
    unit(3, "cc", " build-script (run)", 0.3, 0.05),
]  # fmt: skip


def cargo(tmp_path, units, tail=";\n</script>"):
    path = tmp_path / "cargo-timing.html"
    path.write_text(
        "<html><head><title>Cargo Build Timings — app 1.0.0</title></head><script>\nDURATION = 1;\n"
        f"const UNIT_DATA = {json.dumps(units, indent=2)}{tail}"
    )
    return path


def test_a_library_of_cargo_is_split_where_others_need_only_its_metadata(tmp_path):
    """The program begins at 0.39 s, by rounding before the frontend ends at 0.4 s."""
    trace = read_trace(cargo(tmp_path, UNITS))
    assert rows(trace) == [
        ("lib", 0.0, 0.29, [3, 4]),
        ("build-script", 0.0, 0.2, [2]),
        ("build-script (run)", 0.2, 0.25, []),
        ("codegen", 0.29, 0.5, []),
        ("bin", 0.29, 0.69, []),
    ]
    assert trace.run.graph.parameters_of(3) == {"crate": "log"}


def test_reports_of_older_cargos_have_other_words(tmp_path):
    old = UNITS[0] | {"unlocked_rmeta_units": [2], "rmeta_time": 0.3}
    del old["unblocked_units"], old["unblocked_rmeta_units"], old["sections"]
    assert rows(read_trace(cargo(tmp_path, [old, *UNITS[1:]])))[0] == ("lib", 0.0, 0.29, [3, 4])


@pytest.mark.parametrize(
    ("units", "tail", "message"),
    [
        ([UNITS[0] | {"start": "now"}], ";", r"UNIT_DATA\[0\]: start: got 'now', not seconds from"),
        ([UNITS[0], {}], ";", r"UNIT_DATA\[1\]: no 'start'; legal: a unit of cargo"),
        ([UNITS[1], UNITS[1]], ";", r"UNIT_DATA\[1\]: i: got 1 a second time"),
        ([UNITS[1] | {"unblocked_units": ["x"]}], ";", "unblocked_units: got .'x'., not numbers"),
        ([], ";", "no unit was built, as all were fresh"),
    ],
)
def test_what_is_wrong_in_a_report_of_cargo_is_said(tmp_path, units, tail, message):
    with pytest.raises(InputError, match=message):
        read_trace(cargo(tmp_path, units, tail))


def test_a_report_of_cargo_that_is_cut_short_is_refused(tmp_path):
    path = cargo(tmp_path, UNITS)
    path.write_text(path.read_text()[:-60])
    with pytest.raises(InputError, match=r"html:3: UNIT_DATA is not JSON; is the file cut short"):
        read_trace(path)


def record(folder, output, rule, start, end, inputs=(), **more):
    """Write the metadata of an output file as Snakemake does, long names split in folders."""
    name = base64.urlsafe_b64encode(output.encode()).decode()
    *folders, last = [name[at : at + 200] for at in range(0, len(name), 200)]
    path = folder.joinpath(".snakemake", "metadata", *("@" + part for part in folders), last)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "rule": rule, "input": list(inputs), "shellcmd": f"make {rule}", "job_hash": 87,
        "starttime": start, "endtime": end, "incomplete": False,
    } | more  # fmt: skip
    path.write_text(json.dumps(content))
    return path


def test_jobs_of_snakemake_depend_on_those_that_made_their_files(tmp_path):
    """Both outputs of a job are one task; files that nothing made are no dependencies."""
    record(tmp_path, "a.txt", "split", 100.0, 101.0, ["raw.txt"])
    record(tmp_path, "b.txt", "split", 100.001, 101.5, ["raw.txt"])
    record(tmp_path, "x" * 200, "sort", 102.0, 104.0, ["a.txt"])
    record(tmp_path, "c.txt", "sort", 102.5, 103.0, ["b.txt", "raw.txt"])
    record(tmp_path, "end", "join", 110.02, 110.0, ["c.txt", "x" * 200], shellcmd=None)
    record(tmp_path, "d.txt", "sort", None, None, ["end"], incomplete=True)
    trace = read_trace(tmp_path)
    assert rows(trace) == [
        ("split", 0.0, 1.5, [1, 2]),
        ("sort", 2.0, 4.0, [3]),
        ("sort", 2.5, 3.0, [3]),
        ("join", 10.0, 10.0, []),
    ]
    assert trace.run.graph_name == tmp_path.name
    assert "output files without times, of jobs that did not end: 1" in trace.notes
    assert any(note.endswith("metadata lack it: 1") for note in trace.notes)
    assert len(read_trace(tmp_path / ".snakemake").run) == 4


SNAKEMAKE_LOG = """Building DAG of jobs...
[Thu Jan  1 02:01:41 1970]
localrule split:
    output: a.txt, b.txt
    jobid: 1
    resources: tmpdir=/tmp
[Thu Jan  1 02:01:43 1970]
rule sort:
    input: a.txt
    output: c.txt
    jobid: 2
[Thu Jan  1 02:01:43 1970]
Finished jobid: 1 (Rule: split)
1 of 3 steps (33%) done
[Thu Jan  1 02:01:48 1970]
Finished job 2.
"""
"""A log of Snakemake in a time zone two hours ahead: 02:01:41 is 101 s after 1970 began."""


def test_jobs_of_snakemake_with_run_start_as_its_log_says(tmp_path):
    """The start is the whole second, unless an input file was made within that."""
    record(tmp_path, "a.txt", "split", 103.401, 103.4, shellcmd=None)
    record(tmp_path, "b.txt", "split", 103.402, 103.4, shellcmd=None)
    record(tmp_path, "c.txt", "sort", 108.3, 108.2, ["a.txt"], shellcmd=None)
    record(tmp_path, "d.txt", "join", 110.0, 109.0, ["c.txt"], shellcmd=None)
    log = tmp_path / ".snakemake" / "log" / "1970-01-01T020140.000000.snakemake.log"
    log.parent.mkdir()
    log.write_text(SNAKEMAKE_LOG)
    trace = read_trace(tmp_path)
    assert rows(trace) == [
        ("split", 0.0, pytest.approx(2.4), [1]),
        ("sort", pytest.approx(2.4), pytest.approx(7.2), [2]),
        ("join", 8.0, 8.0, []),
    ]
    assert any("are those of Snakemake's log, in whole seconds: 2" in note for note in trace.notes)
    log.write_text(SNAKEMAKE_LOG.replace(":48 1970", ":88 1970"))
    with pytest.raises(InputError, match=r"log:15: no date: Thu Jan  1 02:01:88 1970; legal: 'Sun"):
        read_trace(tmp_path)
    log.write_text(SNAKEMAKE_LOG.replace("Thu Jan  1", "Fri Jan 23"))  # a run of another day
    assert any(note.endswith("metadata lack it: 3") for note in read_trace(tmp_path).notes)


def test_a_malformed_file_of_snakemake_is_named(tmp_path):
    record(tmp_path, "a.txt", "split", 1.0, 2.0)
    bad = record(tmp_path, "b.txt", "split", "noon", 2.0)
    with pytest.raises(InputError, match=f"{bad.name}:1: rule, input, starttime and endtime: one"):
        read_trace(tmp_path)
    assert len(read_trace(tmp_path, skip_bad=True).skipped) == 1


def test_metadata_of_snakemake_in_a_database_are_refused(tmp_path):
    (tmp_path / ".snakemake" / "metadata").mkdir(parents=True)
    (tmp_path / ".snakemake" / "metadata.db").touch()
    with pytest.raises(InputError, match=r"metadata\.db: metadata in a database; legal: files"):
        read_trace(tmp_path)


def event(kind, **fields):
    named = {name.replace("_", " "): value for name, value in fields.items()}
    return json.dumps({"Event": f"SparkListener{kind}"} | named, separators=(",", ":"))


def job(number, submitted, *stages):
    infos = [{"Stage ID": stage} for stage in stages]
    return event("JobStart", Job_ID=number, Submission_Time=submitted, Stage_Infos=infos)


def stage(number, submitted, parents=(), name="map at /home/me/job.py:3"):
    info = {
        "Stage ID": number, "Stage Attempt ID": 0, "Stage Name": name,
        "Parent IDs": list(parents), "Submission Time": submitted,
    }  # fmt: skip
    return event("StageSubmitted", Stage_Info=info)


def task(number, of, start, end, executor="1", spent=None, **more):
    info = {"Task ID": number, "Launch Time": start, "Finish Time": end, "Executor ID": executor}
    metrics = {} if spent is None else {"Executor Run Time": spent, "JVM GC Time": 1}
    return event(
        "TaskEnd", Stage_ID=of, Stage_Attempt_ID=0, Task_Info=info | more, Task_Metrics=metrics
    )


SPARK = [
    event("ApplicationStart", App_Name="words", Timestamp=1000),
    '{"Event":"org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates"}',
    job(0, 2000, 0, 1),
    stage(0, 2000),
    task(0, 0, 2010, 2090, spent=60),
    task(1, 0, 2080, 2150, Failed=True),
    stage(1, 2200, [0], "count at job.py:9"),
    task(2, 1, 2200, 2300, "2"),
    event("JobEnd", Job_ID=0, Completion_Time=2310),
    job(1, 2400, 2),
    stage(2, 2400),
    task(3, 2, 2400, 2500),
    event("JobEnd", Job_ID=1, Completion_Time=2510),
]


def test_stages_of_spark_wait_for_their_parents_and_jobs_for_earlier_ones(tmp_path):
    """The core of task 0 was free at 2070, before the driver noted it."""
    path = tmp_path / "local-17"
    path.write_text("\n".join(SPARK))
    trace = read_trace(path)
    assert rows(trace) == [
        ("map at job.py:3", 0.01, 0.07, [2, 3]),
        ("map at job.py:3", 0.08, 0.15, [2, 3]),
        ("count at job.py:9", 0.2, 0.3, [3]),
        ("map at job.py:3", 0.4, 0.5, []),
    ]
    assert [it.name for it in trace.run.workers] == ["executor1/cpu0", "executor2/cpu0"]
    assert trace.run.tasks.submitted_s.tolist() == pytest.approx([0, 0, 0, 0.4])
    assert "1 task failed or killed: tasks like others" in trace.notes
    assert "2 jobs: each waits for those that had ended when it was submitted" in trace.notes


def test_parts_of_a_log_of_spark_are_read_in_their_order(tmp_path):
    folder = tmp_path / "eventlog_v2_local-17"
    folder.mkdir()
    with pytest.raises(InputError, match=r"no events_1_\.\.\. that is not compressed"):
        read_trace(folder)
    (folder / "events_10_local-17").write_text("\n".join(SPARK[4:]))
    (folder / "events_9_local-17").write_text("\n".join(SPARK[:4]))
    (folder / "appstatus_local-17").touch()
    assert len(read_trace(folder).run) == 4
    (folder / "events_11_local-17").write_text(task(8, 7, 2500, 2600))
    with pytest.raises(InputError, match=r"events_11_local-17:1: TaskEnd: stage 7 was not submit"):
        read_trace(folder)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (task(4, 0, "noon", 5), r":14: TaskEnd: got the time 'noon', not in milliseconds"),
        (event("TaskEnd", Stage_ID=0), ":14: TaskEnd: no 'Task Info'; legal: an event of Spark"),
        (task(4, 0, 2500, 2600)[:-1], ":14: not JSON: "),
    ],
)
def test_what_is_wrong_in_a_log_of_spark_is_said(tmp_path, line, message):
    path = tmp_path / "local-17"
    path.write_text("\n".join([*SPARK, line]))
    with pytest.raises(InputError, match=message):
        read_trace(path)
    assert len(read_trace(path, skip_bad=True).run) == 4


GITHUB = {
    "total_count": 3,
    "jobs": [
        {"id": 1, "name": "lint", "status": "completed", "conclusion": "success",
         "created_at": "2026-01-31T23:59:58Z", "started_at": "2026-02-01T00:00:00Z",
         "completed_at": "2026-02-01T00:00:30Z", "runner_name": "GitHub Actions 9"},
        {"id": 2, "name": "test (3.11, ubuntu)", "status": "completed", "conclusion": "failure",
         "created_at": "2026-01-31T23:59:58Z", "started_at": "2026-02-01T00:00:10Z",
         "completed_at": "2026-02-01T00:01:10Z"},
        {"id": 3, "name": "deploy", "status": "completed", "conclusion": "skipped",
         "created_at": "2026-01-31T23:59:58Z", "started_at": None, "completed_at": None},
    ],
}  # fmt: skip


def jobs_file(tmp_path, content):
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(content))
    return path


def test_jobs_of_github_are_tasks_from_their_start(tmp_path):
    trace = read_trace(jobs_file(tmp_path, GITHUB))
    assert rows(trace) == [("lint", 2.0, 32.0, []), ("test", 12.0, 72.0, [])]
    assert {"jobs that did not run, or have not ended: 1"} < set(trace.notes)
    assert "jobs that did not succeed are tasks like others: 1" in trace.notes
    of_gh = [
        {"name": "lint", "conclusion": "success", "startedAt": "2026-02-01T00:00:00Z",
         "completedAt": "2026-02-01T00:00:30Z"},
        {"name": "test", "conclusion": "", "startedAt": "2026-02-01T00:00:00Z",
         "completedAt": "0001-01-01T00:00:00Z"},
    ]  # fmt: skip
    assert rows(read_trace(jobs_file(tmp_path, {"jobs": of_gh}))) == [("lint", 0.0, 30.0, [])]


def test_jobs_of_gitlab_wait_for_the_stage_before_if_it_had_ended(tmp_path):
    """GitLab lists the last jobs first; 'early' needs no job of the stage before."""
    times = {"deploy": (40, 50), "early": (5, 15), "test": (30, 40), "b": (0, 30), "a": (0, 20)}
    stage_of = {"deploy": "deploy", "early": "test", "test": "test"}
    trace = read_trace(jobs_file(tmp_path, [
        {"id": at, "status": "success", "stage": stage_of.get(name, "build"), "name": name,
         "created_at": "2026-02-01T00:00:00.000Z", "duration": end - start,
         "started_at": f"2026-02-01T00:00:{start:02}.250+00:00",
         "finished_at": f"2026-02-01T00:00:{end:02}.250+00:00"}
        for at, (name, (start, end)) in enumerate(times.items())
    ]))  # fmt: skip
    found = {kernel: (start, end, after) for kernel, start, end, after in rows(trace)}
    numbers = {kernel: at for at, kernel in enumerate(found)}
    assert found["a"] == (0.25, 20.25, [numbers["test"]])
    assert found["b"] == (0.25, 30.25, [numbers["test"]])
    assert found["early"] == (5.25, 15.25, [numbers["deploy"]])
    assert found["test"] == (30.25, 40.25, [numbers["deploy"]])


def test_tasks_of_airflow_are_tasks(tmp_path):
    trace = read_trace(jobs_file(tmp_path, [
        {"dag_id": "etl", "task_id": "load", "state": "success",
         "start_date": "2026-02-01T00:00:00.5+00:00", "end_date": "2026-02-01T00:00:01+00:00"},
        {"dag_id": "etl", "task_id": "skip", "state": "skipped", "start_date": "", "end_date": ""},
    ]))  # fmt: skip
    assert rows(trace) == [("load", 0.0, 0.5, [])]


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ([7], r"jobs\[0\]: got 7; legal: an object, a job"),
        ([GITHUB["jobs"][0] | {"started_at": "noon"}], r"jobs\[0\]: started_at: got 'noon'; legal"),
        ({"started_at": 1}, "got no list; legal: a list of jobs, or one under jobs"),
    ],
)
def test_what_is_wrong_in_a_list_of_jobs_is_said(tmp_path, jobs, message):
    path = jobs_file(tmp_path, {"total_count": 1, "jobs": jobs, "x": {"started_at": 1}})
    with pytest.raises(InputError, match=message):
        read_trace(path)


JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" tests="4" time="9.0">
<testcase classname="test_lu" name="test_a[1]" time="1,003.5"/>
<testcase classname="test_lu" name="test_a[2]" time="2"><failure message="no"/></testcase>
<testcase classname="test_qr.TestBig" name="test_a[1]"/>
<testcase classname="test_qr.TestBig" name="test_b" time="0.5"><skipped message="slow"/></testcase>
</testsuite></testsuites>
"""


def test_tests_of_a_report_are_independent_tasks(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text(JUNIT)
    graph = tasksim.load_graph(str(path))
    assert (len(graph), graph.kernels) == (3, ("test_lu", "test_qr.TestBig"))
    assert [graph.parameters_of(task)["duration_s"] for task in range(3)] == [1003.5, 2, 0]
    assert tasksim.simulate(str(path), workers=2).makespan_s == pytest.approx(1003.5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('time="2"', 'time="fast"', r"report\.xml:4: time: got 'fast'; legal: a finite number"),
        ("testcase", "case", r"report\.xml:2: no test ran; legal: elements <testcase"),
        ("</testsuite>", "", r"report\.xml:7:\d+: expected XML"),
    ],
)
def test_what_is_wrong_in_a_report_of_tests_is_said(tmp_path, old, new, message):
    path = tmp_path / "report.xml"
    path.write_text(JUNIT.replace(old, new))
    with pytest.raises(InputError, match=message):
        tasksim.load_graph(str(path))
