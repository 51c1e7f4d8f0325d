"""`tasksim report kernels`: from recorded runs to pages on their kernels."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tasksim.formats.recorded import graph_of
from tasksim.graph.apps.registry import GENERATORS, generate
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.graph.graph_file import save as save_graph
from tasksim.models.files.coefficients import Entry, Machine, Measured
from tasksim.models.files.store import save_kernel, save_models
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples
from tasksim.run.record import Run, WorkerInfo
from tasksim.run.recordtables import TaskTable
from tasksim.run.runfolder import load, save
from tasksim.run.samples import RecordedRun, recorded_kernels

COLUMNS = [
    "kernel", "architecture", "tasks", "configurations", "total_s", "kind", "origin", "formula",
    "rsquared_adj", "mlogq", "bias", "warnings", "first_warning", "reason", "report",
]  # fmt: skip
SIZES = (16, 24, 32, 48, 64, 96, 128, 192)


def recorded(graph, durations_s, architectures=("cpu",), config=None):
    """Return a native run of *graph*: its tasks one after the other, on workers in turn."""
    n = len(graph)
    ends = np.cumsum(durations_s)
    zeros = np.zeros(n)
    table = TaskTable(
        task=np.arange(n),
        kernel=graph.kernel,
        worker=np.arange(n) % len(architectures),
        priority=graph.priority,
        submitted_s=zeros,
        ready_s=zeros,
        start_s=ends - durations_s,
        end_s=ends,
        released_by=np.full(n, -1),
    )
    return Run(
        kind="native",
        graph_name=graph.name,
        graph_arguments=dict(graph.arguments),
        kernel_names=graph.kernels,
        workers=tuple(WorkerInfo(f"{a}{i}", a) for i, a in enumerate(architectures)),
        platform="here",
        scheduler="lws",
        seed=0,
        tasks=table,
        config=config or {},
    )


def law(n):
    return 2e-6 + 4e-11 * n**3


@pytest.fixture
def many_sizes(tasksim, tmp_path):
    """Return a function that writes a run of kernels "work" (of many sizes) and "fixed"."""

    def write(folder, factor=1.0, seed=0, names=("n",), repetitions=12):
        builder = GraphBuilder("sizes")
        data = builder.matrix("A", len(SIZES), repetitions, size_bytes=8)
        for i, size in enumerate(SIZES):
            for j in range(repetitions):
                builder.insert("work", RW(data[i, j]), **dict.fromkeys(names, size))
        builder.insert("fixed", RW(data[0, 0]), n=7)
        graph = builder.build()
        path = tmp_path / f"{'-'.join(names)}.npz"
        save_graph(graph, path, force=True)
        noise = np.random.default_rng(seed).lognormal(0.0, 0.02, len(graph))
        mean = np.array([*np.repeat(law(np.array(SIZES)), repetitions), 1e-3])
        run = recorded(graph, factor * mean * noise, config={"graph": {"name": str(path)}})
        save(run, Path(folder))
        return graph

    return write


def save_model(folder, kernel, model):
    entry = Entry(model, Measured("2026-01-01", "by hand"))
    save_kernel(Path(folder), kernel, {"cpu": entry}, machine=Machine("here"))


@pytest.fixture
def models(tasksim):
    """Return the option for a folder with a model of "work", which takes no search."""
    sizes = np.repeat(np.array(SIZES, dtype=float), 9)
    save_model("models", "work", HistoryModel().fit(Samples(("n",), sizes[:, None], law(sizes))))
    return "--models ./models"


def cholesky(tile_size):
    graph = generate("cholesky", tiles=4, tile_size=tile_size)
    return recorded(graph, np.linspace(1e-3, 1.1e-3, len(graph)))


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


def row_of(called, kernel):
    assert called.code == 0, called.err
    return next(row for row in called.json["kernels"] if row["kernel"] == kernel)


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


def test_given_terms_need_no_four_configurations(tasksim, many_sizes):
    many_sizes("run")
    called = tasksim("report kernels run -o out --json --terms work=n^3 --terms 'fixed=0 + n'")
    fixed = row_of(called, "fixed")
    assert fixed["reason"].startswith("no linear model can be fitted")
    assert "1 terms (0 + n) need more than 1 samples, got 1" in fixed["reason"]
    searched = tasksim("report kernels run -o out2 --json --terms work=n^3 --terms fixed=auto")
    assert "nothing varies" in row_of(searched, "fixed")["reason"]


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


def test_shifts_between_runs_show(tasksim, many_sizes, models):
    for number, factor in enumerate((1.0, 1.0, 1.5)):
        many_sizes(f"run{number}", factor, seed=number)
    called = tasksim(f"report kernels run0 run1 run2 {models} -o out --json")
    row = next(row for row in called.json["kernels"] if row["kernel"] == "work")
    assert row["tasks"] == 3 * 96
    assert re.match(r"run 2 took (49|50|51)% longer", row["first_warning"])
    assert "run2" in Path("out/work.html").read_text()


def test_samples_are_parameters_and_durations_by_task():
    small, large = cholesky(64), cholesky(128)
    runs = [RecordedRun(Path(n), r, graph_of(r, Path(n))) for n, r in (("a", small), ("b", large))]
    kernels = {kernel.name: kernel for kernel in recorded_kernels(runs)}
    counts = {name: len(kernel.samples) for name, kernel in kernels.items()}
    assert counts == {"potrf": 8, "trsm": 12, "syrk": 12, "gemm": 8}
    potrf = kernels["potrf"]
    assert potrf.samples.names == ("n",)
    assert potrf.samples.parameters[:, 0].tolist() == [64.0] * 4 + [128.0] * 4
    assert potrf.samples.runs.tolist() == [0] * 4 + [1] * 4
    assert potrf.samples.durations_s[0] == pytest.approx(1e-3)
    # A potrf updates one tile of float64 in place.
    assert potrf.with_sizes().parameters[:, 1].tolist() == [8 * 64**2] * 4 + [8 * 128**2] * 4
    total = small.tasks.duration_s.sum() + large.tasks.duration_s.sum()
    assert sum(kernel.total_s for kernel in kernels.values()) == pytest.approx(total)


def test_architectures_are_kept_apart(many_sizes, tmp_path):
    graph = generate("cholesky", tiles=4, tile_size=64)
    run = recorded(graph, np.full(len(graph), 1e-3), ("cpu", "cuda"))
    found = recorded_kernels([RecordedRun(tmp_path, run, graph)])
    gemm = {k.architecture: len(k.samples) for k in found if k.name == "gemm"}
    assert set(gemm) == {"cpu", "cuda"}
    assert sum(gemm.values()) == 4


def test_where_nothing_varies_there_is_nothing_to_fit(tasksim):
    save(cholesky(64), Path("run"))
    called = tasksim("report kernels run -o out")
    assert called.code == 2
    assert "potrf: all its tasks have n=64, nothing varies" in called.err
    assert "--models" in called.err
    assert not Path("out").exists()


def test_kernels_without_parameters(tasksim, tmp_path):
    builder = GraphBuilder("bare")
    builder.insert("nothing", RW(builder.handle("x", size_bytes=8)))
    graph = builder.build()
    save_graph(graph, tmp_path / "bare.npz")
    save(recorded(graph, np.ones(1), config={"graph": {"name": "bare.npz"}}), Path("run"))
    called = tasksim("report kernels run -o out")
    assert called.code == 2
    assert "nothing: it has no parameters" in called.err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"graph_name": "mine"}, "no generator is called 'mine'"),
        ({"graph_arguments": {"tiles": 4, "colour": 3}}, "unknown parameter 'colour'"),
        ({"graph_arguments": {"tiles": 5, "tile_size": 64}}, "35 tasks, the run has 20"),
        ({"graph_arguments": {"tiles": 4}, "kernel_names": tuple("abcd")}, "task 0 is potrf"),
        ({"config": {"graph": {"name": "gone.npz"}}}, "gone.npz"),
        ({"config": {"graph": {"name": "costs.csv", "path": None}}}, "tasks that have no param"),
    ],
)
def test_graphs_that_cannot_be_made_again(tasksim, changes, said):
    save(replace(cholesky(64), **changes), Path("run"))
    called = tasksim("report kernels run -o out")
    assert called.code == 2
    assert said in called.err
    assert called.err.startswith("Error: run: ")
    assert not Path("out").exists()


def test_one_name_for_kernels_of_different_parameters(tasksim, many_sizes):
    many_sizes("a")
    many_sizes("b", names=("m", "k"))
    called = tasksim("report kernels a b -o out")
    assert called.code == 2
    assert "kernel work has the parameters (m, k) in b, but (n) in a" in called.err
    assert not Path("out").exists()


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


def test_simulated_runs_tell_what_their_models_say(tasksim, many_sizes, models):
    graph = many_sizes("run")
    save_model("models", "fixed", HistoryModel().fit(Samples(("n",), [[7.0]] * 9, [1e-3] * 9)))
    assert tasksim(f"simulate ./n.npz {models} --workers 2 -o simulated").code == 0
    assert len(load("simulated")) == len(graph)
    called = tasksim(f"report kernels simulated {models} -o out --json")
    assert called.code == 0, called.err
    for row in called.json["kernels"]:
        assert row["kind"] == "history"
        assert row["reason"].startswith("the runs were simulated with this model")
        assert row["mlogq"] is row["report"] is row["first_warning"] is None
    assert "simulated with this model" in Path("out/index.html").read_text()
    printed = tasksim(f"report kernels simulated {models}")
    assert "work: the runs were simulated with this model" in printed.out


def test_simulated_runs_that_others_predicted_are_said_to_be(tasksim, many_sizes, models):
    many_sizes("run")
    sizes = np.array(SIZES, dtype=float)
    other = HistoryModel().fit(Samples(("n",), sizes[:, None], 1.2 * law(sizes)))
    save_model("models", "fixed", HistoryModel().fit(Samples(("n",), [[7.0]] * 9, [1e-3] * 9)))
    assert tasksim(f"simulate ./n.npz {models} --workers 2 -o simulated").code == 0
    save_model("others", "work", other)
    called = tasksim("report kernels simulated --models ./others --kernel work --json")
    (row,) = called.json["kernels"]
    assert row["mlogq"] == pytest.approx(np.log(1.2))
    assert row["first_warning"].startswith("the tasks were simulated")
    mixed = tasksim("report kernels simulated run --models ./others --kernel work --json")
    assert "were simulated" not in mixed.json["kernels"][0]["first_warning"]


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


APPLICATION = """
import tasksim
from tasksim import RW

