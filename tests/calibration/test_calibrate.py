"""A calibration as a whole: what it writes, adds to, keeps, and refuses."""

from __future__ import annotations

import numpy as np
import pytest
from made_calibrations import entry, here, seconds, sizes

from tasksim.base.errors import InputError
from tasksim.calibration import calibrate as module
from tasksim.calibration import campaign, kernel_samples, kernels_under_load
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.calibration.write_library import earlier_samples
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder
from tasksim.models.files.store import Entry, Measured, ModelLibrary, load_kernel, save_kernel
from tasksim.models.kinds.linear import LinearModel
from tasksim.platform.load import load

CHAIN = generate("chain", length=3)
POTRF = KernelCall("potrf", {"n": 16})


# With real kernels


def test_a_real_calibration_is_complete_and_predicts(tmp_path):
    graph = generate("cholesky", tiles=3, tile_size=32)
    report = here(
        [graph], tmp_path, workers=2, options=CalibrationOptions(max_seconds=0.4, tolerance=0.5)
    )
    kernels = {"potrf", "trsm", "syrk", "gemm"}
    assert {row.kernel for row in report.rows} == kernels
    assert not report.interrupted
    assert report.models_folder == tmp_path / "models" / "here"
    platform = load(str(report.platform_path))
    assert (platform.name, len(platform.workers)) == ("here", 2)
    assert platform.overheads == report.overheads
    assert platform.fingerprint["cores"] == 2
    models = ModelLibrary(platform.models_folder())
    assert set(models.kernels()) == kernels
    assert set(earlier_samples(report.models_folder)) == kernels
    for kernel in kernels:
        known = models.file(kernel).architectures["cpu"]
        assert known.measured.how == "in situ, 2 workers busy"
        assert len(known.measured.stopped) == 1
    bigger = generate("cholesky", tiles=6, tile_size=32)
    for noise in ("none", "model"):
        run = Simulation(bigger, platform, models, "dm", noise=noise).run(check=True)
        assert run.makespan_s >= max(run.bounds.values()) > 0


# What is written, in made-up runs


def test_the_report_says_all(machine, tmp_path):
    machine.durations_s = lambda number, graph: 1e-3 if number else 1.0
    report = here([CHAIN], tmp_path)
    table = report.table().splitlines()
    assert table[1].split() == [
        "task", "(duration_s=0.001)", "15", "0", "1", "ms", "0.00", "%", "tolerance",
    ]  # fmt: skip
    assert table[2] == "runtime: submission 1 us, task 10 us, wake-up 0 s"
    data = report.to_json()
    assert data["machine"] == "here"
    assert data["kernels"][0]["kernel"] == "task"
    assert data["kernels"][0]["parameters"] == {"duration_s": 1e-3}
    assert data["overheads"]["task_s"] == pytest.approx(1e-5)


def test_the_files_say_why_measuring_ended(machine, tmp_path):
    here([CHAIN], tmp_path)
    assert entry(tmp_path).measured.stopped == {"task (duration_s=0.001)": "tolerance: +-0.07 %"}
    machine.durations_s = lambda number, graph: 1e-3 * (1 + number % 3)
    here([CHAIN], tmp_path, replace=True, options=CalibrationOptions(max_seconds=4.0))
    (why,) = entry(tmp_path).measured.stopped.values()
    assert why.startswith("limit: +-")


def test_a_second_calibration_adds(machine, tmp_path, contents):
    here([CHAIN], tmp_path)
    first = earlier_samples(tmp_path / "models" / "here")["task"]
    assert first.runs.tolist() == [r for r in range(5) for _ in range(3)]
    report = here([CHAIN], tmp_path, options=CalibrationOptions(max_seconds=1e9, min_runs=7))
    second = earlier_samples(tmp_path / "models" / "here")["task"]
    assert second.runs.tolist() == [r for r in range(7) for _ in range(3)]
    assert second.durations_s[:15].tolist() == first.durations_s.tolist()
    assert report.rows[0].count == 21
    assert entry(tmp_path).model.report()["samples"] == 21


def test_replace_starts_afresh(machine, tmp_path):
    machine.durations_s = lambda number, graph: 1.0
    here([CHAIN], tmp_path)
    machine.durations_s = lambda number, graph: 2.0
    report = here([CHAIN], tmp_path, replace=True)
    samples = earlier_samples(tmp_path / "models" / "here")["task"]
    assert np.unique(samples.durations_s) == pytest.approx([2.0])
    assert samples.runs.max() == 4
    assert report.rows[0].count == 15


