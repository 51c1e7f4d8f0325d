"""Kernel models of recorded runs: their samples, their files, what is said and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_tasks import graph_of_sizes, run_of
from tiers import few

import tasksim
from tasksim.base.errors import InputError
from tasksim.calibration.recorded_calibration import calibrate_from
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.models.files.store import ModelLibrary, load_kernel, read_samples


def recorded(graph, durations_s, **changes):
    return run_of(graph, durations_s, graph=graph, **changes).run


def texts(folder):
    """The text of each file below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def several_sizes(*sizes, kernel="work"):
    """A graph of one kernel, twelve tasks of each size n, and durations n² us."""
    builder = GraphBuilder("sizes")
    for size in sizes:
        for _ in range(12):
            builder.insert(kernel, RW(builder.handle("x", 8)), n=size)
    return builder.build(), [1e-6 * size**2 for size in sizes for _ in range(12)]


def test_a_history_of_each_kernel_is_its_means(tmp_path):
    graph = graph_of_sizes(*[8] * 10, *[16] * 10)
    run = recorded(graph, [1.0, 3.0] * 5 + [4.0, 8.0] * 5)
    found = calibrate_from(run, tmp_path, machine="here")
    (row,) = found.kernels
    assert (row.kernel, row.architecture, row.model) == ("work", "cpu", "history")
    assert (row.samples, row.configurations, row.fewest, row.total_s) == (20, 2, 10, 80.0)
    assert row.parameters == ("n",)
    library = ModelLibrary(tmp_path / "models" / "here")
    assert library.predict("work", "cpu", ("n",), [[8.0], [16.0]]).tolist() == [2.0, 6.0]
    assert found.notes == []


@settings(max_examples=few(15))
@given(st.lists(st.sampled_from([1.0, 2.0, 3.0, 8.0]), min_size=1, max_size=12))
def test_a_run_of_equal_durations_is_simulated_as_it_was(tmp_path_factory, sizes):
    folder = tmp_path_factory.mktemp("library")
    graph = graph_of_sizes(*sizes)
    run = recorded(graph, [size / 4 for size in sizes])
    found = calibrate_from(run, folder, machine="here")
    platform = tasksim.load_platform(found.platform_path)
    free = replace(platform, overheads=type(platform.overheads)())
    assert tasksim.simulate(graph, free).makespan_s == pytest.approx(sum(sizes) / 4, rel=1e-12)


@pytest.mark.slow
def test_runs_of_four_sizes_give_a_formula_that_predicts_a_fifth(tmp_path):
    runs = [recorded(*several_sizes(size)) for size in (8, 16, 32, 64)]
    found = calibrate_from(runs, tmp_path, machine="here", search="all")
    assert found.kernels[0].terms == ("n^2",)
    graph, durations = several_sizes(48)
    predicted = tasksim.durations(graph, tasksim.load_platform(found.platform_path))
    np.testing.assert_allclose(predicted[0], durations, rtol=1e-6)
    (note,) = calibrate_from(runs, tmp_path / "other", machine="here").notes
    assert note.startswith("work: histories, which predict no other configurations; search='all'")


def test_too_few_samples_are_told_also_where_terms_could_not_be_searched_for(tmp_path):
    run = recorded(graph_of_sizes(8), [1.0])
    notes = calibrate_from(run, tmp_path, machine="here", search="all").notes
    assert notes[0].startswith("fewer than 10 samples of a configuration")
    assert "work (1)" in notes[0]


@pytest.mark.slow
def test_given_terms_are_fitted_and_kept_by_the_next_calibration(tmp_path):
    run = recorded(*several_sizes(8, 16))
    found = calibrate_from(run, tmp_path, machine="here", terms={"work": "n^2"})
    assert found.kernels[0].terms == ("1", "n^2")
    again = calibrate_from(recorded(*several_sizes(32)), tmp_path, machine="here")
    assert again.kernels[0].terms == ("1", "n^2")
    assert "work: a linear model of the terms" in again.notes[0]
    histories = calibrate_from(run, tmp_path, machine="here", search="none")
    assert histories.kernels[0].model == "history"


def test_a_run_counts_once_however_often_it_is_given(tmp_path):
    run = recorded(*several_sizes(8, 16))
    calibrate_from(run, tmp_path, machine="here")
    before = texts(tmp_path)
    said, kept = calibrate_from(run, tmp_path, machine="here", search="none").notes
    assert said == "sizes: its tasks are among the earlier samples; they count once"
    assert kept.endswith("here.yaml: kept as it was; the runs tell only of kernels")
    assert texts(tmp_path) == before


def test_another_run_adds_to_the_samples_and_replace_forgets_them(tmp_path):
    graph, durations = several_sizes(8)
    path = tmp_path / "models" / "here" / "work.samples.csv"
    for times, replaced, expected in ((1, False, 12), (2, False, 24), (3, True, 12)):
        run = recorded(graph, [times * duration for duration in durations])
        calibrate_from(run, tmp_path, machine="here", replace=replaced)
        samples = read_samples(path)["cpu"]
        assert len(samples) == expected
        assert len(set(samples.runs.tolist())) == expected // 12
    assert samples.durations_s == pytest.approx([3 * duration for duration in durations])


