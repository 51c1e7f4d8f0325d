"""`tasksim simulate`: exact results, what it prints, what it keeps, repeating a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasksim.run.runfolder import load

DURATIONS = "--durations potrf=1,trsm=3,syrk=3,gemm=6"


@pytest.mark.parametrize(
    ("tiles", "workers", "makespan", "critical_path", "work"),
    [
        (20, 4, 2008, 170, 8000),
        (20, 8, 1014, 170, 8000),
        (20, 32, 288, 170, 8000),
        (40, 4, 16008, 350, 64000),
        (40, 8, 8014, 350, 64000),
        (40, 32, 2037, 350, 64000),
    ],
)
def test_cholesky_with_bottom_level_priorities(
    tasksim, tiles, workers, makespan, critical_path, work
):
    """Durations are flop over n³/3, priorities bottom levels: a list schedule one can redo."""
    called = tasksim(
        f"simulate cholesky tiles={tiles} priorities=bottom-level --workers {workers}"
        f" {DURATIONS} --scheduler prio --json"
    )
    assert called.code == 0, called.err
    result = called.json
    assert result["makespan_s"] == makespan
    assert result["work_s"] == work
    assert result["bounds"] == {"critical_path_s": critical_path, "area_s": work / workers}
    assert result["efficiency"] == pytest.approx(work / workers / makespan, rel=1e-12)


def test_json_has_these_keys(simulate):
    result = simulate("tiles=2 --seed 7 --json").json
    assert list(result) == [
        "schema_version",
        "kind",
        "graph",
        "platform",
        "workers",
        "scheduler",
        "seed",
        "makespan_s",
        "work_s",
        "bounds",
        "efficiency",
        "idle_s",
        "idle_percent",
        "idle_waits_s",
        "transfers",
        "evictions",
        "kernels",
        "noise",
        "extrapolated",
        "engine",
        "engine_why",
        "simulation_wall_s",
        "tasks_per_s",
        "output",
        "gantt",
    ]
    assert result["schema_version"] == 1
    assert result["graph"] == {
        "name": "cholesky",
        "arguments": {"tiles": 2, "tile_size": 256, "dtype": "float64", "priorities": "app"},
        "tasks": 4,
        "edges": 3,
    }
    assert (result["platform"], result["workers"]) == ("identical-3", 3)
    assert (result["scheduler"], result["seed"], result["noise"]) == ("lws", 7, "none")
    # potrf, trsm, syrk, potrf, one after the other: 1 + 3 + 3 + 1.
    assert result["makespan_s"] == 8.0
    assert sum(result["idle_s"].values()) == 16.0
    assert result["kernels"]["potrf"] == {"tasks": 2, "total_s": 2.0, "mean_s": 1.0}


def test_only_the_object_is_on_stdout(simulate):
    called = simulate("tiles=2 --json -o run")
    assert json.loads(called.out)["output"] == "run"
    assert called.err == "Wrote run\n"


def test_text_is_a_summary_and_a_table_of_kernels(simulate):
    called = simulate("tiles=2")
    assert called.code == 0
    assert "makespan       8 s" in called.out
    assert "potrf       2    2 s" in called.out
    assert called.err == ""


def test_durations_have_units(tasksim):
    called = tasksim(
        "simulate cholesky tiles=2 --workers 1"
        " --durations 'potrf=1ms, trsm = 3 ms,syrk=0.003 s,gemm=1' --json"
    )
    assert called.json["makespan_s"] == pytest.approx(0.008, rel=1e-12)


def test_kernels_that_the_graph_happens_to_lack_are_fine(simulate):
    assert simulate("tiles=1 --json").json["makespan_s"] == 1.0


def test_platforms_have_their_workers(tasksim):
    line = f"simulate cholesky tiles=20 {DURATIONS} priorities=bottom-level --scheduler prio --json"
    eight = tasksim(f"{line} --platform identical-8").json
    assert (eight["platform"], eight["makespan_s"]) == ("identical-8", 1014)
    four = tasksim(f"{line} --platform identical-8 --set platform.workers.cpu.count=4").json
    assert (four["workers"], four["makespan_s"]) == (4, 2008)


def test_checks_the_result(simulate):
    assert simulate("tiles=4 --check").code == 0


def test_same_seed_same_bytes(simulate):
    for name in ("a", "b"):
        assert simulate(f"tiles=8 --scheduler random --seed 3 -o {name}").code == 0
    simulate("tiles=8 --scheduler random --seed 4 -o c")
    a, b, c = (Path(name, "tasks.parquet").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_from_repeats_a_run_to_the_last_bit(tasksim, simulate):
    simulate("tiles=8 priorities=none --scheduler ws --seed 5 -o a")
    for n, source in enumerate(["a", "a/run.json"]):
        called = tasksim(f"simulate --from {source} -o b{n}")
        assert (called.code, called.err) == (0, f"Wrote b{n}\n")
        assert Path("a/tasks.parquet").read_bytes() == Path(f"b{n}/tasks.parquet").read_bytes()
        first, second = load("a"), load(f"b{n}")
        assert first == second
        assert second.config["seed"] == 5


def test_from_knows_platform_files_graph_files_and_settings(tasksim, tmp_path):
    from tasksim.graph.apps.registry import generate
    from tasksim.graph.graph_file import save

    save(generate("cholesky", tiles=6), tmp_path / "g.npz")
    platform = tmp_path / "p.yaml"
    platform.write_text("version: 1\nworkers: {cpu: {count: 2}}\noverheads: {task: 0.5 s}\n")
    line = f"simulate g.npz {DURATIONS} --platform p.yaml --set platform.overheads.wakeup=1s"
    assert tasksim(f"{line} -o a").code == 0
    (tmp_path / "elsewhere").mkdir()
    called = tasksim(f"simulate --from {tmp_path}/a -o elsewhere/b --json")
    assert called.err == "Wrote elsewhere/b\n"
    assert load("a") == load("elsewhere/b")


def test_from_warns_when_a_file_has_changed(tasksim, tmp_path):
    platform = tmp_path / "p.yaml"
    platform.write_text("version: 1\nworkers: {cpu: {count: 2}}\n")
    tasksim(f"simulate cholesky tiles=4 {DURATIONS} --platform p.yaml -o a")
    platform.write_text("version: 1\nworkers: {cpu: {count: 1}}\n")
    called = tasksim("simulate --from a")
    assert called.code == 0
    assert called.err == (
        "Warning: this is not the recorded run: makespan 64 s, then "
        f"{load('a').makespan_s:.9g} s; changed since: {platform}\n"
    )


def test_from_takes_no_other_options(tasksim, simulate):
    simulate("tiles=2 -o a")
    called = tasksim("simulate --from a --seed 3")
    assert called.code == 2
    assert called.errors == ["Error: --from repeats a run as it was; --seed cannot be given"]
    called = tasksim("simulate cholesky --from a")
    assert called.errors == ["Error: --from repeats a run as it was; GRAPH cannot be given"]


def test_from_refuses_native_runs(tasksim):
    tasksim("run chain length=2 duration=0 --workers 1 -o n")
    called = tasksim("simulate --from n")
    assert called.code == 2
    assert called.errors == ["Error: n: a native run cannot be repeated, only a simulated one"]


def test_existing_outputs_need_force(simulate, tmp_path):
    assert simulate("tiles=2 -o a").code == 0
    called = simulate("tiles=2 -o a")
    assert (called.code, called.errors) == (2, ["Error: a exists; give --force to replace it"])
    assert simulate("tiles=3 -o a --force").code == 0
    assert load(tmp_path / "a").graph_arguments["tiles"] == 3


def test_draws_a_gantt_chart(simulate, tmp_path):
    assert simulate("tiles=3 --gantt g.svg").code == 0
    assert (tmp_path / "g.svg").read_text().startswith("<?xml")
    assert simulate("tiles=3 --gantt g.svg").errors == [
        "Error: g.svg exists; give --force to replace it"
    ]
    assert simulate("tiles=3 --gantt g.gif").errors == [
        "Error: g.gif: cannot draw a '.gif' file (legal: .png, .pdf, .svg)"
    ]


def test_from_takes_changes_of_the_platform(tasksim, tmp_path):
    (tmp_path / "p.yaml").write_text("version: 1\nworkers: {cpu: {count: 2}}\n")
    line = f"simulate cholesky tiles=5 {DURATIONS} --platform p.yaml"
    tasksim(f"{line} --set platform.workers.cpu.count=3 -o a")
    called = tasksim(
        "simulate --from a --set platform.workers.cpu.count=1 --set platform.overheads.task=1s -o b"
    )
    assert (called.code, called.err) == (0, "Wrote b\n")  # it is another run, as was asked
    changed = load("b")
    assert len(changed.workers) == 1
    both = "--set platform.workers.cpu.count=1 --set platform.overheads.task=1s"
    tasksim(f"{line} {both} -o c")
    assert changed == load("c")
    assert tasksim("simulate --from b").err == ""


def test_noise_that_nothing_has_is_warned_of(simulate, tasksim):
    called = simulate("tiles=3 --noise model")
    assert called.code == 0
    assert called.err == (
        "Warning: noise: no kernel of cholesky has a model with a distribution: every draw is its "
        "mean, and every seed gives the same durations\n"
    )
    assert "seed 0, with the models' noise" in called.out
    assert "seed 0, no noise" in simulate("tiles=3").out
    drawn = tasksim("simulate cholesky tiles=3 --platform xeon-2c --noise model")
    assert (drawn.err, "with the models' noise" in drawn.out) == ("", True)


@pytest.mark.parametrize(
    ("gemm_s", "scheduler", "told"),
    [
        (25, "", "gemm took 25 times as long on cpu as on cuda, and lws, the default scheduler,"),
        (9, "", ""),
        (25, " --scheduler lws", ""),
    ],
)
def test_the_default_scheduler_is_questioned_where_workers_differ(tasksim, gemm_s, scheduler, told):
    called = tasksim(
        "simulate cholesky tiles=5 --platform h100-15c"
        f" --durations potrf=3,trsm=3,syrk=3,cuda0:gemm=1,cpu:gemm={gemm_s}{scheduler}"
    )
    assert called.code == 0, called.err
    assert ("default scheduler" in called.err) == bool(told)
    assert told in called.err
