"""Cells of studies: native ones, more metrics, recorded runs, identical workers, plug-ins."""

from __future__ import annotations

import sys

import pytest
from study_cases import answers

import tasksim
from tasksim.study.sweep.store import read_table
from tasksim.study.sweep.studies import run_study

BASE_STUDY = """\
version: 1
graphs: [cholesky tiles=3 tile_size=16]
platforms: [{workers: [1, 2]}]
"""


def done(study_file, folder, text, **how):
    run_study(study_file(text=text), folder, **how)
    table = read_table(folder)
    assert set(table["status"]) == {"done"}, table["error"].tolist()
    return table


def test_identical_workers_stand_in_the_place_of_a_platform(study_file, tmp_path):
    text = BASE_STUDY + "durations: {potrf: 1, trsm: 3, syrk: 3, gemm: 6}\n"
    table = done(study_file, tmp_path / "study", text)
    assert table["platform"].tolist() == ["1 worker", "2 workers"]
    assert table["workers"].tolist() == [1, 2]
    assert table["makespan_s"].tolist() == [27.0, 20.0]
    assert table["busy_share"].tolist() == [1.0, 27 / 40]


def test_native_cells_are_run_for_real(study_file, tmp_path):
    text = (
        BASE_STUDY.replace("[1, 2]", "[1]") + "clock: native\nschedulers: [eager, lws]\nrepeat: 2\n"
    )
    table = done(study_file, tmp_path / "study", text, executor="processes")
    assert table["tasks"].tolist() == [10] * 4
    assert (table["makespan_s"] > 0).all()
    assert (table["makespan_s"] >= table["lower_bound_s"]).all()
    assert table["seed"].tolist() == [0, 1, 0, 1]


def test_more_metrics_are_more_columns(study_file, tmp_path):
    text = BASE_STUDY + "durations: {potrf: 1, trsm: 3, syrk: 3, gemm: 6}\n"
    plain = done(study_file, tmp_path / "plain", text)
    table = done(study_file, tmp_path / "study", text + "metrics: [idle_s, copies, evictions]\n")
    assert table["idle_s"].tolist() == [0.0, 13.0]
    assert table["copies"].tolist() == table["evictions"].tolist() == [0, 0]
    for name in ("makespan_s", "lower_bound_s", "tasks", "busy_share", "moved_bytes"):
        assert table[name].tolist() == plain[name].tolist()
    assert not set(table["cell"]) & set(plain["cell"])


def test_costs_of_paths_are_metrics(study_file, tmp_path):
    text = BASE_STUDY + "durations: {potrf: 1, trsm: 3, syrk: 3, gemm: 6}\n"
    text += "metrics: [path_kernel_s, path_synchronisations, path_words, path_flop]\n"
    table = done(study_file, tmp_path / "study", text)
    assert table["path_kernel_s"].tolist() == [27.0, 20.0]
    seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    graph = tasksim.generate("cholesky", tiles=3, tile_size=16)
    runs = [tasksim.simulate(graph, workers=workers, durations=seconds) for workers in (1, 2)]
    for name in ("synchronisations", "words", "flop"):
        longest = [tasksim.longest_path(run, graph, name).cost for run in runs]
        assert table[f"path_{name}"].tolist() == longest
    assert table["path_words"][0] == 0.0 < table["path_words"][1]


def test_a_recorded_run_is_a_graph_and_files_are_found_beside_the_study(study_file, tmp_path):
    run = tasksim.simulate(
        "cholesky tiles=3", workers=2, durations={"potrf": 1, "trsm": 3, "syrk": 3, "gemm": 6}
    )
    tasksim.save_run(run, tmp_path / "runs" / "one")
    text = "version: 1\ngraphs: [runs/one]\nplatforms: [{workers: [1, 2]}]\ndurations: measured\n"
    table = done(study_file, tmp_path / "study", text, executor="processes", jobs=1)
    assert table["makespan_s"].tolist() == [27.0, 20.0]


def test_settings_of_the_engine_are_an_axis(study_file, tmp_path):
    text = "version: 1\ngraphs: [cholesky tiles=3]\nplatforms: [xeon-2c]\nschedulers: [eager]\n"
    text += "settings: {engine.simultaneous_pushes: [serial, blind]}\n"
    table = done(study_file, tmp_path / "study", text)
    assert table["engine.simultaneous_pushes"].tolist() == ["serial", "blind"]
    assert table["cell"].is_unique


def test_values_of_several_types_share_a_column(study_file, tmp_path):
    text = "version: 1\nplatforms: [xeon-24c]\ngraphs:\n"
    text += "  - {graph: cholesky, set: {tiles: [3], priorities: [app, none]}}\n"
    text += "schedulers:\n  - {scheduler: dmda, set: {alpha: [1, 0.5]}}\n"
    table = done(study_file, tmp_path / "study", text)
    assert table["scheduler.alpha"].tolist() == [1.0, 0.5] * 2
    assert table["graph.priorities"].tolist() == ["app"] * 2 + ["none"] * 2


POOL = """
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

@contextmanager
def open_pool(jobs, argument):
    \"\"\"Compute cells in two threads.\"\"\"
    with ThreadPoolExecutor(int(argument)) as executor:
        yield executor
"""


def test_an_executor_of_another_package_computes(package, study_file, tmp_path):
    package("theirs", {"tasksim.executors": {"twins": "their_pool:open_pool"}})
    (tmp_path / "site-theirs" / "their_pool.py").write_text(POOL)
    try:
        text = BASE_STUDY + "durations: {potrf: 1, trsm: 3, syrk: 3, gemm: 6}\n"
        done(study_file, tmp_path / "study", text, executor="twins:2")
    finally:
        sys.modules.pop("their_pool", None)
    run_study(study_file(text=text), tmp_path / "serial")
    assert answers(tmp_path / "study").equals(answers(tmp_path / "serial"))


def test_a_study_may_name_nothing_that_is_not_there(study_file, tmp_path):
    path = study_file(text=BASE_STUDY.replace("cholesky", "runs/ghost"))
    with pytest.raises(tasksim.InputError, match=r"study.yaml:2:10: graphs.0: .*runs/ghost"):
        run_study(path, tmp_path / "study")


def test_a_study_gives_the_same_in_another_folder(tmp_path):
    """Files that it names are called as it calls them, and known by what is in them."""
    tables = []
    for folder in (tmp_path / "here", tmp_path / "there"):
        folder.mkdir()
        (folder / "mine.yaml").write_text("version: 1\nextends: xeon-24c\nname: mine\n")
        text = "version: 1\ngraphs: [cholesky tiles=3]\nplatforms: [mine.yaml]\nnoise: model\n"
        (folder / "study.yaml").write_text(text)
        run_study(folder / "study.yaml", folder / "study")
        tables.append(answers(folder / "study"))
    assert tables[0]["platform"].tolist() == ["mine.yaml"]
    assert tables[0].equals(tables[1])
