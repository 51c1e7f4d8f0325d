"""The rows and panels of the page: groups, bands, several runs, copies."""

import dataclasses

import numpy as np
import pytest

import tasksim
from tasksim.graph.flop import task_flop
from tasksim.run.slices import lack_of_ready
from tests.view.conftest import make_hybrid
from tests.view.page.onpage import LEFT, TOP, details, place, state


def test_flop_per_second_are_drawn_and_told(show, cholesky):
    browser = show(cholesky)
    browser.evaluate("tasksimPage.togglePanel('gflops', true)")
    browser.settle()
    flop = task_flop(tasksim.generate("cholesky", tiles=6))
    done = browser.evaluate(
        f"tasksimPage.chart.curves.get('gflops')[0].means(0, {cholesky.makespan_s}, 40)"
        ".reduce((a, b) => a + b) / 40"
    )
    assert done * cholesky.makespan_s == pytest.approx(flop.sum(), rel=1e-6)
    browser.click(*place(browser, 0))
    assert details(browser)["speed"] == f"{flop[0] / 1e6:.4g} Mflop/s"


def test_rows_fold_into_bands(show):
    browser = show(make_hybrid())
    rows = "chart.view.allRows.map(({ kind }) => kind)"
    kinds = state(browser, rows)
    assert {"run", "group", "worker", "copies", "link"} == set(kinds)
    group = state(browser, "chart.view.allRows.findIndex(({ kind }) => kind === 'group')")
    y = state(
        browser,
        f"chart.box.getBoundingClientRect().top + {TOP} + chart.view.allRows[{group}].y + 5",
    )
    browser.click(20, y)
    assert state(browser, rows).count("worker") < kinds.count("worker")
    browser.click(20, y)
    assert state(browser, rows) == kinds


def test_rows_are_grouped_by_node_and_type(show):
    run = make_hybrid()
    workers = [dataclasses.replace(w, node=int(w.name[-1]) % 2) for w in run.workers]
    browser = show(dataclasses.replace(run, workers=tuple(workers)))
    rows = state(
        browser, "chart.view.allRows.map(({ kind, label, depth }) => [kind, label, depth])"
    )
    groups = [(label, depth) for kind, label, depth in rows if kind == "group"]
    assert groups == [
        ("node 0", 1), ("gpu (1)", 2), ("cpu (2)", 2),
        ("node 1", 1), ("gpu (1)", 2), ("cpu (1)", 2),
    ]  # fmt: skip


def test_four_runs_stand_above_each_other(show, cholesky, eager):
    browser = show(cholesky, eager, cholesky, eager, names=["a", "b", "c", "d"])
    runs = state(browser, "chart.view.allRows.filter((r) => r.kind === 'run').map((r) => r.label)")
    assert runs == ["a", "b", "c", "d"]
    browser.click(*place(browser, 3, run=3))
    assert {"in a", "in b", "in c", "end against a"} <= details(browser).keys()


def test_nodes_that_lack_ready_tasks_are_counted(show, cholesky):
    browser = show(cholesky)
    browser.evaluate("tasksimPage.togglePanel('lackready', true)")
    browser.settle()
    found = browser.evaluate(
        "Array.from(tasksimPage.chart.curves.get('lackready')[0]"
        f".means(0, {cholesky.makespan_s}, 50))"
    )
    edges = np.linspace(0, cholesky.makespan_s, 51)
    assert found == lack_of_ready(cholesky, edges).tolist()


def test_pointing_at_copies_bands_and_panels(show):
    run = make_hybrid()
    browser = show(run)
    browser.evaluate("tasksimPage.togglePanel('copies', true)")
    browser.settle()
    link = state(browser, "chart.view.allRows.find(({ kind }) => kind === 'link')")
    middle = state(
        browser,
        f"(() => {{ const {{ copies }} = tasksimPage.runs[0], copy = {link['link']['first']};"
        " return viewport.x((copies.start[copy] + copies.endOf(copy)) / 2, chart.width); })()",
    )
    browser.evaluate(f"tasksimPage.hover({LEFT} + {middle}, {TOP} + {link['y']} + 5)")
    found = details(browser)
    assert found["from, to"] == link["label"]
    assert found["size"].endswith("iB")
    browser.evaluate(f"tasksimPage.hover({LEFT} + 300, {TOP} + 8)")
    assert " of 5 (" in details(browser)["busy workers"]
    top = state(browser, "chart.panelsShown.find(({ name }) => name === 'copies').top")
    browser.evaluate(f"tasksimPage.hover({LEFT} + 300, {top} + 20)")
    assert any(name.startswith("copied") or "link" in name for name in details(browser))
