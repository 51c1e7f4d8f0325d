"""Headings, sentences, tables and figures of a report's page, in order."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.units import duration_text
from tasksim.study.report.axes import value_text
from tasksim.study.report.evidence import CONFIDENCE_LEVEL
from tasksim.study.report.figures.look import facet_text
from tasksim.view.pages import Callout, Heading, Image, LinkLine, Listing, Table, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tasksim.study.report.best import BestChoice
    from tasksim.study.report.figures.registry import Drawing
    from tasksim.study.report.findings import Findings
    from tasksim.study.report.table import StudyTable
    from tasksim.view.pages import PageBlock

__all__ = [
    "BEST_HEADER",
    "CHANCES_HEADER",
    "DRAWN_HEADER",
    "MAX_TABLE_ROWS",
    "best_cells",
    "chance_rows",
    "chances_left_out",
    "drawn_rows",
    "notes",
    "report_blocks",
    "show_command",
    "standing_rows",
]


MAX_TABLE_ROWS: Final = 30
"""Maximum number of rows of a table on the page, which then fits on a screen; the CSV files have
all rows."""
MAX_ERROR_CHARACTERS: Final = 160
"""Longest error in a table, in characters; the CSV files have the whole text."""
FIGURE_HEADINGS: Final = {
    "profile": "Schedulers",
    "differences": "Schedulers",
    "ranks": "Schedulers",
    "curves": "Curves",
    "speedup": "Speed-up",
    "scaling": "Speed-up",
    "scalability": "Scalability",
    "pareto": "Energy",
    "sensitivity": "What moves the makespan",
    "sobol": "What moves the makespan",
    "interactions": "Interactions",
}
"""Headings of the built-in figures, by name; figures of other packages have "More"."""

BEST_HEADER: Final = (
    "question", "best", "makespan", "next", "longer (%)", "interval (%)", "how surely",
)  # fmt: skip


def report_blocks(
    findings: Findings,
    drawings: Mapping[str, Sequence[Drawing]],
    data: Mapping[str, str],
    gantts: Sequence[PageBlock] = (),
) -> list[PageBlock]:
    """Return the blocks of the page on *findings*.

    Parameters
    ----------
    findings : Findings
    drawings : mapping of str to sequence of Drawing
        Drawings by name of the figure, in the order of the page.
    data : mapping of str to str
        Path of the CSV file of each drawing and table, by name.
    gantts : sequence of blocks
        Gantt charts of two cells, if they are available.
    """
    drawn: dict[str, list[Drawing]] = {}
    for name, found in drawings.items():
        drawn.setdefault(FIGURE_HEADINGS.get(name, "More"), []).extend(found)

    def section(title: str, before: Iterable[PageBlock] = ()) -> list[PageBlock]:
        blocks = [*before]
        for drawing in drawn.get(title, []):
            source = (drawing.name, data[drawing.name])
            blocks.append(Image(drawing.name, drawing.figure, drawing.title))
            blocks.append(LinkLine(f"{drawing.caption} Data:", [source]))
        return [Heading(title), *blocks] if blocks else []

    return [
        *_opening(findings),
        *section("Schedulers", _tournament(findings, data)),
        *_best(findings, data),
        *section("Curves"),
        *section("Speed-up"),
        *section("Scalability"),
        *section("Energy"),
        *section("What moves the makespan", _sensitivity(findings)),
        *section("Interactions"),
        *section("More"),
        *_cells(findings, gantts),
        *_failures(findings.table, data),
        Heading("Data"),
        LinkLine("Each table and figure as CSV:", [(name, data[name]) for name in data]),
    ]


def notes(table: StudyTable) -> list[str]:
    """Return notes on cells that are missing, failed or unusable."""
    found = []
    if table.missing:
        found.append(
            f"the study is not finished: {table.missing:,} of {table.planned:,} cells are not "
            f"computed yet, and the report is about the others{_least(table)}"
        )
    if len(table.failed):
        counts = table.failed["status"].value_counts()
        which = ", ".join(f"{count} {status}" for status, count in counts.items())
        found.append(
            f"{len(table.failed):,} of {len(table.frame):,} cells have no result ({which})"
        )
    if len(table.unusable):
        cells = ", ".join(table.unusable["cell"].head(3))
        found.append(
            f"{len(table.unusable):,} cells are done but have no makespan above 0, such as "
            f"{cells}; they are left out"
        )
    return found


def _least(table: StudyTable) -> str:
    """Return the values of axes with the fewest computed cells, in words."""
    found = []
    for axis in table.axes:
        counts = table.frame[axis.name].value_counts().reindex(list(axis.values))
        if counts.min() < counts.max():
            value = value_text(axis.values[int(counts.to_numpy().argmin())])
            found.append(f"{axis.name} {value} ({counts.min():,}; others up to {counts.max():,})")
    return f"; fewest cells have {', '.join(found)}" if found else ""


def show_command(table: StudyTable, cell: str) -> str:
    """Return the command that shows a cell."""
    return f"tasksim study show {shlex.quote(table.folder or 'STUDY')} {shlex.quote(cell)}"


# The opening


def _opening(findings: Findings) -> list[PageBlock]:
    table, verdict = findings.table, findings.verdict
    axes = []
    for axis in table.axes:
        aliases = f" (and with it {', '.join(axis.aliases)})" if axis.aliases else ""
        axes.append(f"{axis.name}{aliases}: {_values_text(axis.values)}")
    return [
        Text(f"{len(table.frame):,} cells. {'; '.join(axes) or 'Nothing varies'}."),
        Callout("verdict", verdict.text.removesuffix("."), "", ""),
        *(Callout("warning", note[0].upper() + note[1:], "", "") for note in notes(table)),
    ]


def _values_text(values: Sequence[Any]) -> str:
    shown = [value_text(value) for value in values]
    if len(shown) > 12:
        shown = [*shown[:5], "…", *shown[-2:]]
        return f"{', '.join(shown)} ({len(values)} values)"
    return ", ".join(shown)


# Schedulers


def _tournament(findings: Findings, data: Mapping[str, str]) -> list[PageBlock]:
    pairs = findings.pairs
    if not findings.standings:
        return []
    left_out = (
        f" {pairs.incomplete:,} groups in which one has none are left out."
        if pairs.incomplete
        else ""
    )
    absent = f" Without any makespan: {', '.join(pairs.absent)}." if pairs.absent else ""
    return [
        Text(
            f"The schedulers are compared in {len(pairs):,} groups of the same graph, platform, "
            f"settings and seed, in which all have a makespan.{left_out}{absent} Ratios are the "
            "geometric mean over all groups, and the largest; 'leads' is the share of resampled "
            "studies in which the scheduler has the lowest mean. Intervals hold for configurations "
            "like those of the study: ten bandwidths of one graph say less than ten graphs."
        ),
        Table(*standing_rows(findings)),
        *_chances(findings),
        *_rank_text(findings),
        *_links("tournament", data),
    ]


def _chances(findings: Findings) -> list[PageBlock]:
    if not findings.chances:
        return []
    text = (
        "The probability that the first scheduler is faster than the second in a run like these, "
        "with the same seeds: the share of the groups, with equal weights of all configurations, "
        f"and its {100 * CONFIDENCE_LEVEL:.0f} % interval. The differences are below."
    )
    rest = [Text(said)] if (said := chances_left_out(findings)) else []
    return [Text(text), Table(CHANCES_HEADER, chance_rows(findings)), *rest]


def standing_rows(findings: Findings) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return the header and the rows of the tournament's table, as texts.

    The columns of the best known makespans are there if any is known.
    """
    known = any(standing.mean_known_ratio is not None for standing in findings.standings)
    header = (
        *("scheduler", "wins", "ties", "mean / best", "worst / best"),
        *(("mean / best known", "worst / best known") if known else ()),
        *("mean / bound", "worst / bound", "leads"),
    )
    rows = []
    for standing in findings.standings:
        lead = findings.verdict.leading.get(standing.scheduler)
        to_known = (standing.mean_known_ratio, standing.worst_known_ratio) if known else ()
        to_bound = standing.mean_bound_ratio, standing.worst_bound_ratio
        rows.append(
            [
                standing.scheduler,
                f"{standing.wins:,}",
                f"{standing.ties:,}",
                f"{standing.mean_ratio:.4f}",
                f"{standing.worst_ratio:.3f}",
                *(_number(ratio, ".3f") for ratio in (*to_known, *to_bound)),
                "–" if lead is None else f"{100 * lead:.1f} %",
            ]
        )
    return header, rows


