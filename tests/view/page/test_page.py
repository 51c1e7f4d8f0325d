"""The page in a real browser: what each gesture, key and control does."""

import csv
import dataclasses
import json
import re
import time
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import tasksim
from tasksim.graph.flop import task_flop
from tasksim.run.idleness import idle_time
from tasksim.run.slices import lack_of_ready
from tests.view.conftest import make_hybrid, make_run

LEFT, TOP = 150, 30


def state(browser, expression):
    return browser.evaluate(
        f"(() => {{ const {{ state, viewport, chart }} = tasksimPage; return {expression}; }})()"
    )


def details(browser):
    """Return the lines of details by name."""
    return dict(
        browser.evaluate(
            "[...document.querySelectorAll('.details dt')].map("
            "(name) => [name.textContent, name.nextSibling.textContent])"
        )
    )


def place(browser, task, run=0):
    """Return the middle of a task on the screen."""
    return browser.evaluate(
        f"(() => {{ const {{ chart, runs }} = tasksimPage, run = runs[{run}];"
        f" const row = chart.view.allRows.find((r) => r.kind === 'worker' && r.run === run"
        f" && r.worker === run.worker[{task}]);"
        f" const box = chart.box.getBoundingClientRect();"
        f" const time = (run.start({task}) + run.end({task})) / 2;"
        f" return [box.left + {LEFT} + chart.viewport.x(time, chart.width),"
        f" box.top + {TOP} + row.y - chart.view.scroll + row.height / 2]; }})()"
    )


def shown(browser):
    return state(browser, "[viewport.from, viewport.to]")


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


def test_arrows_are_painted_over_the_picture(show, cholesky):
    browser = show(cholesky)

    def painted():
        return browser.evaluate(
            "(() => { const { over } = tasksimPage.chart; tasksimPage.hover(-1, -1);"
            " return over.getContext('2d').getImageData(0, 0, over.width, over.height).data"
            ".reduce((sum, value) => sum + (value > 0), 0); })()"
        )

    assert painted() == 0
    browser.click(*place(browser, 0))
    with_arrows = painted()
    browser.key("[")
    assert with_arrows > painted() > 0


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
    for count in (1, 2):
        for kind in ("Pressed", "Released"):
            browser.mouse(kind, x, y, button="left", clickCount=count)
    browser.settle()
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


def colour_of(browser, task):
    """Return the colour of a task's class."""
    return browser.evaluate(
        f"(() => {{ const {{ scene, runs: [run] }} = tasksimPage;"
        f" const c = scene.coverage[0].classes[run.slotOf[{task}]];"
        f" return Array.from(scene.colouring.palette.subarray(3 * c, 3 * c + 3)); }})()"
    )


def test_filters_mute_what_they_leave_out(show, cholesky):
    browser = show(cholesky)
    potrf, trsm = colour_of(browser, 0), colour_of(browser, 1)
    browser.evaluate("tasksimPage.setQuery('trsm'), tasksimPage.change({ only: true })")
    assert colour_of(browser, 1) == trsm
    muted = colour_of(browser, 0)
    assert muted != potrf
    browser.evaluate(
        "tasksimPage.change({ only: false }), document.querySelector('.legend button').click()"
    )
    assert colour_of(browser, 0) == muted
    assert colour_of(browser, 1) == trsm
    assert state(browser, "[...state.hidden]") == ["potrf"]


def test_colours_tell_iteration_priority_slowness(show, cholesky):
    browser = show(cholesky)
    seen = {"kernel": (colour_of(browser, 0), colour_of(browser, 55))}
    for mode in ("iteration", "priority", "slowness"):
        browser.key("g")
        assert state(browser, "state.colour") == mode
        seen[mode] = (colour_of(browser, 0), colour_of(browser, 55))
    assert seen["iteration"][0] != seen["iteration"][1]
    assert seen["slowness"][0] == seen["slowness"][1]  # all are as long as expected


def test_pixels_have_the_colours_of_kernels(show, cholesky):
    browser = show(cholesky)
    x, y = place(browser, 0)
    seen = browser.evaluate(
        f"(() => {{ const {{ chart }} = tasksimPage, box = chart.box.getBoundingClientRect();"
        f" return Array.from(chart.picture.getContext('2d')"
        f".getImageData({x} - box.left, {y} - box.top + 12, 1, 1).data).slice(0, 3); }})()"
    )
    assert seen == pytest.approx(colour_of(browser, 0), abs=1)


