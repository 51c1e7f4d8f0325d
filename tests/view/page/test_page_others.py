"""Time that others took from a native run, in its page."""

import dataclasses

import numpy as np
import pytest

from tasksim.run.others import others_curve, others_s
from tasksim.run.record import Disturbance
from tests.view.conftest import from_rows, make_run
from tests.view.page.onpage import LEFT, TOP, details
from tests.view.page.test_decoding import column
from tests.view.page.test_document import read, saved


@pytest.fixture(scope="module")
def disturbed():
    """Others took 3 of the 4 s of the first task; the tasks of the kernel gemm block."""
    rows = [(0, 0, 0.0, 4.0), (0, 0, 4.0, 5.0), (3, 1, 0.0, 4.0), (3, 1, 5.0, 7.0)]
    run = from_rows(rows, 2, kind="native")
    tasks = dataclasses.replace(run.tasks, cpu_s=[1.0, np.nan, 1.0, 0.5], preemptions=[2, -1, 0, 0])
    told = Disturbance((3.5, None), (2, 0), 0.0)
    return dataclasses.replace(run, tasks=tasks, disturbance=told)


def test_the_columns_are_there_where_they_are_known(tmp_path, disturbed):
    header, [columns] = read(saved(tmp_path, disturbed))
    assert columns["others"].tolist() == [3_000_000_000, 0, 0, 0]
    assert columns["preemptions"].tolist() == [2, -1, 0, 0]
    assert header["runs"][0]["others"] == {
        "blocking": ["gemm"],
        "between_s": [0.5, 0.0],
        "waited_s": [3.5, None],
        "preemptions": [2, 0],
    }


def test_runs_that_do_not_know_have_no_columns(tmp_path):
    header, [columns] = read(saved(tmp_path, make_run()))
    assert header["runs"][0]["others"] is None
    assert not {"lost", "others", "preemptions"} & set(columns)


def test_undisturbed_tasks_take_little_room(tmp_path):
    """Processor times that differ from durations by nanoseconds: a byte per task, deflated."""
    run = make_run(64, 100_000, duration_s=1e-3)
    before = saved(tmp_path, run).stat().st_size
    (tmp_path / "page.html").unlink()
    lost_s = 1e-9 * np.random.default_rng(0).integers(0, 100, len(run))
    cpu_s = run.tasks.duration_s - lost_s
    tasks = dataclasses.replace(run.tasks, cpu_s=cpu_s, preemptions=np.zeros(len(run)))
    known = dataclasses.replace(run, kind="native", tasks=tasks)
    assert saved(tmp_path, known).stat().st_size < before + 1.5 * len(run) * 4 / 3


def test_the_page_knows_what_the_run_knows(show, disturbed):
    browser = show(disturbed)
    assert column(browser, "run.others(task)") == others_s(disturbed).tolist()
    cpu_s = disturbed.tasks.cpu_s
    assert column(browser, "run.processorTime(task) || -1") == np.nan_to_num(cpu_s, nan=-1).tolist()
    assert column(browser, "run.preemptions(task)") == [2, -1, 0, 0]


def test_a_pinned_task_tells_what_others_took(show, disturbed):
    browser = show(disturbed, hash_="#pin=0:0")
    found = details(browser)
    assert found["processor time"] == "1 s"
    assert found["others had the core"] == "for 3 s (2 times)"
    assert "waits by itself" not in found
    browser.evaluate("tasksimPage.pin(tasksimPage.runs[0], 2)")
    found = details(browser)
    assert found["others had the core"] == "never"
    assert found["waits by itself"] == "for 3 s: its kernel blocks"
    browser.evaluate("tasksimPage.pin(tasksimPage.runs[0], 1)")
    assert "processor time" not in details(browser)


def test_a_pinned_task_tells_what_others_on_the_processor_took(show, disturbed):
    tasks = dataclasses.replace(
        disturbed.tasks, pulse=np.where(disturbed.tasks.cpu_s > 0, 2.0, 1.0)
    )
    browser = show(dataclasses.replace(disturbed, tasks=tasks), hash_="#pin=0:0")
    found = details(browser)
    assert found["others had the core"] == "for 3 s (2 times)"
    assert found["slowed by others"] == "404.8 ms more"


def colours(browser, task, share):
    """Return how many colours the row of a task has, around a share of its time."""
    return browser.evaluate(
        f"(() => {{ const {{ chart, viewport, runs: [run] }} = tasksimPage;"
        f" const row = chart.view.allRows.find((r) => r.worker === run.worker[{task}]);"
        f" const time = run.start({task}) + {share} * run.duration({task});"
        f" const x = {LEFT} + viewport.x(time, chart.width), y = {TOP} + row.y + 4;"
        f" const {{ data }} = chart.picture.getContext('2d').getImageData(x - 8, y, 16, 8);"
        f" return new Set(new Uint32Array(data.buffer)).size; }})()"
    )


def test_what_others_took_is_hatched_at_the_end_of_the_task(show, disturbed):
    browser = show(disturbed, hash_="#t=0,8")
    assert colours(browser, 0, 0.7) > 1
    assert colours(browser, 3, 0.7) == 1
    assert "taken by others" in browser.evaluate("document.querySelector('.legend').textContent")


def test_the_panel_has_the_curve_of_the_run(show, disturbed):
    browser = show(disturbed, hash_="#panels=,others")
    found = browser.evaluate(
        "Array.from(tasksimPage.chart.curves.get('others')[0].means(0, 7, 14))"
    )
    assert found == pytest.approx(others_curve(disturbed, np.linspace(0.0, 7.0, 15)))


def test_the_table_of_workers_tells_what_each_waited(show, disturbed):
    browser = show(disturbed, hash_="#table=workers")
    heads = browser.evaluate(
        "[...document.querySelectorAll('.place thead th')].map((e) => e.textContent)"
    )
    cells = browser.evaluate(
        "[...document.querySelectorAll('.place tbody :is(th, td)')].map((e) => e.textContent)"
    )
    at = heads.index("others, whole run")
    assert heads[at + 1] == "preemptions, whole run"
    assert [cells[at : at + 2], cells[len(heads) + at :][:2]] == [["3.5 s", "2"], ["–", "0"]]


def test_what_is_saved_has_it_too(show, disturbed):
    browser = show(disturbed)
    svg, csv = browser.evaluate(
        "(async () => { const saved = []; const make = URL.createObjectURL;"
        " URL.createObjectURL = (blob) => { saved.push(blob); return make.call(URL, blob); };"
        " await tasksimPage.export('svg'); await tasksimPage.export('csv');"
        " URL.createObjectURL = make;"
        " return Promise.all(saved.map((blob) => blob.text())); })()"
    )
    assert svg.count('fill="url(#others)"') == 2  # in the chart, and in the legend
    rows = [line.split(",") for line in csv.splitlines()]
    at = rows[0].index("processor_time_s")
    assert rows[0][at : at + 3] == ["processor_time_s", "others_s", "preemptions"]
    assert sorted(row[at : at + 3] for row in rows[1:])[:2] == [["", "0", ""], ["0.5", "0", "0"]]


def test_searching_finds_what_others_took(show, disturbed):
    browser = show(disturbed, hash_="#q=others%3E1s")
    assert browser.evaluate("tasksimPage.state.matches.length") == 1


def test_simulated_runs_say_nothing_of_others(show, cholesky):
    browser = show(cholesky, hash_="#pin=0:7")
    assert "processor time" not in details(browser)
    panels = browser.evaluate(
        "[...document.querySelectorAll('.entries label')].map((e) => e.textContent)"
    )
    assert not any("others" in name for name in panels)
