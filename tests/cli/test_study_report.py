"""``tasksim study report``: of folders and CSV files, finished or not; what is refused."""

import csv
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasksim.optimization import bounds
from tasksim.study.sweep.store import read_cells

STUDY = """\
version: 1
name: small
graphs:
  - {graph: cholesky, set: {tiles: [3, 4, 5]}}
  - {graph: lu, set: {tiles: [3, 4, 5]}}
platforms: [xeon-24c]
schedulers: [eager, prio]
seeds: 2
noise: model
"""


@pytest.fixture
def study(computed, tmp_path):
    """A small study, done, in the folder ``study``, and its file."""
    (tmp_path / "study.yaml").write_text(STUDY)
    return computed(STUDY, tmp_path / "study")


@pytest.fixture
def rows(tasksim, study, tmp_path):
    """A function that writes the rows of the study's table, changed, to ``study.csv``."""
    done = list(csv.DictReader(tasksim("study table study --csv").out.splitlines()))

    def write(change=lambda row: row, columns=None):
        changed = [row for row in map(change, done) if row is not None]
        with (tmp_path / "study.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, columns or list(done[0]), extrasaction="ignore")
            writer.writeheader()
            writer.writerows(changed)

    return write


@pytest.mark.slow
def test_a_finished_study(tasksim, study, tmp_path):
    done = tasksim("study report study -o report")
    assert done.code == 0
    assert done.err.endswith("Wrote report\n")
    assert done.out.startswith("scheduler  wins")
    page = (tmp_path / "report/index.html").read_text()
    assert "<h1>Study small</h1>" in page
    assert 'alt="Gantt charts of' in page
    text = (tmp_path / "report/report.md").read_text()
    command = next(line for line in text.splitlines() if line.startswith("tasksim study show"))
    assert tasksim(command.partition("#")[0].removeprefix("tasksim ")).code == 0


OWN_STUDY = """\
version: 1
graphs: [{graph: cholesky, set: {tiles: [2, 3]}}]
platforms: [xeon-24c]
schedulers: [own.py, eager]
"""


def test_a_scheduler_of_ones_own_is_simulated_again_if_it_is_trusted(tasksim, tmp_path):
    (tmp_path / "own.py").write_text(
        "from tasksim.schedulers.central import Eager\n\n\nclass Own(Eager):\n    core = None\n"
    )
    (tmp_path / "own.yaml").write_text(OWN_STUDY)
    assert tasksim("study run own.yaml --trust -o own").code == 0
    # Lower bounds need no scheduler.
    assert tasksim("study report own --tight").code == 0
    assert tasksim("study report own --trust --pdf -o report").code == 0
    figures = {path.name for path in (tmp_path / "report/figures").iterdir()}
    assert {"profile.png", "profile.pdf"} <= figures
    assert "could not be simulated again" not in (tmp_path / "report/report.md").read_text()
    assert "--pdf is for a report in a folder" in tasksim("study report own --pdf").err


def test_a_csv_file_says_the_same(tasksim, rows):
    rows()
    of_folder = tasksim("study report study --json").json
    of_file = tasksim("study report study.csv --json").json
    assert of_file == of_folder | {"study": "study"}


def test_an_unfinished_study_is_reported_as_far_as_it_is(tasksim, study):
    whole = len(read_cells(study))
    text = (study / "study.json").read_text()
    (study / "study.json").write_text(text.replace(f'"cells": {whole}', f'"cells": {whole + 6}'))
    done = tasksim("study report study")
    assert done.code == 0
    said = f"Warning: the study is not finished: 6 of {whole + 6} cells are not computed"
    assert said in done.err


@pytest.mark.slow
def test_failures_are_told(tasksim, rows, tmp_path):
    def one_fails(row):
        failed = {"status": "timeout", "error": "took <10 min>", "makespan_s": ""}
        row["cell"] = next(names)
        return row | failed if row["scheduler"] == "prio" and row["seed"] == "0" else row

    # They look like numbers, and are none.
    names = iter(f"{number:016d}" if number % 2 else f"{number}e10" for number in range(1, 100))

    rows(one_fails)
    done = tasksim("study report study.csv -o report")
    assert "Warning: 6 of 24 cells have no result (6 timeout)" in done.err
    assert "took &lt;10 min&gt;" in (tmp_path / "report/index.html").read_text()
    lines = (tmp_path / "report/data/cells.csv").read_text().splitlines()
    assert {"2e10", "0000000000000001"} <= {row["cell"] for row in csv.DictReader(lines)}


def test_nan_is_no_makespan(tasksim, rows):
    rows(lambda row: row | {"makespan_s": "nan"} if row["seed"] == "0" else row)
    done = tasksim("study report study.csv")
    assert "Warning: 12 cells are done but have no makespan above 0" in done.err


def test_one_scheduler_only(tasksim, rows):
    rows(lambda row: row if row["scheduler"] == "prio" else None)
    done = tasksim("study report study.csv")
    assert done.code == 0
    assert done.out.startswith("No comparison: only prio has makespans.")


def test_one_seed_and_one_graph(tasksim, rows):
    rows(lambda row: row if (row["seed"], row["graph.tiles"]) == ("0", "4") else None)
    done = tasksim("study report study.csv")
    assert "No verdict: there are 2 configurations" in done.out


def test_identical_schedulers_name_no_winner(tasksim, rows):
    rows(lambda row: row | {"makespan_s": row["graph.tiles"]})
    done = tasksim("study report study.csv --json").json
    assert done["verdict"]["kind"] == "no winner"
    assert done["verdict"]["text"] == "No winner: eager and prio have the same makespans."


def test_columns_that_lack(tasksim, rows):
    rows(columns=["cell", "graph", "platform", "scheduler", "seed", "status", "makespan"])
    done = tasksim("study report study.csv")
    assert done.code == 2
    assert done.errors[0].startswith(
        "Error: study.csv: the table lacks the column makespan_s, did you mean 'makespan'?"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "study.csv: is not a table as CSV: No columns to parse"),
        ("a,b\n1,2,3\n1,2,3,4\n", "study.csv: is not a table as CSV: Error tokenizing data"),
        ("cell,graph\n", "study.csv: the table lacks the columns platform, scheduler"),
    ],
)
def test_what_is_no_table(tasksim, tmp_path, text, problem):
    (tmp_path / "study.csv").write_text(text)
    done = tasksim("study report study.csv")
    assert done.code == 2
    assert done.errors[0].startswith(f"Error: {problem}")