def _rank_text(findings: Findings) -> list[PageBlock]:
    ranks = findings.ranks
    if ranks is None or ranks.p_value is None:
        return []
    what = (
        "the schedulers' ranks differ"
        if ranks.differ
        else f"at {100 * CONFIDENCE_LEVEL:.0f} % the ranks may be chance"
    )
    p = "< 1e-16" if ranks.p_value < 1e-16 else f"= {ranks.p_value:.2g}"
    return [
        Text(
            f"Friedman's test over {ranks.blocks} blocks: chi² = {ranks.chi_square:.3f}, Iman and "
            f"Davenport's F = {ranks.f:.3f}, p {p}: {what}. Nemenyi's critical difference is "
            f"{ranks.critical_difference:.3f} ranks."
        )
    ]


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


# Best settings


def _best(findings: Findings, data: Mapping[str, str]) -> list[PageBlock]:
    found = findings.best
    if not found or all(best.surely == "the only choice" for best in found):
        return []
    return [
        Heading("Best settings"),
        Text(
            "The choice with the lowest mean over seeds, for each question. It is 'sure' if its "
            f"{100 * CONFIDENCE_LEVEL:.0f} % intervals over seeds show that it beats each other "
            "choice."
            + (
                f" The first {MAX_TABLE_ROWS} of {len(found):,}."
                if len(found) > MAX_TABLE_ROWS
                else ""
            )
        ),
        Table(BEST_HEADER, [best_cells(choice) for choice in found[:MAX_TABLE_ROWS]]),
        *_links("best", data),
    ]


