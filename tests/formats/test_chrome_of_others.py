"""Chrome's JSON as other tools write it."""

import json

import pytest

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
