"""The page as others see it: on paper, in colours that the system forces, without a pointer."""

import dataclasses

import pytest

from tasksim.run.recordtables import TransferReason
from tasksim.view.colours import COPY_REASONS, DARK_COPY_REASONS
from tasksim.view.tokens import CHART_COLOURS
from tests.view.conftest import from_rows, make_hybrid, make_run
from tests.view.page.onpage import state
from tests.view.test_style import COLOUR_DEFICIENCIES, distance
from tests.view.test_tokens import contrast

LEGEND = "[...document.querySelectorAll('.legend > *')].slice(1).map((e) => e.textContent)"
PIXEL = "Array.from({}.getContext('2d').getImageData(5, 5, 1, 1).data).slice(0, 3)"
WHITE_RGB = [255, 255, 255]


@pytest.fixture
def media(browser):
    """Return a function that emulates a medium and its features."""

    def emulated(medium="", **features):
        asked = [{"name": k.replace("_", "-"), "value": v} for k, v in features.items()]
        browser.call("Emulation.setEmulatedMedia", media=medium, features=asked)
        browser.settle()

    yield emulated
    browser.prefer()


def style(browser, selector, name):
    return browser.evaluate(f"getComputedStyle(document.querySelector({selector!r})).{name}")


def test_paper_has_the_colours_of_the_legend_and_whole_tables_and_no_controls(show, media):
    browser = show(make_run(40, 400), hash_="#table=workers")
    place = "document.querySelector('.place')"
    assert browser.evaluate(f"{place}.scrollHeight > {place}.clientHeight")
    media("print")
    assert style(browser, ".swatch", "printColorAdjust") == "exact"
    assert browser.evaluate(f"{place}.scrollHeight <= {place}.clientHeight")
    for gone in (".search", ".views", ".actions", ".tabs .bare"):
        assert style(browser, gone, "display") == "none"
    assert style(browser, ".details", "display") == "none"  # nothing is pointed at on paper
    assert style(browser, ".numbers", "whiteSpace") == "normal"


def test_a_dark_page_is_printed_light_with_finer_dots(show, browser, cholesky):
    browser.prefer("dark")
    show(cholesky)
    picture, paper = "tasksimPage.chart.picture", "document.querySelector('canvas.paper')"
    before = browser.evaluate(f"[{picture}.width, {picture}.height]")
    ground = browser.evaluate(PIXEL.format(picture))
    assert ground != WHITE_RGB
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(PIXEL.format(paper)) == WHITE_RGB
    assert browser.evaluate(f"[{paper}.width, {paper}.height]") == [2 * side for side in before]
    assert browser.evaluate("getComputedStyle(document.body).color") == "rgb(28, 33, 38)"
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    assert browser.evaluate(f"{paper} === null")
    assert browser.evaluate(f"[{picture}.width, {picture}.height]") == before
    assert browser.evaluate(PIXEL.format(picture)) == ground
    assert browser.evaluate("document.documentElement.dataset.theme") == "auto"
    browser.prefer()


def test_forced_colours_leave_the_legend_and_tell_what_is_on(show, media, cholesky):
    browser = show(cholesky, hash_="#path=1")
    colour = style(browser, ".swatch", "backgroundColor")
    media(forced_colors="active")
    assert style(browser, ".swatch", "backgroundColor") == colour
    on, off = (f".toggle[aria-pressed='{pressed}']" for pressed in ("true", "false"))
    assert style(browser, on, "backgroundColor") != style(browser, off, "backgroundColor")
    browser.key("/")
    assert style(browser, ".search", "outlineStyle") == "solid"


def test_the_legend_names_lines_and_arrows_while_they_are_there(show, cholesky):
    browser = show(cholesky)
    kernels = browser.evaluate(LEGEND)
    browser.key("c")
    assert browser.evaluate(LEGEND) == [*kernels, "critical path"]
    browser.key("c")
    browser.evaluate("tasksimPage.pin(tasksimPage.runs[0], 7)")
    browser.settle()
    assert browser.evaluate(LEGEND) == [
        *kernels,
        "from what it depends on",
        "to what depends on it",
    ]
    browser.key("[")
    assert browser.evaluate(LEGEND) == kernels
    browser.evaluate("tasksimPage.pin(null), tasksimPage.setQuery('trsm')")
    browser.settle()
    assert browser.evaluate(LEGEND) == [*kernels, "found"]


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_copies_are_seen_on_their_ground(mode):
    ground = CHART_COLOURS["idle"][mode]
    for reason, (name, colour) in COPY_REASONS.items():
        seen = DARK_COPY_REASONS.get(reason, colour) if mode else colour
        # The palest, of copies that hurt nobody, is seen the least.
        assert contrast(seen, ground) > (1.2 if name == "copy back, idle" else 2.0), name


