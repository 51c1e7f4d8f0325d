"""Report of an experiment: each figure and table beside what the paper reports."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.files import write_bytes, write_text
from tasksim.view.pages import Heading, Image, Listing, Table, Text, html_page, png

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from experiments.frame.experiment import Exhibit, Experiment, Shown
    from tasksim.view.pages import PageBlock

__all__ = ["summary", "write_report"]

VERDICTS: Final = {True: "agrees", False: "differs", None: "not to be told here"}


def write_report(
    experiment: Experiment,
    folder: Path,
    about: Mapping[str, Any],
    found: Mapping[str, Any],
    seconds: Mapping[str, float],
    commands: Sequence[str],
) -> dict[str, Any]:
    """Write tables, figures, results and the page to *folder*; return the results."""
    settings = about["settings"]
    shown = [(exhibit, exhibit.show(found, settings)) for exhibit in experiment.exhibits]
    headline = experiment.headline(found, settings)
    results = {
        **about,
        "seconds": dict(seconds),
        "headline": {"claim": headline.claim, "paper": headline.paper, "here": headline.here},
        "exhibits": [
            # A comparison of NumPy's is no truth value that JSON knows.
            {
                "name": e.name,
                "title": e.title,
                "agrees": None if s.agrees is None else bool(s.agrees),
                "said": s.said,
            }
            for e, s in shown
        ],
        "found": dict(found),
    }
    for name in ("figures", "tables"):
        (folder / name).mkdir(exist_ok=True)
    for exhibit, what in shown:
        if what.figure is not None:
            write_bytes(folder / "figures" / f"{exhibit.name}.png", png(what.figure))
        if what.table is not None:
            write_text(folder / "tables" / f"{exhibit.name}.csv", what.table.to_csv(index=False))
    write_text(folder / "results.json", json.dumps(results, indent=1) + "\n")
    blocks = [*_beginning(experiment, about, seconds, results), *_exhibits(shown)]
    if commands:
        blocks += [Heading("Commands"), Text("What it asked tasksim."), Listing(commands)]
    write_text(folder / "index.html", html_page(experiment.title, blocks))
    return results


def summary(results: Mapping[str, Any]) -> list[str]:
    """Return the lines that a terminal shows of *results*."""
    headline = results["headline"]
    rows = [
        f"{e['name']:12} {VERDICTS[e['agrees']]:20} {e['title']}: {e['said']}"
        for e in results["exhibits"]
    ]
    claim = f"{headline['claim']}: {headline['paper']} in the paper, {headline['here']} here"
    return [*rows, "", claim]


def _beginning(
    experiment: Experiment,
    about: Mapping[str, Any],
    seconds: Mapping[str, float],
    results: Mapping[str, Any],
) -> list[PageBlock]:
    machine, headline = about["machine"], results["headline"]
    agree = sum(e["agrees"] is True for e in results["exhibits"])
    return [
        Text(f"After {experiment.paper}."),
        Text(experiment.question),
        Table(
            ["headline", "the paper", "here"],
            [[headline["claim"], headline["paper"], headline["here"]]],
        ),
        Text(f"{agree} of {len(results['exhibits'])} figures and tables agree."),
        Table(
            ["exhibit", "verdict", "what was found"],
            [
                [_titled(e["name"]), VERDICTS[e["agrees"]], f"{e['title']}: {e['said']}"]
                for e in results["exhibits"]
            ],
        ),
        Text(
            f"Design {about['design']}, begun {about['began']}; {machine['cores']} cores "
            f"({machine['processor']}, {machine['system']}), Python {machine['python']}, tasksim "
            f"{machine['tasksim']}; {sum(seconds.values()) / 60:.0f} minutes in all."
        ),
        Table(
            ["setting", "value"],
            [[name, _value(value)] for name, value in about["settings"].items()],
        ),
    ]  # fmt: skip


def _exhibits(shown: Sequence[tuple[Exhibit, Shown]]) -> list[PageBlock]:
    blocks: list[PageBlock] = []
    for exhibit, what in shown:
        blocks += [
            Heading(f"{_titled(exhibit.name)}: {exhibit.title}"),
            Text(f"The paper: {exhibit.reported}"),
            Text(f"Here ({VERDICTS[what.agrees]}): {what.said}"),
        ]
        if what.figure is not None:
            blocks.append(Image(exhibit.name, what.figure, exhibit.title))
        if what.table is not None:
            blocks.append(_table(what.table.head(what.shown_rows)))
            more = len(what.table) - what.shown_rows
            if more > 0:
                blocks.append(Text(f"{more} more rows are in tables/{exhibit.name}.csv."))
    return blocks


def _table(frame: pd.DataFrame) -> Table:
    rows = [[_value(value) for value in row] for row in frame.itertuples(index=False)]
    return Table([str(name) for name in frame.columns], rows)


def _value(value: Any) -> str:
    """Return a value as text: four digits of a number, elements with commas."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value))
    if isinstance(value, float):
        return (
            "–" if math.isnan(value) else f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
        )
    return str(value)


def _titled(name: str) -> str:
    """Return the name of an exhibit as a text: "Figure 3" of "figure-3"."""
    return name.replace("-", " ").capitalize()
