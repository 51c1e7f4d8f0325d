"""Traces of other tools: written, read back, imported; what is wrong is told with its line."""

import gzip
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import graphs, machines, moving_graphs, platforms

import tasksim
from tasksim.base.errors import InputError, TasksimError
from tasksim.formats import graphs as graphs_of_runs
from tasksim.formats.registry import FORMATS
from tasksim.formats.runs import load_run, read_trace
from tasksim.formats.traces.chrome import write_chrome
from tasksim.formats.traces.tablecsv import write_task_table
from tasksim.formats.traces.tracefolder import save_trace

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "qr_mumps-TF16"
LIMITS = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

TASKS_REC = """\
# three tasks, of which one ran nowhere
Name: init
Model: init
JobId: 7
SubmitOrder: 1
Priority: 3
Tag: 0
WorkerId: 0
MemoryNode: 0
SubmitTime: 10.000000
StartTime: 11.500000
EndTime: 13.500000
Footprint: d46431bb
Handles: a0
Modes: W
Sizes: 800
MPIRank: -1

Control: WontUse
JobId: 8
SubmitOrder: 2
Handles: a0

JobId: 9
DependsOn: 7

Name: sum
Model: sum
JobId: 10
SubmitOrder: 3
DependsOn: 9
WorkerId: 1
MemoryNode: 0
SubmitTime: 10.250000
StartTime: 14.000000
EndTime: 15.000000
Footprint: 1
Handles: a0
Modes: R
Sizes: 800

"""


def random_runs():
    """Small runs on one memory, and on devices with copies between memories."""
    one = st.builds(_simulated, graphs(max_tasks=12), platforms(), st.just("eager"))
    several = st.builds(_simulated, moving_graphs(max_tasks=12), machines(sizes=(None,)), NAMES)
    return st.one_of(one, several)


NAMES = st.sampled_from(["eager", "dmda"])


def _simulated(graph, platform, scheduler):
    return tasksim.simulate(graph, platform, scheduler=scheduler)


def assert_same(read, run):
    """Check that *read* is the same run as *run*, to the nanosecond that files have."""
    assert len(read) == len(run)
    tasks, others = read.tasks, run.tasks
    for column in ("submitted_s", "ready_s", "popped_s", "start_s", "end_s"):
        mine, theirs = getattr(tasks, column), getattr(others, column) - others.submitted_s.min()
        assert np.allclose(mine, theirs, atol=2e-9, equal_nan=True), column
    names = [[one.kernel_names[k] for k in one.tasks.kernel] for one in (read, run)]
    assert names[0] == names[1]
    assert workers_of(read) == workers_of(run)
    assert tasks.priority.tolist() == others.priority.tolist()
    assert read.graph.successors.tolist() == run.graph.successors.tolist()
    assert read.graph.successor_ptr.tolist() == run.graph.successor_ptr.tolist()
    assert copies_of(read) == copies_of(run)
    tasksim.check_run(read, read.graph)


def workers_of(run):
    """Per task the name, architecture, node and memory of its worker."""
    workers = [run.workers[worker] for worker in run.tasks.worker]
    if run.transfers is None or not len(run.transfers):
        return [(w.name, w.architecture, w.node) for w in workers]
    return [(w.name, w.architecture, w.node, run.memories[w.memory].name) for w in workers]


def copies_of(run):
    """The copies, data by their number or by what they are called, memories by name."""
    if run.transfers is None:
        return []
    names = [memory.name for memory in run.memories]
    blocks = [block.name for block in run.graph.handle_blocks]
    hexadecimal = run.config.get("recorded", {}).get("from", "").endswith(".rec")
    found = []
    for row in range(len(run.transfers)):
        copy = {name: getattr(run.transfers, name)[row] for name in run.transfers.dtypes}
        datum = int(copy["handle"])
        if hexadecimal:
            datum = int(blocks[datum], 16) - 1
        elif blocks and blocks[datum].isdigit():
            datum = int(blocks[datum])
        ends = names[copy["source"]], names[copy["target"]]
        times = [round(float(copy[name]) * 1e9) for name in ("requested_s", "start_s", "end_s")]
        found.append(
            (datum, *ends, int(copy["size_bytes"]), *times, int(copy["reason"]), int(copy["task"]))
        )
    return sorted(found)


