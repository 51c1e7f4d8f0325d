"""Experiment that redoes a paper: its settings, its steps, and what it shows of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from experiments.frame.work import Work

__all__ = ["DESIGNS", "Exhibit", "Experiment", "Headline", "Setting", "Shown", "Step"]

DESIGNS: Final = ("quick", "full")
"""Sizes of an experiment: ten minutes on two cores, to see how it works; an hour or more."""


@dataclass(frozen=True)
class Setting:
    """A setting of an experiment: an option of its command.

    Attributes
    ----------
    name
        With underscores; the option has hyphens.
    text
        What it is, for ``--help``.
    quick, full
        Its values in the two designs: whole numbers, numbers, texts, or tuples of one of these,
        which the command line takes with commas.
    choices
        Legal values, or legal elements; empty: all of the type.
    least
        Smallest legal number.
    """

    name: str
    text: str
    quick: Any
    full: Any
    choices: Sequence[str] = ()
    least: float | None = None

    def default(self, design: str) -> Any:
        """Return the value in a design, "quick" or "full"."""
        return self.quick if design == "quick" else self.full


@dataclass(frozen=True)
class Step:
    """A step of an experiment: made once, and kept.

    Attributes
    ----------
    name
        Of its file and folder, and for ``work[name]``.
    title
        What is shown while it goes on.
    make
        Returns what it found, as plain data that JSON takes.
    minutes
        About how long it takes in the quick design and in the full one, on two cores.
    """

    name: str
    title: str
    make: Callable[[Work], Any]
    minutes: tuple[float, float] = (0.1, 0.1)


@dataclass(frozen=True)
class Shown:
    """Result of an experiment for one figure or table of its paper.

    Attributes
    ----------
    said
        In a sentence or two, with numbers; where it differs from the paper, why.
    agrees
        Whether it is as in the paper; None: nothing here can tell.
    figure
        Drawn as in the paper: the same axes, series and scales.
    table
        The numbers of the figure, in columns with names and units, written as CSV.
    shown_rows
        Rows of the table that the report shows; the file has all.
    """

    said: str
    agrees: bool | None = None
    figure: Figure | None = None
    table: pd.DataFrame | None = None
    shown_rows: int = 20


@dataclass(frozen=True)
class Exhibit:
    """A figure or a table of the paper.

    Attributes
    ----------
    name
        "figure-3", "table-1"; of its files.
    title
        What it shows.
    reported
        What the paper reports, in our words, with its numbers.
    show
        Makes ours from what the steps found (name of a step -> what it returned) and the settings.
    """

    name: str
    title: str
    reported: str
    show: Callable[[Mapping[str, Any], Mapping[str, Any]], Shown]


@dataclass(frozen=True)
class Headline:
    """The one thing that a paper is known for, and what was found here."""

    claim: str
    paper: str
    here: str


@dataclass(frozen=True)
class Experiment:
    """A paper, redone by one command.

    Attributes
    ----------
    name
        Of its package in ``experiments``.
    title
        Of its report.
    paper
        Authors, title, where it appeared.
    question
        What the paper asks, and how it is asked here: the text of ``--help``, and the beginning of
        the report.
    headline
        From what the steps found and the settings.
    examples
        More commands for ``--help``: a variation that a reader may want.
    """

    name: str
    title: str
    paper: str
    question: str
    settings: Sequence[Setting]
    steps: Sequence[Step]
    exhibits: Sequence[Exhibit]
    headline: Callable[[Mapping[str, Any], Mapping[str, Any]], Headline]
    examples: Sequence[str] = ()

    def values(self, design: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of each setting: as *given*, else that of the design."""
        return {s.name: given.get(s.name, s.default(design)) for s in self.settings}