def best_cells(best: BestChoice) -> list[str]:
    """Return a row of the table of best settings, as texts."""
    ends = (
        "–"
        if best.low is None or best.high is None
        else f"{100 * best.low + 0.0:.3g} to {100 * best.high:.3g}"
    )
    return [
        facet_text(best.question),
        facet_text(best.choice),
        duration_text(best.makespan_s),
        "–" if best.next_choice is None else facet_text(best.next_choice),
        "–" if best.margin is None else f"{100 * best.margin:.3g}",
        ends,
        best.surely,
    ]


# Sensitivity of the makespan


def _sensitivity(findings: Findings) -> list[PageBlock]:
    found = findings.sensitivities
    if not found:
        return []
    header = ("axis", "mean swing", "largest", "slices", "elasticity", "smallest", "largest")
    rows = [
        [
            one.axis,
            f"{one.swing:.4f}",
            f"{one.largest_swing:.3f}",
            f"{one.slices:,}",
            *(_number(value, "+.3f") for value in (one.elasticity, one.low, one.high)),
        ]
        for one in found
    ]
    blocks: list[PageBlock] = [
        Text(
            "Swing: ratio of the longest to the shortest makespan along an axis, all else equal. "
            "Elasticity: growth of the makespan in percent if the setting grows by one percent."
        ),
        Table(header, rows),
    ]
    if findings.sobol_drawn:
        blocks += [
            Text(
                "Sobol' indices of ln(makespan) over the ranges of the settings: "
                f"{findings.sobol_drawn[0].simulated:,} points drawn between the study's values "
                "and simulated without noise, with 95 % intervals."
            ),
            Table(DRAWN_HEADER, drawn_rows(findings)),
        ]
    return blocks


# Cells


def _cells(findings: Findings, gantts: Sequence[PageBlock]) -> list[PageBlock]:
    """Return the worst cell of each scheduler, with the commands that show these runs."""
    table = findings.table
    worst = [standing for standing in findings.standings if standing.worst_ratio > 1.0]
    if not worst and not gantts:
        return []
    commands = [
        f"{show_command(table, s.worst_cell)}   # {_one_line(s.scheduler)}: "
        f"{s.worst_ratio:.3f} times the best of its group"
        for s in worst
    ]
    said = Text("These commands simulate the cell again in which each scheduler is worst:")
    listed: list[PageBlock] = [said, Listing(commands)] if worst else []
    return [Heading("Cells to look at"), *listed, *gantts]


