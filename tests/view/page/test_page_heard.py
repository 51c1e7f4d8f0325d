"""Pages for people who hear them, or who have a keyboard alone."""

import pytest

import tasksim
from tests.view.conftest import make_run
from tests.view.page.onpage import shown, state

HEARD_TEXT = "document.querySelector('.heard').textContent"


def test_keys_that_change_the_picture_say_what_it_shows(show, cholesky):
    browser = show(cholesky)
    browser.key("w")
    low, high = shown(browser)
    assert browser.evaluate(HEARD_TEXT) == f"{low:.4g} s to {high:.4g} s"
    browser.key("c")
    assert browser.evaluate(HEARD_TEXT) == "critical path on"
    browser.key("i")
    assert browser.evaluate(HEARD_TEXT) == "waits on"
    browser.key("c")
    assert browser.evaluate(HEARD_TEXT) == "critical path off"


def test_numbers_that_run_are_not_read_aloud(show, cholesky):
    browser = show(cholesky, hash_="#play=3")
    loud = "[...document.querySelectorAll('.transport output')].map((e) => e.ariaLive)"
    assert browser.evaluate(loud) == ["off"]
    slider = "document.querySelector('.transport input').getAttribute('aria-valuetext')"
    assert browser.evaluate(slider) == "3 s"


def test_rows_of_tables_have_a_header(show, cholesky, eager):
    heads = "[...document.querySelectorAll('.place tbody th[scope=row]')].map((e) => e.textContent)"
    browser = show(cholesky, hash_="#table=workers")
    assert browser.evaluate(heads) == ["cpu0", "cpu1", "cpu2", "cpu3"]
    browser = show(cholesky, eager, hash_="#table=kernels")
    assert browser.evaluate(heads) == ["potrf", "trsm", "syrk", "gemm"] * 2
    browser = show(cholesky, hash_="#play=3")
    played = "[...document.querySelectorAll('.parts section:first-of-type tbody th')]"
    assert browser.evaluate(f"{played}.map((e) => e.textContent)") == [f"cpu{i}" for i in range(4)]


def test_arrows_lead_from_tab_to_tab(show, cholesky):
    browser = show(cholesky, hash_="#table=kernels")
    before = shown(browser)
    browser.evaluate("document.querySelector('[role=tab]').focus()")
    for key, name in (
        ("ArrowRight", "Workers"),
        ("ArrowLeft", "Kernels"),
        ("ArrowLeft", "Tasks found"),
    ):
        browser.key(key)
        assert browser.evaluate("document.activeElement.textContent") == name
        assert browser.evaluate("document.querySelector('[role=tabpanel]').ariaLabel") == name
    reached = "[...document.querySelectorAll('[role=tab]')].map((e) => e.tabIndex)"
    assert browser.evaluate(reached) == [-1, -1, -1, 0]
    assert shown(browser) == before


@pytest.mark.parametrize("key", ["ArrowDown", "ArrowRight"])
def test_arrows_scroll_the_table_that_has_the_focus(show, key):
    browser = show(make_run(60, 300), hash_="#table=workers")
    browser.resize(500, 720)
    browser.evaluate("document.querySelector('.place').focus()")
    before = state(browser, "[state.scroll, viewport.from]")
    browser.key(key)
    browser.wait(
        "(({ scrollTop, scrollLeft }) => scrollTop + scrollLeft)(document.querySelector('.place'))"
    )
    browser.resize(1280, 720)
    assert state(browser, "[state.scroll, viewport.from]") == before


def test_the_names_of_marks_are_over_all_their_lines(show, cholesky):
    browser = show(cholesky)
    drawn = browser.evaluate(
        "(() => { const { prototype } = CanvasRenderingContext2D, { stroke, fillText } = prototype;"
        " const drawn = [], { theme } = tasksimPage;"
        " prototype.stroke = function () { if (this.strokeStyle === theme.mark) drawn.push('line');"
        " return stroke.call(this); };"
        " prototype.fillText = function (text, ...at) { if (this.fillStyle === theme.mark)"
        " drawn.push(text.split(' ')[0]); return fillText.call(this, text, ...at); };"
        " tasksimPage.draw(true); Object.assign(prototype, { stroke, fillText });"
        " return drawn; })()"
    )
    assert drawn.count("line") == 3
    assert "makespan" in drawn
    assert drawn[:3] == ["line"] * 3


def test_a_bar_at_the_right_shows_which_rows_are_in_sight(show):
    browser = show(make_run(300, 600))
    browser.evaluate("tasksimPage.state.folded.clear(), tasksimPage.draw(true)")
    pixel = (
        "Array.from(tasksimPage.chart.picture.getContext('2d')"
        ".getImageData(tasksimPage.chart.fullWidth - 4, {y}, 1, 1).data.slice(0, 3))"
    )
    above, below = (pixel.format(y=y) for y in ("31", "tasksimPage.chart.room + 28"))
    first = [browser.evaluate(above), browser.evaluate(below)]
    assert first[0] != first[1]
    browser.evaluate("tasksimPage.state.scroll = 1e9, tasksimPage.draw(true)")
    assert [browser.evaluate(above), browser.evaluate(below)] == first[::-1]


def test_a_run_without_tasks_says_so(show):
    nothing = tasksim.simulate(tasksim.GraphBuilder("none").build(), workers=2)
    browser = show(nothing)
    texts = browser.evaluate(
        "(() => { const { prototype } = CanvasRenderingContext2D, { fillText } = prototype;"
        " const drawn = []; prototype.fillText = function (text, ...at) { drawn.push(text);"
        " return fillText.call(this, text, ...at); };"
        " tasksimPage.draw(true); Object.assign(prototype, { fillText }); return drawn; })()"
    )
    assert "no tasks" in texts
