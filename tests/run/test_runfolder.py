import dataclasses
import json
import resource

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import CheckFailed, InputError, OutputError
from tasksim.graph.builder import GraphBuilder
from tasksim.platform.description import Platform
from tasksim.run.header import check_header
from tasksim.run.record import TransferTable
from tasksim.run.runfolder import TASKS_FILE, _write, load, save


@pytest.fixture
def run(make):
    made = make.schedule(make.cholesky(5))
    return dataclasses.replace(
        made,
        config={"graph": ["cholesky", "tiles=5"], "costs": {"gemm": 0.5}},
        versions={"tasksim": "0.1.0"},
        bounds={"area_s": 1.5, "critical_path_s": 0.1 + 0.2},
        wall_s=0.25,
    )


def test_what_is_saved_is_loaded(run, tmp_path):
    save(run, tmp_path / "out")
    again = load(tmp_path / "out")
    assert again == run
    assert again.wall_s == 0.25
    assert load(tmp_path / "out" / "run.json") == run


def test_an_empty_run_is_kept(make, tmp_path):
    save(make.run([]), tmp_path / "out")
    assert load(tmp_path / "out") == make.run([])


def test_equal_runs_give_equal_bytes(run, tmp_path):
    save(run, tmp_path / "a")
    save(load(tmp_path / "a"), tmp_path / "b")
    for name in ("run.json", "tasks.parquet"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_run_json_is_for_people(run, tmp_path):
    save(run, tmp_path / "out")
    header = json.loads((tmp_path / "out" / "run.json").read_text())
    assert list(header)[:8] == [
        "schema_version",
        "kind",
        "graph",
        "platform",
        "scheduler",
        "seed",
        "tasks",
        "makespan_s",
    ]
    assert header["makespan_s"] == run.makespan_s
    assert header["metrics"]["kernels"]["gemm"]["count"] == 10


def test_other_tools_read_the_tasks(run, tmp_path):
    import pandas as pd

    save(run, tmp_path / "out")
    frame = pd.read_parquet(tmp_path / "out" / "tasks.parquet")
    assert frame.end_s.max() == run.makespan_s


def test_an_existing_run_is_kept_unless_forced(run, tmp_path):
    save(run, tmp_path / "out")
    other = dataclasses.replace(run, seed=7)
    with pytest.raises(InputError, match="out exists; give force=True to replace it"):
        save(other, tmp_path / "out")
    assert load(tmp_path / "out") == run
    save(other, tmp_path / "out", force=True)
    assert load(tmp_path / "out") == other
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_force_does_not_replace_what_is_no_run(run, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("")
    with pytest.raises(InputError, match=r"home is not a run folder \(it holds 'thesis.tex'"):
        save(run, tmp_path / "home", force=True)
    assert (tmp_path / "home" / "thesis.tex").exists()


def test_figures_in_a_run_folder_survive_its_replacement(run, tmp_path):
    save(run, tmp_path / "out")
    (tmp_path / "out" / "gantt.png").write_text("picture")
    (tmp_path / "out" / "notes").mkdir()
    (tmp_path / "out" / "notes" / "a.txt").write_text("text")
    other = dataclasses.replace(run, seed=7)
    save(other, tmp_path / "out", force=True)
    assert load(tmp_path / "out") == other
    assert (tmp_path / "out" / "gantt.png").read_text() == "picture"
    assert (tmp_path / "out" / "notes" / "a.txt").read_text() == "text"


def test_a_configuration_that_is_no_json_writes_nothing(run, tmp_path):
    bad = dataclasses.replace(run, config={"x": object()})
    with pytest.raises(InputError, match=r"cannot be written as JSON: .*object"):
        save(bad, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_write_that_fails_half_way_leaves_nothing(make, tmp_path):
    run = make.schedule(make.cholesky(12))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(OutputError, match=r"^cannot write .*out: File too large"):
            save(run, tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


def test_an_unwritable_place(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"^cannot write .*file/out"):
        save(run, tmp_path / "file" / "out")


def broken(path, name, text):
    (path / name).write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"run.json:1:2: not JSON: Expecting property name"),
        ("\n", r"run.json: the file is empty"),
        ("[]", r"run.json was not written by tasksim: it has no schema_version"),
        ('{"name": "x"}', r"it has no schema_version"),
        ('{"schema_version": 99}', r"schema_version: version 99 is newer than 1"),
        ('{"schema_version": 1}', r"run.json:1:1: 'graph' is missing"),
    ],
)
def test_a_run_json_that_is_none(run, tmp_path, text, message):
    save(run, tmp_path / "out")
    with pytest.raises(InputError, match=message):
        load(broken(tmp_path / "out", "run.json", text))


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("kind",), "real", r"kind: expected 'simulated' or 'native', got \"real\""),
        (("kind",), [], r"kind: expected 'simulated' or 'native', got \[\]"),
        (("graph", "name"), None, r"graph.name: expected a text, got null"),
        (("graph", "arguments", "tiles"), [5], r"arguments.tiles: expected a text or a number"),
        (("kernels",), "gemm", r"kernels: expected a list"),
        (("kernels", 0), {}, r"kernels\[0\]: expected a text"),
        (("workers", 0, "colour"), "red", r"workers\[0\]: unknown field 'colour'"),
        (("workers", 0, "node"), -1, r"workers\[0\].node: expected a whole number"),
        (("platform",), 3, r"platform: expected a text, got 3"),
        (("scheduler",), None, r"scheduler: expected a text, got null"),
        (("seed",), "x", r"seed: expected a whole number"),
        (("bounds", "area_s"), "x", r"bounds.area_s: expected a number"),
        (("bounds",), [1], r"bounds: expected an object"),
        (("wall_s",), None, r"wall_s: expected a number"),
        (("tasks",), "35", r"tasks: expected a whole number"),
        (("config",), [], r"config: expected an object"),
        (("versions", "tasksim"), 1, r"versions.tasksim: expected a text"),
    ],
)
def test_a_run_json_with_wrong_content(run, tmp_path, keys, value, message):
    save(run, tmp_path / "out")
    header = json.loads((tmp_path / "out" / "run.json").read_text())
    place = header
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with pytest.raises(InputError, match=rf"run.json:\d+:\d+: .*{message}"):
        load(broken(tmp_path / "out", "run.json", json.dumps(header, indent=1)))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("kernel", 4, r"row 3: kernel is 4; legal: 0 to 3"),
        ("worker", -1, r"row 3: worker is -1; legal: 0 to 2"),
        ("released_by", 35, r"row 3: released_by is 35; legal: -1 to 34"),
        ("end_s", float("nan"), r"row 3: end_s is nan; legal: finite times"),
    ],
)
def test_task_records_that_refer_to_nothing(run, tmp_path, column, value, message):
    changed = getattr(run.tasks, column).copy()
    changed[3] = value
    save(run, tmp_path / "out")
    _write(dataclasses.replace(run.tasks, **{column: changed}), tmp_path / "out" / TASKS_FILE)
    with pytest.raises(InputError, match=message):
        load(tmp_path / "out")


