import numpy as np
import pytest
from growth import growth, nearly_linear
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.run.areaprogram import area_program_highs
from tasksim.run.bounds import area_bound, bounds, critical_path_bound

INF = float("inf")


def lp(counts, durations, workers):
    """Return the area bound by HiGHS, for any number of classes of workers."""
    counts, durations, workers = (np.asarray(x, float) for x in (counts, durations, workers))
    # Scaled by groups and by the time at full speed everywhere, so that the solver's tolerances fit
    # microseconds and hours alike.
    scale = float((counts * durations.min(axis=1)).sum() / workers.sum())
    if not scale:
        return 0.0
    solution = area_program_highs(counts[:, None] * durations / scale, workers)
    return float(solution.x[0]) * scale


@pytest.mark.parametrize(
    ("counts", "durations", "workers", "expected"),
    [
        ([6], [[1.0]], [2], 3.0),
        ([4, 2], [[1.0], [3.0]], [5], 2.0),
        # One kernel, 4 CPUs of 1 s and a GPU 4 times as fast: half the tasks each.
        ([16], [[1.0, 0.25]], [4, 1], 2.0),
        # Two kernels that suit one class each.
        ([10, 10], [[1.0, 9.0], [9.0, 1.0]], [1, 1], 10.0),
        # The second class cannot run the first kernel.
        ([10, 2], [[1.0, INF], [1.0, 1.0]], [1, 1], 10.0),
        ([10, 2], [[INF, 1.0], [1.0, 1.0]], [1, 1], 10.0),
        ([], np.zeros((0, 2)), [1, 1], 0.0),
    ],
)
def test_known_values(counts, durations, workers, expected):
    assert area_bound(counts, durations, workers) == pytest.approx(expected)


def test_three_classes():
    # Speeds 1, 2 and 4 with 4, 2 and 1 workers: 12 in all.
    assert area_bound([24], [[1.0, 0.5, 0.25]], [4, 2, 1]) == pytest.approx(2.0)


def test_classes_of_equal_durations_count_as_one():
    one = area_bound([3, 5], [[1.0, 0.3], [2.0, 0.1]], [4, 2])
    assert area_bound([3, 5], [[1.0, 0.3, 0.3], [2.0, 0.1, 0.1]], [4, 1, 1]) == one


def test_few_kernels_need_no_scipy():
    import subprocess
    import sys

    code = (
        "import sys; from tasksim.run.bounds import area_bound;"
        "area_bound([1], [[1.0]], [2]); area_bound([1, 2], [[1.0, 1.0], [2.0, 2.0]], [2, 1]);"
        "area_bound([5, 9, 3], [[1, 3, 2], [2, 0.1, 0.2], [9, 1, float('inf')]], [9, 1, 2]);"
        "sys.exit('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@st.composite
def programs(draw, classes):
    groups = draw(st.integers(1, 6))
    seconds = st.sampled_from([0.0, 1e-6, 0.5, 1.0, 1.5, 2.0, 7.0, INF])
    durations = [[draw(seconds) for _ in range(classes)] for _ in range(groups)]
    for row in durations:
        if not np.isfinite(row).any():
            row[draw(st.integers(0, classes - 1))] = draw(st.floats(0.1, 10))
    counts = [draw(st.integers(1, 50)) for _ in range(groups)]
    workers = [draw(st.integers(1, 8)) for _ in range(classes)]
    return counts, durations, workers


@given(program=programs(1))
@settings(max_examples=30, deadline=None)
def test_the_closed_form_agrees_with_the_linear_program(program):
    assert area_bound(*program) == pytest.approx(lp(*program), rel=1e-6, abs=1e-9)


@given(program=st.integers(2, 5).flatmap(programs))
@settings(max_examples=100, deadline=None)
def test_the_decomposition_agrees_with_highs(program):
    assert area_bound(*program) == pytest.approx(lp(*program), rel=1e-6, abs=1e-9)


@given(program=st.integers(1, 4).flatmap(programs), data=st.data())
@settings(max_examples=100, deadline=None)
def test_more_or_faster_workers_never_raise_the_bound(program, data):
    counts, durations, workers = (np.asarray(x, float) for x in program)
    before = area_bound(counts, durations, workers)
    klass = data.draw(st.integers(0, len(workers) - 1))
    more = workers.copy()
    more[klass] += data.draw(st.integers(1, 5))
    assert area_bound(counts, durations, more) <= before * (1 + 1e-9)
    faster = durations.copy()
    faster[:, klass] /= data.draw(st.sampled_from([1.5, 2.0, 10.0]))
    assert area_bound(counts, faster, workers) <= before * (1 + 1e-9)
    able = durations.copy()
    able[:, klass] = np.minimum(able[:, klass], data.draw(st.sampled_from([1.0, 5.0, 20.0])))
    assert area_bound(counts, able, workers) <= before * (1 + 1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_tasks_that_are_all_different(classes):
    rng = np.random.default_rng(0)
    durations = rng.uniform(0.1, 10, (2000, classes))
    durations[rng.random(durations.shape) < 0.2] = INF
    durations[:, 0] = 5.0
    workers = [9, 2, 1, 1][:classes]
    counts = rng.integers(1, 9, 2000)
    assert area_bound(counts, durations, workers) == pytest.approx(lp(counts, durations, workers))


def test_many_tasks_that_are_all_different_take_a_moment():
    durations = np.random.default_rng(0).uniform(0.1, 10, (32_000, 3))
    assert nearly_linear(lambda n: area_bound(np.ones(n), durations[:n], [9, 1, 1]), 4_000, 32_000)


@given(program=programs(3), seed=st.integers(0, 100))
@settings(max_examples=30, deadline=None)
def test_no_assignment_beats_the_bound(program, seed):
    counts, durations, workers = (np.asarray(x, float) for x in program)
    rng = np.random.default_rng(seed)
    share = np.where(np.isfinite(durations), rng.uniform(0.01, 1, durations.shape), 0.0)
    share /= share.sum(axis=1, keepdims=True)
    load = (counts[:, None] * share * np.where(share > 0, durations, 0.0)).sum(axis=0)
    assert area_bound(*program) <= (load / workers).max() * (1 + 1e-9)


def test_scale_does_not_matter():
    durations = np.array([[1.0, 0.3, 0.2], [2.0, 0.1, INF], [0.5, 3.0, 1.0]])
    seconds = area_bound([3, 5, 9], durations, [4, 2, 1])
    assert area_bound([3, 5, 9], durations * 1e-7, [4, 2, 1]) == pytest.approx(seconds * 1e-7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [[1.0], [INF]], [1]), "tasks of group 1 cannot run anywhere"),
        (([1, 2], [[1.0, 2.0], [INF, 1.0]], [1, 0]), "tasks of group 1 cannot run anywhere"),
        (([1, 2], [[1.0]], [1]), r"durations_s has shape \(1, 1\), expected \(2, 1\)"),
        (([1], [[-1.0]], [1]), "durations_s has a negative value or NaN"),
        (([1], [[float("nan")]], [1]), "durations_s has a negative value or NaN"),
    ],
)
def test_nonsense_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        area_bound(*arguments)


