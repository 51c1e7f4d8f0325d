"""Studies: the grid is what the file says, the table has its cells, the store keeps them."""

from __future__ import annotations

import signal
from concurrent.futures import wait

import pytest

from tasksim.base.errors import InputError
from tasksim.scenario.scenario import Scenario
from tasksim.study.executors.local import GrowingPool
from tasksim.study.sweep import running
from tasksim.study.sweep.grid import Grid
from tasksim.study.sweep.plan import plan
from tasksim.study.sweep.store import axes_of, read_table
from tasksim.study.sweep.studies import run_study
from tasksim.study.sweep.study_file import read_study

FIRST_COLUMNS = ["cell", "graph", "platform", "scheduler", "seed"]
SETTINGS = ["graph.tiles", "platform.workers.cpu.count", "scheduler.beta"]
LAST = [
    "status", "error", "makespan_s", "lower_bound_s", "critical_path_s", "tasks", "busy_share",
    "moved_bytes", "engine", "seconds", "draw_seed",
]  # fmt: skip


@pytest.fixture
def small(study_file, tmp_path):
    """The small study, done: its folder."""
    run_study(study_file(), tmp_path / "study")
    return tmp_path / "study"


def test_the_table_has_the_columns_that_reports_are_made_of(small):
    table = read_table(small)
    assert sorted(table.columns) == sorted([*FIRST_COLUMNS, *SETTINGS, *LAST])
    assert list(table.columns)[: len(FIRST_COLUMNS)] == FIRST_COLUMNS
    assert list(table.columns)[-len(LAST) :] == LAST
    assert len(table) == 3 * 3 * 3 * 2
    assert table["cell"].is_unique
    assert set(table["status"]) == {"done"}
    assert axes_of(table) == [*FIRST_COLUMNS[1:], *[c for c in table.columns if c in SETTINGS]]


def test_an_answer_is_that_of_the_scenario(small):
    table = read_table(small)
    row = table[(table["graph"] == "cholesky tiles=4") & (table["scheduler"] == "dmdas:beta=2")]
    row = row[(row["platform.workers.cpu.count"] == 8) & (row["seed"] == 1)].iloc[0]
    asked = Scenario(
        "cholesky tiles=4", platform="xeon-24c", changes=["platform.workers.cpu.count=8"],
        scheduler="dmdas:beta=2", seed=int(row["draw_seed"]), noise="model",
    )  # fmt: skip
    run = asked.solve()
    assert row["makespan_s"] == run.makespan_s
    assert row["lower_bound_s"] == max(run.bounds.values())
    assert row["critical_path_s"] == run.bounds["critical_path_s"]
    assert row["tasks"] == len(run) == 20
    assert row["busy_share"] == pytest.approx(run.tasks.duration_s.sum() / 8 / run.makespan_s)


def test_schedulers_and_what_ifs_are_compared_under_the_same_draws(small):
    table = read_table(small)
    draws = table.groupby(["graph", "platform", "seed"])["draw_seed"].nunique()
    assert set(draws) == {1}
    assert table["draw_seed"].nunique() == len(draws)


def test_a_grid_is_counted_without_being_made(study_file):
    study = read_study(study_file(("seeds: 2", "seeds: 1000000000000000")))
    assert Grid(study).size == 3 * 3 * 3 * 10**15
    with pytest.raises(InputError, match="27000000000000000 cells; legal: at most 1000000"):
        plan(study)


def test_conditions_prune_the_grid(study_file):
    path = study_file(
        ("noise: model", "noise: model\nwhere:\n  - tiles == 4 or scheduler != 'lws'\n")
    )
    cells = plan(read_study(path))
    assert len(cells) == 3 * 3 * 3 * 2 - 2 * 3 * 2
    assert not [c for c in cells if c.labels["graph.tiles"] == 3 and c.scenario.scheduler == "lws"]


def test_conditions_that_leave_nothing_are_refused(study_file, tmp_path):
    path = study_file(("noise: model", "noise: model\nwhere: seed > 7\n"))
    with pytest.raises(InputError, match="no cells: the conditions under where: leave none of 54"):
        run_study(path, tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_all_mistakes_are_told_with_their_places(study_file):
    path = study_file(
        ("tiles: [3, 4]", "tils: [3, 4]"),
        ("xeon-2c", "xeon-3c"),
        ("workers.cpu.count: [4, 8]", "workers.cpu.count: [4, many]"),
        ("- lws", "- lsw"),
    )
    with pytest.raises(InputError) as caught:
        read_study(path)
    lines = str(caught.value).splitlines()
    assert [line.removeprefix(f"{path}:").split(": ")[0] for line in lines] == [
        "4:35", "7:5", "8:55", "10:5",
    ]  # fmt: skip
    for line, nearest in zip(lines, ("'tiles'", "'xeon-2c'", "many", "'lws'"), strict=True):
        assert nearest in line


def test_unknown_fields_and_words_are_told_with_the_nearest(study_file):
    path = study_file(("noise: model", "nose: model"), ("seeds: 2", "noise: modle"))
    with pytest.raises(InputError) as caught:
        read_study(path)
    assert "must be one of none, model, did you mean 'model'? (got 'modle')" in str(caught.value)
    assert "unknown field (got 'nose'" in str(caught.value)
    assert "did you mean 'noise'?" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"jobs": 0}, "jobs: got 0"),
        ({"jobs": "2"}, "jobs: got '2'"),
        ({"executor": 3}, "executor: expected str, got 3"),
        ({"retry": "no"}, "retry: got 'no'"),
        ({"extend": 1}, "extend: got 1"),
    ],
)
def test_arguments_that_are_none_are_refused(study_file, tmp_path, given, said):
    with pytest.raises(InputError, match=said):
        run_study(study_file(), tmp_path / "study", **given)
    assert not (tmp_path / "study").exists()


def test_first_cells_tell_nothing_of_what_is_left(study_file, tmp_path, monkeypatch):
    """They read files that all others share."""
    seen = []
    monkeypatch.setattr(GrowingPool, "grow", lambda _, left_s: seen.append(left_s))
    run_study(study_file(), tmp_path / "study", executor="auto", jobs=2)
    assert seen[0] == 0.0
    assert seen[1] > 0.0
    assert seen[-1] == 0.0


def test_ctrl_c_while_futures_are_locked_waits_until_they_are_not(
    study_file, tmp_path, monkeypatch
):
    # Else they would stay so, and the thread that computes one of them wait for ever.
    let_go = []

    def interrupted(*given, **named):
        signal.raise_signal(signal.SIGINT)
        let_go.append(True)
        return wait(*given, **named)

    monkeypatch.setattr(running, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_study(study_file(), tmp_path / "study", executor="threads", jobs=1)
    assert let_go == [True]