@LIMITS
@given(random_runs())
def test_chrome_json_is_read_back(tmp_path, run):
    if not len(run):
        return
    write_chrome([run], tmp_path / "run.json.gz", arrows="all", force=True)
    assert_same(read_trace(tmp_path / "run.json.gz").run, run)


@LIMITS
@given(random_runs())
def test_a_table_of_tasks_is_read_back(tmp_path, run):
    if len(run):
        FORMATS.find("task-table").writes_run(run, tmp_path / "run.csv", True)
        assert_same(read_trace(tmp_path / "run.csv").run, run)


@pytest.mark.parametrize(
    "form", ["chrome", "dot", "paje", "starvz", "task-table", "tasks.rec", "wfformat"]
)
def test_writing_makes_the_graph_of_a_run_once(tmp_path, monkeypatch, form):
    run = tasksim.simulate("cholesky tiles=3", "xeon-2c")
    tasksim.save_run(run, tmp_path / "run")
    made = []
    registry = graphs_of_runs.registry
    generate = registry.generate
    monkeypatch.setattr(
        registry, "generate", lambda *given, **more: made.append(given) or generate(*given, **more)
    )
    run = load_run(tmp_path / "run")
    if form == "chrome":
        write_chrome([run], tmp_path / "out.json", arrows="all")
    else:
        FORMATS.find(form).writes_run(run, tmp_path / "out", False)
    assert len(made) == 1


@LIMITS
@given(random_runs())
def test_tasks_rec_is_read_back_with_its_data(tmp_path, run):
    if not len(run):
        return
    FORMATS.find("tasks.rec").writes_run(run, tmp_path / "tasks.rec", True)
    read = read_trace(tmp_path / "tasks.rec").run
    assert_same(read, run)
    used = np.unique(run.graph.access_handle)
    sizes = dict(enumerate(run.graph.handle_size.tolist()))
    mine = [
        (int(b.name, 16) - 1, s)
        for b, s in zip(read.graph.handle_blocks, read.graph.handle_size.tolist(), strict=True)
    ]
    assert sorted(mine) == [(h, sizes[h]) for h in used.tolist()]
    assert read.graph.access_mode.tolist() == run.graph.access_mode.tolist()


@LIMITS
@given(random_runs())
def test_starvz_tables_are_read_back(tmp_path, run):
    if len(run):
        shutil.rmtree(tmp_path / "starvz", ignore_errors=True)
        FORMATS.find("starvz").writes_run(run, tmp_path / "starvz", False)
        assert_same(read_trace(tmp_path / "starvz").run, run)


@pytest.mark.skipif(shutil.which("pj_dump") is None, reason="pj_dump (Debian: pajeng) is not here")
@settings(LIMITS, max_examples=10)
@given(random_runs())
def test_paje_is_read_back_through_pj_dump(tmp_path, run):
    if not len(run):
        return
    FORMATS.find("paje").writes_run(run, tmp_path / "run.trace", True)
    command = ["pj_dump", "-u", str(tmp_path / "run.trace")]
    done = subprocess.run(command, capture_output=True, check=True)
    (tmp_path / "run.csv").write_bytes(done.stdout)
    assert_same(read_trace(tmp_path / "run.csv").run, run)


def test_tasks_rec_of_starpu(tmp_path):
    """Tasks that ran nowhere are passed through; the clock begins with the first submission."""
    (tmp_path / "tasks.rec").write_text(TASKS_REC)
    found = read_trace(tmp_path / "tasks.rec")
    run, graph = found.run, found.run.graph
    assert [run.label(task) for task in range(2)] == ["init #0", "sum #1"]
    assert run.tasks.submitted_s.tolist() == pytest.approx([0.0, 0.00025])
    assert run.tasks.start_s.tolist() == pytest.approx([0.0015, 0.004])
    assert run.makespan_s == pytest.approx(0.005)
    assert graph.successors_of(0) == [1]
    assert graph.parameters_of(0) == {"footprint": float(0xD46431BB)}
    assert graph.handle_size.tolist() == [800]
    assert [worker.name for worker in run.workers] == ["cpu0", "cpu1"]
    assert any("1 tasks ran on no worker" in text for text in found.notes)
    tasksim.check_run(run, graph)


