"""The cost of far data that is fitted to native runs, and samples without it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tasksim.calibration.fit_locality import FarTable, Reaches, fit_locality, without_far_data
from tasksim.calibration.kernel_samples import KernelSamples
from tasksim.calibration.recorded_calibration import calibrate_from
from tasksim.calibration.report import far_data
from tasksim.engine.simulation import Simulation
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.models.files.store import load_kernel, read_samples, write_samples
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.models.locality import Locality
from tasksim.models.samples import Samples
from tasksim.platform.description import Platform

MIB = 2**20
READ_S, WRITTEN_S = 1e-10, 3e-11
"""Seconds per byte: 0.1 ms for a far megabyte that is read, 0.03 ms for one that is written."""
TRIED_REACHES = Reaches(tuple(float(n * MIB) for n in (4, 16, 32, 128)), 32.0 * MIB)
TRUTH = Locality(
    16.0 * MIB, READ_S, 0.0, 0.0, WRITTEN_S, mean_far_written_share=0.0, cache_bytes=32.0 * MIB
)


class Known(ConstantLibrary):
    """Constant durations with all data near, and what far data cost."""

    def __init__(self, durations_s, localities):
        super().__init__(durations_s)
        self.localities = localities

    def locality(self, kernel, architecture):
        return self.localities.get(kernel)


def walk(seed, tasks=300, tiles=40, kernels=("gemm",)):
    """Tasks that each read two random tiles of a mebibyte, and write a third."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder("walk")
    tile = builder.vector("A", tiles, size_bytes=MIB)
    for task in range(tasks):
        one, two, three = rng.choice(tiles, 3, replace=False).tolist()
        builder.insert(
            kernels[task % len(kernels)], R(tile[one]), R(tile[two]), RW(tile[three]), m=8
        )
    return builder.build()


def measured(
    graphs, localities=None, noise=0.002, change=None, reaches=TRIED_REACHES, earlier=None
):
    """Samples and far data of runs of *graphs*, which take what a simulation says, with noise."""
    collected, table = KernelSamples(earlier), FarTable(reaches)
    for number, graph in enumerate(graphs):
        run = native(number, graph, localities, noise, change)
        table.add(collected.next_run, run, graph)
        collected.add_run(run, graph)
    return collected.samples, table


def native(number, graph, localities=None, noise=0.002, change=None):
    """A run of *graph* whose tasks take what a simulation says, with noise."""
    seconds = dict.fromkeys(graph.kernels, 1e-3)
    models = Known(seconds, {"gemm": TRUTH} if localities is None else localities)
    run = Simulation(graph, Platform.identical(2), models, "eager").run()
    rng = np.random.default_rng(number)
    factors = np.exp(noise * rng.standard_normal(len(run)))
    if change is not None:
        factors = change(number, factors)
    tasks = run.tasks
    ends = tasks.start_s + tasks.duration_s * factors
    columns = {name: getattr(tasks, name) for name in tasks.dtypes}
    tasks = type(tasks)(**{**columns, "end_s": ends})
    return replace(run, kind="native", tasks=tasks, graph=graph)


def shorter(number, factors):
    """Noise that makes tasks shorter only, as none may end after the next has started."""
    return np.minimum(factors, 1 / factors)


RUNS = [walk(seed) for seed in range(6)]


def test_reach_costs_and_shares_are_recovered():
    samples, table = measured(RUNS)
    found, counted = fit_locality(samples, table)
    gemm = found["gemm"]
    assert (gemm.reach_bytes, gemm.near_bytes, gemm.cache_bytes) == (16.0 * MIB, 0.0, 32.0 * MIB)
    assert gemm.seconds_per_far_byte == pytest.approx(READ_S, rel=0.02)
    assert gemm.seconds_per_far_written_byte == pytest.approx(WRITTEN_S, rel=0.05)
    read, written, far_read, far_written = counted["gemm"].accessed_bytes.T
    known = ~np.isnan(read)
    assert set(read[known]) == {2.0 * MIB}
    assert set(written[known]) == {float(MIB)}
    assert gemm.mean_far_share == pytest.approx(far_read[known].sum() / read[known].sum())
    share = far_written[known].sum() / written[known].sum()
    assert gemm.mean_far_written_share == pytest.approx(share)