def _failures(table: StudyTable, data: Mapping[str, str]) -> list[PageBlock]:
    failed = table.failed
    if not len(failed):
        return []
    header = ("cell", "question", "scheduler", "seed", "status", "error")
    asked = ["graph", "platform"]
    asked += [axis.name for axis in table.configuration if axis.name not in asked]
    rows = [
        [
            str(row["cell"]),
            facet_text({name: row[name] for name in asked}),
            *(_short(value_text(row[name])) for name in header[2:]),
        ]
        for _, row in failed.head(MAX_TABLE_ROWS).iterrows()
    ]
    more = (
        f" The first {MAX_TABLE_ROWS} of {len(failed):,}." if len(failed) > MAX_TABLE_ROWS else ""
    )
    return [
        Heading("Failed cells"),
        Text(f"Cells without a result, with their errors.{more}"),
        Table(header, rows),
        Listing([show_command(table, str(failed["cell"].iloc[0]))]),
        *_links("failed", data),
    ]


def _short(text: str) -> str:
    text = _one_line(text)
    return text if len(text) <= MAX_ERROR_CHARACTERS else f"{text[: MAX_ERROR_CHARACTERS - 1]}…"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _links(name: str, data: Mapping[str, str]) -> list[PageBlock]:
    return [LinkLine("Data:", [(name, data[name])])] if name in data else []


DRAWN_HEADER: Final = (
    "axis, drawn", "variance, alone", "interval", "with interactions", "interval",
)  # fmt: skip


def drawn_rows(findings: Findings) -> list[list[str]]:
    """Return the rows of the table as texts, in percent; none if the indices were not requested."""
    return [
        [
            index.axis,
            f"{100 * index.first:.1f} %",
            f"{100 * index.first_low:.1f} to {100 * index.first_high:.1f} %",
            f"{100 * index.total:.1f} %",
            f"{100 * index.total_low:.1f} to {100 * index.total_high:.1f} %",
        ]
        for index in findings.sobol_drawn or ()
    ]


CHANCES_HEADER: Final = ("pair", "probability", "interval", "the other is longer by", "interval")
MAX_CHANCE_ROWS: Final = 30
"""Maximum number of rows of the table: eight schedulers have 28 pairs; report.json has all."""


def chance_rows(findings: Findings) -> list[list[str]]:
    """Return the rows of the table of chances, with the differences, as texts."""
    known = {frozenset((d.faster, d.slower)): d for d in findings.verdict.differences}
    rows = []
    for chance in findings.chances[:MAX_CHANCE_ROWS]:
        difference = known.get(frozenset((chance.first, chance.second)))
        sign = 1.0 if difference is None or difference.faster == chance.first else -1.0
        ends = () if difference is None else (difference.low, difference.high)
        low, high = sorted(100.0 * _turned(end, sign) for end in ends) if ends else (None, None)
        mean = None if difference is None else 100.0 * _turned(difference.relative, sign)
        rows.append(
            [
                f"{chance.first} beats {chance.second}",
                f"{100 * chance.probability:.1f} %",
                f"{100 * chance.low:.1f} to {100 * chance.high:.1f} %",
                "–" if mean is None else f"{mean:+.2f} %",
                "–" if low is None else f"{low:+.2f} to {high:+.2f} %",
            ]
        )
    return rows


def chances_left_out(findings: Findings) -> str:
    """Return where the pairs are that :func:`chance_rows` leaves out; empty if there are none."""
    count = len(findings.chances) - MAX_CHANCE_ROWS
    return (
        f"{count} more pairs, of closer chances, are in report.json (--json)." if count > 0 else ""
    )


def _turned(relative: float, sign: float) -> float:
    """Return a relative difference, seen from the other scheduler if *sign* is negative."""
    return relative if sign > 0 else 1.0 / (1.0 + relative) - 1.0
