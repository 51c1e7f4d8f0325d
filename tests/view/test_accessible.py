"""Pages and reports checked by axe-core: nothing that keeps people out."""

import os
from pathlib import Path

import pytest

import tasksim
from tasksim.core.library import status, wasm_status
from tasksim.scenario.scenario import Scenario
from tasksim.view.live.page import explore
from tasksim.view.pages import Callout, Heading, Image, LinkLine, Listing, Table, Text, html_page
from tasksim.view.style import new_axes
from tests.view.conftest import make_hybrid

AXE_PATH = os.environ.get("TASKSIM_TEST_AXE", "")
pytestmark = pytest.mark.skipif(
    not AXE_PATH, reason="no axe-core: npm install axe-core@4.14.1, TASKSIM_TEST_AXE=.../axe.min.js"
)
DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
OPEN_SCRIPT = """
(() => {
  for (const opener of document.querySelectorAll(".opener")) opener.click();
  for (const part of document.querySelectorAll("details")) part.open = true;
})()
"""


@pytest.fixture(params=["light", "dark"])
def check(request, browser):
    """Return a function that checks what the browser shows, in the light and in the dark."""
    browser.prefer(request.param)

    def checked():
        browser.settle()
        browser.evaluate(f"(() => {{ {Path(AXE_PATH).read_text()} }}).call(window)")
        return browser.evaluate(
            "axe.run(document).then(({ violations }) => violations"
            ".filter(({ impact }) => impact === 'serious' || impact === 'critical')"
            ".map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => "
            "`${html.slice(0, 200)}: ${failureSummary}`)]))"
        )

    yield checked
    browser.prefer()
    browser.resize(1280, 720)


def test_a_page_of_runs(browser, check, tmp_path):
    run = make_hybrid()
    tasksim.save_page([run, run], tmp_path / "page.html", names=["one", "other"])
    browser.open((tmp_path / "page.html").as_uri())
    assert check() == []
    browser.evaluate(
        "tasksimPage.setQuery('gemm'), tasksimPage.change({ table: 'workers', waits: true }),"
        f"tasksimPage.pin(tasksimPage.runs[1], 3), tasksimPage.toggleKernel('trsm'), {OPEN_SCRIPT}"
    )
    assert check() == []
    browser.resize(360, 740)
    browser.evaluate("tasksimPage.toggleHelp()")
    assert check() == []


@pytest.mark.skipif(
    not (status().available and wasm_status().available), reason="no core for browsers here"
)
def test_a_live_page(browser, check, tmp_path):
    scenario = Scenario("cholesky tiles=5", workers=4, durations=DURATIONS_S, scheduler="lws")
    explore(scenario, tmp_path / "live.html")
    browser.open((tmp_path / "live.html").as_uri())
    browser.wait("tasksimPage.live.shown === tasksimPage.live.settings")
    browser.evaluate(f"tasksimPage.live.follow('count.=2'), {OPEN_SCRIPT}")
    browser.wait("tasksimPage.live.shown === tasksimPage.live.settings")
    browser.wait("!tasksimPage.live.jobs.length && !tasksimPage.live.asked")
    assert check() == []
    browser.resize(360, 740)
    assert check() == []


def test_a_report(browser, check, tmp_path):
    axes = new_axes(None, 2.0)
    axes.plot([1, 2])
    blocks = [
        Heading("Numbers"),
        Text("A text."),
        Table(["kernel", "time"], [["gemm", "1.5 ms"]]),
        Callout("warning", "A model extrapolates", "12 of 40 tasks", "measure larger tiles"),
        Listing(["tasksim simulate cholesky tiles=5 --workers 4 --durations potrf=1 " * 3]),
        LinkLine("Pages:", [("other", "other.html")]),
        Image("curve", axes.figure, "a curve"),
    ]
    (tmp_path / "report.html").write_text(html_page("Report", blocks))
    browser.show((tmp_path / "report.html").as_uri())
    assert check() == []
    browser.resize(360, 740)
    assert check() == []