def test_recorded_runs_tell_what_far_data_cost(tmp_path):
    """Without a cache that is known; runs that come later are counted by the reach found first."""
    runs = [native(number, graph, change=shorter) for number, graph in enumerate(RUNS)]
    first = calibrate_from(runs[:3], tmp_path, machine="here")
    assert "gemm" in first.notes[0]
    assert "tasks take longer by up to gemm 24 %" in first.notes[0]
    calibrate_from(runs[3:], tmp_path, machine="here")
    entry = load_kernel(tmp_path / "models" / "here" / "gemm.json").architectures["cpu"]
    assert (entry.locality.reach_bytes, entry.locality.cache_bytes) == (16.0 * MIB, None)
    assert entry.locality.seconds_per_far_byte == pytest.approx(READ_S, rel=0.03)
    assert entry.locality.seconds_per_far_written_byte == pytest.approx(WRITTEN_S, rel=0.1)
    together = calibrate_from(runs, tmp_path, machine="there")
    assert together.kernels[0].samples == 6 * 300
    there = load_kernel(tmp_path / "models" / "there" / "gemm.json").architectures["cpu"]
    assert there.locality == entry.locality


def test_two_runs_or_those_beside_gpus_do_not_tell_what_far_data_cost(tmp_path):
    runs = [native(number, graph, change=shorter) for number, graph in enumerate(RUNS[:3])]
    mixed = [
        replace(run, workers=(run.workers[0], replace(run.workers[1], architecture="gpu")))
        for run in runs
    ]
    for place, some in enumerate((runs[:2], mixed)):
        calibrate_from(some, tmp_path, machine=f"m{place}")
        kernel = load_kernel(tmp_path / "models" / f"m{place}" / "gemm.json")
        assert {entry.locality for entry in kernel.architectures.values()} == {None}


def test_a_report_says_how_much_longer_tasks_take():
    """Two far megabytes that are read and one that is written: .24 ms on top of a millisecond."""
    found, counted = fit_locality(*measured(RUNS, noise=1e-6))
    assert far_data(found, counted) == [
        "with data that have left the cache (reach 16 MiB), tasks take longer by up to gemm 24 %"
    ]
    assert far_data({}, counted) == []


def test_samples_without_far_data_are_alike():
    """The rest is noise about the common mean; unknown samples are unchanged."""
    samples, table = measured(RUNS)
    found, counted = fit_locality(samples, table)
    before, after = counted["gemm"], without_far_data(counted["gemm"], found["gemm"])
    known = ~np.isnan(before.accessed_bytes[:, 0])
    assert 0 < (~known).sum() < 0.3 * len(known)
    assert (after.durations_s[~known] == before.durations_s[~known]).all()
    left = after.durations_s[known]
    assert before.durations_s[known].std() > 20 * left.std()
    assert left.std() / left.mean() == pytest.approx(0.002, rel=0.2)
    assert left.mean() == pytest.approx(before.durations_s[known].mean(), rel=1e-3)
    assert without_far_data(before, None) is before


def test_a_simulation_of_the_fit_takes_what_was_measured():
    """Graphs of other sizes, too, whose tasks have far data more or less often."""
    samples, table = measured(RUNS, noise=1e-6)
    found, counted = fit_locality(samples, table)
    near = without_far_data(counted["gemm"], found["gemm"])
    model = Known({"gemm": float(near.durations_s.mean())}, found)
    truth = Known({"gemm": 1e-3}, {"gemm": TRUTH})
    for tiles in (10, 20, 80):
        graph = walk(99, tiles=tiles)
        ran, again = (
            Simulation(graph, Platform.identical(2), models, "eager").run().makespan_s
            for models in (truth, model)
        )
        assert again == pytest.approx(ran, rel=0.02)


def test_a_kernel_that_does_not_care_has_no_cost():
    graphs = [walk(seed, kernels=("gemm", "potrf"), tasks=400) for seed in range(6)]
    samples, table = measured(graphs)
    found, counted = fit_locality(samples, table)
    assert found.keys() == {"gemm"}
    assert found["gemm"].seconds_per_far_byte == pytest.approx(READ_S, rel=0.02)
    assert counted["potrf"].accessed_bytes is not None


