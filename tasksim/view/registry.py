"""Registry of the panels of figures.

Panels are built in, from other packages, or the user's own. A panel is a :class:`Panel`; another
package declares one by an entry point of the group ``tasksim.panels``. This module does not import
Matplotlib, so that the command line knows the names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tasksim.base.errors import InputError
from tasksim.base.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from tasksim.run.record import Run

__all__ = ["PANELS", "Look", "Panel", "PanelPlace"]

PanelPlace: TypeAlias = Literal["per run", "together", "below"]
"""Place of a panel, from the top: one per run and one for all runs, which share the time axis; then
those without a time axis, beside each other."""


@dataclass(frozen=True)
class Look:
    """Look of a figure, for its panels.

    Parameters
    ----------
    until_s : float
        The end of the time axis.
    title : str, default ""
        Title of the run, for the panel of a run that shows it.
    legend : bool, default True
        Whether the panel says which curve is which run.
    arrows : bool, default False
        Whether copies between memories have arrows.
    kernels : tuple of str, default ()
        Kernels of all runs of the figure, which have the same colours in all its panels.
    """

    until_s: float
    title: str = ""
    legend: bool = True
    arrows: bool = False
    kernels: tuple[str, ...] = ()


def _always(run: Run) -> bool:  # noqa: ARG001
    return True


@dataclass(frozen=True)
class Panel:
    """A kind of panel, with its place, its height and its runs.

    Parameters
    ----------
    summary : str
        Summary in one line, for ``tasksim list panels``.
    place : {"per run", "together", "below"}
        One per run, or one for all runs, on the time axis that all share; or in the last row.
    draw : callable
        ``draw(runs, axes, look)`` draws *runs*, exactly one where *place* is ``"per run"``, and
        returns the axes.
    height_inches : callable
        ``height_inches(run)``, of a panel per run; other panels are asked with the first run.
    shows : callable, optional
        ``shows(run)``: whether there is something to draw of the run; default: always.
    needs : str, default ""
        Record that runs must have, in words, for the message if none has it.
    by_default : bool, default False
        Whether figures have it by default.
    more_inches : float, default 0.0
        Additional height of a panel in the last row per further run.
    wide : bool, default False
        Whether a panel without a time axis has a row of its own.

    See Also
    --------
    tasksim.view.figure.figure : Draw panels of runs.

    Examples
    --------
    >>> spent = Panel(
    ...     summary="Makespan of each run.",
    ...     place="below",
    ...     draw=lambda runs, axes, look: axes.bar(range(len(runs)), [r.makespan_s for r in runs]),
    ...     height_inches=lambda run: 2.0,
    ... )
    >>> spent.place
    'below'

    ``PANELS.add("makespans", spent)`` gives it a name; in a module of one's own it is called
    ``MODULE:spent``.
    """

    summary: str
    place: PanelPlace
    draw: Callable[[Sequence[Run], Axes, Look], Any]
    height_inches: Callable[[Run], float]
    shows: Callable[[Run], bool] = _always
    needs: str = ""
    by_default: bool = False
    more_inches: float = 0.0
    wide: bool = False


def _adopt(name: str, found: Any) -> Panel:
    if not isinstance(found, Panel):
        raise InputError(f"panel '{name}': {found!r} is not a tasksim.view.registry.Panel")
    return found


PANELS: Registry[Panel] = Registry(
    "panel",
    "tasksim.panels",
    {
        "gantt": "tasksim.view.gantt:GANTT",
        "iterations": "tasksim.view.iterationpanel:ITERATIONS",
        "utilisation": "tasksim.view.slicepanels:UTILISATION",
        "lackready": "tasksim.view.slicepanels:LACK_OF_READY",
        "memory": "tasksim.view.memorypanels:MEMORY",
        "bandwidth": "tasksim.view.memorypanels:BANDWIDTH",
        "ready": "tasksim.view.curvepanels:READY",
        "submitted": "tasksim.view.curvepanels:SUBMITTED",
        "gflops": "tasksim.view.curvepanels:GFLOPS",
        "power": "tasksim.view.slicepanels:POWER",
        "others": "tasksim.view.curvepanels:OTHERS",
        "kernels": "tasksim.view.kernelpanels:KERNELS",
        "distributions": "tasksim.view.kernelpanels:DISTRIBUTIONS",
        "path": "tasksim.view.pathpanel:PATH",
        "scatter": "tasksim.view.kernelpanels:SCATTER",
        "network": "tasksim.view.networkpanels:NETWORK",
        "messages": "tasksim.view.networkpanels:MESSAGES",
        "nodes": "tasksim.view.networkpanels:NODES",
        "blame": "tasksim.view.blamepanel:BLAME",
    },
    _adopt,
)
"""All panels, in their order in figures; a new one needs a file, and a line here or an entry point
of its package."""