def test_no_run_there(tmp_path):
    with pytest.raises(InputError, match="nothing: no such run"):
        load(tmp_path / "nothing")
    with pytest.raises(InputError, match=r"is not a run folder: it has no run.json"):
        load(tmp_path)
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(InputError, match=r"a.csv is neither a run folder nor its run.json"):
        load(tmp_path / "a.csv")


def test_tasks_that_are_not_all_there(run, tmp_path):
    save(run, tmp_path / "out")
    tasks = tmp_path / "out" / "tasks.parquet"
    data = tasks.read_bytes()
    tasks.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"tasks.parquet: cannot be read as Parquet: "):
        load(tmp_path / "out")
    tasks.unlink()
    with pytest.raises(InputError, match=r"is not complete: it has no tasks.parquet"):
        load(tmp_path / "out")


def test_damaged_pages_are_seen(run, tmp_path):
    save(run, tmp_path / "out")
    tasks = tmp_path / "out" / "tasks.parquet"
    data = bytearray(tasks.read_bytes())
    data[100] ^= 0xFF
    tasks.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"tasks.parquet: cannot be read as Parquet"):
        load(tmp_path / "out")


def test_files_of_two_runs_are_not_mixed(run, make, tmp_path):
    save(run, tmp_path / "a")
    save(make.schedule(make.cholesky(3)), tmp_path / "b")
    (tmp_path / "b" / "tasks.parquet").replace(tmp_path / "a" / "tasks.parquet")
    with pytest.raises(
        InputError, match=r"has 10 tasks, run.json says 35: they are not of one run"
    ):
        load(tmp_path / "a")


