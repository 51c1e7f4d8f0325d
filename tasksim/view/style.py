"""Style of figures, with font sizes, legends, time axes and titles."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from tasksim.base.shortnames import shortened
from tasksim.base.units import duration_text, time_unit
from tasksim.view.colours import PALETTE, kernel_colours

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from tasksim.run.record import Run

__all__ = [
    "PALETTE",
    "RUN_DASHES",
    "TEXT_POINTS",
    "WIDTH_INCHES",
    "fits",
    "fitting",
    "in_unit_of_time",
    "kernel_colours",
    "legend_columns",
    "log_ticks",
    "most_of",
    "name_axes",
    "name_runs",
    "new_axes",
    "new_figure",
    "run_title",
    "time_axis",
    "width_points",
    "worker_label",
    "write_note",
]

WIDTH_INCHES = 11.0
"""Width of a figure: that of a page in landscape, with margins."""
TEXT_POINTS = {"small": 8.0, "normal": 9.0, "title": 10.0}
"""Font sizes in points."""

RUN_DASHES: Final[tuple[Any, ...]] = ("-", (0, (6, 3)), (0, (2, 2)), (0, (8, 3, 2, 3)))
"""Lines of these curves, as on pages: equal curves are both seen, also without colours."""


_WORKER_LETTERS: Final = 24
"""Maximum length of the name of a worker beside its row, which has three quarters of the width."""
_CHARACTER_WIDTH: Final = 0.6
"""Mean width of a character in font sizes."""
_TICK_POINTS: Final = 50.0
"""Least distance of the ticks of a time axis in points: a number of six digits fits between two."""
_HANDLE_POINTS: Final = 45.0
"""Width of a line of a legend beside its text, in points: the sample and the gaps."""


class _RepeatableLayout(ConstrainedLayoutEngine):
    """A layout engine without overlaps and with the same result each time.

    The solver below sums in an order that depends on addresses in memory; differences in the last
    digits would then show in the names inside SVG files.
    """

    def execute(self, fig: Figure) -> Any:
        """Place everything in *fig*, on a grid too fine to see."""
        result = super().execute(fig)
        # A name with two dollar signs is no formula; the numbers of logarithmic axes are one.
        for text in fig.findobj(Text):
            if "$" in text.get_text() and "\\mathdefault" not in text.get_text():
                text.set_parse_math(False)
        for axes in fig.axes:
            box = axes.get_position(original=True)
            x, y, width, height = (round(value, 6) for value in box.bounds)
            axes.set_position((x, y, width, height), which="original")
            axes.set_in_layout(True)
        return result


class _ShownFigure(Figure):
    """A figure that notebooks display, even if they do not know Matplotlib."""

    def _repr_png_(self) -> bytes:
        drawn = BytesIO()
        self.savefig(drawn, format="png", dpi=100.0, metadata={"Software": None})
        return drawn.getvalue()


def new_figure(height_inches: float, width_inches: float = WIDTH_INCHES) -> Figure:
    """Return an empty figure, unknown to pyplot, with a layout without overlaps."""
    figure = _ShownFigure(figsize=(width_inches, height_inches), layout=_RepeatableLayout())
    FigureCanvasAgg(figure)
    return figure


def new_axes(axes: Axes | None, height_inches: float) -> Axes:
    """Return *axes*, or those of a new figure."""
    return new_figure(height_inches).add_subplot() if axes is None else axes


def time_axis(axes: Axes, until_s: float) -> None:
    """Make the x axis one of time from 0 to *until_s*, in a fitting unit."""
    # A little room, so that what ends last is seen to end.
    axes.set_xlim(0.0, until_s * 1.01 if until_s > 0 else 1.0)
    most = int(min(10.0, max(3.0, width_points(axes) / _TICK_POINTS)))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]))
    unit = in_unit_of_time(axes.xaxis, until_s, digits=10)
    axes.set_xlabel(f"time ({unit})", fontsize=TEXT_POINTS["normal"])


def in_unit_of_time(axis: Axis, usual_s: float, digits: int = 6) -> str:
    """Give the ticks of an axis in seconds the unit that fits *usual_s*; return the unit."""
    factor, unit = time_unit(usual_s)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * factor:.{digits}g}"))
    return unit


def log_ticks(low: float, high: float) -> LogLocator:
    """Return the ticks of a logarithmic axis: 1, 2 and 5 in each decade of a few."""
    return LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,))


def name_axes(axes: Axes, *, x: str = "", y: str = "") -> None:
    """Name the axes, with small texts at the ticks and no frame above and to the right."""
    if x:
        axes.set_xlabel(x, fontsize=TEXT_POINTS["normal"])
    if y:
        axes.set_ylabel(y, fontsize=TEXT_POINTS["normal"])
    axes.tick_params(labelsize=TEXT_POINTS["small"])
    axes.spines[["top", "right"]].set_visible(False)


def width_points(axes: Axes) -> float:
    """Return the width of *axes* in points."""
    return axes.get_window_extent().width * 72.0 / axes.figure.dpi


def most_of(amounts: Mapping[str, float], count: int) -> list[str]:
    """Return the *count* names with the largest amounts, in their order in *amounts*.

    >>> most_of({"a": 1.0, "b": 3.0, "c": 2.0}, 2)
    ['b', 'c']
    """
    largest = set(sorted(amounts, key=lambda name: -amounts[name])[:count])
    return [name for name in amounts if name in largest]


def write_note(axes: Axes, text: str) -> None:
    """Write into the middle of empty *axes* why there is nothing."""
    axes.text(
        0.5,
        0.5,
        text,
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=TEXT_POINTS["small"],
        color="#555555",
    )


def fits(axes: Axes, texts: Iterable[str], extra_points: float = 0.0) -> bool:
    """Return whether *texts* in a row, each with some room, are no wider than *axes*."""
    needed = sum(len(t) * _CHARACTER_WIDTH * TEXT_POINTS["small"] + extra_points for t in texts)
    return needed <= width_points(axes)


def legend_columns(texts: Sequence[str], width_points: float) -> int:
    """Return the number of columns in which a legend of *texts* fits into *width_points*."""
    widest = (
        max(map(len, texts), default=0) * _CHARACTER_WIDTH * TEXT_POINTS["small"] + _HANDLE_POINTS
    )
    return max(1, min(len(texts), int(width_points / widest)))


def name_runs(axes: Axes, handles: Sequence[Artist]) -> None:
    """Put a legend with the names of runs above *axes*, where it covers nothing."""
    if not handles:
        return
    points = width_points(axes)
    names = fitting([str(handle.get_label()) for handle in handles], points)
    axes.legend(
        handles=handles,
        labels=names,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=legend_columns(names, points),
        fontsize=TEXT_POINTS["small"],
        frameon=False,
    )


def fitting(texts: Sequence[str], width_points: float) -> list[str]:
    """Return *texts*, those too wide for a legend of *width_points* without their middles."""
    most = max(12, int((width_points - _HANDLE_POINTS) / (_CHARACTER_WIDTH * TEXT_POINTS["small"])))
    head = 2 * most // 3
    return [t if len(t) <= most else f"{t[:head]} … {t[head + 3 - most :]}" for t in texts]


def run_title(run: Run) -> str:
    """Return kind, scheduler, platform and makespan of a run in one line."""
    makespan = duration_text(run.makespan_s)
    return f"{run.kind}, {run.scheduler}, on {run.platform}: {makespan}"


def worker_label(run: Run, row: int) -> str:
    """Return the name of a worker, with its architecture if the name does not contain it.

    The architecture is left out if all workers have the same.
    """
    worker = run.workers[row]
    alike = all(other.architecture == worker.architecture for other in run.workers)
    name = shortened(worker.name, _WORKER_LETTERS)
    if alike or worker.architecture.lower() in worker.name.lower():
        return name
    return f"{name} ({shortened(worker.architecture, _WORKER_LETTERS)})"