@pytest.mark.slow
def test_replace_keeps_other_kernels_and_other_architectures(machine, tmp_path):
    here([sizes(8.0), CHAIN], tmp_path)
    folder = tmp_path / "models" / "here"
    gemm = (folder / "gemm.json").read_bytes()
    gpu = Entry(entry(tmp_path).model, Measured("2025-01-31", "on a GPU"))
    path = folder / "task.json"
    save_kernel(folder, "task", {"cuda": gpu}, machine=load_kernel(path).machine)
    here([CHAIN], tmp_path, replace=True)
    assert (folder / "gemm.json").read_bytes() == gemm
    assert set(load_kernel(path).architectures) == {"cpu", "cuda"}


def test_what_is_measured_is_written_every_now_and_then(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(module.KernelCampaign, "save_interval_s", 0.0)
    monkeypatch.setattr(campaign, "MIN_SAVE_INTERVAL_RATIO", 0.0)
    counts = []

    def look(what, share):
        path = tmp_path / "models" / "here" / "task.json"
        counts.append(entry(tmp_path).model.report()["samples"] if path.exists() else 0)

    here([CHAIN], tmp_path, progress=look)
    assert counts == [0, 0, 3, 6, 9, 12]  # progress is told before the round is written


# Linear models


def test_terms_make_a_linear_model(machine, tmp_path):
    machine.durations_s = seconds
    here([sizes(8.0, 16.0, 64.0), CHAIN], tmp_path, terms={"gemm": "m"})
    model = entry(tmp_path, "gemm").model
    assert isinstance(model, LinearModel)
    assert model.predict([[32.0], [1000.0]]) == pytest.approx([34e-6, 1002e-6], rel=1e-3)
    assert entry(tmp_path).model.kind == "history"


@pytest.mark.slow
def test_terms_can_be_searched_for(machine, tmp_path):
    machine.durations_s = seconds
    here([sizes(*np.geomspace(8, 512, 12).round())], tmp_path, terms={"gemm": "auto"})
    model = entry(tmp_path, "gemm").model
    assert (model.terms, model.terms_) == ("auto", ("1", "m"))
    assert model.predict([[1000.0]]) == pytest.approx(1002e-6, rel=1e-3)


def test_models_know_how_sure_they_are(machine, tmp_path):
    machine.durations_s = seconds
    here([sizes(8.0, 64.0)], tmp_path)
    low, high = entry(tmp_path, "gemm").model.interval([[8.0]])
    assert low[0] < 10.0005e-6 < high[0] < 1.001 * low[0]


def test_terms_wait_until_all_configurations_are_measured(tmp_path, monkeypatch):
    """Kernels come one after the other: what is written in between has samples alone."""
    monkeypatch.setattr(module.KernelCampaign, "save_interval_s", 0.0)
    monkeypatch.setattr(kernels_under_load, "BATCH_S", 0.02)
    seen = []

    def look(what, share):
        folder = tmp_path / "models" / "here"
        seen.append(((folder / "potrf.samples.csv").exists(), (folder / "potrf.json").exists()))

    here(
        [POTRF, KernelCall("potrf", {"n": 32})],
        tmp_path,
        terms={"potrf": "n"},
        options=CalibrationOptions(max_seconds=0.3),
        progress=look,
    )
    assert (True, False) in seen
    assert entry(tmp_path, "potrf").model.kind == "mlr"


@pytest.mark.slow
def test_samples_that_do_not_suffice_for_the_terms_are_kept(machine, tmp_path):
    machine.durations_s = seconds
    with pytest.raises(InputError) as caught:
        here([sizes(8.0), CHAIN], tmp_path, terms={"gemm": "m"})
    path = tmp_path / "models" / "here" / "gemm.samples.csv"
    assert str(caught.value) == (
        "kernel gemm: 2 terms (1 + m) need samples of at least 2 configurations (different "
        f"parameters), got 1: measure more, or use fewer terms (the samples are in {path})"
    )
    assert entry(tmp_path).model.kind == "history"  # the others are complete
    here([sizes(16.0)], tmp_path, terms={"gemm": "m"})
    assert entry(tmp_path, "gemm").model.predict([[8.0]]) == pytest.approx([10e-6], rel=1e-3)


# Graphs whose tasks are nearly all different


def irregular(least, most, seed):
    """A graph of 60 gemms that are all different, m from *least* to *most*, and of potrfs."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder("irregular")
    for m in np.linspace(least, most, 60).round().tolist():
        builder.insert("gemm", m=m, n=int(rng.integers(1, 99)))
    for n in (8, 16, 24, 32, 40, 48):
        builder.insert("potrf", n=n)
        builder.insert("potrf", n=n)
    return builder.build()


SMALL, LARGE = irregular(100, 300, 1), irregular(1000, 9000, 2)


def bent(number, graph):
    """Return the duration of a task: 1 us times n, or m; twice that if m is above 500.

    Runs differ by 0.01 %, in turns.
    """
    durations_s = np.empty(len(graph))
    for kernel, table in enumerate(graph.parameters):
        mine = graph.kernel == kernel
        size = table[graph.row[mine], 0]
        durations_s[mine] = 1e-6 * size * np.where(size > 500, 2, 1)
    return durations_s * (1 + 1e-4 * (number % 2))


def rows_of(graph):
    """The configurations of gemm."""
    return {tuple(row) for row in graph.parameters[graph.kernels.index("gemm")].tolist()}


@pytest.mark.slow
def test_an_irregular_graph_gets_linear_models_and_a_note_says_so(machine, tmp_path):
    machine.durations_s = bent
    report = here([SMALL], tmp_path)
    assert [one.model for one in report.by_kernel] == ["mlr", "mlr"]
    assert [one.stopped for one in report.by_kernel] == ["tolerance", "tolerance"]
    (note,) = report.notes
    assert note.startswith("gemm, potrf: linear models with searched terms")
    assert len(machine.runs) == 1 + 5  # the total times are known
    assert entry(tmp_path, "potrf").model.predict([[20.0]]) == pytest.approx([20e-6], rel=1e-3)
    model = entry(tmp_path, "gemm").model
    assert model.predict([[150.5, 50.0]]) == pytest.approx([150.5e-6], rel=1e-3)
    low, high = model.interval([[150.5, 50.0]])
    assert low[0] < 150.5075e-6 < high[0] < 1.01 * low[0]
    assert entry(tmp_path, "gemm").measured.stopped == {
        "gemm (60 configurations)": "tolerance: +-0.01 % of the total time"
    }


@pytest.mark.slow
def test_the_report_has_a_summary_of_each_kernel(machine, tmp_path):
    machine.durations_s = bent
    gemm, potrf = here([SMALL], tmp_path).by_kernel
    assert (gemm.kernel, gemm.samples, gemm.configurations) == ("gemm", 300, 60)
    assert gemm.total_s == pytest.approx(5 * 60 * 200e-6, rel=1e-2)
    assert (gemm.terms, gemm.within_tolerance) == (("1", "m"), 0)  # 5 samples of each
    assert gemm.rsquared_adj > 0.999
    assert gemm.cv_mlogq < 1e-3
    assert (potrf.configurations, potrf.within_tolerance) == (6, 6)  # 10 samples of each
    (task,) = here([CHAIN], tmp_path).by_kernel
    assert (task.model, task.stopped, task.terms) == ("history", "tolerance", None)
    assert task.half_width == pytest.approx(6.8e-5, rel=0.01)  # runs of 0, 0.01, 0, 0.01, 0 %


def test_histories_may_be_asked_for(machine, tmp_path):
    machine.durations_s = bent
    report = here([SMALL], tmp_path, search="none", options=CalibrationOptions(max_seconds=3.0))
    assert {one.model for one in report.by_kernel} == {"history"}
    assert report.notes == ["after 3 s fewer than 10 samples from 5 runs: gemm, potrf"]


@pytest.mark.slow
def test_a_second_input_adds_to_the_models_of_the_first(machine, tmp_path):
    machine.durations_s = bent
    here([SMALL], tmp_path / "a")
    report = here([LARGE], tmp_path / "a")
    both = rows_of(SMALL) | rows_of(LARGE)
    samples = earlier_samples(tmp_path / "a" / "models" / "here")["gemm"]
    assert {tuple(row) for row in samples.parameters.tolist()} == both
    assert report.by_kernel[0].configurations == len(both) == 120
    # The model is that of both at once, and neither that of the first nor of the second.
    known = entry(tmp_path / "a", "gemm").model
    here([SMALL, LARGE], tmp_path / "b")
    at_once = entry(tmp_path / "b", "gemm").model
    places = np.array(sorted(both))
    assert known.predict(places) == pytest.approx(at_once.predict(places), rel=1e-3)
    here([LARGE], tmp_path / "c")
    alone = entry(tmp_path / "c", "gemm").model
    assert alone.predict([[200.0, 50.0]]) == pytest.approx([400e-6], rel=1e-2)
    assert known.predict([[200.0, 50.0]]) == pytest.approx([200e-6], rel=0.2)
    assert known.predict([[5000.0, 50.0]]) == pytest.approx([10e-3], rel=0.2)
    assert known.inside([[200.0, 50.0], [5000.0, 50.0]]).all()


@pytest.mark.slow
def test_a_small_input_does_not_turn_models_into_histories(machine, tmp_path):
    machine.durations_s = bent
    here([SMALL], tmp_path)
    builder = GraphBuilder("few")
    builder.insert("gemm", m=120, n=7)
    builder.insert("gemm", m=220, n=7)
    here([builder.build()], tmp_path)
    model = entry(tmp_path, "gemm").model
    assert (model.kind, model.report()["configurations"]) == ("mlr", 62)


@pytest.mark.slow
def test_repeating_a_calibration_does_not_make_files_grow(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_samples, "MAX_RUNS", 6)
    machine.durations_s = bent
    counts = []
    for _ in range(3):
        here([SMALL], tmp_path, options=CalibrationOptions(max_seconds=5.0, tolerance=1e-9))
        counts.append(len(earlier_samples(tmp_path / "models" / "here")["gemm"]) / 60)
    assert counts == [4, 6, 6]


@pytest.mark.slow
def test_while_measuring_samples_are_written_and_no_terms_searched_for(
    machine, tmp_path, monkeypatch
):
    monkeypatch.setattr(module.KernelCampaign, "save_interval_s", 0.0)
    monkeypatch.setattr(campaign, "MIN_SAVE_INTERVAL_RATIO", 0.0)
    machine.durations_s = bent
    folder, seen = tmp_path / "models" / "here", []

    def look(what, share):
        known = earlier_samples(folder).get("gemm") if folder.exists() else None
        models = list(folder.glob("*.json"))
        seen.append((what, 0 if known is None else len(np.unique(known.runs)), len(models)))

    here([SMALL], tmp_path, progress=look)
    assert seen == [
        *[(f"round {n}", max(0, n - 1), 0) for n in range(6)],
        ("searching for terms", 5, 0),
    ]
    assert len(list(folder.glob("*.json"))) == 2


def test_too_few_configurations_for_a_search_make_a_history_and_a_note(machine, tmp_path):
    machine.durations_s = seconds
    report = here([sizes(8.0)], tmp_path, search="all")
    assert entry(tmp_path, "gemm").model.kind == "history"
    (note,) = report.notes
    assert note.startswith("gemm: a history, which predicts no other configurations: the search")
    with pytest.raises(InputError, match="kernel gemm: the search for terms needs"):
        here([sizes(8.0)], tmp_path, terms={"gemm": "auto"})


def test_a_constant_is_said_to_be_one(machine, tmp_path):
    machine.durations_s = lambda number, graph: 1e-3 * (1 + 1e-4 * (number % 2))
    report = here([sizes(*range(8, 40))], tmp_path, search="all")
    (note,) = report.notes
    assert note.startswith("gemm: a constant model, as no parameter")


@pytest.mark.parametrize(("highest", "said"), [(75, True), (76, False)])
def test_terms_found_from_parameters_that_hardly_vary_are_said(machine, tmp_path, highest, said):
    """Between 38 and 75 of them, a line and a cubic look alike, and differ at 200."""
    machine.durations_s = seconds
    report = here([sizes(*range(38, highest + 1))], tmp_path, search="all")
    assert any("other terms would fit nearly as well" in note for note in report.notes) == said


# Refused before anything is measured


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        ([], {}, "nothing to calibrate: name a graph or a kernel"),
        ([KernelCall("gem")], {}, "unknown kernel 'gem', did you mean 'gemm'"),
        ([KernelCall("potrf", {"m": 8})], {}, "kernel potrf has parameters n, got m"),
        ([CHAIN], {"terms": {"tsk": "1"}}, "terms: unknown kernel 'tsk', did you mean 'task'"),
        ([CHAIN], {"terms": {"task": "duratoin_s"}}, "did you mean 'duration_s'"),
        ([CHAIN], {"terms": {"task": "1 +"}}, "column 4: expected a parameter"),
        ([CHAIN], {"machine": "a/b"}, "machine 'a/b': a name with '/'"),
        ([CHAIN], {"workers": 0}, "workers: got 0 .*legal: a whole number from 1"),
    ],
)
def test_mistakes_are_refused_first(machine, tmp_path, contents, items, options, message):
    with pytest.raises(InputError, match=message):
        here(items, tmp_path, **options)
    assert (machine.runs, contents(tmp_path)) == ([], {})


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("name", ["task.json", "task.samples.csv"])
def test_damaged_files_are_found_first(machine, tmp_path, contents, name, replace):
    here([CHAIN], tmp_path)
    path = tmp_path / "models" / "here" / name
    path.write_bytes(path.read_bytes()[:-9])
    before, runs = contents(tmp_path), len(machine.runs)
    with pytest.raises(InputError, match=rf"{name}:\d+"):
        here([CHAIN], tmp_path, replace=replace)
    assert (len(machine.runs), contents(tmp_path)) == (runs, before)
