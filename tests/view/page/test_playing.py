"""Playing a run in a page: steps, time, queues, estimates, memories, keys."""

import pytest

import tasksim
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.platform.description import Link, Memory, Platform, Route, Worker
from tests.view.page.conftest import DURATIONS_S, needs_browser
from tests.view.page.onpage import state

pytestmark = needs_browser
PLAYING_SCRIPT = "tasksimPage.playing"


@pytest.fixture(scope="module")
def told():
    """A run under dm with its decisions."""
    return tasksim.simulate(
        "cholesky tiles=6", workers=3, durations=DURATIONS_S, scheduler="dm", decisions=True
    )


@pytest.fixture(scope="module")
def moved():
    """Two tasks on a GPU and one on a core, with their data in two memories."""
    machine = Platform(
        "hybrid",
        (Worker(0, "cpu0", "cpu", 0), Worker(1, "gpu0", "cuda", 1)),
        memories=(Memory(0, "ram"), Memory(1, "gpu0")),
        links=(Link(0, "down", (0, 1), 1e6), Link(1, "up", (1, 0), 1e6)),
        routes=(Route(0, 1, (0,)), Route(1, 0, (1,))),
    )
    builder = GraphBuilder("three")
    a, b = (builder.handle(name, size_bytes=1_000_000) for name in "ab")
    builder.insert("wide", RW(a))
    builder.insert("wide", R(a), W(b))
    builder.insert("thin", RW(b))
    models = {"cpu:thin": 1.0, "cuda:wide": 2.0}
    return tasksim.simulate(builder.build(), machine, models, "dmda", decisions=True)


def texts(browser, part):
    """Return the rows of a table of playing, as lists of texts."""
    return browser.evaluate(
        f"[...{PLAYING_SCRIPT}.places.{part}.querySelectorAll('tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )


def play_at(browser, time):
    browser.evaluate(f"{PLAYING_SCRIPT}.setTime({time})")


def test_queues_and_workers_are_those_of_the_record(show, told):
    browser = show(told)
    browser.evaluate(f"{PLAYING_SCRIPT}.open()")
    names = [worker.name for worker in told.workers]
    for time in (0.0, 4.0, 10.5, 22.0, 35.0):
        play_at(browser, time)
        queues = told.decisions.queues_at(time)
        expected = [
            [f"{names[queue]}, {place + 1}", told.label(task)]
            for queue, tasks in queues.items()
            for place, task in enumerate(tasks)
        ]
        assert [row[:2] for row in texts(browser, "queues")] == expected
        tasks = told.tasks
        for worker, row in enumerate(texts(browser, "workers")):
            runs = (tasks.worker == worker) & (tasks.start_s <= time) & (time < tasks.end_s)
            found = [told.label(int(task)) for task in tasks.task[runs]]
            assert row[:2] == [names[worker], *(found or ["idle"])]


def test_the_decision_has_the_estimates_with_the_chosen_worker_marked(show, told):
    browser = show(told, hash_="#pin=0:5&play=20")
    assert state(browser, "state.play") == 20
    rows = texts(browser, "decision")
    steps = [row for row in told.decisions.of_task(5) if row.step <= 1]
    assert [row[0].removeprefix("✓ ") for row in rows] == [
        told.workers[step.worker].name for step in steps
    ]
    assert [row[0].startswith("✓") for row in rows] == [step.step == 1 for step in steps]
    assert [row[-1] for row in rows] == [f"{step.end_s:g} s" for step in steps]
    current = f"{PLAYING_SCRIPT}.places.decision.querySelectorAll('[aria-current=true]').length"
    assert browser.evaluate(current) == 1


def test_keys_step_from_event_to_event(show, told):
    browser = show(told)
    browser.key("k")
    assert browser.evaluate(f"{PLAYING_SCRIPT}.isOpen")
    ends = sorted({*told.tasks.end_s, *told.tasks.start_s, *told.decisions.time_s})
    browser.key("ArrowRight")
    assert state(browser, "state.play") == ends[1]
    browser.key("ArrowRight")
    assert state(browser, "state.play") == ends[2]
    said = browser.evaluate(f"{PLAYING_SCRIPT}.status.textContent")
    assert "starts on" in said
    browser.key("ArrowLeft")
    assert state(browser, "state.play") == ends[1]
    browser.wait("location.hash.includes('play=')")
    browser.key("k")
    assert state(browser, "state.play") is None


def test_space_plays_to_the_end(show, told):
    browser = show(told)
    browser.key(" ")
    assert browser.evaluate(f"{PLAYING_SCRIPT}.isPlaying")
    browser.wait("tasksimPage.state.play > 0")
    play_at(browser, told.makespan_s - 0.01)
    browser.wait(f"!{PLAYING_SCRIPT}.isPlaying")
    assert state(browser, "state.play") == told.makespan_s
    browser.key("<")
    assert browser.evaluate(f"{PLAYING_SCRIPT}.duration") == 120


def test_with_reduced_motion_it_goes_from_event_to_event(show, told):
    browser = show(told)
    reduced = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    browser.call("Emulation.setEmulatedMedia", features=reduced)
    try:
        browser.key(" ")
        browser.wait("tasksimPage.state.play > 0")
        browser.key(" ")
        assert state(browser, "state.play") in {*told.tasks.end_s, *told.tasks.start_s}
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])