def test_the_critical_path_is_drawn(show, cholesky):
    browser = show(cholesky)
    browser.key("c")
    assert state(browser, "state.path")
    painted = browser.evaluate(
        "(() => { const { over } = tasksimPage.chart; const { data } = over.getContext('2d')"
        ".getImageData(0, 0, over.width, over.height); let red = 0;"
        " for (let i = 0; i < data.length; i += 4) red += data[i] > 150 && data[i + 1] < 60;"
        " return red; })()"
    )
    assert painted > 500


def test_idle_time_is_coloured_by_what_workers_waited_for(show):
    run = make_hybrid()
    browser = show(run)
    browser.key("i")
    assert "waits for data" in browser.evaluate("document.querySelector('.legend').innerText")
    seconds = browser.evaluate(
        "(() => { const { scene, runs: [run] } = tasksimPage, sums = [0, 0, 0];"
        " run.workers.forEach((_, worker) => scene.waitMeans(run, worker, 0, run.makespan, 9));"
        " const { starts, ends, classes } = scene.waits[0].coverage;"
        " classes.forEach((kind, i) => { sums[kind] += ends[i] - starts[i]; }); return sums; })()"
    )
    found = idle_time(run).totals()
    assert seconds == pytest.approx([found[k] for k in ("dependency", "transfer", "queue")])
    before = browser.evaluate("tasksimPage.chart.picture.toDataURL()")
    browser.key("i")
    assert browser.evaluate("tasksimPage.chart.picture.toDataURL()") != before


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


def test_differences_of_two_runs(show, cholesky, eager):
    browser = show(cholesky, eager, names=["prio", "eager"])
    browser.key("x")
    assert state(browser, "state.colour") == "difference"
    browser.click(*place(browser, 40, run=1))
    shift = eager.tasks.end_s[40] - cholesky.tasks.end_s[40]
    sign = "−" if shift < 0 else "+"
    assert details(browser)["end against prio"] == f"{sign}{abs(shift):g} s"
    assert details(browser)["in prio"].startswith(f"{cholesky.tasks.start_s[40]:g} s to")
    colours = browser.evaluate(
        "(() => { const { scene, runs } = tasksimPage; const { classes } = scene.coverage[1];"
        " return Array.from({ length: runs[1].count },"
        " (_, task) => classes[runs[1].slotOf[task]]); })()"
    )
    shifts = (eager.tasks.end_s - cholesky.tasks.end_s).tolist()
    in_order = [c for _, c in sorted(zip(shifts, colours, strict=True))]
    assert in_order == sorted(colours)


def test_differences_need_the_same_graph(show, cholesky):
    browser = show(cholesky, make_run())
    browser.key("x")
    assert state(browser, "state.colour") == "kernel"
    assert "same graph" in browser.evaluate("document.querySelector('.status').textContent")


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
    browser.evaluate("delete globalThis.tasksimPage")
    browser.call("Page.navigate", url="about:blank")
    browser.open(address)
    assert state(browser, kept) == before


@pytest.mark.parametrize(
    "hash_", ["#t=x,y&pin=9:999999&colour=no&levels=1e9&%%%=%E0", "#pin=0:-1&panels=,no"]
)
def test_a_broken_address_shows_the_rest(show, cholesky, hash_):
    browser = show(cholesky, hash_=hash_)
    assert state(browser, "[state.pin, state.colour, state.levels]") == [None, "kernel", 1]


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
        " return viewport.x((copies.start[copy] + copies.end[copy]) / 2, chart.width); })()",
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


@pytest.fixture
def saved(browser, tmp_path):
    """Return a function that saves what is visible, and gives the file."""
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))

    def export(kind):
        before = set(tmp_path.iterdir())
        browser.evaluate(f"tasksimPage.export({kind!r})")
        until = time.monotonic() + 30
        while time.monotonic() < until:
            made = [p for p in set(tmp_path.iterdir()) - before if p.suffix == f".{kind}"]
            if made and made[0].stat().st_size:
                return made[0]
            time.sleep(0.05)
        raise AssertionError(f"no {kind} was saved")

    return export