def test_copies_and_memories_are_kept(travelled, tmp_path):
    save(travelled, tmp_path / "a")
    again = load(tmp_path / "a")
    assert again == travelled
    save(again, tmp_path / "b")
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {"run.json", "tasks.parquet", "transfers.parquet", "memory.parquet"}
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_one_memory_leaves_no_trace(run, tmp_path):
    save(run, tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["run.json", "tasks.parquet"]
    header = json.loads((tmp_path / "out" / "run.json").read_text())
    assert not {"memories", "transfers", "memory_changes", "evictions"} & set(header)
    assert "memory" not in header["workers"][0]


def test_copies_of_an_older_run_do_not_stay(travelled, run, tmp_path):
    save(travelled, tmp_path / "out")
    save(run, tmp_path / "out", force=True)
    assert load(tmp_path / "out") == run
    assert not (tmp_path / "out" / "transfers.parquet").exists()


def test_tasks_without_times_of_pops_are_read(travelled, tmp_path):
    import pyarrow.parquet

    save(travelled, tmp_path / "out")
    path = tmp_path / "out" / TASKS_FILE
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(path).drop(["popped_s"]), path)
    tasks = load(tmp_path / "out").tasks
    assert np.isnan(tasks.popped_s).all()
    assert tasks.taken_s.tolist() == tasks.start_s.tolist()


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("transfers", "handle", -1, r"transfers.parquet: row 1: handle is -1; legal: 0 or more"),
        ("transfers", "source", 2, r"row 1: source is 2; legal: 0 to 1"),
        ("transfers", "target", -1, r"row 1: target is -1; legal: 0 to 1"),
        ("transfers", "size_bytes", -1, r"row 1: size_bytes is -1; legal: 0 or more"),
        ("transfers", "reason", 4, r"row 1: reason is 4; legal: 0 to 3"),
        ("transfers", "task", 4, r"row 1: task is 4; legal: -1 to 3"),
        ("transfers", "end_s", float("inf"), r"row 1: end_s is inf; legal: finite times"),
        ("memory", "memory", 2, r"memory.parquet: row 1: memory is 2; legal: 0 to 1"),
        ("memory", "used_bytes", -8, r"row 1: used_bytes is -8; legal: 0 or more"),
        ("memory", "time_s", float("nan"), r"row 1: time_s is nan; legal: finite times"),
        ("tasks", "popped_s", float("inf"), r"row 1: popped_s is inf; legal: finite times"),
    ],
)
def test_records_of_copies_that_refer_to_nothing(
    travelled, tmp_path, table, column, value, message
):
    changed = getattr(getattr(travelled, table), column).copy()
    changed[1] = value
    save(travelled, tmp_path / "out")
    broken_table = dataclasses.replace(getattr(travelled, table), **{column: changed})
    _write(broken_table, tmp_path / "out" / f"{table}.parquet")
    with pytest.raises(InputError, match=message):
        load(tmp_path / "out")


def test_workers_are_in_memories_that_exist(travelled, tmp_path):
    lost = dataclasses.replace(travelled.workers[1], memory=2)
    save(
        dataclasses.replace(travelled, workers=(travelled.workers[0], lost)),
        tmp_path / "out",
    )
    with pytest.raises(InputError, match=r"worker gpu0 is in memory 2, the run has 2 memories"):
        load(tmp_path / "out")


def test_tables_that_are_not_all_there(travelled, tmp_path):
    save(travelled, tmp_path / "out")
    _write(TransferTable.empty(), tmp_path / "out" / "transfers.parquet")
    with pytest.raises(InputError, match=r"has 0 transfers, run.json says 5: they are not of one"):
        load(tmp_path / "out")
    (tmp_path / "out" / "memory.parquet").unlink()
    (tmp_path / "out" / "transfers.parquet").unlink()
    with pytest.raises(InputError, match=r"is not complete: it has no transfers.parquet"):
        load(tmp_path / "out")


def test_a_run_of_an_empty_graph(tmp_path):
    graph = GraphBuilder("nothing").build()
    run = tasksim.simulate(graph, Platform.identical(2), tasksim.ConstantLibrary({}), "eager")
    tasksim.save_run(run, tmp_path / "run")
    assert tasksim.load_run(tmp_path / "run") == run


def test_the_earlier_name_of_efficiency_is_still_checked(tmp_path, small):
    save(small, tmp_path / "run")
    path = tmp_path / "run/run.json"
    path.write_text(path.read_text().replace('"efficiency"', '"parallel_efficiency"'))
    check_header(small, path)
    path.write_text(
        path.read_text().replace('"parallel_efficiency": 0.', '"parallel_efficiency": 1.')
    )
    with pytest.raises(CheckFailed, match=r"run.json:\d+:\d+: metrics.parallel_efficiency is 1.6"):
        check_header(small, path)
