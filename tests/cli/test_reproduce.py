"""The command ``tasksim reproduce``."""

import json

SIMULATE_COMMAND = (
    "simulate cholesky tiles=3 --workers 2 --durations potrf=1,trsm=3,syrk=3,gemm=6 -o run"
)


def test_the_same_run_exits_with_0(tasksim):
    tasksim(SIMULATE_COMMAND)
    done = tasksim("reproduce run")
    assert done.code == 0
    assert "the same: 10 tasks, makespan 20 s\n" in done.out


def test_another_run_exits_with_3_and_says_what_changed(tasksim, tmp_path):
    tasksim(SIMULATE_COMMAND)
    header = tmp_path / "run" / "run.json"
    header.write_text(header.read_text().replace('"tiles=3"', '"tiles=2"'))
    done = tasksim("reproduce run")
    assert (done.code, done.errors) == (3, ["Error: run: this version simulates another run"])
    assert "changed since   graph tiles: 3, now 2\n" in done.out
    assert "recorded        at 0 s: trsm #2 is submitted; in the other run, " in done.out


def test_json_has_the_outcome_also_if_it_differs(tasksim, tmp_path):
    tasksim(SIMULATE_COMMAND)
    assert tasksim("reproduce run --json").json["same"] is True
    header = tmp_path / "run" / "run.json"
    data = json.loads(header.read_text())
    data["config"]["models"]["durations_s"]["gemm"] = 7.0
    header.write_text(json.dumps(data))
    done = tasksim("reproduce run --json")
    assert (done.code, done.json["same"]) == (3, False)
    assert done.json["makespan_s"] == {"recorded": 20.0, "now": 21.0}
    assert set(done.json["columns"]) <= {"tasks.start_s", "tasks.end_s", "tasks.ready_s",
                                         "tasks.popped_s", "tasks.worker"}  # fmt: skip


def test_a_native_run_cannot_be_reproduced(tasksim):
    assert tasksim("run cholesky tiles=2 tile_size=16 --workers 1 -o native").code == 0
    done = tasksim("reproduce native")
    assert done.code == 2
    assert done.errors == ["Error: native: a native run cannot be repeated, only a simulated one"]