def test_what_is_visible_is_saved_as_csv(show, browser, saved, cholesky):
    show(cholesky, names=['a "b", c'])
    browser.evaluate("tasksimPage.viewport.set(0, 6), tasksimPage.draw(true)")
    with saved("csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    tasks = cholesky.tasks
    expected = [t for t in range(len(cholesky)) if tasks.start_s[t] <= 6]
    assert sorted(int(row["task"]) for row in rows) == expected
    for row in rows:
        task = int(row["task"])
        assert row["run"] == 'a "b", c'
        assert float(row["end_s"]) == tasks.end_s[task]
        assert row["kernel"] == cholesky.label(task).split()[0]


def test_what_is_visible_is_saved_as_svg(show, browser, saved, cholesky):
    evil = dataclasses.replace(cholesky, kernel_names=("<script>", "trsm", "syrk", "gemm"))
    show(evil)
    root = ET.parse(saved("svg")).getroot()
    name = "{http://www.w3.org/2000/svg}"
    titles = [found.text for found in root.iter(f"{name}title")]
    assert sum("#" in text for text in titles) == len(cholesky)
    assert "<script> #0" in titles
    assert not list(root.iter(f"{name}script"))


def test_many_tasks_are_saved_as_a_picture(show, browser, saved):
    show(make_run(8, 25_000))
    root = ET.parse(saved("svg")).getroot()
    assert len(list(root.iter("{http://www.w3.org/2000/svg}image"))) == 1
    assert not list(root.iter("{http://www.w3.org/2000/svg}text"))


def test_copies_and_bands_are_saved_too(show, browser, saved):
    run = make_hybrid()
    show(run)
    root = ET.parse(saved("svg")).getroot()
    name = "{http://www.w3.org/2000/svg}"
    titles = [found.text for found in root.iter(f"{name}title")]
    assert sum(title.startswith("data #") for title in titles) == len(run.transfers)
    assert len(list(root.iter(f"{name}polygon"))) == 3  # the run, its GPUs, its cores


def test_what_is_visible_is_saved_as_png(show, browser, saved, cholesky):
    show(cholesky)
    data = saved("png").read_bytes()
    size = state(browser, "[chart.picture.width, chart.picture.height]")
    assert data.startswith(b"\x89PNG")
    assert [int.from_bytes(data[i : i + 4], "big") for i in (16, 20)] == size


def test_tasks_found_are_a_table(show, cholesky):
    browser = show(cholesky, make_run(4, 600), names=["one", "other"])
    browser.evaluate("tasksimPage.setQuery('potrf'), tasksimPage.change({ table: 'tasks' })")
    browser.settle()
    rows, note = browser.evaluate(
        "(() => { const { rows, note } = tasksimPage.tables.made; return [rows, note]; })()"
    )
    assert [row[0] for row in rows[:6]] == ["one"] * 6
    assert [row[1].split()[0] for row in rows] == ["potrf"] * len(rows)
    assert note == ""
    browser.evaluate("tasksimPage.setQuery('duration>0')")
    browser.settle()
    note = browser.evaluate("tasksimPage.tables.made.note")
    assert note == 'The first 500 of 656: CSV with "only these" on has all.'


def test_tables_are_sorted_by_any_column(show, cholesky):
    browser = show(cholesky)
    browser.key("t")
    cells = (
        "[...document.querySelectorAll('.place tbody tr')].map((r) => r.children[{}].textContent)"
    )
    assert browser.evaluate(cells.format(0)) == ["potrf", "trsm", "syrk", "gemm"]
    browser.evaluate("document.querySelectorAll('.place th button')[1].click()")
    assert browser.evaluate(cells.format(1)) == ["6", "15", "15", "20"]
    browser.evaluate("document.querySelectorAll('.place th button')[1].click()")
    assert browser.evaluate(cells.format(1)) == ["20", "15", "15", "6"]
    assert browser.evaluate("document.querySelectorAll('.place th')[1].ariaSort") == "descending"
    browser.evaluate("tasksimPage.viewport.set(0, 0.5), tasksimPage.change({ range: true })")
    browser.settle()
    assert browser.evaluate(cells.format(0)) == ["potrf"]


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_light_or_dark_as_the_system(browser, show, cholesky, scheme):
    browser.prefer(scheme)
    show(cholesky)
    pixel = "tasksimPage.chart.picture.getContext('2d').getImageData(5, 5, 1, 1).data[0]"
    assert (browser.evaluate(pixel) > 128) == (scheme == "light")
    browser.evaluate("tasksimPage.nextTheme(), tasksimPage.nextTheme()")
    browser.settle()
    assert browser.evaluate(pixel) < 128
    browser.prefer("light")


def test_a_page_without_tasks(show, cholesky):
    empty = dataclasses.replace(cholesky, tasks=type(cholesky.tasks).empty())
    browser = show(empty)
    for key in "wdfct":
        browser.key(key)
    assert browser.evaluate("document.querySelector('.failed')") is None


def test_many_tasks_are_pixels_and_few_are_boxes(show):
    browser = show(make_run(8, 20_000))
    assert state(browser, "chart.isVector") is False
    browser.evaluate("tasksimPage.viewport.set(1, 2), tasksimPage.draw(true)")
    assert state(browser, "chart.isVector") is True