def test_a_click_on_the_axis_sets_the_time(show, told):
    browser = show(told)
    browser.evaluate(f"{PLAYING_SCRIPT}.open()")
    browser.settle()
    browser.evaluate(
        "(() => { const { chart } = tasksimPage;"
        " tasksimPage.click(chart.left + chart.viewport.x(12, chart.width), 5); })()"
    )
    assert state(browser, "state.play") == pytest.approx(12)


def test_memories_hold_what_was_copied_and_written(show, moved):
    browser = show(moved)
    browser.evaluate(f"{PLAYING_SCRIPT}.open()")
    # The first task runs on the GPU from 1 to 3 s, the second until 5 s; then b goes back.
    play_at(browser, 0.5)
    ram, gpu = texts(browser, "memories")
    assert (ram[-1], gpu[-1], gpu[2]) == ("2: a, b", "none", "a")
    play_at(browser, 2)
    ram, gpu = texts(browser, "memories")
    assert (ram[-1], gpu[-1]) == ("1: b", "1: a")
    play_at(browser, moved.makespan_s)
    ram, gpu = texts(browser, "memories")
    assert (ram[-1], gpu[-1]) == ("1: b", "1: a")


def test_without_a_record_the_ready_tasks_are_shown(show, cholesky):
    browser = show(cholesky)
    browser.evaluate(f"{PLAYING_SCRIPT}.open()")
    play_at(browser, 4.5)
    tasks = cholesky.tasks
    ready = tasks.task[(tasks.ready_s <= 4.5) & (tasks.start_s > 4.5)]
    assert {row[0] for row in texts(browser, "queues")} == {cholesky.label(int(t)) for t in ready}
    note = browser.evaluate(f"{PLAYING_SCRIPT}.places.queues.textContent")
    assert "simulated with --decisions" in note


def test_a_thief_is_named(show):
    run = tasksim.simulate(
        "fork-join width=6 duration=1", workers=2, scheduler="lws", decisions=True
    )
    browser = show(run)
    browser.evaluate(f"{PLAYING_SCRIPT}.open()")
    moves = f"{PLAYING_SCRIPT}.places.decision.textContent"
    stolen = [
        row.task
        for row in map(run.decisions.row, range(len(run.decisions)))
        if row.step == 4 and row.queue not in (row.worker, -1)
    ]
    assert stolen
    browser.evaluate(f"tasksimPage.pin(tasksimPage.runs[0], {stolen[0]})")
    assert "(stolen)" in browser.evaluate(moves)