def test_a_model_without_samples_is_replaced_and_that_is_said(tmp_path):
    run = recorded(*several_sizes(8))
    calibrate_from(run, tmp_path, machine="here")
    (tmp_path / "models" / "here" / "work.samples.csv").unlink()
    notes = calibrate_from(run, tmp_path, machine="here").notes
    assert notes[0].endswith(
        "work.json: the model for cpu, tasks of sizes, is replaced: it has no samples to add to"
    )


def test_architectures_have_models_of_their_own(tmp_path):
    graph = graph_of_sizes(8, 8, 8, 8)
    run = recorded(graph, [1.0, 2.0, 1.0, 2.0], workers=[0, 1, 0, 1], architectures=("cpu", "main"))
    found = calibrate_from(run, tmp_path, machine="here")
    assert {(row.architecture, row.total_s) for row in found.kernels} == {
        ("cpu", 2.0),
        ("main", 4.0),
    }
    entries = load_kernel(tmp_path / "models" / "here" / "work.json").architectures
    assert sorted(entries) == ["cpu", "main"]
    assert "work on cpu (2), work on main (2)" in found.notes[0]


def test_durations_are_without_the_time_that_others_took(tmp_path):
    graph = graph_of_sizes(*[8] * 12)
    run = recorded(graph, [1.0] * 11 + [5.0])
    alone = np.ones(12)
    tasks = replace(run.tasks, cpu_s=alone, preemptions=np.array([0] * 11 + [3]))
    calibrate_from(replace(run, tasks=tasks), tmp_path, machine="here")
    folder = tmp_path / "models" / "here"
    samples = read_samples(folder / "work.samples.csv")["cpu"]
    assert samples.durations_s.tolist() == [1.0] * 12
    assert samples.wall_s.tolist() == [1.0] * 11 + [5.0]
    assert load_kernel(folder / "work.json").architectures["cpu"].measured.clock == "processor"


@pytest.mark.parametrize(("accounted", "task_s"), [(True, 10e-6), (False, 1.00101 / 101)])
def test_the_platform_is_without_gaps_in_which_others_had_the_core(tmp_path, accounted, task_s):
    """A gap of 10 us before each task, and one of a second more, which others took."""
    graph = graph_of_sizes(*[8] * 101)
    run = recorded(graph, [1.0] * 101)
    later = np.cumsum([10e-6] * 50 + [1.0 + 10e-6] + [10e-6] * 50)
    tasks = replace(run.tasks, start_s=run.tasks.start_s + later, end_s=run.tasks.end_s + later)
    if accounted:
        tasks = replace(tasks, cpu_s=np.ones(101), preemptions=np.zeros(101, int))
    found = calibrate_from(replace(run, tasks=tasks), tmp_path, machine="here")
    overheads = tasksim.load_platform(found.platform_path).overheads
    assert overheads.task_s == pytest.approx(task_s, rel=1e-3)


def test_tasks_shorter_than_the_clock_shows_count_as_a_nanosecond(tmp_path):
    graph = graph_of_sizes(*[8] * 12)
    found = calibrate_from(recorded(graph, [1.0] * 11 + [0.0]), tmp_path, machine="here")
    assert found.notes == [
        "tasks that took less than the clock shows count as a nanosecond: work (1)"
    ]
    samples = read_samples(tmp_path / "models" / "here" / "work.samples.csv")["cpu"]
    assert samples.durations_s.min() == pytest.approx(1e-9, rel=1e-12)


def test_kernels_that_can_have_no_model_are_named(tmp_path):
    builder = GraphBuilder("odd")
    builder.insert("a/b", n=1)
    builder.insert("barrier", duration_s=1.0)
    builder.insert("work", n=1)
    graph = builder.build()
    found = calibrate_from(recorded(graph, [1.0, 1.0, 1.0]), tmp_path, machine="here")
    assert [row.kernel for row in found.kernels] == ["work"]
    assert found.notes[0] == (
        "no model of kernel 'a/b': a name must not contain '/' or begin with '.'"
    )
    assert "barrier: no model, as each task has its own duration (duration_s)" in found.notes
    assert any(
        note.startswith("fewer than 10 samples") and "work (1)" in note for note in found.notes
    )


def test_numbers_of_tasks_and_footprints_of_traces_are_no_sizes(tmp_path):
    builder = GraphBuilder("trace")
    for number in range(24):
        size = 8 * 2 ** (number % 4)
        builder.insert(
            "work", RW(builder.handle(f"x{number % 4}", size)),
            footprint=float(1000 - size), iteration=float(number),
        )  # fmt: skip
    graph = builder.build()
    durations = [1e-6 * 2 ** (number % 4) for number in range(24)]
    config = {"recorded": {"from": "somewhere"}}
    run = recorded(graph, durations, config=config)
    found = calibrate_from(run, tmp_path / "history", machine="here")
    assert found.kernels[0].parameters == ("footprint",)
    assert found.notes[0] == "work: 'iteration' numbers the tasks, and is no parameter"
    found = calibrate_from(run, tmp_path / "formula", machine="here", search="all")
    assert found.kernels[0].parameters == ("size_bytes",)
    assert found.kernels[0].terms == ("size_bytes",)
    platform = tasksim.load_platform(found.platform_path)
    np.testing.assert_allclose(tasksim.durations(graph, platform)[0], durations, rtol=1e-6)


