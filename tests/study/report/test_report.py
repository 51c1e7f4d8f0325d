"""Reports: their files, what stands in them, names that are markup, browsers."""

import json
import re
from html.parser import HTMLParser

import chromium
import numpy as np
import pandas as pd
import pytest
from study_tables import frame_of, grid_of, names

from tasksim.base.errors import InputError
from tasksim.study.report.figures.registry import FIGURES, Drawing, StudyFigure
from tasksim.study.report.findings import examine
from tasksim.study.report.folder import write_report
from tasksim.study.report.table import StudyTable
from tasksim.view.style import new_figure

NASTY_TEXT = "<script>alert(1)</script> | `x` $a_b$ ' \""


def full_study():
    """Return a table with all that figures are made of, and failures."""
    rng = np.random.default_rng(1)
    draws = {seed: rng.normal(1.0, 0.02) for seed in range(2)}

    def makespan(scheduler, seed, tiles, count, _):
        alone = tiles**3 / min(count, tiles) * draws[seed] / 1000
        return alone * {"eager": 1.2, "prio": 1.0, NASTY_TEXT: 1.1}[scheduler]

    table = grid_of(
        makespan, ("eager", "prio", NASTY_TEXT), (0, 1), graph__tiles=[4, 8, 16],
        platform__workers__cpu__count=[2, 4, 8],
        platform__links__pcie__bandwidth=["4 GB/s", "16 GB/s"],
    )  # fmt: skip
    frame = table.frame.drop(columns="used")
    frame = frame.assign(lower_bound_s=0.8 * frame["makespan_s"].min(), tasks=100)
    failed = frame.index[:3]
    frame.loc[failed, ["status", "error", "makespan_s"]] = [
        "failed",
        f"{NASTY_TEXT}\nline 2",
        np.nan,
    ]
    return StudyTable.of(frame, planned=120, name=NASTY_TEXT, folder="my study")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report"
    write_report(examine(full_study()), path)
    return path


@pytest.mark.slow
def test_the_files_of_a_report(folder):
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    figures = {
        "profile", "differences", "ranks", "curve-graph.tiles",
        "curve-platform.workers.cpu.count", "curve-platform.links.pcie.bandwidth",
        "speedup-platform.workers.cpu.count", "scalability-graph.tiles", "sensitivity",
        "heat-graph.tiles-platform.workers.cpu.count",
    }  # fmt: skip
    tables = {"cells", "tournament", "best", "failed", "interactions"}
    assert {"index.html", "report.md", "report.json"} <= found
    assert found >= {f"figures/{name}.png" for name in figures}
    assert found >= {f"data/{name}.csv" for name in figures | tables}


def test_data_are_read_back(folder):
    cells = pd.read_csv(folder / "data/cells.csv")
    assert len(cells) == 108
    tournament = pd.read_csv(folder / "data/tournament.csv")
    assert tournament["scheduler"].tolist() == ["prio", NASTY_TEXT, "eager"]
    assert tournament["mean_ratio"].tolist() == pytest.approx([1.0, 1.1, 1.2])
    for path in (folder / "data").iterdir():
        assert len(pd.read_csv(path))


def test_the_findings_as_json(folder):
    found = json.loads((folder / "report.json").read_text())
    assert found["verdict"]["winner"] == "prio"
    assert found["cells"] == {
        "planned": 120, "done": 105, "failed": 3, "unusable": 0, "missing": 12,
    }  # fmt: skip


class Tags(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]


