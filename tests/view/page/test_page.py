"""The page in a real browser: what each gesture, key and control does."""

import dataclasses
import json
import re

import pytest

from tests.view.page.onpage import LEFT, TOP, details, place, shown, state


def test_it_loads_without_the_network(show, cholesky, eager):
    browser = show(cholesky, eager, names=["prio", "eager"])
    assert browser.requests == [r for r in browser.requests if r.startswith("file:")]
    assert len(browser.requests) == 1
    texts = browser.evaluate("document.body.innerText")
    assert "prio" in texts
    assert "cholesky tiles=6" in texts


def test_pointing_at_a_task_tells_about_it(show, cholesky):
    browser = show(cholesky)
    browser.mouse("Moved", *place(browser, 7))
    browser.settle()
    found = details(browser)
    tasks = cholesky.tasks
    assert found["task"] == cholesky.label(7)
    assert found["duration"] == f"{tasks.duration_s[7]:g} s"
    assert found["worker"].startswith(f"cpu{tasks.worker[7]}")
    assert found["iteration"] == "0"
    assert found["expected"].endswith("by the kernel models: × 1.00")
    wait = tasks.ready_s[7] - tasks.submitted_s[7]
    assert found["waited for dependencies"] == f"{wait:g} s"


def test_a_click_pins_a_task_and_draws_its_arrows(show, cholesky):
    browser = show(cholesky)
    browser.click(*place(browser, 7))
    assert browser.evaluate("document.querySelector('.details h2').textContent") == "Pinned"
    one = state(browser, "[state.pin.task, state.arrows.before, state.arrows.after]")
    assert one[0] == 7
    browser.key("]")
    two = state(browser, "[state.pin.task, state.arrows.before, state.arrows.after]")
    assert two[2] > one[2] > 0
    browser.key("Escape")
    assert state(browser, "state.pin") is None


def test_a_pinned_task_shows_what_it_waited_for(show, cholesky):
    """Along the foot of its row: for dependencies from its submission until it was ready."""
    browser = show(cholesky)
    task = int((cholesky.tasks.ready_s - cholesky.tasks.submitted_s).argmax())
    browser.evaluate(f"tasksimPage.setLevels(-1), tasksimPage.pin(tasksimPage.runs[0], {task})")
    seen = browser.evaluate(
        f"(() => {{ const {{ chart, viewport, runs: [run] }} = tasksimPage;"
        f" const row = chart.view.allRows.find((r) => r.worker === run.worker[{task}]);"
        f" const time = (run.submitted({task}) + run.ready({task})) / 2;"
        f" const x = {LEFT} + viewport.x(time, chart.width), y = {TOP} + row.y + row.height - 2;"
        f" return Array.from(chart.over.getContext('2d').getImageData(x, y, 1, 1).data); }})()"
    )
    assert seen == [0x56, 0xA0, 0xD8, 255]


def test_wheel_drag_box_and_double_click(show, cholesky):
    browser = show(cholesky)
    before = shown(browser)
    x, y = place(browser, 20)
    at = state(browser, f"chart.time({x} - chart.box.getBoundingClientRect().left)")
    for _ in range(3):
        browser.mouse("Wheel", x, y, deltaX=0, deltaY=-100)
    browser.settle()
    zoomed = shown(browser)
    assert zoomed[1] - zoomed[0] == pytest.approx((before[1] - before[0]) / 1.2**3)
    share = (at - before[0]) / (before[1] - before[0])
    pixel = (before[1] - before[0]) / 800  # as whole ones the wheel tells where it is
    assert zoomed[0] + share * (zoomed[1] - zoomed[0]) == pytest.approx(at, abs=pixel)
    browser.drag((x, y), (x + 100, y))
    assert shown(browser)[0] < zoomed[0]
    browser.drag((400, y), (600, y), modifiers=8)
    boxed = shown(browser)
    assert boxed[1] - boxed[0] < 0.4 * (zoomed[1] - zoomed[0])
    browser.double_click(x, y)
    assert shown(browser) == before


def test_keys_zoom_and_move(show, cholesky):
    browser = show(cholesky)
    whole = shown(browser)
    browser.key("w")
    browser.key("w")
    near = shown(browser)
    assert near[1] - near[0] == pytest.approx((whole[1] - whole[0]) / 2.25)
    browser.key("d")
    assert shown(browser)[0] > near[0]
    browser.key("ArrowLeft")
    assert shown(browser) == pytest.approx(near)
    browser.key("f")
    assert shown(browser) == whole
    browser.key("?")
    assert browser.evaluate("tasksimPage.controls.help.open")
    browser.key("Escape")
    assert not browser.evaluate("tasksimPage.controls.help.open")