def test_columns_and_events_that_are_not_used_are_told(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("kernel,start_s,end_s,layout,n\ngemm,0,1,dgz,4\ngemm,1,2,zgd,-1\n")
    found = read_trace(path)
    said = found.notes
    assert found.run.graph.parameters_of(1) == {"layout": "zgd"}
    assert "column n is not a parameter in 1 rows: it has no number from 0 there" in said
    slice_ = '{"ph": "X", "name": "gemm", "ts": 0, "dur": 1, "pid": 1, "tid": 1}'
    counter = '{"ph": "C", "name": "ready", "ts": 0, "pid": 1}'
    path = tmp_path / "some.json"
    path.write_text(f'{{"traceEvents": [{slice_}, {counter}, {counter}]}}')
    said = read_trace(path).notes
    assert "2 events of phase C are not used: tasks are slices (X, B, E)" in said


def test_names_in_a_table_are_categories(tmp_path):
    path = tmp_path / "some.csv"
    rows = "".join(f"gemm,{i},{i + 1},{'row' if i % 3 else 'col'},job{i},{i}\n" for i in range(300))
    path.write_text(f"kernel,start_s,end_s,layout,job,few\n{rows}gemm,300,301,row,job,x\n")
    found = read_trace(path)
    graph = found.run.graph
    assert graph.categories == {"gemm": {"layout": ("col", "row")}}
    assert graph.parameters_of(3) == {"layout": "col"}
    said = found.notes
    assert "column job is not a parameter of gemm: it has 301 names; legal: at most 256" in said
    assert "column few is not a parameter of gemm: it has no number from 0 in 1 rows" in said
    write_task_table(found.run, tmp_path / "again.csv")
    assert read_trace(tmp_path / "again.csv").run.graph.parameters_of(3) == {"layout": "col"}


def test_a_table_of_five_columns_is_enough(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("task,kernel,worker,start,end\na,gemm,w0,0,2\nb,gemm,w1,0.5,1.5\n")
    run = tasksim.load_run(path)
    assert run.tasks.end_s.tolist() == [2.0, 1.5]
    path.write_text("kernel,start_ms,duration_ms\ngemm,0,2\n")
    assert tasksim.load_run(path).makespan_s == 0.002


def test_chrome_json_of_another_tool(tmp_path):
    """Outermost slices are tasks, flows dependencies."""
    (tmp_path / "other.json").write_text(
        '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":10,"dur":5},'
        '{"ph":"X","name":"inner","pid":1,"tid":1,"ts":11,"dur":2},'
        '{"ph":"B","name":"b","pid":1,"tid":2,"ts":20},{"ph":"E","pid":1,"tid":2,"ts":23},'
        '{"ph":"s","id":1,"name":"f","cat":"x","pid":1,"tid":1,"ts":14.9},'
        '{"ph":"f","bp":"e","id":1,"name":"f","cat":"x","pid":1,"tid":2,"ts":20}]'
    )
    found = read_trace(tmp_path / "other.json")
    assert found.run.kernel_names == ("a", "b")
    assert found.run.makespan_s == pytest.approx(13e-6)
    assert found.run.graph.successors_of(0) == [1]
    assert any(text == "nested slices are not tasks: 1" for text in found.notes)


def test_an_imported_trace_has_platform_and_models(tmp_path):
    (tmp_path / "tasks.rec").write_text(TASKS_REC)
    save_trace(read_trace(tmp_path / "tasks.rec"), tmp_path / "run", models=True)
    again = tasksim.simulate(tmp_path / "run", durations="measured")
    assert again.makespan_s == pytest.approx(0.005, rel=0.2)  # 3 ms of tasks, and what it lost
    assert tasksim.simulate(tmp_path / "run").makespan_s == pytest.approx(again.makespan_s)
    platform = tasksim.load_platform(tmp_path / "run", settings=["platform.workers.cpu.count=4"])
    assert len(platform.workers) == 4


def test_workers_that_a_platform_cannot_name_are_counted_by_architecture(tmp_path):
    slices = (
        '[{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"Main Thread"}},'
        '{"ph":"X","name":"a","pid":1,"tid":1,"ts":10,"dur":5},'
        '{"ph":"X","name":"b","pid":1,"tid":2,"ts":10,"dur":3}]'
    )
    (tmp_path / "some.json").write_text(slices)
    found = read_trace(tmp_path / "some.json")
    assert [worker.name for worker in found.run.workers] == ["Main Thread", "thread 1"]
    assert save_trace(found, tmp_path / "run") == []
    platform = tasksim.load_platform(tmp_path / "run", settings=["platform.workers.thread.count=2"])
    assert [(each.architecture, len(each.workers)) for each in platform.classes] == [
        ("main", 1), ("thread", 2)
    ]  # fmt: skip


def test_names_that_no_platform_file_takes_leave_it_out(tmp_path):
    slices = '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":10,"dur":5}]'
    (tmp_path / "some.json").write_text(slices)
    found = read_trace(tmp_path / "some.json")
    workers = (replace(found.run.workers[0], architecture="no name!"),)
    other = replace(found, run=replace(found.run, workers=workers))
    (note,) = save_trace(other, tmp_path / "run")
    assert "no platform file: the workers' names do not fit one" in note


GOOD_TABLE = "task,kernel,worker,start,end,depends\n"
BAD_TABLES = {
    "end before start": (GOOD_TABLE + "a,k,w,2,1,\n", r"bad.csv:2: task a: it ends \(1 s\) before"),
    "negative": (GOOD_TABLE + "a,k,w,-2,1,\n", "bad.csv:2: a time is negative"),
    "nan": (
        GOOD_TABLE + "a,k,w,nan,1,\n",
        "bad.csv:2: task a: worker w, but no finite start and end",
    ),
    "no number": (GOOD_TABLE + "a,k,w,x,1,\n", "bad.csv:2: start: got 'x'; legal: a number"),
    "twice": (
        GOOD_TABLE + "a,k,w,0,1,\na,k,w,1,2,\n",
        "bad.csv:3: task a: a second task of this id",
    ),
    "overlap": (
        GOOD_TABLE + "a,k,w,0,2,\nb,k,w,1,3,\n",
        "bad.csv:3: task b starts at 1 s on w, before task a there ends",
    ),
    "unknown": (
        GOOD_TABLE + "a,k,w,0,2,z\n",
        "bad.csv:2: a task depends on z, which is not in the trace",
    ),
    "cycle": (GOOD_TABLE + "a,k,w,0,2,b\nb,k,v,0,2,a\n", "depend on each other in a cycle: "),
    "fields": (GOOD_TABLE + "a,k,w,0,2\n", "bad.csv:2: got 5 fields; legal: 6"),
    "columns": ("task,kernel,start\na,k,0\n", "bad.csv:1: got columns task, kernel, start"),
    "units": (
        "task,start_ms,start_s,end_s\na,0,0,1\n",
        "bad.csv:1: a time occurs in two units: start_ms, start_s, end_s",
    ),
}


@pytest.mark.parametrize("what", BAD_TABLES)
def test_what_is_wrong_in_a_table_is_told_with_its_line(tmp_path, what):
    text, message = BAD_TABLES[what]
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_trace(tmp_path / "bad.csv")
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_bad_records_are_passed_over_and_counted(tmp_path):
    text = GOOD_TABLE + "a,k,w,0,2,\nb,k,w,1,3,\nc,k,w,9,8,\nd,k,w,5,6,a z\n"
    (tmp_path / "bad.csv").write_text(text)
    found = read_trace(tmp_path / "bad.csv", skip_bad=True)
    assert len(found.run) == 2
    assert len(found.skipped) == 3
    assert found.run.graph.successors_of(0) == [1]


def test_a_file_that_is_cut_short(tmp_path):
    whole = gzip.compress((GOOD_TABLE + "a,k,w,0,2,\n" * 1000).encode())
    (tmp_path / "bad.csv").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"bad.csv:\d+: the file is cut short"):
        read_trace(tmp_path / "bad.csv")
    run = tasksim.simulate("cholesky tiles=4", "xeon-2c")
    write_chrome([run], tmp_path / "run.json.gz")
    whole = (tmp_path / "run.json.gz").read_bytes()
    (tmp_path / "run.json.gz").write_bytes(whole[:-100])
    with pytest.raises(InputError, match="cut short"):
        read_trace(tmp_path / "run.json.gz")


def test_text_that_is_not_utf8(tmp_path):
    (tmp_path / "bad.csv").write_bytes(
        (GOOD_TABLE + "a,k,w,0,2,\n").encode() + b"\xff\xfe,k,w,3,4,\n"
    )
    with pytest.raises(InputError, match=r"bad.csv:3: is not UTF-8 text"):
        read_trace(tmp_path / "bad.csv")


def test_records_that_are_none(tmp_path):
    (tmp_path / "bad.rec").write_text("JobId: 1\nWorkerId 0\n")
    with pytest.raises(InputError, match=r"bad.rec:2: got 'WorkerId 0'; legal: FIELD: VALUE"):
        read_trace(tmp_path / "bad.rec")
    (tmp_path / "bad.rec").write_text(TASKS_REC.replace("11.500000", "-1"))
    with pytest.raises(InputError, match=r"bad.rec:2: task 7: StartTime: got '-1'"):
        read_trace(tmp_path / "bad.rec")


def test_a_chain_of_a_hundred_thousand_tasks(tmp_path):
    rows = "".join(f"{i},k,w,{i},{i + 1},{i - 1 if i else ''}\n" for i in range(100_000))
    (tmp_path / "long.csv").write_text(GOOD_TABLE + rows)
    assert read_trace(tmp_path / "long.csv").run.graph.edges == 99_999


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the recorded run of qr_mumps is not here")
def test_qr_mumps_is_imported_and_accounted_for(tmp_path):
    from tasksim.run.account import account

    found = read_trace(DATA)
    run, graph = found.run, found.run.graph
    assert (len(run), len(run.workers)) == (4839, 10)
    tasksim.check_run(run, graph)
    save_trace(found, tmp_path / "tf16", models=True)
    static = f"static:file={tmp_path / 'tf16'}"
    again = tasksim.simulate(tmp_path / "tf16", durations="measured", scheduler=static)
    assert again.makespan_s == pytest.approx(run.makespan_s, rel=0.03)
    held_back = {"durations": "measured", "changes": ["engine.submission=recorded"]}
    exactly = tasksim.simulate(tmp_path / "tf16", scheduler=static, **held_back)
    assert exactly.makespan_s == pytest.approx(run.makespan_s, rel=0.001)
    for scheduler in ("lws", "prio", "eager"):
        other = tasksim.simulate(tmp_path / "tf16", scheduler=scheduler, **held_back)
        assert other.makespan_s == pytest.approx(run.makespan_s, rel=0.03), scheduler
    parts = account(run, graph)
    assert parts.replayed_s == pytest.approx(run.makespan_s, rel=0.03)
    total = parts.replayed_s + parts.submission_s + parts.busy_s + parts.idle_s
    assert total == pytest.approx(run.makespan_s, rel=1e-12)


def test_no_reader_knows_it(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\0\1\2")
    with pytest.raises(TasksimError, match="not in a format of recorded runs"):
        read_trace(tmp_path / "x.bin")


def test_modes_that_exclude_each_other_are_refused_with_the_file(tmp_path):
    """R says that the order counts, RWC that it does not."""
    text = TASKS_REC.replace(
        "Handles: a0\nModes: R\nSizes: 800", "Handles: a0 a0\nModes: R RWC\nSizes: 800 800"
    )
    path = tmp_path / "tasks.rec"
    path.write_text(text)
    with pytest.raises(InputError, match=r"tasks\.rec: .*a0"):
        read_trace(path)


def test_models_of_a_trace_leave_iterations_out(tmp_path):
    """Each task has an iteration of its own, which tells nothing about how long it takes."""
    rows = [f"k,w0,{at},{at + 1 + at % 2},{1 + at % 2}e9,{at}\n" for at in range(0, 24, 3)]
    path = tmp_path / "t.csv"
    path.write_text(f"kernel,worker,start,end,flop,iteration\n{''.join(rows)}")
    save_trace(read_trace(path), tmp_path / "run", models=True)
    entry = json.loads((tmp_path / "run" / "models" / "k.json").read_text())
    assert "iteration" not in json.dumps(entry)
