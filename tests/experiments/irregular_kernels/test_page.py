import base64
import re
import statistics
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from outcomes import with_runs

from experiments.irregular_kernels.durations import duration_distances, shifts, totals_s
from experiments.irregular_kernels.inputs import Input
from experiments.irregular_kernels.page import write_page
from experiments.irregular_kernels.results import (
    GENERAL,
    KERNELS,
    NAIVE,
    SPECIFIC,
    VARIANTS,
)
from experiments.irregular_kernels.summary import summary_text

FIGURES = (
    "makespans",
    "gantt",
    "totals",
    "durations-cube",
    "durations-ellipsoid",
    "spheres",
    "m2l",
)


@pytest.fixture(scope="module")
def page(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_page(results, folder)
    return folder


@pytest.fixture(scope="module")
def few(results):
    """One input, run once, and no spheres."""
    first = results.seen[0]
    return replace(results, seen=(with_runs(first, native=first.native[:1]),), unseen=())


@pytest.fixture(scope="module")
def few_paths(few, tmp_path_factory):
    return write_page(few, tmp_path_factory.mktemp("few"))


@pytest.fixture(scope="module")
def markdown(page):
    return (page / "index.md").read_text().replace("\\", "")


def tables(text):
    """The tables of a Markdown page: lists of rows, the header first."""
    found = re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE)
    rows = [[line[2:-2].split(" | ") for line in part.splitlines()] for part in found]
    return [[row for k, row in enumerate(part) if k != 1] for part in rows]


def table_with(text, *header):
    """The first table whose header begins so."""
    return next(t for t in tables(text) if t[0][: len(header)] == list(header))


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_a_page_is_its_files(page):
    names = ["index.html", "index.md", *(f"{name}.png" for name in FIGURES)]
    assert sorted(path.name for path in page.iterdir()) == sorted(names)


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(few, few_paths, tmp_path):
    again = write_page(few, tmp_path / "new" / "folder")
    assert sorted(again) == sorted((tmp_path / "new" / "folder").iterdir())
    for one, other in zip(few_paths, again, strict=True):
        assert one.name == other.name
        assert one.read_bytes() == other.read_bytes(), one.name


def test_what_there_is_not_is_not_spoken_of(few, few_paths):
    names = ["makespans", "gantt", "totals", "durations-cube", "m2l"]
    assert [path.stem for path in few_paths[2:]] == names
    text = few_paths[1].read_text()
    assert "phere" not in text
    assert "spheres" not in summary_text(few)
    section = text.split("## Durations")[1].split("\n## ")[0]
    assert tables(section)[0][0] == ["kernel", "tasks", *VARIANTS]
    assert "Native:" not in section


def test_the_html_page_needs_nothing_else(page):
    tags = Tags()
    text = (page / "index.html").read_text()
    tags.feed(text)
    images = [attributes for tag, attributes in tags.found if tag == "img"]
    assert len(images) == len(FIGURES)
    for attributes, name in zip(images, FIGURES, strict=True):
        start, data = attributes["src"].split(",")
        assert start == "data:image/png;base64"
        assert base64.b64decode(data) == (page / f"{name}.png").read_bytes()
        assert attributes["alt"]
    assert {tag for tag, _ in tags.found}.isdisjoint({"script", "link", "iframe"})
    assert "http" not in text


def test_the_links_of_the_markdown_page_lead_to_its_figures(page):
    links = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (page / "index.md").read_text())
    assert links == [f"{name}.png" for name in FIGURES]
    for link in links:
        assert (page / link).read_bytes().startswith(b"\x89PNG")


def test_every_input_is_named(results, page, markdown):
    text = (page / "index.html").read_text()
    for outcome in (*results.seen, *results.unseen):
        assert outcome.input.text in text
        assert outcome.input.text in markdown
        assert outcome.input.text in summary_text(results)


def test_makespans_and_signed_errors(results, markdown):
    rows = table_with(markdown, "input", "tasks", "native (ms)")
    assert rows[0][4:] == [c for name in VARIANTS for c in (f"{name} (ms)", "error")]
    for row, outcome in zip(rows[1:], results.seen, strict=True):
        bad = " †" if outcome.input.badly_chosen else ""
        assert row[0] == f"{outcome.input.text}{bad}"
        assert row[1] == f"{len(outcome.native[0]):,}"
        assert row[2] == f"{1e3 * outcome.median_s:.1f}"
        assert row[3] == f"{100 * outcome.spread:.1f} %"
        for name, makespan, error in zip(VARIANTS, row[4::2], row[5::2], strict=True):
            assert makespan == f"{1e3 * outcome.simulated[name].makespan_s:.1f}"
            value = 100 * (outcome.simulated[name].makespan_s / outcome.median_s - 1)
            assert float(error.removesuffix(" %")) == pytest.approx(value, abs=0.051)
            assert error[0] == ("-" if value < -0.05 else "+")


