"""Chrome's JSON as other tools write it."""

import gzip
import json

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.runs import read_trace


@pytest.mark.parametrize(
    "before",
    [
        {"schemaVersion": 1, "deviceProperties": [{"id": k, "name": "x" * 900} for k in range(8)]},
        {"otherData": {"bazel_version": "7", "command": "y" * 5000}},
    ],
    ids=["pytorch", "bazel"],
)
def test_a_long_description_before_the_events_hides_no_trace(tmp_path, before):
    event = {"ph": "X", "name": "mm", "pid": 1, "tid": 1, "ts": 5.5, "dur": 30}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(before | {"traceEvents": [event]}))
    run = read_trace(path).run
    assert run.kernel_names == ("mm",)
    assert run.makespan_s == pytest.approx(30e-6)


def slice_(name, start, pid=1, **keys):
    return {"ph": "X", "name": name, "pid": pid, "tid": 1, "ts": start, "dur": 5} | keys


def read(tmp_path, text):
    path = tmp_path / "trace.json"
    path.write_text(text)
    return read_trace(path)


@pytest.mark.parametrize("end", [",\n", "\n", ""])
def test_an_array_of_events_may_lack_its_end(tmp_path, end):
    """Chrome allows that, for programs that write an event after the other, or are killed."""
    lines = ",\n".join(json.dumps(slice_(name, at)) for name, at in (("f", 0), ("g", 6)))
    assert read(tmp_path, f"[{lines}{end}").run.kernel_names == ("f", "g")


def test_an_array_that_ends_within_an_event_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"trace\.json:1:.*: not JSON"):
        read(tmp_path, json.dumps([slice_("f", 0), slice_("g", 6)])[:-9])


def test_slices_that_never_end_are_counted(tmp_path):
    events = [slice_("f", 0), {"ph": "B", "name": "main", "pid": 1, "tid": 1, "ts": 6}]
    assert (
        "slices that begin (B) and never end are not tasks: 1"
        in read(tmp_path, json.dumps(events)).notes
    )


def test_threads_of_two_processes_are_two_workers(tmp_path):
    """Both are thread 1 of their process, and run at once."""
    run = read(tmp_path, json.dumps([slice_("f", 0), slice_("f", 2, pid=2)])).run
    assert [worker.name for worker in run.workers] == ["1/thread 1", "2/thread 1"]


def test_a_compressed_file_of_an_unknown_format_is_not_called_wrong_json(tmp_path):
    """A single table of StarVZ's, for example, whose folder is what can be read."""
    path = tmp_path / "rec.tasks.csv.gz"
    path.write_bytes(gzip.compress(b"Control,JobId\n,1\n"))
    with pytest.raises(
        InputError, match=r"begins with 'Control,JobId.*'; legal: Chrome's JSON, or"
    ):
        read_trace(path)


def test_sums_are_no_tasks(tmp_path):
    """PyTorch's profiler adds a span over all of it, clang a total per kind of its work."""
    total = {"count": 2, "avg ms": 5}
    trace = read(tmp_path, json.dumps([
        slice_("aten::mm", 0),
        slice_("PyTorch Profiler (0)", 0, pid="Spans", cat="Trace", args={"Op count": 0}),
        slice_("Total Frontend", 0, pid=3, args=total),
        slice_("Total Backend", 0, pid=4, args=total),
        slice_("Total energy", 6, args={"count": 3}),
    ]))  # fmt: skip
    assert trace.run.kernel_names == ("aten::mm", "Total energy")
    assert len(trace.run.workers) == 1
    assert trace.notes[0] == "slices left out as sums of others, by PyTorch's profiler or clang: 3"


def test_bazel_starts_before_zero_and_repeats_its_critical_path(tmp_path):
    events = [
        slice_("Launch Blaze", -900, dur=900, cat="build phase marker"),
        slice_("Compiling a.cc", 100, cat="action processing"),
        slice_("action 'Compiling a.cc'", 100, tid=0, cat="critical path component"),
    ]
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({"traceEvents": events}))
    trace = read_trace(path)
    assert trace.run.kernel_names == ("Launch Blaze", "Compiling a.cc")
    assert trace.run.makespan_s == pytest.approx(1005e-6)
    assert trace.run.tasks.start_s.min() == 0
    assert "1 slices of Bazel's critical path are of other threads, too: left out" in trace.notes


@pytest.mark.parametrize("ts", ["-1e19", "true", '"5"', "null"])
def test_a_time_that_is_none_is_refused(tmp_path, ts):
    with pytest.raises(InputError, match=r"traceEvents\[0\]: ts: got .*; legal: microseconds"):
        read(tmp_path, f'[{{"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": {ts}, "dur": 5}}]')


def test_kernels_of_pytorch_are_tasks_and_annotations_are_none(tmp_path):
    """A launch ends after its kernel began; both kernels of the stream are in order."""
    stream, annotation = {"pid": 0, "tid": 7}, "gpu_user_annotation"
    launch = {"ph": "s", "id": 5, "pid": 1, "tid": 1, "ts": 12, "cat": "ac2g", "name": "ac2g"}
    trace = read(tmp_path, json.dumps([
        {"ph": "M", "name": "thread_name", **stream, "args": {"name": "stream 7 "}},
        slice_("ProfilerStep#1", 0, dur=100, cat="user_annotation"),
        slice_("<module>", 0, dur=100, cat="python_function"),
        slice_("aten::empty", 1, cat="cpu_op"),
        slice_("aten::mm", 10, dur=10, cat="cpu_op"),
        slice_("aten::mul", 14, dur=1, cat="cpu_op"),
        slice_("ProfilerStep#1", 15, dur=70, cat=annotation, **stream),
        slice_("gemm", 15, dur=30, cat="kernel", **stream),
        slice_("scale", 45, dur=30, cat="kernel", **stream),
        slice_("Context Sync", 50, dur=30, cat="cuda_sync", **stream),
        launch, launch | {"ph": "f", "bp": "e", "ts": 15} | stream,
    ]))  # fmt: skip
    run = trace.run
    assert run.kernel_names == ("aten::empty", "aten::mm", "gemm", "scale")
    assert [worker.architecture for worker in run.workers] == ["stream", "thread"]
    assert [run.graph.successors_of(task) for task in range(4)] == [[1, 2], [], [3], []]
    tasksim.check_run(run, run.graph)
    assert trace.notes[0].endswith("functions of Python, overheads or waits of PyTorch: 4")


def test_tasks_that_overlap_on_a_thread_have_workers_of_their_own(tmp_path):
    """Coroutines of one thread overlap; a microsecond is the rounding of the times."""
    run = read(tmp_path, json.dumps([
        slice_("f", 0), slice_("g", 2, tid="loop"), slice_("f", 4), slice_("g", 4, tid="loop"),
    ])).run  # fmt: skip
    assert [worker.name for worker in run.workers] == ["loop", "loop (2)", "thread 1"]
    assert run.makespan_s == pytest.approx(9e-6)
    assert run.tasks.start_s.max() == pytest.approx(5e-6)


def test_tasks_of_ray_are_neither_submissions_nor_parts(tmp_path):
    worker = {"pid": "10.0.0.2", "tid": "worker:ab12"}
    run = read(tmp_path, json.dumps([
        slice_("submit_task", 0, tid="driver:01", cat="submit_task"),
        slice_("task:execute", 9, cat="task:execute", dur=6, **worker),
        slice_("solve", 8, cat="task::solve", dur=8, **worker),
    ])).run  # fmt: skip
    assert run.kernel_names == ("solve",)
    assert [(it.name, it.architecture) for it in run.workers] == [("worker:ab12", "worker")]
