"""Style of figures, with colours, font sizes, time axes and names of runs."""

from __future__ import annotations

import colorsys
import zlib
from collections.abc import Iterable
from io import BytesIO
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from tasksim.base.errors import InputError, short
from tasksim.base.units import duration_text, time_unit
from tasksim.run.record import Run
from tasksim.view.names import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    AnyRun = Run | str | Path

__all__ = [
    "KERNEL_COLOURS",
    "PALETTE",
    "RUN_COLOURS",
    "RUN_DASHES",
    "TEXT",
    "WIDTH_INCHES",
    "fits",
    "fitting",
    "given_runs",
    "in_unit_of_time",
    "is_light",
    "kernel_colours",
    "legend_columns",
    "listed_runs",
    "log_ticks",
    "most_of",
    "name_axes",
    "name_runs",
    "new_axes",
    "new_figure",
    "run_names",
    "run_title",
    "time_axis",
    "width_points",
    "worker_label",
    "write_note",
]

WIDTH_INCHES = 11.0
"""Width of a figure: that of a page in landscape, with margins."""
TEXT = {"small": 8.0, "normal": 9.0, "title": 10.0}
"""Font sizes in points."""

KERNEL_COLOURS = {
    # Blue solves and green updates, as in StarVZ, which users know at sight. Panels are amber
    # and not red as there: copies are red, as in ViTE, Dask and StarVZ. All are apart in
    # lightness too, so that they are told apart under protanopia, deuteranopia and tritanopia
    # (tests/view/test_style.py measures it), and none is near the colour of a copy or a wait.
    "potrf": "#f1b014",
    "trsm": "#1954dc",
    "syrk": "#673f7f",
    "gemm": "#238c38",
    "getrf": "#f1b014",
    "trsm_ll": "#1954dc",
    "trsm_ru": "#7fc4e8",
    "geqrt": "#f1b014",
    "gemqrt": "#1954dc",
    "tpqrt": "#673f7f",
    "tpmqrt": "#238c38",
}

# Chosen one by one, each the furthest from those before it to the eye that sees it worst, among
# the hues of M. Okabe and K. Ito, "Color Universal Design" (2008), and others; without reds.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#20603a",
    "#99ddff",
    "#997233",
    "#c3e88d",
    "#080679",
    "#602045",
    "#d48fe6",
    "#4b3fae",
    "#53c683",
    "#472060",
)
"""Colours for everything that has no colour of its own, in order."""

RUN_COLOURS = ("#222222", "#d55e00", "#0072b2", "#009e73", "#cc79a7")
"""Colours of the curves of several runs in one panel, in order; further runs start again."""
RUN_DASHES: Final[tuple[Any, ...]] = ("-", (0, (6, 3)), (0, (2, 2)), (0, (8, 3, 2, 3)))
"""Lines of these curves, as on pages: equal curves are both seen, also without colours."""


_RED_SHARE: Final = 0.11
"""Share of the circle of hues, on each side of red, that is left to the colours of copies."""
_WORKER_LETTERS: Final = 24
"""Maximum length of the name of a worker beside its row, which has three quarters of the width."""
_CHARACTER_WIDTH: Final = 0.6
"""Mean width of a character in font sizes."""
_TICK_POINTS: Final = 50.0
"""Least distance of the ticks of a time axis in points: a number of six digits fits between two."""
_HANDLE_POINTS: Final = 45.0
"""Width of a line of a legend beside its text, in points: the sample and the gaps."""


def kernel_colours(names: Iterable[str]) -> dict[str, str]:
    """Return a colour per kernel, ``"#rrggbb"``, from :data:`KERNEL_COLOURS` if it is there.

    The colour of another kernel depends on its name, so that it is the same in most figures. No
    two kernels have the same colour.

    >>> kernel_colours(["gemm", "p2p"])
    {'gemm': '#238c38', 'p2p': '#602045'}
    """
    wanted = list(dict.fromkeys(names))
    colours = {name: KERNEL_COLOURS[name] for name in wanted if name in KERNEL_COLOURS}
    taken = set(colours.values())
    for name in sorted(set(wanted) - set(colours)):
        colours[name] = _free_colour(name, taken)
        taken.add(colours[name])
    return {name: colours[name] for name in wanted}