def test_median_and_worst_error_per_distribution(results, markdown):
    rows = table_with(markdown, "", "cube, median")
    assert rows[0] == ["", "cube, median", "worst", "ellipsoid, median", "worst", "all, median",
                       "worst"]  # fmt: skip
    assert [row[0] for row in rows[1:]] == list(VARIANTS)
    for row in rows[1:]:
        sizes = [abs(error) for error in results.errors(row[0])]
        parts = [sizes[:3], sizes[3:], sizes]
        expected = [f(part) for part in parts for f in (statistics.median, max)]
        assert row[1:] == [f"{100 * value:.1f} %" for value in expected]


def test_spheres_have_a_table_of_their_own(results, markdown):
    section = markdown.split("## Spheres")[1].split("\n## ")[0]
    rows = table_with(section, "input")
    assert rows[0][4:] == [f"{GENERAL} (ms)", "error"]
    assert [row[0] for row in rows[1:]] == [o.input.text for o in results.unseen]


def test_totals_are_ratios_to_the_native_run(results, markdown):
    section = markdown.split("## Total time")[1].split("\n## ")[0]
    outcome = results.seen[0]
    rows = tables(section)[0]
    native = totals_s(outcome.median_run)
    assert [row[0] for row in rows[1:]] == [*native, "all"]
    for row in rows[1:-1]:
        assert float(row[1]) == pytest.approx(1e3 * native[row[0]] / 2, rel=1e-3)
        for name, ratio in zip(VARIANTS, row[3:], strict=True):
            total = totals_s(outcome.simulated[name])[row[0]]
            assert ratio == f"{total / native[row[0]]:.3f}"
    naive = sum(totals_s(outcome.simulated[NAIVE]).values()) / sum(native.values())
    assert rows[-1][2:4] == ["100.0 %", f"{naive:.3f}"]


def test_distances_of_starts_and_ends(results, markdown):
    section = markdown.split("## One input")[1].split("\n## ")[0]
    outcome = results.seen[0]
    found = {n: shifts(outcome.median_run, outcome.simulated[n]) for n in VARIANTS}
    others = [run for run in outcome.native if run is not outcome.median_run]
    between = [shifts(outcome.median_run, run) for run in others]
    rows = tables(section)[0]
    assert [row[0] for row in rows[1:]] == list(totals_s(outcome.median_run))
    for row in rows[1:]:
        expected = [value for name in VARIANTS for value in found[name][row[0]]]
        expected += [max(part[row[0]][k] for part in between) for k in (0, 1)]
        assert row[2:] == [f"{value:.2f}" for value in expected]


def test_distances_of_durations(results, markdown):
    section = markdown.split("## Durations")[1].split("\n## ")[0]
    found = tables(section)
    assert len(found) == 2
    for rows, outcome in zip(found, (results.seen[0], results.seen[3]), strict=True):
        assert rows[0] == ["kernel", "tasks", *VARIANTS, "native"]
        for row in rows[1:]:
            for name, distance in zip(VARIANTS, row[2:], strict=False):
                exact = duration_distances(outcome.median_run, outcome.simulated[name])
                assert distance == f"{exact[row[0]]:.2f}"


def test_fits_of_each_set_of_models_the_general_first(results, markdown):
    section = markdown.split("## Fits")[1]
    found = tables(section)
    assert len(found) == 3
    assert found[0][0] == ["kernel", "tasks", "R² adj.", "R² adj., 1/y²", "MLogQ"]
    for rows in found:
        assert [row[0].split(" = ")[0] for row in rows[1:]] == list(KERNELS)
    assert found[0][1] == ["P2M = 1e-05 + 2e-06*NbCells", "100", "0.9800", "0.9000", "0.040"]
    titles = [section.index(t) for t in ("General:", "Cube:", "General, direct parameters only:")]
    assert titles == sorted(titles)


def targets(results):
    """Per target what was found, and whether it is met."""
    rows = summary_text(results).split("\n\n")[2].splitlines()
    cells = [re.split(r"  +", line) for line in rows[1:]]
    return {row[0]: (row[1], row[3]) for row in cells}