def test_names_are_shown_and_not_obeyed(folder):
    page = (folder / "index.html").read_text()
    parsed = Tags()
    parsed.feed(page)
    assert "script" not in parsed.tags
    assert "alert(1)&lt;/script&gt; | <code>x</code> $a_b$ &#x27; &quot; line 2" in page
    text = (folder / "report.md").read_text()
    assert "<script>" not in re.sub(r"^(```+)\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_a_page_needs_nothing_else_and_its_links_lead_somewhere(folder):
    parsed = Tags()
    parsed.feed((folder / "index.html").read_text())
    links = [link for link in parsed.links if not link.startswith("data:image/png;base64,")]
    assert len(links) > 10
    assert [link for link in links if not (folder / link).is_file()] == []
    named = re.findall(r"\]\(([^)]*)\)", (folder / "report.md").read_text())
    assert [
        link for link in named if link.endswith(("png", "csv")) and not (folder / link).is_file()
    ] == []


def test_cells_are_shown_by_a_command(folder):
    text = (folder / "report.md").read_text()
    assert re.search(
        r"^tasksim study show 'my study' c\d+ +# eager: 1.200 times", text, re.MULTILINE
    )


@pytest.mark.slow
def test_the_same_table_gives_the_same_report(folder, tmp_path):
    write_report(examine(full_study()), tmp_path / "again")
    for path in folder.rglob("*"):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "again" / path.relative_to(folder)).read_bytes()


def test_only_a_report_is_replaced(folder, tmp_path):
    findings = examine(StudyTable.of(frame_of({"a": [1.0]})))
    with pytest.raises(InputError, match="exists"):
        write_report(findings, folder)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").touch()
    with pytest.raises(InputError, match="not a folder of a study's report"):
        write_report(findings, tmp_path / "home", force=True)
    write_report(findings, tmp_path / "report")
    write_report(findings, tmp_path / "report", force=True)


@pytest.mark.parametrize(
    "frame",
    [
        frame_of({"a": [1.0]}),
        frame_of({"a": [None], "b": [None]}),
        frame_of({"a": [1.0, None], "b": [None, 1.0]}, names(2)),
        frame_of({"a": [1.0, 1.0], "b": [1.0, 1.0]}, names(2)),
        frame_of({"a": [1.0], "b": [2.0]}).drop(columns="error"),
    ],
    ids=["one cell", "all failed", "never met", "identical", "no errors"],
)
def test_little_tables_have_reports(frame, tmp_path):
    findings = examine(StudyTable.of(frame))
    assert findings.verdict.kind in ("unknown", "no winner")
    files = write_report(findings, tmp_path / "report")
    assert "index.html" in files
    assert "data/cells.csv" in files


def test_sobol_indices_are_drawn_where_asked(tmp_path):
    table = grid_of(lambda _, __, a, b: 1.0 + a * b, graph__a=[1, 2], graph__b=[1, 3])
    files = write_report(examine(table, sobol=True), tmp_path / "report")
    assert "figures/sobol.png" in files


def test_a_figure_of_another_package_is_drawn(tmp_path, monkeypatch):
    def draw(findings):
        figure = new_figure(2.0)
        figure.add_subplot().plot([1, 2])
        cells = pd.DataFrame({"cells": [len(findings.table.frame)]})
        # The name of a table of the report is taken.
        return [Drawing("cells", "Cells", "How many there are.", cells, figure)]

    monkeypatch.setitem(FIGURES._found, "cells", StudyFigure("How many cells.", draw))
    files = write_report(examine(StudyTable.of(frame_of({"a": [1.0]}))), tmp_path / "report")
    assert "figures/cells-2.png" in files
    assert pd.read_csv(tmp_path / "report/data/cells-2.csv")["cells"].tolist() == [1]
    assert "## More" in (tmp_path / "report/report.md").read_text()


def test_every_figure_says_what_it_shows():
    assert all(figure.summary.endswith(".") for figure in FIGURES.items().values())


@pytest.mark.slow
@pytest.mark.skipif(not chromium.PROGRAM, reason=chromium.MISSING)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_the_page(folder, tmp_path, scheme):
    browser = chromium.Browser(tmp_path / "profile")
    try:
        browser.prefer(scheme)
        browser.call("Page.navigate", url=(folder / "index.html").as_uri())
        browser.wait("document.readyState === 'complete' && document.querySelector('h1')")
        assert browser.evaluate("document.querySelector('h1').textContent") == f"Study {NASTY_TEXT}"
        broken = "[...document.images].filter((i) => !i.naturalWidth).length"
        assert browser.evaluate(broken) == 0
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
        colour = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (colour == "rgb(255, 255, 255)") == (scheme == "light")
        assert browser.problems == []
        assert all(url.startswith(("file:", "data:", "about:")) for url in browser.requests)
    finally:
        browser.close()