@tasksim.kernel(parameters=lambda x: {"n": len(x)})
def double(x: RW):
    x *= 2

@tasksim.application("doubles-of-many")
def doubles(g, n=10, parts=12):
    for x in g.arrays("x", [n * (i + 1) for i in range(parts)]):
        g.insert(double, x)
"""


def test_runs_of_an_application_keep_their_graph_so_that_nothing_is_imported(tasksim, tmp_path):
    (tmp_path / "doubles.py").write_text(APPLICATION)
    for n in (10, 1000):
        assert tasksim(f"run doubles.py n={n} --workers 1 -o native{n}").code == 0
    sys.modules.pop("doubles")
    reported = tasksim("report kernels native10 native1000 --terms double=n --json")
    assert (reported.code, reported.json["kernels"][0]["tasks"]) == (0, 24), reported.err
    assert "doubles" not in sys.modules
    GENERATORS._found.pop("doubles-of-many")


def test_without_its_graph_the_file_that_a_run_names_is_imported_on_request_only(tasksim, tmp_path):
    (tmp_path / "doubles.py").write_text(APPLICATION.replace("doubles-of-many", "doubles-again"))
    assert tasksim("run doubles.py --workers 1 -o native").code == 0
    (tmp_path / "native" / "graph.npz").unlink()
    sys.modules.pop("doubles")
    refused = tasksim("report kernels native --terms double=n")
    assert "it names the generator 'doubles.py'" in refused.err
    assert "doubles" not in sys.modules
    GENERATORS._found.pop("doubles-again")
    assert tasksim("report kernels native --terms double=n --trust").code == 0
    GENERATORS._found.pop("doubles-again")