def test_bounds_of_a_cholesky_factorisation(make):
    # Unit tasks, t tiles: the critical path has 3 t - 2 tasks, there are t(t+1)(t+2)/6.
    graph = make.cholesky(10)
    found = bounds(graph, np.ones((1, len(graph))), [4])
    assert found.critical_path_s == 28.0
    assert found.area_s == 220 / 4
    assert found.best_s == 55.0
    assert found.to_json() == {"critical_path_s": 28.0, "area_s": 55.0}


def test_each_task_at_its_fastest_class_on_the_critical_path(make):
    graph = make.cholesky(2)
    gpu = np.where(graph.kernel == graph.kernels.index("potrf"), 5.0, 0.25)
    found = bounds(graph, [np.ones(len(graph)), gpu], [1, 1])
    assert found.critical_path_s == 2.5
    assert critical_path_bound(graph, np.ones(len(graph))) == 4.0


def test_a_task_that_can_run_nowhere_is_named(make):
    graph = make.cholesky(2)
    durations = np.ones((1, len(graph)))
    durations[0, 1] = INF
    with pytest.raises(InputError, match=r"task trsm #1 \(n=1\) cannot run on any worker"):
        bounds(graph, durations, [2])


@given(seed=st.integers(0, 1000), tiles=st.integers(1, 6), klass=st.integers(0, 2))
@settings(max_examples=30, deadline=None)
def test_more_or_faster_workers_never_raise_the_bounds_of_a_graph(make, seed, tiles, klass):
    graph = make.cholesky(tiles)
    rng = np.random.default_rng(seed)
    durations = rng.uniform(0.1, 2.0, (3, len(graph.kernels)))[:, graph.kernel]
    durations[1] *= rng.uniform(0.9, 1.1, len(graph))  # those of a kernel differ
    durations[2][rng.random(len(graph)) < 0.2] = INF
    workers = np.array([4, 1, 1])
    before = bounds(graph, durations, workers)
    more = bounds(graph, durations, workers + (np.arange(3) == klass))
    faster_s = durations.copy()
    faster_s[klass] /= 2
    faster = bounds(graph, faster_s, workers)
    assert more.critical_path_s == before.critical_path_s
    assert faster.critical_path_s <= before.critical_path_s
    assert more.area_s <= before.area_s * (1 + 1e-9)
    assert faster.area_s <= before.area_s * (1 + 1e-9)


def test_large_graphs_of_few_kernels_take_a_moment(make):
    seconds = np.array([[1, 3, 3, 6], [3, 0.3, 0.3, 0.25], [INF, 0.3, 0.4, 0.3]])
    graphs = {tiles: make.cholesky(tiles) for tiles in (20, 40)}

    def bounded(tiles):
        found = bounds(graphs[tiles], seconds[:, graphs[tiles].kernel], [9, 2, 1])
        assert found.area_s > found.critical_path_s > 0

    assert growth(bounded, 20, 40) < (len(graphs[40]) / len(graphs[20])) ** 1.5


@given(seed=st.integers(0, 1000), workers=st.integers(1, 6), tiles=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_no_run_beats_its_bounds(make, seed, workers, tiles):
    graph = make.cholesky(tiles)
    per_kernel = np.random.default_rng(seed).uniform(0.1, 2.0, len(graph.kernels))
    durations = per_kernel[graph.kernel]
    run = make.schedule(graph, workers, durations)
    assert bounds(graph, [durations], [workers]).best_s <= run.makespan_s * (1 + 1e-12)


def test_durations_that_no_float_holds_together(make):
    graph = make.cholesky(2)
    with pytest.raises(InputError, match=r"add up to more than 1.8e308 s"):
        bounds(graph, np.full((1, len(graph)), 1e308), [2])
