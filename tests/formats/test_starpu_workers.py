"""StarPU's workers in traces: names, and what they did, from activity.data and trace.rec."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.formats.runs import read_trace
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.starpu_workers import read_activity, read_states, states_text
from tasksim.formats.traces.tracefolder import save_trace

TASKS = """\
Model: init
JobId: 1
Tag: 7
WorkerId: 0
MemoryNode: 0
SubmitTime: 100.000000
StartTime: 110.000000
EndTime: 120.000000
Footprint: a
Handles: 55aa 55bb
Modes: W W
Sizes: 800 160
MPIRank: -1

Model: work
JobId: 2
DependsOn: 1
DepLabels: task
WorkerId: 1
MemoryNode: 1
SubmitTime: 101.000000
StartTime: 125.000000
EndTime: 200.000000
Footprint: b
Handles: 55aa
Modes: RW
Sizes: 800
MPIRank: -1
"""
ACTIVITY = """\
name\t0\tCPU 0
name\t1\tCUDA 0
cnt_submitted\t100.000000000\t1
cnt_ready\t100.000000000\t1
0\t120.000000000\t80.000000000\t10.000000000\t70.000000000
set_profiling\t130.000000000\t0
0\t200.000000000\t80.000000000\t0.000000000\t60.000000000
1\t205.000000000\t80.000000000\t75.000000000\t0.000000000
"""
STATES = """\
#
# E: Event type
#

E: SetState
N: Sleeping
C: Other
W: 0
T: 11
S: 50.000000

E: PushState
N: Submitting task
C: User
W: -1
T: 10
S: 100.000000

E: SetState
N: init
C: Task
W: 0
T: 11
S: 110.000000

E: PushState
N: Callback
C: Runtime
W: 0
T: 11
S: 115.000000

E: PopState
W: 0
T: 11
S: 118.000000

E: SetState
N: Overhead
C: Other
W: 0
T: 11
S: 120.000000

E: SetState
N: work
C: Task
W: 1
T: 12
S: 125.000000