@pytest.mark.parametrize("deficiency", COLOUR_DEFICIENCIES)
def test_copies_that_hurt_most_stand_out_on_dark_pages(deficiency):
    found = DARK_COPY_REASONS[TransferReason.EVICTION]
    assert distance(found, CHART_COLOURS["idle"][1], deficiency) > 45
    for reason, (name, colour) in COPY_REASONS.items():
        if reason != TransferReason.EVICTION:
            assert distance(found, colour, deficiency) > 17, name


def test_panels_follow_the_rows_without_a_gap(show):
    browser = show(make_run(60, 300), hash_="#panels=,ready")
    browser.resize(1280, 1600)
    browser.settle()
    browser.evaluate("tasksimPage.foldAll()")
    browser.settle()
    bottom, top = state(browser, "[chart.view.top + chart.allHeight, chart.panelsShown[0].top]")
    panel = browser.evaluate(f"tasksimPage.chart.at(600, {top + 5}).panel?.name")
    browser.resize(1280, 720)
    assert bottom == top
    assert panel == "ready"


def test_copies_have_the_same_colour_in_the_chart_and_in_the_legend_of_a_dark_page(show, browser):
    browser.prefer("dark")
    show(make_hybrid())
    found = browser.evaluate(
        "(() => { const { scene, legend } = tasksimPage; return [scene.reasonColours,"
        " legend.filter(({ name }) => name === 'copy to make room').map((e) => e.colour)]; })()"
    )
    assert found[1] == list(DARK_COPY_REASONS.values())
    last = [int(found[1][0][i : i + 2], 16) for i in (1, 3, 5)]
    assert found[0][-1] == last
    browser.prefer()


def test_tasks_are_pinned_by_keys_alone(show):
    rows = [
        (0, 0, 0.0, 2.0),
        (1, 0, 2.0, 4.0),
        (2, 1, 0.0, 1.0),
        (3, 1, 2.5, 4.0),
        (3, 3, 3.0, 4.0),
    ]
    browser = show(from_rows(rows, 4))
    pinned = []
    for key in (".", ".", "j", "j", "j", "u", ","):
        browser.key(key)
        pinned.append(state(browser, "state.pin.task"))
    assert pinned == [0, 1, 3, 4, 4, 3, 2]  # the third worker ran nothing; below the last is none
    told = browser.evaluate("document.querySelector('.status').textContent")
    assert told == "Pinned syrk #2 on cpu1, 0 s to 1 s."


def test_groups_open_by_a_key_and_a_task_far_below_is_scrolled_to(show):
    browser = show(make_run(400, 4000))
    assert state(browser, "chart.view.allRows.length") == 1
    assert state(browser, "chart.view.allRows[0].height") > 200  # a lone band uses the room
    browser.key("e")
    assert state(browser, "chart.view.allRows.length") == 401
    far = state(browser, "tasksimPage.runs[0].slotTask[tasksimPage.runs[0].firstSlot[390]]")
    browser.evaluate(f"tasksimPage.setQuery('#{far}'), tasksimPage.nextMatch(1)")
    browser.settle()
    assert state(browser, "chart.view.rows.some(({ worker }) => worker === 390)")
    browser.key("e")
    assert state(browser, "chart.view.allRows.length") == 1


