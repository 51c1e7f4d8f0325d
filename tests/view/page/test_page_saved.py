"""Tables and saved files of the page: CSV, SVG, PNG."""

import csv
import dataclasses
import time
import xml.etree.ElementTree as ET

import pytest

from tasksim.view.colours import kernel_colours, memory_colours
from tests.view.conftest import make_hybrid, make_run
from tests.view.page.onpage import state


@pytest.fixture
def saved(browser, tmp_path):
    """Return a function that saves what is visible, and gives the file."""
    browser.download_to(tmp_path)

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


def texts_of(root):
    return [found.text for found in root.iter("{http://www.w3.org/2000/svg}text")]


def test_tasks_of_a_saved_picture_have_the_colours_of_their_kernels(show, browser, saved, cholesky):
    show(cholesky)
    name = "{http://www.w3.org/2000/svg}"
    fills = {
        box.find(f"{name}title").text.split()[0]: box.get("fill")
        for box in ET.parse(saved("svg")).getroot().iter(f"{name}rect")
        if box.find(f"{name}title") is not None
    }
    assert fills == kernel_colours(cholesky.kernel_names)


def test_a_saved_picture_says_what_its_colours_lines_and_axes_are(show, browser, saved, cholesky):
    show(cholesky)
    root = ET.parse(saved("svg")).getroot()
    assert root[0].tag.endswith("}title")
    assert root[0].text == cholesky.graph_label
    texts = texts_of(root)
    assert texts[-4:] == ["potrf", "trsm", "syrk", "gemm"]
    assert f"makespan {cholesky.makespan_s:g} s" in texts
    assert f"critical path {cholesky.bounds['critical_path_s']:g} s" in texts
    panel = texts[texts.index("ready tasks") :][:3]
    assert panel == ["ready tasks", panel[1], "0"]
    assert float(panel[1]) > 0


def test_long_names_of_workers_lose_their_middle(show, browser, saved, cholesky):
    named = tuple(
        dataclasses.replace(worker, name=f"worker {number} of the machine in the cellar, {number}")
        for number, worker in enumerate(cholesky.workers)
    )
    show(dataclasses.replace(cholesky, workers=named))
    texts = texts_of(ET.parse(saved("svg")).getroot())
    assert [t for t in texts if t.startswith("worker 2") and "…" in t and t.endswith(", 2")]
    assert not [t for t in texts if "machine in the cellar" in t]


def test_long_names_of_runs_share_the_width_of_a_panel(show, browser, saved, cholesky):
    show(cholesky, cholesky, names=["x" * 300, "y" * 300])
    path = saved("svg")
    assert path.name == f"{'x' * 60}.svg"  # file systems take 255 bytes
    root = ET.parse(path).getroot()
    width = float(root.get("width"))
    names = [
        (node.text, float(node.get("x")))
        for node in root.iter("{http://www.w3.org/2000/svg}text")
        if node.text and node.text[0] in "xy" and "…" in node.text and float(node.get("x")) > 150
    ]
    assert [name[0] for name, _ in names] == ["x", "y"]
    assert names[0][1] < width / 2 < names[1][1] < width
    inside = "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)"
    assert browser.evaluate(f"{inside}(document.querySelector('.side'))")
    last = "[...document.querySelectorAll('.top .number b')].at(-1).getBoundingClientRect().right"
    assert browser.evaluate(f"{last} <= innerWidth")  # names leave room for the numbers


def test_names_of_kernels_stay_inside_the_legend(show, browser, cholesky):
    show(dataclasses.replace(cholesky, kernel_names=("a" * 200, "b c " * 40, "syrk", "gemm")))
    inside = "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)"
    assert browser.evaluate(f"{inside}(document.querySelector('.side'))")
    assert browser.evaluate(f"{inside}(document.querySelector('.legend'))")


@pytest.mark.parametrize("sizes", [(None, 2**20, 2**21), (None, None, None)])
def test_memories_have_the_colours_that_figures_have(show, browser, sizes):
    run = make_hybrid()
    memories = [
        dataclasses.replace(memory, size_bytes=size)
        for memory, size in zip(run.memories, sizes, strict=True)
    ]
    run = dataclasses.replace(run, memories=tuple(memories))
    show(run)
    found = browser.evaluate(
        "tasksimPage.state.panels.add('memory').add('bandwidth'), tasksimPage.draw(true),"
        "[...tasksimPage.chart.curves.values()].flat().map(({ name, colour }) => [name, colour])"
    )
    colours = dict(zip((m.name for m in run.memories), memory_colours(sizes), strict=True))
    shown = {name.removeprefix("to "): colour for name, colour in found if name}
    assert shown
    assert shown == {name: colours[name] for name in shown}


def test_many_tasks_are_saved_as_a_picture(show, browser, saved):
    show(make_run(8, 25_000))
    root = ET.parse(saved("svg")).getroot()
    assert len(list(root.iter("{http://www.w3.org/2000/svg}image"))) == 1
    assert texts_of(root) == ["potrf", "trsm", "syrk", "gemm"]


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
    width, height = (int.from_bytes(data[i : i + 4], "big") for i in (16, 20))
    assert width == size[0]
    assert size[1] < height < size[1] + 40  # a line with the names of the colours below


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