def test_the_platform_of_the_run_gets_these_models_and_a_known_one_stays(tmp_path):
    (tmp_path / "run").mkdir()
    run = recorded(*several_sizes(8))
    tasksim.save_run(run, tmp_path / "kept")
    (tmp_path / "kept" / "platform.yaml").write_text(
        "version: 1\nworkers: {cpu: {count: 3}}\narch: {cpu: {speed: 2.0}}\n"
        "overheads: {task: 1 us}\n"
    )
    found = calibrate_from(tmp_path / "kept", tmp_path / "lib", machine="here")
    platform = tasksim.load_platform(found.platform_path)
    assert platform.name == "here"
    assert len(platform.workers) == 3
    assert platform.overheads.task_s == 1e-6
    assert platform.compute_speed("cpu") == 1.0  # the tasks were as long as they were
    assert platform.models == "../models/here"
    text = found.platform_path.read_text()
    again = calibrate_from(recorded(*several_sizes(16)), tmp_path / "lib", machine="here")
    assert again.platform_path.read_text() == text


def test_a_run_whose_platform_is_no_file_still_gives_models(tmp_path):
    run = recorded(*several_sizes(8), config={"platform": {"object": "Platform"}})
    found = calibrate_from(run, tmp_path, machine="here")
    assert found.platform_path is None
    assert "no platform file" in found.notes[-1]
    assert (tmp_path / "models" / "here" / "work.json").is_file()


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([], r"runs: got \[\] \(list\); legal: one run or more"),
        (3, r"runs: got 3 \(int\); legal: one run or more"),
        ([3], "runs: "),
        ("nix", "nix: no such run"),
    ],
)
def test_what_is_no_run_is_refused(runs, message, tmp_path):
    with pytest.raises(InputError, match=message):
        calibrate_from(runs, tmp_path / "lib", machine="here")
    assert not (tmp_path / "lib").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"machine": "a/b"}, "machine 'a/b'"),
        ({"terms": {"wrok": "n"}}, "unknown kernel 'wrok', did you mean 'work'"),
        ({"terms": {"work": "m"}}, "unknown parameter 'm'"),
        ({"terms": {"work": "n + n^2 + n^3"}}, "kernel work: .* need samples of at least"),
        ({"search": "some"}, "search: got 'some'"),
        ({"replace": 1}, "replace"),
        ({"trust": "yes"}, "trust"),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_written(options, message, tmp_path):
    run = recorded(*several_sizes(8, 16))
    with pytest.raises(InputError, match=message):
        calibrate_from(run, tmp_path / "lib", **{"machine": "here", **options})
    assert texts(tmp_path) == {}


def test_simulated_runs_hold_no_measurement(tmp_path):
    run = tasksim.simulate("chain length=3", workers=1)
    with pytest.raises(InputError, match="chain: a simulated run: its durations are those of"):
        calibrate_from(run, tmp_path)


def test_a_run_given_twice_is_refused(tmp_path):
    tasksim.save_run(recorded(*several_sizes(8)), tmp_path / "run")
    with pytest.raises(InputError, match="is given twice"):
        calibrate_from([tmp_path / "run", tmp_path / "run" / ".." / "run"], tmp_path / "lib")


def test_kernels_with_other_parameters_are_other_kernels(tmp_path):
    builder = GraphBuilder("other")
    builder.insert("work", m=1)
    graph = builder.build()
    other = recorded(graph, [1.0])
    run = recorded(*several_sizes(8))
    with pytest.raises(InputError, match=r"work has the parameters \(m\) in other, but \(n\) in s"):
        calibrate_from([run, other], tmp_path, machine="here")
    calibrate_from(run, tmp_path, machine="here")
    with pytest.raises(InputError, match=r"samples with the parameters \(n\), the runs have \(m\)"):
        calibrate_from(other, tmp_path, machine="here")
    assert calibrate_from(other, tmp_path, machine="there").kernels[0].parameters == ("m",)


def test_runs_that_are_executed_or_recorded_in_python_are_taken_as_they_are(tmp_path):
    ran = tasksim.execute("cholesky tiles=3 tile_size=16", workers=1)
    found = calibrate_from(ran, tmp_path, machine="here")
    assert {row.kernel: row.samples for row in found.kernels} == {
        "potrf": 3, "trsm": 3, "syrk": 3, "gemm": 1,
    }  # fmt: skip
    assert tasksim.simulate(
        "cholesky tiles=5 tile_size=16", tasksim.load_platform(found.platform_path)
    )