def test_short_names_of_rows_are_not_cut_off_on_a_phone(show, browser):
    run = make_hybrid()
    named = tuple(dataclasses.replace(m, name=f"記憶装置{i}") for i, m in enumerate(run.memories))
    show(dataclasses.replace(run, memories=named))
    browser.resize(360, 740)
    browser.settle()
    ends = browser.evaluate(
        "(() => { const { chart } = tasksimPage, seen = [];"
        " const context = chart.picture.getContext('2d'), write = context.fillText;"
        " context.fillText = function (text, x, y) { if (text.includes('記') && x < chart.left)"
        " seen.push(x + this.measureText(text).width); write.call(this, text, x, y); };"
        " tasksimPage.draw(true); delete context.fillText; return seen; })()"
    )
    left = state(browser, "chart.left")
    browser.resize(1280, 720)
    assert len(ends) >= 4
    assert max(ends) <= left - 4


def test_numbers_beside_the_title_wrap_where_the_window_is_narrow(show, browser, cholesky):
    show(cholesky)
    browser.resize(360, 740)
    browser.settle()
    fits = "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)"
    found = browser.evaluate(f"{fits}(document.querySelector('.numbers'))")
    shown = browser.evaluate(
        "(() => { const box = document.querySelector('.numbers').getBoundingClientRect();"
        " return [...document.querySelectorAll('.number')].map((e) => e.getBoundingClientRect())"
        ".every(({ right, bottom }) => right <= box.right && bottom <= box.bottom + 1); })()"
    )
    browser.resize(1280, 720)
    assert [found, shown] == [True, True]


def test_the_title_and_the_numbers_are_whole_in_a_window_of_usual_width(show, cholesky):
    browser = show(dataclasses.replace(cholesky, graph_arguments={"tiles": 10, "tile_size": 1024}))
    fits = "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)"
    assert browser.evaluate(f"[...document.querySelectorAll('h1, .numbers')].map({fits})") == [
        True,
        True,
    ]


def test_a_control_that_changes_what_it_is_in_keeps_the_focus(show, cholesky):
    browser = show(cholesky, hash_="#table=kernels")
    focused = "document.activeElement.textContent"
    for control in (".legend button:nth-of-type(2)", ".place th:nth-child(2) button"):
        browser.evaluate(f"document.querySelector('{control}').focus()")
        name = browser.evaluate(focused)
        for _ in range(2):
            browser.key("Enter")
            assert browser.evaluate(focused) == name
            assert browser.evaluate(f"document.activeElement.matches('{control}')")
    assert state(browser, "[...state.hidden]") == []
    assert browser.evaluate("tasksimPage.tables.sorting") == {"column": 1, "descending": True}


def test_a_panel_without_ready_tasks_says_why(show):
    browser = show(from_rows([(0, 0, 0.0, 1.0)], 1))
    texts = browser.evaluate(
        "(() => { const seen = [], context = tasksimPage.chart.picture.getContext('2d');"
        " context.fillText = (text) => seen.push(text); tasksimPage.draw(true);"
        " delete context.fillText; return seen; })()"
    )
    panel = texts[texts.index("ready tasks") :]
    assert panel == ["ready tasks", "0", "every task started as soon as it was ready"]


def test_the_help_opens_at_its_first_keys_and_scrolls_by_arrows(show, browser, cholesky):
    show(cholesky)
    browser.resize(1280, 500)
    browser.key("?")
    helped = "document.querySelector('.help')"
    assert browser.evaluate(f"[{helped}.open, {helped}.scrollTop]") == [True, 0]
    before = state(browser, "[viewport.from, viewport.to]")
    browser.key("a")
    assert state(browser, "[viewport.from, viewport.to]") == before
    browser.key("?")
    assert not browser.evaluate(f"{helped}.open")
    browser.resize(1280, 720)


def test_the_two_memories_of_a_link_are_named_on_a_phone(show, browser):
    show(make_hybrid())
    browser.resize(360, 740)
    browser.settle()
    names = browser.evaluate(
        "(() => { const { chart } = tasksimPage, seen = [];"
        " const context = chart.picture.getContext('2d'), write = context.fillText;"
        " context.fillText = function (text, x, y) { if (x < chart.left) seen.push(text);"
        " write.call(this, text, x, y); };"
        " tasksimPage.draw(true); delete context.fillText; return seen; })()"
    )
    browser.resize(1280, 720)
    links = [name for name in names if "ram" in name]
    assert sorted(links) == ["gpu0 → ram", "gpu1 → ram", "ram → gpu0", "ram → gpu1"]
