"""Comparison of a run with the page's data, number by number, in the browser."""

import numpy as np
import pytest

import tasksim
from tasksim.run.metrics import idle_time, kernel_statistics, ready_curve, waits
from tests.view.conftest import make_hybrid

WHOLE_RANGE = "{from: -Infinity, to: Infinity}"


def column(browser, expression, run=0):
    """Return what an expression says of each task of a run."""
    return browser.evaluate(
        f"(() => {{ const run = tasksimPage.runs[{run}];"
        f" return Array.from({{length: run.count}}, (_, task) => {expression}); }})()"
    )


@pytest.fixture(params=["cholesky", "hybrid"])
def run(request, cholesky):
    return cholesky if request.param == "cholesky" else make_hybrid()


def test_times_of_tasks(show, run):
    browser, tasks = show(run), run.tasks
    for name in ("submitted", "ready", "start", "end", "taken"):
        expected = getattr(tasks, f"{name}_s")
        assert np.allclose(column(browser, f"run.{name}(task)"), expected, rtol=0, atol=1e-9)
    assert column(browser, "run.worker[task]") == tasks.worker.tolist()
    assert column(browser, "run.priority[task]") == tasks.priority.tolist()
    assert column(browser, "run.label(task)") == [run.label(task) for task in range(len(run))]


def test_what_each_task_waited_for(show, run):
    browser, expected = show(run), waits(run)
    for name, part in (
        ("dependency", "dependency_s"),
        ("data", "transfer_s"),
        ("runtime", "queue_s"),
    ):
        found = column(browser, f"run.waits(task).{name}")
        assert np.allclose(found, getattr(expected, part), rtol=0, atol=3e-9)


def test_what_workers_waited_for(show, run):
    browser, expected = show(run), idle_time(run)
    browser.evaluate("tasksimPage.change({table: 'workers'})")
    browser.settle()
    found = browser.evaluate(
        "(() => { const run = tasksimPage.runs[0], { rows } = tasksimPage.tables.made;"
        "return rows.map((row) => row.slice(-4).map((share) => share * run.makespan)); })()"
    )
    parts = (expected.dependency_s, expected.transfer_s, expected.queue_s, expected.end_s)
    assert np.allclose(found, np.stack(parts, axis=1), rtol=0, atol=1e-6)


def test_tables_of_kernels(show, run):
    browser = show(run)
    browser.evaluate("tasksimPage.change({table: 'kernels'})")
    browser.settle()
    found = browser.evaluate("tasksimPage.tables.made.rows")
    for row, expected in zip(found, kernel_statistics(run), strict=True):
        kernel, count, total, _, mean, median, deviation, least, most = row[:9]
        assert (kernel, count) == (expected.kernel, expected.count)
        numbers = [total, mean, median, deviation, least, most]
        told = [expected.total_s, expected.mean_s, expected.median_s]
        told += [expected.std_s, expected.min_s, expected.max_s]
        assert np.allclose(numbers, told, atol=1e-8)


def test_predecessors_and_successors(show, cholesky):
    browser = show(cholesky)
    graph = tasksim.generate("cholesky", tiles=6)
    browser.evaluate(
        "window.listed = ({first, tasks}, task) =>"
        " Array.from(tasks.subarray(first[task], first[task + 1])).sort((a, b) => a - b)"
    )
    after = column(browser, "listed(run.successors, task)")
    assert after == [graph.successors_of(task) for task in range(len(graph))]
    before = column(browser, "listed(run.predecessors, task)")
    assert [(a, b) for a, some in enumerate(after) for b in some] == sorted(
        (a, b) for b, some in enumerate(before) for a in some
    )


def test_pixels_have_the_mean_colours_of_their_time(show, cholesky):
    """Sums over all pixels of a worker's row are the time that each kernel took on it."""
    browser = show(cholesky)
    shares = browser.evaluate(
        "(() => { const { scene, runs: [run] } = tasksimPage;"
        " return run.workers.map((_, worker) => {"
        " const means = scene.workerMeans(run, worker, 0, run.makespan, 37);"
        " let sum = 0; for (let x = 0; x < 37; x++) sum += means[4 * x + 3];"
        " return sum / 37; }); })()"
    )
    busy = np.bincount(cholesky.tasks.worker, cholesky.tasks.duration_s, minlength=4)
    assert np.allclose(shares, busy / cholesky.makespan_s)
    level = browser.evaluate(
        "(() => { const { scene, chart, runs: [run] } = tasksimPage;"
        " const means = scene.bandMeans(chart.trees[0], 0, run.makespan, 37);"
        " let sum = 0; for (let x = 0; x < 37; x++) sum += means[4 * x + 3]; return sum / 37; })()"
    )
    assert np.isclose(level, busy.sum() / cholesky.makespan_s / 4)


def test_the_curve_of_ready_tasks_has_the_greatest_numbers_of_its_slices(show, cholesky):
    browser = show(cholesky)
    found = browser.evaluate(
        f"Array.from(tasksimPage.chart.curves.get('ready')[0].means(0, {cholesky.makespan_s}, 23))"
    )
    times, count = ready_curve(cholesky)
    edges = np.linspace(0, cholesky.makespan_s, 24)
    first = np.searchsorted(times, edges[:-1], side="right") - 1
    last = np.searchsorted(times, edges[1:], side="right")
    assert found == [count[low:high].max() for low, high in zip(first, last, strict=True)]
    assert max(found) == count.max()


@pytest.mark.parametrize("slices", [5, 1201])
def test_the_greatest_rate_of_copies_is_the_same_in_windows_of_all_widths(show, slices):
    run = make_hybrid()
    found = show(run).evaluate(
        "Object.fromEntries(tasksimPage.chart.curves.get('bandwidth').map(({ name, means }) =>"
        f" [name, Math.max(...means(0, {run.makespan_s}, {slices}))]))"
    )
    copies = run.transfers
    moves = (copies.start_s <= copies.start_s[:, None]) & (copies.start_s[:, None] < copies.end_s)
    rate = copies.size_bytes / copies.duration_s
    peaks = {
        f"to {memory.name}": (moves @ (rate * (copies.target == number))).max()
        for number, memory in enumerate(run.memories)
    }
    assert found == pytest.approx(peaks, rel=1e-4)


def test_copies_are_counted_by_link(show):
    run = make_hybrid()
    browser = show(run)
    browser.evaluate("tasksimPage.change({table: 'copies'})")
    browser.settle()
    rows = browser.evaluate("tasksimPage.tables.made.rows")
    assert sum(row[2] for row in rows) == len(run.transfers)
    assert sum(row[3] for row in rows) == run.transfers.size_bytes.sum()
