"""Live pages in a real browser: their core, sliders, addresses, and what they refuse."""

import math
import shlex

import chromium
import pytest

import tasksim
from tasksim.cli.main import cli
from tasksim.core.library import status, wasm_status
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.scenario.scenario import Scenario
from tasksim.view.live.page import explore

pytestmark = pytest.mark.skipif(
    not (status().available and wasm_status().available), reason="no core for browsers here"
)
SHOWN_SCRIPT = """
(() => {
  const { live, runs } = tasksimPage, [run] = runs;
  return { makespan: live.answer.numbers.makespan, command: live.command,
    names: runs.map((r) => r.name),
    starts: Array.from({ length: run.count }, (_, task) => run.start(task)),
    workers: Array.from(run.worker), hash: location.hash };
})()
"""


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens a live page in the browser."""

    def show(page, hash_=""):
        browser.forget()
        path = tmp_path / "live.html"
        page.save(path, force=True)
        browser.open(f"{path.as_uri()}{hash_}")
        return browser

    yield show
    assert browser.problems == []
    assert all(url.startswith(("file:", "blob:", "about:")) for url in browser.requests)


def answered(browser):
    """Wait until the page shows what it was asked; return what it shows."""
    browser.wait("tasksimPage.live.shown === tasksimPage.live.settings")
    return browser.evaluate(SHOWN_SCRIPT)


def asked(browser, text):
    """Ask for settings as the address of the page has them."""
    browser.evaluate(f"tasksimPage.live.follow({text!r})")
    return answered(browser)


def simulated(command, folder):
    """Return the run of a command."""
    words = [*shlex.split(command)[1:], "-o", str(folder), "--force"]
    cli.main(words, standalone_mode=False)
    return tasksim.load_run(folder)


def test_answers_are_those_of_the_commands(opened, hybrid, hybrid_page, tmp_path, capsys):
    browser = opened(hybrid_page)
    base = answered(browser)
    assert base["makespan"] == hybrid.solve().makespan_s
    assert base["names"] == ["what if", "base"]
    for text in (
        "count.cuda=1\nfactor.bandwidth.*=0.25",
        "factor.speed.cuda=0.5\nfactor.memory.gpu0=0.3\nscheduler=dmdas\nseed=3",
        "factor.kernel.gemm=4\nfactor.latency.down=10\noverhead.push=50\nscheduler=ws\nseed=5",
        "count.cpu=1\nscheduler=heteroprio\noverhead.submission=100",
        "factor.bandwidth.host=0.1\nscheduler=modular-heft\noption.modular-heft.beta=4",
    ):
        found = asked(browser, text)
        run = simulated(found["command"], tmp_path / "run")
        assert found["makespan"] == run.makespan_s, found["command"]
        assert found["starts"] == run.tasks.start_s.tolist()
        assert found["workers"] == run.tasks.worker.tolist()


def test_firefox_gives_the_same_answers(firefox_browser, hybrid, hybrid_page, tmp_path):
    hybrid_page.save(tmp_path / "live.html")
    firefox_browser.forget()
    firefox_browser.open((tmp_path / "live.html").as_uri())
    assert answered(firefox_browser)["makespan"] == hybrid.solve().makespan_s
    firefox_browser.evaluate("document.querySelector('[aria-label=\"number of cuda\"]').focus()")
    firefox_browser.key("ArrowLeft")
    found = answered(firefox_browser)
    assert "--set platform.workers.cuda.count=" in found["command"]
    run = simulated(found["command"], tmp_path / "run")
    assert found["makespan"] == run.makespan_s != hybrid.solve().makespan_s
    assert found["starts"] == run.tasks.start_s.tolist()
    assert firefox_browser.problems == []


def test_a_slider_asks_and_the_address_keeps_it(opened, hybrid_page):
    browser = opened(hybrid_page)
    before = answered(browser)
    browser.evaluate("document.querySelector('[aria-label=\"number of cuda\"]').focus()")
    browser.key("ArrowLeft")
    after = answered(browser)
    assert after["makespan"] != before["makespan"]
    browser.wait("location.hash.includes('live=')")
    hash_ = browser.evaluate("location.hash")
    again = opened(hybrid_page, hash_)
    assert answered(again)["makespan"] == after["makespan"]
    again.evaluate("document.querySelector('.live .heading button').click()")
    assert answered(again)["makespan"] == before["makespan"]


def test_idle_time_ranks_schedulers_and_sliders(opened, hybrid, hybrid_page):
    browser = opened(hybrid_page)
    answered(browser)
    browser.wait("!tasksimPage.live.jobs.length && !tasksimPage.live.asked")
    rivals = browser.evaluate("Object.fromEntries(tasksimPage.live.rivals)")
    assert rivals["eager"] == hybrid.vary(scheduler="eager").solve().makespan_s
    bars = "[...document.querySelectorAll('.bars .name')].map((name) => name.textContent)"
    assert min(rivals, key=rivals.get) == browser.evaluate(bars)[0]
    assert any(name.startswith("speed of ") for name in browser.evaluate(bars))
    assert browser.evaluate("document.querySelectorAll('.curve polyline').length") > 8


def test_a_new_question_ends_the_one_under_way(opened, hybrid, hybrid_page):
    browser = opened(hybrid_page)
    answered(browser)
    for factor in ("0.5", "2", "4"):
        browser.evaluate(f"tasksimPage.live.follow('factor.speed.cpu={factor}')")
    expected = hybrid.with_changes(["platform.arch.cpu.speed=x4"]).solve().makespan_s
    assert answered(browser)["makespan"] == expected


def test_while_a_slider_is_dragged_answers_that_are_soon_there_are_shown(opened, hybrid_page):
    browser = opened(hybrid_page)
    answered(browser)
    shown = browser.evaluate(
        """(async () => {
          const { live } = tasksimPage, shown = [];
          live.panel.compare = () => shown.push(live.shown.factors['speed.cpu']);
          live.answer.took = 1;
          for (const factor of ['0.5', '2', '4']) live.follow(`factor.speed.cpu=${factor}`);
          while (live.shown !== live.settings) await new Promise((done) => setTimeout(done, 5));
          delete live.panel.compare;
          return shown;
        })()"""
    )
    assert shown == ["0.5", "4"]


def test_a_slider_of_the_graph_shows_another_graph(opened, hybrid, hybrid_page, tmp_path, capsys):
    browser = opened(hybrid_page)
    answered(browser)
    browser.evaluate("tasksimPage.change({ colour: 'difference' })")
    browser.evaluate("tasksimPage.pin(tasksimPage.runs[0], 7)")
    browser.evaluate("document.querySelector('[aria-label=tiles]').focus()")
    browser.key("ArrowRight")
    found = answered(browser)
    assert "tiles=8" in found["command"]
    run = simulated(found["command"], tmp_path / "run")
    assert found["makespan"] == run.makespan_s
    assert found["starts"] == run.tasks.start_s.tolist()
    assert len(found["starts"]) == 120
    # Tasks of different graphs are not compared, and none stays pinned.
    assert browser.evaluate("tasksimPage.state.pin") is None
    assert browser.evaluate("tasksimPage.runs[0].reference === undefined")
    assert browser.evaluate("tasksimPage.controls.colour.value") == "kernel"
    assert browser.evaluate("tasksimPage.live.panel.compared.textContent").startswith(
        "Another graph than that of the base, which has 56 tasks"
    )
    browser.evaluate("tasksimPage.pin(tasksimPage.runs[0], 100)")
    browser.wait("location.hash.includes('graph.tiles') && location.hash.includes('pin=0%3A100')")
    hash_ = browser.evaluate("location.hash")
    assert answered(opened(hybrid_page, hash_))["makespan"] == found["makespan"]
    assert browser.evaluate("tasksimPage.state.pin.task") == 100


def test_tasks_of_larger_tiles_are_compared(opened, hybrid_page):
    browser = opened(hybrid_page)
    answered(browser)
    browser.evaluate("tasksimPage.pin(tasksimPage.runs[0], 7)")
    asked(browser, "graph.tile_size=256")
    assert browser.evaluate("tasksimPage.state.pin.task") == 7
    assert browser.evaluate("tasksimPage.runs[0].reference === tasksimPage.runs[1]")
    assert browser.evaluate("tasksimPage.live.panel.compared.textContent") == ""


def test_curves_and_ranks_have_sliders_of_the_graph(opened, hybrid, hybrid_page):
    browser = opened(hybrid_page)
    answered(browser)
    browser.wait("!tasksimPage.live.jobs.length && !tasksimPage.live.asked")
    curve = browser.evaluate("Object.fromEntries(tasksimPage.live.curves.get('graph.tiles'))")
    texts = browser.evaluate("tasksimPage.live.scales.get('graph.tiles').texts")
    for place, makespan in curve.items():
        assert makespan == hybrid.vary({"graph.tiles": texts[int(place)]}).solve().makespan_s
    assert "tiles" in browser.evaluate(
        "[...document.querySelectorAll('.bars .name')].map((name) => name.textContent)"
    )


def test_a_graph_that_the_page_does_not_hold_is_refused(opened):
    scenario = Scenario("cholesky tiles=3", platform="xeon-2c")
    browser = opened(explore(scenario, over={"tile_size": [64, 128]}))
    answered(browser)
    browser.evaluate("tasksimPage.live.follow('graph.tile_size=64')")
    browser.wait("tasksimPage.live.panel.status.textContent.startsWith('No answer: potrf on cpu')")
    assert browser.evaluate("tasksimPage.live.command") is None
    answered_again = asked(browser, "graph.tile_size=128")
    expected = scenario.vary({"graph.tile_size": 128}).solve().makespan_s
    assert answered_again["makespan"] == expected


def test_hostile_names_are_text(opened):
    evil = "</script><img src=x onerror=alert(1)>"
    builder = GraphBuilder("evil")
    data = builder.handle(evil, 8)
    for _ in range(3):
        builder.insert(evil, RW(data))
    browser = opened(explore(Scenario(builder.build(), workers=2, durations={evil: 1.0})))
    found = answered(browser)
    assert found["makespan"] == 3.0
    assert found["command"] is None
    assert browser.evaluate("document.querySelectorAll('img').length") == 0


def test_narrow_windows_need_no_scrolling_sideways(opened, hybrid_page):
    browser = opened(hybrid_page)
    answered(browser)
    try:
        for width in (360, 800, 2560):
            browser.resize(width, 700)
            browser.settle()
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        browser.resize(1280, 720)


def test_without_webassembly_the_recording_is_shown(opened, hybrid_page, browser):
    if not isinstance(browser, chromium.Browser):
        pytest.skip("only Chromium runs a script before a page's own")
    script = browser.call(
        "Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.WebAssembly"
    )
    try:
        opened(hybrid_page)
        browser.wait("tasksimPage.live.fallback")
        text = browser.evaluate("document.querySelector('.banner').textContent")
        assert text == "Only the recording is shown: this browser has no WebAssembly."
        assert browser.evaluate("tasksimPage.runs.map((run) => run.name)") == ["base"]
        assert browser.evaluate("document.querySelector('.live')") is None
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])


def test_playing_asks_for_decisions_only_while_it_is_open(opened, hybrid_page, tmp_path):
    browser = opened(hybrid_page)
    answered(browser)
    assert browser.evaluate("tasksimPage.runs[0].decisions") is None
    browser.evaluate("tasksimPage.playing.open()")
    browser.wait("tasksimPage.runs[0].decisions")
    for text in ("seed=1", "factor.speed.cuda=0.5\nscheduler=dmdas", "scheduler=lws"):
        found = asked(browser, text)
        words = [*shlex.split(found["command"])[1:], "--decisions", "-o", str(tmp_path / "run")]
        cli.main([*words, "--force"], standalone_mode=False)
        recorded = tasksim.load_run(tmp_path / "run").decisions
        for name in ("task", "step", "worker", "queue", "position"):
            column = f"Array.from(tasksimPage.runs[0].decisions.{name})"
            assert browser.evaluate(column) == getattr(recorded, name).tolist(), (text, name)
        costs = "Array.from(tasksimPage.runs[0].columns.decision_cost, (cost) => cost || 0)"
        expected = recorded.cost_s[recorded.step <= 1]
        assert browser.evaluate(costs) == [0.0 if math.isnan(cost) else cost for cost in expected]
    browser.evaluate("tasksimPage.playing.close()")
    asked(browser, "seed=2")
    assert browser.evaluate("tasksimPage.runs[0].decisions") is None
