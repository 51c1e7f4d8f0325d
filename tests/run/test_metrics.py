import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.run import metrics


def test_small_run(small):
    assert small.makespan_s == 6.0
    assert metrics.busy_s(small).tolist() == [5.0, 3.0]
    assert metrics.idle_s(small).tolist() == [1.0, 3.0]
    assert metrics.idleness_percent(small) == pytest.approx([100 / 6, 50])
    assert metrics.efficiency(small) == 8 / 12
    assert metrics.task_counts(small).tolist() == [2, 2]


def test_waits_are_split_at_ready(small):
    waits = metrics.waits(small)
    assert waits.dependency_s.tolist() == [0, 0, 2, 1.5]
    assert waits.queue_s.tolist() == [0, 0, 1, 0]


def test_kernel_statistics(small):
    potrf, gemm = metrics.kernel_statistics(small)
    assert (potrf.kernel, potrf.count, potrf.total_s, potrf.std_s) == ("potrf", 1, 2.0, 0.0)
    assert (gemm.count, gemm.total_s, gemm.mean_s, gemm.median_s) == (3, 6.0, 2.0, 2.0)
    assert (gemm.min_s, gemm.max_s, gemm.std_s) == (1.0, 3.0, 1.0)
    assert gemm.quantiles_s == pytest.approx((1.1, 1.5, 2.0, 2.5, 2.9))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10, 999, 1000])
def test_median_and_quantiles_are_those_of_numpy_to_the_last_bit(make, count):
    values = np.random.default_rng(count).lognormal(size=count)
    run = make.run([(1, 0, 0, 0, 0, value, -1) for value in values])
    (found,) = metrics.kernel_statistics(run)
    assert found.median_s == np.median(values)
    assert found.quantiles_s == tuple(np.quantile(values, metrics.QUANTILES).tolist())


def test_a_kernel_that_did_not_run_has_no_statistics(make):
    run = make.run([(1, 0, 0, 0, 0, 1, -1)])
    assert [s.kernel for s in metrics.kernel_statistics(run)] == ["gemm"]


def test_curves(small):
    times, count = metrics.ready_curve(small)
    assert dict(zip(times.tolist(), count.tolist(), strict=True)) == {0: 0, 2: 1, 3: 0, 6: 0}
    times, count = metrics.submitted_curve(small)
    assert dict(zip(times.tolist(), count.tolist(), strict=True)) == {
        0: 3,
        0.5: 4,
        1: 3,
        2: 2,
        4: 1,
        6: 0,
    }


def test_an_empty_run_has_metrics(make):
    empty = make.run([])
    assert metrics.efficiency(empty) == 0.0
    assert metrics.idleness_percent(empty).tolist() == [0.0, 0.0]
    assert metrics.kernel_statistics(empty) == []
    assert metrics.summary(empty)["tasks"] == 0
    times, count = metrics.ready_curve(empty)
    assert (times.tolist(), count.tolist()) == ([0.0], [0])


@given(seed=st.integers(0, 1000), workers=st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_areas_under_the_curves_are_the_waits(make, seed, workers):
    graph = make.cholesky(5)
    run = make.schedule(graph, workers, np.random.default_rng(seed).uniform(0.1, 2, len(graph)))
    times, count = metrics.ready_curve(run)
    area = float((np.diff(times) * count[:-1]).sum())
    assert area == pytest.approx(metrics.waits(run).queue_s.sum())
    times, count = metrics.submitted_curve(run)
    area = float((np.diff(times) * count[:-1]).sum())
    assert area == pytest.approx((run.tasks.end_s - run.tasks.submitted_s).sum())
    assert (count >= 0).all()
    assert count[-1] == 0
    assert metrics.busy_s(run).sum() + metrics.idle_s(run).sum() == pytest.approx(
        workers * run.makespan_s
    )
