"""Each control of the page, in Chromium and in Firefox, in windows of all widths."""

import json

import pytest

import tasksim
from tests.view.conftest import make_hybrid
from tests.view.page.onpage import state

WIDTHS = (360, 1024, 2560)
NAMED_SCRIPT = (
    "[...document.querySelectorAll({})].find((e) => (e.ariaLabel ?? e.textContent) === {})"
)


@pytest.fixture(params=["chromium", "firefox"])
def page(request, cholesky, eager, tmp_path):
    """Two runs, shown in each browser."""
    browser = request.getfixturevalue(
        "browser" if request.param == "chromium" else "firefox_browser"
    )
    browser.forget()
    tasksim.save_page([cholesky, eager], tmp_path / "page.html", names=["prio", "eager"])
    browser.open((tmp_path / "page.html").as_uri())
    browser.settle()
    yield browser
    browser.prefer()
    browser.resize(1280, 720)
    assert browser.problems == []
    assert all(url.startswith(("file:", "blob:", "about:")) for url in browser.requests)


def control(browser, name, kind="button"):
    """Click with the pointer where a control is, in a menu that is open or in the bar."""
    found = NAMED_SCRIPT.format(json.dumps(f"{kind}, label"), json.dumps(name))
    x, y = browser.evaluate(
        f"(() => {{ const box = {found}.getBoundingClientRect();"
        " return [box.left + box.width / 2, box.top + box.height / 2]; })()"
    )
    width, height = browser.evaluate("[innerWidth, innerHeight]")
    assert 0 < x < width, name
    assert 0 < y < height, name
    browser.click(x, y)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_control_of_the_bar_acts(page, width):
    page.resize(width, 720)
    page.settle()
    is_narrow = width <= 1240

    def view(name):
        if is_narrow and page.evaluate("document.querySelector('.views > .entries').hidden"):
            control(page, "view")
        control(page, name)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    view("critical path")
    view("waits")
    assert state(page, "[state.path, state.waits]") == [True, True]
    if not is_narrow:
        control(page, "panels")
    view("submitted tasks")
    assert "submitted" in state(page, "[...state.panels]")
    view("tables")
    assert state(page, "state.table") == "kernels"
    page.evaluate("document.querySelector('.tabs').scrollIntoView()")
    control(page, "Workers")
    assert state(page, "state.table") == "workers"
    control(page, "Close (t)")
    assert state(page, "state.table") == ""
    page.evaluate("scrollTo(0, 0), tasksimPage.viewport.set(3, 5)")
    control(page, "Show all (f, or double click)")
    assert state(page, "viewport.from") == 0
    control(page, "Light, dark, or as the system")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    control(page, "Keys and help (?)")
    assert page.evaluate("document.querySelector('.help').open")
    page.key("Escape")


def test_the_search_has_its_controls_while_it_searches(page):
    assert page.evaluate("document.querySelector('.asked').hidden")
    page.key("/")
    for letter in "trsm":
        page.key(letter)
    control(page, "Next task found (n)")
    control(page, "Next task found (n)")
    assert state(page, "state.match") == 1
    control(page, "Task found before (N)")
    control(page, "only these")
    assert state(page, "[state.match, state.only]") == [0, True]
    assert page.evaluate("document.querySelector('.found').textContent") == "1 of 30"


def test_a_menu_closes_by_escape_and_by_a_click_elsewhere(page):
    hidden = "document.querySelector('.actions .entries').hidden"
    control(page, "export")
    assert not page.evaluate(hidden)
    page.key("Escape")
    assert page.evaluate(f"[{hidden}, document.activeElement.ariaLabel]") == [True, "export"]
    control(page, "export")
    page.click(400, 300)
    assert page.evaluate(hidden)


@pytest.mark.parametrize("kind", ["svg", "png", "csv"])
def test_the_export_menu_saves_files(page, tmp_path, kind):
    page.download_to(tmp_path)
    control(page, "export")
    page.evaluate(
        f"[...document.querySelectorAll('.actions .entries button')]"
        f".find((e) => e.textContent.startsWith('{kind.upper()}')).click()"
    )
    page.wait("document.querySelector('.status').textContent.startsWith('Saved')")
    assert f".{kind}," in page.evaluate("document.querySelector('.status').textContent")


def test_the_legend_hides_kernels_and_details_have_arrows(page):
    control(page, "trsm")
    assert state(page, "[...state.hidden]") == ["trsm"]
    assert page.evaluate("document.querySelector('.arrows').hidden")
    page.evaluate("tasksimPage.pin(tasksimPage.runs[0], 7)")
    control(page, "A level more (])")
    assert state(page, "state.levels") == 2
    control(page, "A level less ([)")
    assert state(page, "state.levels") == 1


def test_the_keyboard_reaches_every_control(page):
    reached = []
    page.evaluate("document.activeElement.blur()")
    for _ in range(40):
        page.key("Tab")
        reached.append(
            page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent")
        )
    for name in (
        "Search tasks",
        "critical path",
        "panels",
        "tables",
        "export",
        "Keys and help (?)",
    ):
        assert name in reached
    assert any(name.startswith("Chart of the runs") for name in reached)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_look_follows_the_system(page, scheme):
    page.prefer(scheme, motion="reduce")
    page.settle()
    ground = "getComputedStyle(document.body).backgroundColor"
    assert (page.evaluate(ground) == "rgb(255, 255, 255)") == (scheme == "light")
    moves = "getComputedStyle(document.querySelector('.top button')).transitionDuration"
    assert page.evaluate(moves) == "0s"


def test_two_fingers_zoom(browser, show):
    show(make_hybrid())
    box = browser.evaluate(
        "(({ left, top }) => [left, top])(tasksimPage.chart.box.getBoundingClientRect())"
    )
    before = state(browser, "viewport.to - viewport.from")

    def touch(kind, *places):
        points = [{"x": box[0] + x, "y": box[1] + 100, "id": k} for k, x in enumerate(places)]
        browser.call("Input.dispatchTouchEvent", type=f"touch{kind}", touchPoints=points)

    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    try:
        touch("Start", 400, 500)
        touch("Move", 350, 550)
        touch("End")
    finally:
        browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    browser.settle()
    assert state(browser, "viewport.to - viewport.from") == pytest.approx(before / 2, rel=0.01)


def test_the_numbers_read_first_are_beside_the_title(page, cholesky, eager):
    texts = page.evaluate("[...document.querySelectorAll('.top .number')].map((e) => e.innerText)")
    change = eager.makespan_s / cholesky.makespan_s - 1
    assert texts[0] == f"prio {cholesky.makespan_s:g} s"
    assert texts[
        1
    ] == f"eager {eager.makespan_s:g} s {'+' if change >= 0 else '−'}{abs(change):.1%}".replace(
        "%", " %"
    )
    assert texts[2:] == [f"tasks {len(cholesky)}", "workers 4"]