E: SetState
N: Sleeping
C: Other
W: 1
T: 12
S: 200.000000
"""


@pytest.fixture
def trace(tmp_path):
    """Return a function that writes files beside a tasks.rec, and reads them."""

    def write(**files):
        for name, text in {"tasks.rec": TASKS, **files}.items():
            (tmp_path / name.replace("_data", ".data").replace("_rec", ".rec")).write_text(text)
        return read_trace(tmp_path)

    return write


def test_workers_have_the_names_that_activity_data_gives_them(trace):
    found = trace(activity_data=ACTIVITY)
    assert [(w.name, w.architecture) for w in found.run.workers] == [
        ("cpu0", "cpu"),
        ("cuda0", "cuda"),
    ]
    assert not any("does not name the kinds" in note for note in found.notes)


def test_without_it_memories_tell_what_workers_are(trace):
    found = trace()
    assert [worker.name for worker in found.run.workers] == ["cpu0", "gpu1"]
    assert any("tasks.rec does not name the kinds of its workers:" in note for note in found.notes)


def test_workers_that_share_a_device_have_their_own_numbers(trace):
    found = trace(activity_data="name\t0\tCUDA 0\nname\t1\tCUDA 0\n")
    assert [worker.name for worker in found.run.workers] == ["cuda0", "cuda1"]


def test_a_worker_that_is_not_named_is_told_and_takes_no_name_of_another(trace):
    found = trace(activity_data="name\t0\tCPU 1\n")
    assert [worker.name for worker in found.run.workers] == ["cpu1", "gpu1"]
    assert any("does not name the kinds of workers 1" in note for note in found.notes)
    found = trace(activity_data="name\t0\tGPU 1\n")
    assert [worker.name for worker in found.run.workers] == ["gpu1", "other1"]


def test_spans_at_the_ends_of_the_run_count_in_part(tmp_path):
    path = tmp_path / "activity.data"
    path.write_text(ACTIVITY)
    states = read_activity(Records(tmp_path), path, 0.1, 0.2).states
    # A quarter of the first span lies in the run, and all of the second.
    assert states["0"] == pytest.approx({"executing": 0.0025, "asleep": 0.0775, "neither": 0.02})
    assert states["1"] == pytest.approx({"executing": 0.075 * 75 / 80, "asleep": 0.0,
                                         "neither": 0.005 * 75 / 80})  # fmt: skip


def test_states_are_exact_and_one_in_another(tmp_path):
    path = tmp_path / "trace.rec"
    path.write_text(STATES)
    states = read_states(Records(tmp_path), path, 0.1, 0.2)
    assert states["0"] == pytest.approx(
        {"asleep": 0.01, "executing": 0.007, "callbacks": 0.003, "overhead": 0.08}
    )
    assert states["1"] == pytest.approx({"executing": 0.075})


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["SetState", "PushState", "PopState"]),
            st.sampled_from(["Sleeping", "Overhead", "work"]),
            st.integers(0, 50),
        ),
        max_size=30,
    )
)
def test_all_time_since_the_first_event_is_in_one_state(tmp_path_factory, events):
    folder = tmp_path_factory.mktemp("states")
    now, text = 10, "E: SetState\nN: Idle\nC: Other\nW: 0\nT: 1\nS: 10.0\n\n"
    for event, name, after in events:
        now += after
        category = "Task" if name == "work" else "Runtime"
        text += f"E: {event}\nN: {name}\nC: {category}\nW: 0\nT: 1\nS: {now}.0\n\n"
    (folder / "trace.rec").write_text(text)
    (seconds,) = read_states(Records(folder), folder / "trace.rec", 0.02, 0.5).values()
    assert sum(seconds.values()) == pytest.approx(0.48)
    assert all(value > 0 for value in seconds.values())


def test_the_account_has_what_the_trace_says_of_its_workers(trace, tmp_path):
    found = trace(activity_data=ACTIVITY, trace_rec=STATES)
    assert "trace.rec: time of 2 workers: 41.0 % executing, 40.0 % overhead" in "\n".join(
        found.notes
    )
    save_trace(found, tmp_path / "run")
    done = CliRunner().invoke(cli, ["report", "account", str(tmp_path / "run")])
    assert "by the trace, mean of 2 workers:\n  executing " in done.stdout
    done = CliRunner().invoke(cli, ["report", "account", str(tmp_path / "run"), "--json"])
    assert json.loads(done.stdout)["states_s"]["executing"] == pytest.approx(0.082)


def test_without_trace_rec_activity_data_counts_for_the_account(trace):
    notes = "\n".join(trace(activity_data=ACTIVITY).notes)
    assert "activity.data: time of 2 workers: 38.7 % asleep, 36.4 % executing" in notes
    assert "not told" in notes


def test_shares_below_half_a_percent_are_told_together():
    states = {"0": {"executing": 0.99, "asleep": 0.004, "callbacks": 0.004}}
    assert states_text(states, 1.0) == "time of 1 worker: 99.0 % executing, 1.0 % other"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"activity_data": "name\t0\tCPU\n"}, r"activity.data:1: got 'name\t0\tCPU'; legal: name,"),
        ({"activity_data": "name\tx\tCPU 0\n"}, "activity.data:1: got"),
        (
            {"activity_data": "\n0\t1.0\t2.0\tx\t0.0\n"},
            "activity.data:2: got",
        ),
        ({"activity_data": "0\t1.0\tnan\t0.0\t0.0\n"}, "activity.data:1: got"),
        ({"data_rec": "Handle: 55aa\nHomeNode: 4294967296\n"}, "data.rec:1: HomeNode: got '42"),
        ({"data_rec": "\nHandle: 55aa\nSize: big\n"}, "data.rec:2: Size: got 'big'; legal: bytes"),
        ({"trace_rec": "E: SetState\nW: 0\nS: x\n"}, "trace.rec:1: W or S is not a"),
        ({"trace_rec": "\nE: SetState\nW: a\nS: 1.0\n"}, "trace.rec:2: W or S is not"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_or_passed_over(files, message, trace, tmp_path):
    with pytest.raises(InputError) as caught:
        trace(**files)
    assert message in str(caught.value)
    assert len(read_trace(tmp_path, skip_bad=True).skipped) == 1


def test_workers_of_several_ranks_are_not_told_apart(trace):
    ranks = TASKS.replace("MPIRank: -1", "MPIRank: 0", 1).replace("MPIRank: -1", "MPIRank: 1")
    found = trace(**{"tasks.rec": ranks.replace("DependsOn: 1\n", ""), "activity_data": ACTIVITY,
                     "trace_rec": STATES})  # fmt: skip
    assert [worker.name for worker in found.run.workers] == ["node0/cpu0", "node1/gpu1"]
    assert (
        "activity.data and trace.rec: not used, as they do not have the ranks of workers"
        in found.notes
    )


def test_names_and_sizes_of_data_come_from_data_rec(trace):
    data = (
        "Handle: 55aa\nHomeNode: 0\nName: A\nSize: 800\nCoordinates: 2 3\n\n"
        "Handle: 55bb\nHomeNode: 0\nName: A\nSize: 160\nCoordinates: 2 3\n"
    )
    graph = trace(data_rec=data).run.graph
    assert [block.name for block in graph.handle_blocks] == ["A 2 3 (55aa)", "A 2 3 (55bb)"]
    data = data.replace("Coordinates: 2 3\n\n", "\n")
    without = TASKS.replace("Sizes: 800 160\n", "").replace("Sizes: 800\n", "")
    found = trace(**{"tasks.rec": without, "data_rec": data})
    graph = found.run.graph
    assert [block.name for block in graph.handle_blocks] == ["A", "A 2 3"]
    assert graph.handle_size.tolist() == [800, 160]
    assert "tasks.rec has no sizes of data: those of data.rec count" in found.notes


def test_fields_and_files_that_are_not_read_are_named(trace):
    found = trace(**{"dag.dot": "digraph G {}", "paje.trace": "", "papi.rec": ""})
    assert "left out fields: DepLabels, Tag" in found.notes
    assert "not read, as tasks.rec has the same contents: dag.dot" in found.notes
    assert "papi.rec: counters of tasks are not read" in found.notes


def test_files_of_another_name_have_theirs_beside_them(tmp_path):
    (tmp_path / "my-tasks.rec").write_text(TASKS)
    (tmp_path / "my-activity.data").write_text(ACTIVITY)
    run = read_trace(tmp_path / "my-tasks.rec").run
    assert [worker.name for worker in run.workers] == ["cpu0", "cuda0"]