def test_keys_walk_from_task_to_task(show, cholesky):
    browser = show(cholesky)
    browser.click(*place(browser, 7))
    by = int(cholesky.tasks.released_by[7])
    browser.key("r")
    assert state(browser, "state.pin.task") == by
    browser.key(".")
    after = state(browser, "state.pin.task")
    worker = cholesky.tasks.worker
    assert after != by
    assert worker[after] == worker[by]
    browser.key(",")
    assert state(browser, "state.pin.task") == by
    browser.key("z")
    low, high = shown(browser)
    start, end = cholesky.tasks.start_s[by], cholesky.tasks.end_s[by]
    assert low < start < end < high < cholesky.makespan_s


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("trsm", lambda run, t: "trsm" in run.label(t)),
        ("#17", lambda run, t: t == 17),
        ("17", lambda run, t: t == 17),
        ("/^sy.*[02]$/", lambda run, t: re.search("^sy.*[02]$", run.label(t))),
        ("/SYRK/i", lambda run, t: "syrk" in run.label(t)),
        ("gemm start>=10", lambda run, t: "gemm" in run.label(t) and run.tasks.start_s[t] >= 10),
        ("worker=cpu2", lambda run, t: run.tasks.worker[t] == 2),
        ("duration<2s", lambda run, t: run.tasks.duration_s[t] < 2),
        ("slow>1.5", lambda run, t: False),
    ],
)
def test_searches_find_what_they_say(show, cholesky, query, kind):
    browser = show(cholesky)
    browser.evaluate(f"tasksimPage.setQuery({json.dumps(query)})")
    found = browser.evaluate("[...tasksimPage.state.matches].map(({ task }) => task)")
    assert sorted(found) == [t for t in range(len(cholesky)) if kind(cholesky, t)]


@pytest.mark.parametrize("query", ["/(/", "nothing=3", "k=x", "worker<cpu2"])
def test_a_wrong_search_says_what_is_wrong(show, cholesky, query):
    browser = show(cholesky)
    browser.evaluate(f"tasksimPage.setQuery({json.dumps(query)})")
    assert browser.evaluate("document.querySelector('.found').textContent")
    assert browser.evaluate("document.querySelector('input[type=search]').className") == "wrong"


def test_the_search_box_goes_from_one_task_to_the_next(show, cholesky):
    browser = show(cholesky)
    browser.key("/")
    for letter in "potrf":
        browser.key(letter)
    assert browser.evaluate("document.querySelector('.found').textContent") == "0 of 6"
    browser.key("Enter")
    assert browser.evaluate("document.querySelector('.found').textContent") == "1 of 6"
    browser.key("Enter")
    browser.key("Escape")
    browser.evaluate("tasksimPage.setQuery('potrf'), document.activeElement.blur()")
    browser.key("N")
    assert browser.evaluate("document.querySelector('.found').textContent") == "6 of 6"
    browser.key("Enter")
    starts = [t for t in range(len(cholesky)) if "potrf" in cholesky.label(t)]
    assert state(browser, "state.pin.task") == max(starts, key=lambda t: cholesky.tasks.start_s[t])


def test_the_address_keeps_the_view(show, browser, cholesky, eager):
    show(cholesky, eager, names=["prio", "eager"])
    browser.evaluate(
        "tasksimPage.setQuery('gemm k=1'), tasksimPage.viewport.set(5, 9),"
        "tasksimPage.change({ colour: 'priority', path: true, levels: 3, table: 'workers' }),"
        "tasksimPage.pin(tasksimPage.runs[1], 12), tasksimPage.fold('0/'),"
        "tasksimPage.togglePanel('submitted', true)"
    )
    kept = (
        "[location.hash, state.query, viewport.from, viewport.to, state.colour, state.path,"
        " state.levels, state.table, state.pin.run.name, state.pin.task, [...state.folded],"
        " [...state.panels], state.matches.length]"
    )
    browser.wait("location.hash.includes('submitted')")
    before = state(browser, kept)
    assert before[3] == 9
    address = browser.evaluate("location.href")
    browser.open(address)
    assert state(browser, kept) == before


@pytest.mark.parametrize(
    "hash_", ["#t=x,y&pin=9:999999&colour=no&levels=1e9&%%%=%E0", "#pin=0:-1&panels=,no"]
)
def test_a_broken_address_shows_the_rest(show, cholesky, hash_):
    browser = show(cholesky, hash_=hash_)
    assert state(browser, "[state.pin, state.colour, state.levels]") == [None, "kernel", 1]


def test_names_are_text(show, cholesky):
    evil = "<img src=x onerror=alert(1)>"
    run = dataclasses.replace(
        cholesky, kernel_names=("<script>", evil, "syrk", "gemm"), scheduler=evil
    )
    browser = show(run, names=["<b>run</b>"])
    browser.click(*place(browser, 1))
    browser.key("t")
    assert details(browser)["task"] == f"{evil} #1"
    texts = browser.evaluate("document.body.innerText")
    assert evil in texts
    assert "<script>" in texts
    assert "<b>run</b>" in texts
    assert browser.evaluate("document.querySelectorAll('img, b b').length") == 0


def test_a_page_without_tasks(show, cholesky):
    empty = dataclasses.replace(cholesky, tasks=type(cholesky.tasks).empty())
    browser = show(empty)
    for key in "wdfct":
        browser.key(key)
    assert browser.evaluate("document.querySelector('.failed')") is None