def test_targets_that_are_met(results):
    found = targets(results)
    general = 100 * statistics.median(map(abs, results.errors(GENERAL)))
    unseen = 100 * statistics.median(map(abs, results.errors(GENERAL, unseen=True)))
    assert found[f"{GENERAL}: median |error|"] == (f"{general:.1f} %", "yes")
    assert found["spheres (unseen): median |error|"] == (f"{unseen:.1f} %", "yes")
    assert found["MLR general: lowest adjusted R²"] == ("0.9800 (P2M)", "yes")
    assert found["M2L_in without NbInteractions: MLogQ"] == ("0.300 (with: 0.040)", "yes")
    assert {met for _, met in found.values()} == {"yes"}
    assert "6 of 6 targets are met." in summary_text(results).replace("\n", " ")


def scaled(run, factor):
    tasks = run.tasks
    return replace(
        run, tasks=replace(tasks, start_s=factor * tasks.start_s, end_s=factor * tasks.end_s)
    )


def with_errors(outcomes, **factors):
    """The same, but predictions are these times as long, by name of variant."""
    names = {"specific": SPECIFIC, "general": GENERAL, "naive": NAIVE}
    by_variant = {names[name]: factor for name, factor in factors.items()}
    return tuple(
        with_runs(
            o, simulated={n: scaled(o.median_run, by_variant.get(n, 1.0)) for n in o.simulated}
        )
        for o in outcomes
    )


def test_targets_that_are_missed_are_said_to_be(results):
    poor = [replace(fit, rsquared_adj=0.95) if fit.kernel == "L2L" else fit for fit in results.fits]
    missed = replace(
        results,
        seen=with_errors(results.seen, specific=1.04, general=0.94, naive=1.1),
        unseen=with_errors(results.unseen, general=1.09),
        fits=tuple(replace(fit, mlogq=0.1) for fit in poor),
    )
    assert targets(missed) == {
        "MLR specific: median |error|": ("4.0 %", "no"),
        "MLR general: median |error|": ("6.0 %", "no"),
        "spheres (unseen): median |error|": ("9.0 %", "no"),
        "naive: median |error|": ("10.0 % (2 ×)", "no"),
        "MLR general: lowest adjusted R²": ("0.9500 (L2L)", "no"),
        "M2L_in without NbInteractions: MLogQ": ("0.100 (with: 0.100)", "no"),
    }
    assert "0 of 6 targets are met; not met: MLR specific" in " ".join(summary_text(missed).split())


def test_errors_are_compared_before_they_are_rounded(results):
    for factor, met in ((1.0296, "yes"), (1.0304, "no")):
        given = replace(results, seen=with_errors(results.seen, specific=factor))
        assert targets(given)["MLR specific: median |error|"] == ("3.0 %", met)


def test_the_summary_says_how_it_was_done_and_how_calm_the_machine_was(results):
    said = " ".join(summary_text(results).split())
    assert "Machine test-machine, 2 workers, scheduler prio" in said
    assert "interpolation of order 3, 3 interleaved repetitions" in said
    assert "2 minutes of measuring" in said
    spreads = [o.spread for o in (*results.seen, *results.unseen)]
    assert f"{100 * statistics.median(spreads):.1f} % apart in the median" in said
    assert f"{100 * max(spreads):.1f} % at most" in said
    assert "24 runs are kept, 5 were repeated" in said
    assert "and 1 of those kept never had a calm moment (others had 3 %)" in said


def test_lines_of_the_summary_fit_a_terminal(results):
    long = Input("sphere-poles", 100_000_000, 10, 10_000, badly_chosen=True)
    wide = replace(
        results,
        machine="a machine of many words and many cores " * 5,
        seen=tuple(replace(o, input=replace(long, particles=i)) for i, o in
                   enumerate(with_errors(results.seen, naive=99.0))),
    )  # fmt: skip
    assert max(map(len, summary_text(wide).splitlines())) < 100


def test_the_largest_input_that_can_be_seen_is_shown(results, tmp_path, monkeypatch):
    from experiments.irregular_kernels import page

    sizes = [len(o.native[0]) for o in results.seen[:3]]
    assert max(sizes) == sizes[0]
    assert page._shown(results.seen) == [results.seen[0], results.seen[3]]
    monkeypatch.setattr(page, "SHOWN_TASKS", sizes[0])
    assert page._shown(results.seen)[0] is results.seen[1]
    monkeypatch.setattr(page, "SHOWN_TASKS", 1)
    assert page._shown(results.seen[::-1]) == [results.seen[5], results.seen[2]]
