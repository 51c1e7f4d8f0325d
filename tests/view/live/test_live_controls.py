"""Each control of a live page, driven in Chromium and in Firefox.

Of the sliders of a kind, one is moved; with TASKSIM_LONG_TESTS=1, all are.
"""

import json

import pytest
from tiers import LONG
from view.live.conftest import DURATIONS, MACHINE
from view.live.test_live_page import answered, pytestmark  # noqa: F401
from view.page.test_controls import control

from tasksim.scenario.scenario import Scenario
from tasksim.view.live.page import explore

IDLE = "!tasksimPage.live.jobs.length && !tasksimPage.live.asked"
POWER = "power: {arch: {cpu: {idle: 1 W, busy: 9 W}, cuda: {idle: 5 W, busy: 99 W}}}\n"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """A page with sliders of all kinds on one node, and with energy."""
    folder = tmp_path_factory.mktemp("controls")
    (folder / "node.yaml").write_text(MACHINE + POWER)
    scenario = Scenario(
        "cholesky tiles=4 tile_size=512",
        platform=folder / "node.yaml",
        durations=DURATIONS,
        scheduler="dmda",
    )
    explore(scenario, folder / "live.html", over={"tiles": [5]})
    return folder / "live.html"


@pytest.fixture(scope="module")
def noisy_file(tmp_path_factory):
    """A page whose models have noise."""
    path = tmp_path_factory.mktemp("noisy") / "live.html"
    explore(Scenario("cholesky tiles=3", platform="xeon-2c", scheduler="dm"), path, over={})
    return path


@pytest.fixture(params=["browser", "firefox_browser"])
def opened(request):
    """Return a function that opens a page in each browser, and waits for its answer."""
    browser = request.getfixturevalue(request.param)

    def show(path):
        browser.forget()
        browser.open(path.as_uri())
        answered(browser)
        return browser

    yield show
    browser.resize(1280, 720)
    assert browser.problems == []
    assert all(url.startswith(("file:", "blob:", "about:")) for url in browser.requests)


def focus(browser, label):
    """Focus a control by its name, in a section that is opened for it."""
    browser.evaluate(
        f"(() => {{ const found = document.querySelector("
        f"'.live :is(input, select, button)[aria-label={json.dumps(label)}]');"
        " for (let box = found.closest('details'); box; box = box.parentElement.closest('details'))"
        " box.open = true; found.scrollIntoView({ block: 'center' }); found.focus(); })()"
    )


def click(browser, label):
    """Click with the pointer at a control of the panel."""
    focus(browser, label)
    browser.settle()
    control(browser, label)


def settings(browser):
    return answered(browser) and browser.evaluate("tasksimPage.live.settings")


def test_a_slider_asks_and_is_set_back(opened, page_file):
    browser = opened(page_file)
    base = browser.evaluate("tasksimPage.live.answer.numbers.makespan")
    rows = browser.evaluate(
        "[...tasksimPage.live.panel.rows.values()].map(({ scale, slider }) => "
        "[scale.key, slider.ariaLabel, scale.place(tasksimPage.live.settings)])"
    )
    kinds = {key.rsplit(".", 1)[0] for key, _, _ in rows}
    assert kinds == {
        "count", "factor.speed", "factor.kernel", "factor.bandwidth", "factor.latency",
        "factor.memory", "graph", "option.dmda", "overhead",
    }  # fmt: skip
    one_of_each_kind = {row[0].rsplit(".", 1)[0]: row for row in rows}
    for key, label, place in rows if LONG else one_of_each_kind.values():
        focus(browser, label)
        browser.key("ArrowLeft" if place else "ArrowRight")
        answered(browser)
        text = browser.evaluate("tasksimPage.state.live")
        assert text.startswith(f"{key}="), label
        focus(browser, f"{label} as in the scenario")  # curves that are drawn meanwhile move it
        browser.key("Enter")
        answered(browser)
        assert browser.evaluate("tasksimPage.state.live") == "", label
    assert browser.evaluate("tasksimPage.live.answer.numbers.makespan") == base


