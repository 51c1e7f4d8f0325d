"""Registry of the figures of studies, built-in or from other packages.

A figure is a :class:`StudyFigure`; another package declares its own by an entry point of the group
``tasksim.study_figures``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.base.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from tasksim.study.report.findings import Findings

__all__ = ["FIGURES", "Drawing", "StudyFigure", "file_name"]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A drawn figure, with its texts and data.

    Parameters
    ----------
    name : str
        Unique name of its files: ``curve-tiles``.
    title : str
    caption : str
        One or two sentences about the content of the figure and its omissions.
    data : pandas.DataFrame
        Content of its CSV file: the drawn data, and those left out for lack of room.
    figure : matplotlib.figure.Figure
    """

    name: str
    title: str
    caption: str
    data: pd.DataFrame
    figure: Figure


@dataclass(frozen=True)
class StudyFigure:
    """A kind of figure of studies.

    Parameters
    ----------
    summary : str
        Description in one line.
    draw : callable
        ``draw(findings)`` returns the drawings: one, one per axis, or none if there is nothing to
        show.

    See Also
    --------
    tasksim.study.report.folder.write_report : Draw all figures of a report.

    Examples
    --------
    >>> nothing = StudyFigure("Nothing.", lambda findings: [])
    >>> FIGURES.add("nothing", nothing) is nothing
    True
    >>> del FIGURES._found["nothing"]  # undo the registration
    """

    summary: str
    draw: Callable[[Findings], Sequence[Drawing]]


def _adopt(name: str, found: Any) -> StudyFigure:
    if not isinstance(found, StudyFigure):
        raise InputError(f"study figure '{name}': {found!r} is not a StudyFigure")
    return found


FIGURES: Registry[StudyFigure] = Registry(
    "study figure",
    "tasksim.study_figures",
    {
        "profile": "tasksim.study.report.figures.schedulers:PROFILE",
        "differences": "tasksim.study.report.figures.schedulers:DIFFERENCES",
        "ranks": "tasksim.study.report.figures.schedulers:RANKS",
        "curves": "tasksim.study.report.figures.curves:CURVES",
        "speedup": "tasksim.study.report.figures.curves:SPEEDUP",
        "scaling": "tasksim.study.report.figures.scaling:SCALING",
        "scalability": "tasksim.study.report.figures.curves:SCALABILITY",
        "pareto": "tasksim.study.report.figures.pareto:PARETO",
        "tradeoffs": "tasksim.study.report.figures.tradeoffs:TRADEOFFS",
        "sensitivity": "tasksim.study.report.figures.sensitivity:SENSITIVITY",
        "sobol": "tasksim.study.report.figures.sensitivity:SOBOL",
        "interactions": "tasksim.study.report.figures.sensitivity:INTERACTIONS",
    },
    _adopt,
)
"""All figures, in the order of a report; a new one needs a module, and a line here or an entry
point of its package."""


def file_name(name: str) -> str:
    """Return *name* as a file name that is safe on all systems and in links.

    >>> file_name("platform.links.pcie/0.bandwidth")
    'platform.links.pcie_0.bandwidth'
    """
    return re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII).lstrip(".") or "axis"
