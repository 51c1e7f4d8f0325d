"""`tasksim report kernels`: from recorded runs to pages on their kernels."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from recorded_sizes import COLUMNS, SIZES, law, row_of, save_model

from tasksim.models.files.coefficients import Entry, Machine, Measured
from tasksim.models.files.store import save_models
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples
from tasksim.run.runfolder import load


def test_a_model_is_searched_for_where_there_is_none(tasksim, many_sizes):
    many_sizes("run")
    called = tasksim("report kernels run -o out --json")
    assert called.code == 0, called.err
    assert list(called.json) == ["schema_version", "runs", "kernels", "output"]
    work, fixed = sorted(called.json["kernels"], key=lambda row: row["report"] is None)
    assert list(work) == list(fixed) == COLUMNS
    assert (work["kernel"], work["tasks"], work["configurations"]) == ("work", 96, 8)
    assert (work["kind"], work["origin"], work["report"]) == ("mlr", "fitted", "work.html")
    assert "n^3" in work["formula"]
    assert work["rsquared_adj"] > 0.9
    assert work["mlogq"] < 0.05
    assert abs(work["bias"]) < 0.02
    assert work["total_s"] == pytest.approx(12 * law(np.array(SIZES)).sum(), rel=0.02)
    assert (fixed["kind"], fixed["mlogq"], fixed["report"]) == (None, None, None)
    assert "n=7" in fixed["reason"]
    names = sorted(path.name for path in Path("out").iterdir())
    assert names == ["index.html", "kernels.json", "runs.html", "work.html"]
    assert json.loads(Path("out/kernels.json").read_text())["kernels"] == called.json["kernels"]
    assert 'id="data-0"' in Path("out/runs.html").read_text()
    index = Path("out/index.html").read_text()
    links = [("work.html", "work on cpu"), ("runs.html", "Explore the runs")]
    assert re.findall('href="(.*?)">(.*?)</a>', index) == links
    assert "no model: all its tasks have n=7" in index
    assert Path("out/work.html").read_text().count("data:image/png") >= 3


def test_markdown_has_its_figures_beside_it(tasksim, many_sizes, models):
    many_sizes("run")
    called = tasksim(f"report kernels run {models} -o out --format md")
    assert called.code == 0, called.err
    assert "Wrote out" in called.err
    assert "[work on cpu](work.md)" in Path("out/index.md").read_text()
    images = re.findall(r"!\[.*?\]\((.*?)\)", Path("out/work.md").read_text())
    assert "work-residuals.png" in images
    assert all((Path("out") / image).is_file() for image in images)


@pytest.mark.slow
def test_terms_may_be_given_instead_of_searched_for(tasksim, many_sizes):
    many_sizes("run")
    line = "report kernels run --json --terms"
    right = row_of(tasksim(f"{line} 'work = n^3' -o right"), "work")
    wrong = row_of(tasksim(f"{line} 'work=log2(n)' -o wrong"), "work")
    assert (right["kind"], right["origin"]) == ("mlr", "fitted")
    assert re.fullmatch(r"\S+ \+ \S+\*n\^3", right["formula"])
    assert re.fullmatch(r"\S+ [+-] \S+\*log2\(n\)", wrong["formula"])
    assert right["rsquared_adj"] > 0.9 > wrong["rsquared_adj"]
    assert right["mlogq"] < 0.03 < 0.3 < wrong["mlogq"]
    assert wrong["warnings"] > 0
    summary = re.search(r"<p>[^<]*Fitted to[^<]*</p>", Path("wrong/work.html").read_text())[0]
    assert f"Adjusted R² {wrong['rsquared_adj']:.4f}. " in summary


@pytest.mark.slow
def test_given_terms_need_no_four_configurations(tasksim, many_sizes):
    many_sizes("run")
    called = tasksim("report kernels run -o out --json --terms work=n^3 --terms 'fixed=0 + n'")
    fixed = row_of(called, "fixed")
    assert fixed["reason"].startswith("no linear model can be fitted")
    assert "1 terms (0 + n) need more than 1 samples, got 1" in fixed["reason"]
    searched = tasksim("report kernels run -o out2 --json --terms work=n^3 --terms fixed=auto")
    assert "nothing varies" in row_of(searched, "fixed")["reason"]


@pytest.mark.slow
def test_weights_of_fits(tasksim, many_sizes):
    graph = many_sizes("run")
    line = "report kernels run --terms work=n --json"
    plain = row_of(tasksim(f"{line} --weights none -o plain"), "work")
    relative = row_of(tasksim(f"{line} -o relative"), "work")
    # Ordinary least squares, as the textbook has it.
    sizes = graph.parameters[0][graph.row[graph.kernel == 0], 0]
    seconds = load("run").tasks.duration_s[graph.kernel == 0]
    design = np.column_stack([np.ones(len(sizes)), sizes])
    coefficients, (squares,), *_ = np.linalg.lstsq(design, seconds, rcond=None)
    share = squares / (len(sizes) - 2) / seconds.var(ddof=1)
    assert plain["rsquared_adj"] == pytest.approx(1 - share, rel=1e-6)
    assert plain["formula"] == f"{coefficients[0]:.4g} + {coefficients[1]:.4g}*n"
    assert relative["mlogq"] < plain["mlogq"]


@pytest.mark.slow
def test_runs_of_one_graph_may_be_averaged(tasksim, many_sizes):
    for number in range(3):
        many_sizes(f"run{number}", seed=number)
    line = "report kernels run0 run1 run2 --terms work=n^3 --json"
    each = row_of(tasksim(f"{line} -o each"), "work")
    mean = row_of(tasksim(f"{line} --repeated mean -o mean"), "work")
    assert (each["tasks"], mean["tasks"]) == (3 * 96, 96)
    assert each["total_s"] == pytest.approx(3 * mean["total_s"])
    assert 1 - mean["rsquared_adj"] < 0.6 * (1 - each["rsquared_adj"])
    index = Path("mean/index.html").read_text()
    assert "97 tasks of 1 graph (means of 3 runs)" in index
    assert "Runs of one number are averaged task by task." in index
    assert "291 tasks of 3 runs, " in Path("each/index.html").read_text()
    rows = re.findall(
        r"<tr><td[^>]*>(\d)</td><td[^>]*>(run\d)</td>.*?<td>(\d+)</td></tr>",
        Path("mean/work.html").read_text(),
    )
    assert rows == [("0", f"run{number}", "96") for number in range(3)]


@pytest.mark.slow
def test_a_model_file_is_judged(tasksim, many_sizes):
    many_sizes("run")
    sizes = np.repeat(np.array(SIZES, dtype=float), 3)
    model = LinearModel("n^3").fit(Samples(("n",), sizes[:, None], 2 * law(sizes)))
    entry = Entry(model, Measured("2026-01-01", "by hand"))
    save_models(Path("general.json"), {"work": {"cpu": entry}}, machine=Machine("here"))
    row = row_of(tasksim("report kernels run --models general.json -o out --json"), "work")
    assert (row["kind"], row["origin"]) == ("mlr", "given")
    assert row["bias"] == pytest.approx(np.log(2), abs=0.02)
    page = Path("out/work.html").read_text()
    assert "fitted to other samples, with an adjusted R² of 1.0000; it is judged by 96" in page
    assert "R² 1.0000, adjusted R² 1.0000 of the model&#x27;s own fit." in page
    called = tasksim("report kernels run --models general.json --terms work=n -o other")
    assert called.code == 2
    assert called.errors == [
        "Error: terms of work: general.json has a model of it, which is judged as it is; give "
        "either its terms or its model"
    ]


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ("wrok=n", "terms: unknown kernel 'wrok', did you mean 'work'? (known: fixed, work)"),
        ("work=n*nn", "unknown parameter 'nn', did you mean 'n'? (known: n)"),
        ("work=n + 3*n", "terms of work: "),
        ("work", "--terms: got 'work'; legal: KERNEL=TERMS, e.g. 'gemm=m*n*k + m*n'"),
        ("work=", "--terms: got 'work='; legal"),
        ("=n", "--terms: got '=n'; legal"),
        ("work=n' --terms 'work=n^2", "--terms: work is given twice"),
    ],
)
def test_terms_that_cannot_be(tasksim, many_sizes, terms, said):
    many_sizes("run")
    called = tasksim(f"report kernels run --terms '{terms}' -o out")
    assert called.code == 2
    assert said in called.err
    assert not Path("out").exists()


def test_the_models_of_a_folder_are_judged_and_not_fitted_again(tasksim, many_sizes):
    many_sizes("run")
    sizes = np.repeat(np.array(SIZES, dtype=float), 3)
    model = LinearModel("n^3").fit(Samples(("n",), sizes[:, None], 2 * law(sizes)))
    save_model("models/here", "work", model)
    called = tasksim("report kernels run --models models/here -o out --json")
    assert called.code == 0, called.err
    row = next(row for row in called.json["kernels"] if row["kernel"] == "work")
    assert (row["kind"], row["origin"]) == ("mlr", "given")
    assert row["bias"] == pytest.approx(np.log(2), abs=0.02)
    assert row["mlogq"] == pytest.approx(np.log(2), abs=0.02)
    assert row["warnings"] > 0
    page = Path("out/work.html").read_text()
    assert "tasks of these runs" in page
    assert "samples that were fitted" not in page
    assert "even where it was fitted" not in page


@pytest.mark.slow
def test_terms_of_models_that_are_judged_are_not_searched_for(tasksim, many_sizes, monkeypatch):
    many_sizes("run")
    sizes = np.repeat(np.array(SIZES, dtype=float), 3)
    model = LinearModel("auto", candidates="n + n^2 + n^3")
    save_model("models", "work", model.fit(Samples(("n",), sizes[:, None], law(sizes))))

    def refuse(*_, **__):
        raise AssertionError("searched")

    monkeypatch.setattr("tasksim.models.kinds.linear.search_terms", refuse)
    row = row_of(tasksim("report kernels run --models ./models -o out --json"), "work")
    assert row["mlogq"] < 0.03
    assert "refitted to these tasks, cross-validated" in Path("out/work.html").read_text()


def test_configurations_that_a_model_cannot_predict_are_counted(tasksim, many_sizes):
    many_sizes("run")
    known = np.repeat([16.0, 32.0], 10)
    save_model("models", "work", HistoryModel().fit(Samples(("n",), known[:, None], law(known))))
    save_model("models", "fixed", HistoryModel().fit(Samples(("n",), [[9.0]] * 9, [1e-3] * 9)))
    called = tasksim("report kernels run --models ./models -o out --json")
    assert called.code == 0, called.err
    rows = {row["kernel"]: row for row in called.json["kernels"]}
    assert rows["work"]["kind"] == "history"
    assert "cannot predict 6 of 8 configurations, 72 of 96 tasks" in rows["work"]["first_warning"]
    assert rows["fixed"]["report"] is None
    assert "none of its tasks" in rows["fixed"]["reason"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("report kernels run -o out --models ./missing", "missing: no such folder"),
        ("report kernels run -o out --models missing", "unknown model 'missing'"),
        ("report kernels nowhere -o out", "nowhere: no such run"),
        ("report kernels run run -o out", "given twice"),
        ("report kernels -o out", "Missing argument"),
        ("report kernel run -o out", "did you mean 'kernels'?"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(tasksim, many_sizes, line, said):
    many_sizes("run")
    called = tasksim(line)
    assert called.code == 2
    assert said in called.err
    assert not Path("out").exists()


@pytest.mark.slow
def test_only_folders_of_reports_are_replaced(tasksim, many_sizes, models):
    many_sizes("run")
    Path("home").mkdir()
    Path("home/index.html").write_text("mine")
    for force in ("", "--force"):
        assert tasksim(f"report kernels run -o home {force}").code == 2
    assert [path.name for path in Path("home").iterdir()] == ["index.html"]
    line = f"report kernels run {models} -o out"
    assert tasksim(line).code == 0
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    assert "give --force" in tasksim(line).err
    assert tasksim(f"{line} --force").code == 0
    again = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    assert again == before, "the same runs give the same bytes"
    assert "work.html" in again


def test_one_kernel_only(tasksim, many_sizes, models):
    many_sizes("run")
    called = tasksim(f"report kernels run {models} --kernel work -o report --json")
    assert [row["kernel"] for row in called.json["kernels"]] == ["work"]
    refused = tasksim("report kernels run --kernel wrok -o other")
    assert refused.code == 2
    assert refused.errors == [
        "Error: these runs: unknown kernel 'wrok', did you mean 'work'? (known: work, fixed)"
    ]


def test_without_a_folder_it_prints_and_writes_nothing(tasksim, tmp_path, many_sizes, models):
    many_sizes("run")
    before = sorted(tmp_path.rglob("*"))
    called = tasksim(f"report kernels run {models} --kernel work")
    assert called.code == 0
    assert called.out.startswith("kernel ")
    assert "Wrote" not in called.err
    printed = tasksim(f"report kernels run {models} --kernel work --json").json
    assert (printed["output"], printed["kernels"][0]["report"]) == (None, None)
    assert sorted(tmp_path.rglob("*")) == before