def test_what_only_some_runs_show_is_no_cost():
    """In one run of six, far data look dear; the others do not agree."""

    def change(number, factors):
        factors[::2] *= 1.5 if number == 3 else 1.0
        return factors

    samples, table = measured(RUNS, localities={}, change=change)
    assert fit_locality(samples, table)[0] == {}


def test_far_data_cannot_be_faster():
    samples, table = measured(RUNS)
    columns = samples["gemm"].durations_s
    turned = replace(samples["gemm"], durations_s=2 * columns.mean() - columns)
    assert fit_locality({"gemm": turned}, table)[0] == {}


def test_outliers_do_not_count():
    def change(_, factors):
        factors[::97] *= 1000.0
        return factors

    found, _ = fit_locality(*measured(RUNS, change=change))
    assert found["gemm"].reach_bytes == 16.0 * MIB
    assert found["gemm"].seconds_per_far_byte == pytest.approx(READ_S, rel=0.02)


@pytest.mark.parametrize(
    "graphs", [RUNS[:2], [walk(seed, tasks=9) for seed in range(3)]], ids=["runs", "tasks"]
)
def test_few_runs_and_few_tasks_tell_nothing(graphs):
    assert fit_locality(*measured(graphs))[0] == {}
    assert fit_locality({}, FarTable(TRIED_REACHES)) == ({}, {})


def test_data_that_all_fit_in_the_cache_tell_nothing():
    """Eight tiles are used again after 10 MiB at most: no reach to try was ever exceeded."""
    graphs = [walk(seed, tiles=3) for seed in range(6)]
    samples, table = measured(graphs, reaches=Reaches((16.0 * MIB, 64.0 * MIB), 64.0 * MIB))
    assert not table.observed.any()
    assert fit_locality(samples, table)[0] == {}


def test_a_second_calibration_keeps_the_reach_and_counts_the_first(tmp_path):
    samples, table = measured(RUNS[:3])
    found, counted = fit_locality(samples, table)
    path = tmp_path / "gemm.samples.csv"
    write_samples(path, {"cpu": counted["gemm"]})
    earlier = read_samples(path)["cpu"]
    first = counted["gemm"]
    assert np.array_equal(earlier.accessed_bytes, first.accessed_bytes, equal_nan=True)
    assert np.array_equal(earlier.durations_s, first.durations_s)
    known = Reaches.as_before([None, SimpleNamespace(locality=found["gemm"])])
    assert known == ((16.0 * MIB,), 32.0 * MIB, True)
    threshold = SimpleNamespace(locality=Locality(16.0 * MIB, 1e-10, 0.5))
    assert Reaches.as_before([None, threshold]) is None
    # The first three runs are in no table: what is known of them was read.
    samples, table = measured(RUNS[3:5], reaches=known, earlier={"gemm": earlier})
    assert (len(samples["gemm"]), len(table)) == (1500, 2)
    again, _ = fit_locality(samples, table)  # of two runs alone, nothing would be
    assert again["gemm"].seconds_per_far_byte == pytest.approx(READ_S, rel=0.02)


def test_a_linear_model_keeps_the_bytes_of_its_newest_runs():
    _, table = measured(RUNS)
    assert len(table) == 6
    table.keep("gemm", [4, 5])
    assert len(table) == 2
    table.keep("other", [])
    assert len(table) == 2


def test_the_order_of_the_starts_counts_not_that_of_the_submission():
    builder = GraphBuilder("three")
    a = builder.handle("a", size_bytes=MIB)
    b = builder.handle("b", size_bytes=4 * MIB)
    for handle in (a, b, a, a):
        builder.insert("task", R(handle), m=1)
    graph = builder.build()
    run = Simulation(graph, Platform.identical(1), ConstantLibrary({"task": 1.0}), "eager").run()
    table = FarTable(Reaches((8.0 * MIB,), None))
    table.add(0, run, graph)
    samples = Samples(("m",), [[1.0]] * 4, [1.0] * 4, runs=[0] * 4)
    read, _, far, _ = table.columns("task", samples)[0]
    # Of the tasks that are the first to read a datum, nothing is known.
    assert np.isnan(far).tolist() == [True, True, False, False]
    assert (read[2:].tolist(), far[2:].tolist()) == ([MIB, MIB], [MIB / 2, 0.0])