def test_scheduler_seed_measure_ranks_and_reset(opened, page_file):
    browser = opened(page_file)
    focus(browser, "Scheduler")
    browser.key("ArrowDown")
    chosen = settings(browser)["scheduler"]
    assert chosen != "dmda"
    focus(browser, "Seed")
    browser.evaluate("document.activeElement.select()")
    browser.key("7")
    browser.key("Enter")
    assert settings(browser)["seed"] == "7"
    focus(browser, "Seed")
    browser.key("x")
    browser.key("Enter")
    assert browser.evaluate("document.activeElement.classList.contains('wrong')")
    focus(browser, "Scheduler")
    browser.wait(IDLE)
    focus(browser, "Rank and draw curves by")
    browser.key("ArrowDown")
    browser.wait("tasksimPage.live.measure === 'energy'")
    best = browser.evaluate(
        "(() => { const [bar] = document.querySelectorAll('.bar'); bar.scrollIntoView();"
        " bar.focus(); return bar.querySelector('.name').textContent; })()"
    )
    browser.key("Enter")
    assert settings(browser)["scheduler"] == best
    browser.wait(IDLE)
    browser.evaluate("[...document.querySelectorAll('.bar')].at(-1).focus()")
    browser.key("Enter")
    assert browser.evaluate("document.activeElement.type") == "range"
    browser.evaluate("document.querySelector('.live').scrollTo(0, 0), scrollTo(0, 0)")
    control(browser, "reset")
    assert settings(browser)["scheduler"] == "dmda"
    assert browser.evaluate("document.querySelector('.live .heading button').disabled")


def test_sections_fold_and_the_command_is_copied(opened, page_file):
    browser = opened(page_file)
    folded = "[...document.querySelectorAll('.live details')].map(({ open }) => open)"
    before = browser.evaluate(folded)
    for number in range(len(before)):
        browser.evaluate(
            f"(() => {{ const box = document.querySelectorAll('.live details')[{number}];"
            " for (let b = box.parentElement.closest('details'); b; b = b.parentElement"
            ".closest('details')) b.open = true;"
            " box.querySelector('summary').focus(); })()"
        )
        browser.key("Enter")
        assert browser.evaluate(f"({folded})[{number}]") == (not before[number])
    browser.evaluate(
        "document.querySelectorAll('.live details').forEach((box) => { box.open = true; }),"
        "[...document.querySelectorAll('.live button')].find((b) => b.textContent === 'copy')"
        ".scrollIntoView({ block: 'center' })"
    )
    browser.settle()
    control(browser, "copy")
    browser.wait("tasksimPage.live.panel.status.textContent === 'Copied the command.'")
    shown = browser.evaluate("document.querySelector('.live .command').value")
    assert shown == browser.evaluate("tasksimPage.live.command")
    assert shown.startswith("tasksim simulate cholesky tiles=4 tile_size=512 ")


def test_playing_steps_plays_and_shows_decisions(opened, page_file):
    browser = opened(page_file)
    control(browser, "play")
    browser.wait("tasksimPage.runs[0].decisions")
    control(browser, "To the next event (right arrow)")
    control(browser, "To the next event (right arrow)")
    first = browser.evaluate("tasksimPage.state.play")
    assert first > 0
    control(browser, "To the event before (left arrow)")
    assert browser.evaluate("tasksimPage.state.play") < first
    assert "cost" in browser.evaluate("tasksimPage.playing.places.decision.textContent")
    control(browser, "Play (Space)")
    assert browser.evaluate("tasksimPage.playing.isPlaying")
    browser.key(" ")
    assert not browser.evaluate("tasksimPage.playing.isPlaying")
    browser.evaluate("document.querySelector('.transport [aria-label=Time]').focus()")
    browser.key("ArrowRight")
    for label, key, found in (
        ("Speed", "ArrowDown", "tasksimPage.playing.duration !== 60"),
        ("Run that is played", "ArrowDown", "tasksimPage.playing.run === tasksimPage.runs[1]"),
    ):
        browser.evaluate(f"document.querySelector('.transport [aria-label=\"{label}\"]').focus()")
        browser.key(key)
        browser.wait(found)
    control(browser, "Close (k)")
    assert not browser.evaluate("tasksimPage.playing.isOpen")


def test_noise_is_drawn(opened, noisy_file):
    browser = opened(noisy_file)
    base = answered(browser)["makespan"]
    browser.wait(IDLE)
    browser.evaluate(
        "document.querySelector('.live input[type=checkbox]').scrollIntoView({ block: 'center' })"
    )
    control(browser, " noise", "label")
    found = answered(browser)
    assert found["makespan"] != base
    assert found["command"].endswith("--noise model")
    browser.wait(IDLE)
    control(browser, " noise", "label")
    assert answered(browser)["makespan"] == base


@pytest.mark.parametrize("width", [360, 2560])
def test_narrow_and_wide_windows(opened, page_file, width):
    browser = opened(page_file)
    browser.resize(width, 720)
    browser.settle()
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    focus(browser, "number of cuda")
    browser.key("ArrowLeft")
    answered(browser)
    browser.wait(IDLE)
    click(browser, "number of cuda as in the scenario")
    assert settings(browser)["counts"] == {}