def test_what_is_no_study(tasksim, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "is not a study's folder" in tasksim("study report empty").errors[0]
    assert "nowhere" in tasksim("study report nowhere").errors[0]


@pytest.mark.slow
def test_what_a_store_names_is_not_imported(tasksim, study, tmp_path):
    """To draw two cells is to simulate them, and a store is a file that anybody may have made."""
    (tmp_path / "hostile.py").write_text("raise SystemExit('imported')")
    rows = read_cells(study)
    hostile = [text.replace("prio", "hostile:Policy") for text in rows["scenario"].to_pylist()]
    place = rows.schema.get_field_index("scenario")
    for path in (study / "cells").glob("*.parquet"):
        path.unlink()
    pq.write_table(rows.set_column(place, "scenario", pa.array(hostile)), study / "cells/a.parquet")
    done = tasksim("study report study -o report")
    assert done.code == 0
    page = (tmp_path / "report/index.html").read_text()
    assert "Two cells could not be simulated again for a Gantt chart" in page
    assert "hostile" not in sys.modules


def test_axes_that_are_not_there(tasksim, study):
    done = tasksim("study report study --choose tile")
    assert done.code == 2
    assert "no axis of the study is called 'tile', did you mean 'graph.tiles'?" in done.errors[0]


def test_sobol_indices_of_a_full_grid_only(tasksim, rows):
    found = tasksim("study report study --sobol --json").json["sobol"]
    assert [index["axis"] for index in found][-1] == "scheduler"
    assert all(0 <= index["first"] <= index["total"] <= 1 for index in found)
    rows(lambda row: None if (row["scheduler"], row["graph.tiles"]) == ("prio", "3") else row)
    done = tasksim("study report study.csv --sobol")
    assert done.code == 2
    assert "2 of the 12 combinations of graph, scheduler, graph.tiles" in done.errors[0]


@pytest.mark.slow
def test_an_older_report_is_replaced_only_when_asked(tasksim, study):
    assert tasksim("study report study -o report").code == 0
    assert tasksim("study report study -o report").code == 2
    assert tasksim("study report study -o report --force").code == 0
    assert tasksim("study report study -o study --force").code == 2


def test_sobol_indices_by_draws(tasksim, study, rows):
    done = tasksim(f"study report {study} --sobol-draws 4 --json")
    assert done.code == 0, done.err
    found = done.json["sobol_drawn"]
    assert [one["total"] for one in found] == sorted((o["total"] for o in found), reverse=True)
    assert found[0]["simulated"] == 4 * (len(found) + 2)
    assert "axis, drawn" in tasksim(f"study report {study} --sobol-draws 4").out
    refused = tasksim(f"study report {study} --sobol-draws 7")
    assert refused.code == 2
    assert "a power of two" in refused.err
    rows()
    alone = tasksim("study report study.csv --sobol-draws 4")
    assert "need the folder of a study" in alone.err


QUIET_STUDY = """\
version: 1
name: quiet
graphs:
  - {graph: cholesky, set: {tiles: [5, 6]}}
platforms: [xeon-24c]
schedulers: [eager, prio]
"""


@pytest.fixture
def quiet_study(computed, tmp_path):
    """A study without noise, done, in the folder ``quiet``."""
    return computed(QUIET_STUDY, tmp_path / "quiet")


def test_distances_to_the_best_known_and_to_a_tight_bound(tasksim, quiet_study):
    search = "--steps 300 --method annealing -o best"
    best = tasksim(f"optimize cholesky tiles=5 --platform xeon-24c {search} --json").json
    before = tasksim("study report quiet --json").json["schedulers"]
    done = tasksim("study report quiet --tight --best best --json")
    assert done.code == 0
    makespans = {
        row["scheduler"]: float(row["makespan_s"])
        for row in csv.DictReader(tasksim("study table quiet --csv").out.splitlines())
        if row["graph.tiles"] == "5"
    }
    plain = {standing["scheduler"]: standing for standing in before}
    known_s = min(best["makespan_s"], *makespans.values())
    for standing in done.json["schedulers"]:
        name = standing["scheduler"]
        assert standing["mean_known_ratio"] == pytest.approx(makespans[name] / known_s)
        assert standing["mean_bound_ratio"] <= plain[name]["mean_bound_ratio"] * (1 + 1e-5)
        assert plain[name]["mean_known_ratio"] is None
    assert "mean / best known" in tasksim("study report quiet --best best").out
    assert "mean / best known" not in tasksim("study report quiet").out


def test_graphs_too_large_for_a_tight_bound_are_told(tasksim, quiet_study, monkeypatch):
    monkeypatch.setattr(bounds, "MAX_MIXED_TASKS", 40)  # five tiles in a row have 35, six 56
    done = tasksim("study report quiet --tight")
    assert done.code == 0
    assert "Warning: tight bounds are for at most 40 tasks, and 1 of the 2 graphs" in done.err


def test_plans_that_fit_no_cell_are_refused(tasksim, quiet_study, rows):
    tasksim("optimize chain length=3 duration=1 --workers 2 --steps 1 -o best")
    done = tasksim("study report quiet --best best")
    assert done.code == 2
    assert "best/plan.csv fits no cell of quiet: best/plan.csv" in done.err
    assert "has no plan.csv" in tasksim("study report quiet --best quiet").err
    rows()
    table = tasksim("study report study.csv --tight")
    assert (table.code, table.errors) == (
        2,
        ["Error: study.csv is a table; legal with --tight and --best: a study's folder"],
    )