def is_light(colour: str) -> bool:
    """Return whether black text is easier to read on the *colour*, ``#rrggbb``, than white text.

    The contrast of both is that of the Web Content Accessibility Guidelines, 2.1.
    """
    parts = [int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return (luminance + 0.05) ** 2 > 1.05 * 0.05


def _free_colour(name: str, taken: set[str]) -> str:
    """Return a colour for the kernel *name* that is not *taken*."""
    code = zlib.crc32(name.encode())
    for step in range(len(PALETTE)):
        colour = PALETTE[(code + step) % len(PALETTE)]
        if colour not in taken:
            return colour
    # The palette is used up: turn the hue by the golden angle, which never comes back.
    turn = code % 1000 / 1000.0
    while True:
        hue = _RED_SHARE + (1.0 - 2.0 * _RED_SHARE) * (turn % 1.0)
        red, green, blue = colorsys.hls_to_rgb(hue, 0.35 + 0.3 * (turn * 7 % 1.0), 0.6)
        colour = f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
        if colour not in taken:
            return colour
        turn += 0.381966


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
    axes.set_xlabel(f"time ({unit})", fontsize=TEXT["normal"])


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
        axes.set_xlabel(x, fontsize=TEXT["normal"])
    if y:
        axes.set_ylabel(y, fontsize=TEXT["normal"])
    axes.tick_params(labelsize=TEXT["small"])
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
        fontsize=TEXT["small"],
        color="#555555",
    )


def fits(axes: Axes, texts: Iterable[str], extra_points: float = 0.0) -> bool:
    """Return whether *texts* in a row, each with some room, are no wider than *axes*."""
    needed = sum(len(t) * _CHARACTER_WIDTH * TEXT["small"] + extra_points for t in texts)
    return needed <= width_points(axes)


def legend_columns(texts: Sequence[str], width_points: float) -> int:
    """Return the number of columns in which a legend of *texts* fits into *width_points*."""
    widest = max(map(len, texts), default=0) * _CHARACTER_WIDTH * TEXT["small"] + _HANDLE_POINTS
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
        fontsize=TEXT["small"],
        frameon=False,
    )


def fitting(texts: Sequence[str], width_points: float) -> list[str]:
    """Return *texts*, those too wide for a legend of *width_points* without their middles."""
    most = max(12, int((width_points - _HANDLE_POINTS) / (_CHARACTER_WIDTH * TEXT["small"])))
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


def listed_runs(runs: Run | Sequence[Run]) -> list[Run]:
    """Return one run, or several, as a list."""
    return [runs] if isinstance(runs, Run) else list(runs)


def given_runs(given: AnyRun | Iterable[AnyRun]) -> list[AnyRun]:
    """Return one run, or several, as a list; paths of runs stay paths."""
    several = [given] if isinstance(given, Run | str | PathLike) else given
    if not isinstance(several, Iterable):
        raise InputError(f"runs: got {short(given)}; legal: a run, or a list of runs")
    return list(several)


def run_names(runs: Sequence[Run]) -> list[str]:
    """Return short names of *runs*, of the facts in which they differ.

    Runs that differ in none are numbered.
    """
    arguments = dict.fromkeys(name for run in runs for name in run.graph_arguments)
    facts = []
    for run in runs:
        given = run.graph_arguments
        values = [f"{name}={given[name]}" if name in given else "" for name in arguments]
        fact = [run.kind, run.scheduler, run.platform, run.graph_name, *values, f"seed {run.seed}"]
        facts.append(fact)
    varying = [k for k, values in enumerate(zip(*facts, strict=True)) if len(set(values)) > 1]
    names = [", ".join(fact[k] for k in varying if fact[k]) or "run" for fact in facts]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({number})" for number, name in enumerate(names, 1)]
