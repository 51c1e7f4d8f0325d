"""Drawing of a machine: boxes in boxes, with sizes, in the manner of lstopo."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from matplotlib.patches import Rectangle

from tasksim.base.arguments import path_of
from tasksim.base.files import is_file, write_text
from tasksim.platform.description import Platform
from tasksim.view.machineboxes import (
    Box,
    boxes_of_platform,
    boxes_of_topology,
    facts_of,
    folded,
)
from tasksim.view.style import TEXT_POINTS, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["DrawnMachine", "machine_figure", "read_machine", "write_machine_page"]

BOX_COLOURS: Final = {
    "machine": "#ffffff",
    "package": "#eef1f4",
    "domain": "#f8f4ec",
    "memory": "#f3dcd2",
    "cache": "#dbe6f2",
    "core": "#dcebd8",
    "gpu": "#e3daf0",
    "device": "#efeacb",
    "more": "#ffffff",
}
"""Colours of boxes by kind: light, so that the text on them is read in print."""
EDGE_COLOUR: Final = "#5a6570"
PADDING_POINTS: Final = 5.0
LINE_POINTS: Final = 11.0
CHARACTER_POINTS: Final = {
    "normal": 0.62 * TEXT_POINTS["small"],
    "bold": 0.71 * TEXT_POINTS["small"],
}
"""Width of a character, in points, by the weight of the font: that of a wide one, so that no line
leaves its box."""
ASPECT_RATIO: Final = 1.7
"""Width of a drawing over its height at which it aims: that of a screen."""
EMPTY_WEIGHT: Final = 3.0
"""Weight of the empty share of an arrangement against the logarithm of its wrong shape: two rows of
two are better than three and one, and eight in a row are not."""
LARGEST_INCHES: Final = 60.0
"""Maximum width and height of a figure; a larger drawing is made smaller."""
POINTS_PER_INCH: Final = 72.0


@dataclass(frozen=True)
class DrawnMachine:
    """A machine that can be drawn."""

    name: str
    box: Box
    summary: str

    @property
    def facts(self) -> list[tuple[tuple[str, str], int]]:
        """Numbers of packages, memories, cores and co-processors, with both forms of the noun."""
        return facts_of(self.box)


def read_machine(machine: Platform | str | Path, library: str | Path | None = None) -> DrawnMachine:
    """Return the machine of a platform, its name or file, or of a file of hwloc's.

    Raises
    ------
    InputError
        No such platform, or anything wrong with the file.
    """
    if isinstance(machine, Platform):
        return DrawnMachine(machine.name, boxes_of_platform(machine), machine.summary())
    path = path_of(machine, "machine")
    if is_file(path) and path.suffix == ".xml":
        from tasksim.formats.hwloc.machine_fields import machine_fields
        from tasksim.formats.hwloc.topology import read_topology

        topology = read_topology(path)
        summary = machine_fields(topology).summary()
        return DrawnMachine(path.stem, boxes_of_topology(topology), summary)
    from tasksim.formats.platforms import load_platform

    found = load_platform(machine, library)
    return DrawnMachine(found.name, boxes_of_platform(found), found.summary())


def machine_figure(machine: Platform | str | Path, library: str | Path | None = None) -> Figure:
    """Draw a machine as boxes in boxes: memories, caches, cores, co-processors, with sizes.

    Of more than four neighbours that are alike, the first two and the last are drawn.

    Parameters
    ----------
    machine : Platform, str or Path
        A platform, its name or file; or a file of hwloc's (``lstopo --of xml``).
    library : str or Path, optional
        A folder whose ``platforms/`` is searched first.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it.

    Raises
    ------
    InputError
        No such platform, or anything wrong with the file.

    See Also
    --------
    save_figure : Write it to a file.
    import_hwloc : A platform of what hwloc sees.

    Examples
    --------
    >>> import tasksim
    >>> made = tasksim.machine_figure(tasksim.Platform.identical(2))
    >>> [text.get_text() for text in made.axes[0].texts]
    ['identical-2', 'ram', 'no limit', 'cpu0', 'cpu1']
    """
    return drawn(read_machine(machine, library))


def drawn(machine: DrawnMachine) -> Figure:
    """Return the drawing of a machine."""
    place = _placed(machine.box)
    margin = PADDING_POINTS
    width, height = place.width + 2 * margin, place.height + 2 * margin
    scale = min(1.0, LARGEST_INCHES * POINTS_PER_INCH / max(width, height))
    figure = new_figure(scale * height / POINTS_PER_INCH, scale * width / POINTS_PER_INCH)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, width)
    axes.set_ylim(height, 0.0)
    _draw(axes, place, margin, margin, scale)
    return figure


def write_machine_page(machine: DrawnMachine, target: Path, *, force: bool) -> None:
    """Write a page with the drawing of a machine, its summary and its numbers."""
    from tasksim.view.pages import Image, PageBlock, Table, Text, html_page

    blocks: list[PageBlock] = [
        Text(machine.summary),
        Image("machine", drawn(machine), f"The parts of {machine.name} as boxes in boxes"),
    ]
    if machine.facts:
        rows = [[plural, str(count)] for (_, plural), count in machine.facts]
        blocks.append(Table(["boxes", "number"], rows))
    write_text(target, html_page(machine.name, blocks), force=force)


@dataclass
class _Place:
    """A box with its size, and the places of the boxes inside, relative to its corner."""

    box: Box
    lines: list[str]
    width: float = 0.0
    height: float = 0.0
    inside: list[tuple[float, float, _Place]] = field(default_factory=list)


def _placed(box: Box) -> _Place:
    """Return the place of a box: its lines, then memories, boxes inside, and devices."""
    place = _Place(box, [box.label, *box.facts])
    weights = [_weight(box.kind, number) for number in range(len(place.lines))]
    widest = max(
        len(line) * CHARACTER_POINTS[weight]
        for line, weight in zip(place.lines, weights, strict=True)
    )
    place.width, place.height = widest + 2 * PADDING_POINTS, PADDING_POINTS
    place.height += LINE_POINTS * len(place.lines)
    memories = [_placed(one) for one in folded([it for it in box.beside if it.kind == "memory"])]
    devices = [_placed(one) for one in folded([it for it in box.beside if it.kind != "memory"])]
    children = [_placed(one) for one in folded(box.children)]
    for group in (memories, children, devices):
        if group:
            _add_rows(place, group)
    place.height += PADDING_POINTS
    rows: dict[float, list[_Place]] = {}
    for _, y, one in place.inside:
        rows.setdefault(y, []).append(one)
    for row in rows.values():
        # A memory that is alone in its row is as wide as the box around it.
        if len(row) == 1 and row[0].box.kind == "memory":
            row[0].width = place.width - 2 * PADDING_POINTS
    return place


def _add_rows(place: _Place, group: Sequence[_Place]) -> None:
    """Add places to another in as many columns as make the rows nearest to a screen's shape."""
    columns = min(
        range(1, len(group) + 1), key=lambda count: (_distance(_rows(group, count)), -count)
    )
    for row in _rows(group, columns):
        x = PADDING_POINTS
        tallest = max(one.height for one in row)
        for one in row:
            one.height = tallest
            place.inside.append((x, place.height + PADDING_POINTS, one))
            x += one.width + PADDING_POINTS
        place.width = max(place.width, x)
        place.height += tallest + PADDING_POINTS


def _rows(group: Sequence[_Place], columns: int) -> list[Sequence[_Place]]:
    return [group[first : first + columns] for first in range(0, len(group), columns)]


def _distance(rows: Sequence[Sequence[_Place]]) -> float:
    width = max(sum(one.width + PADDING_POINTS for one in row) for row in rows)
    height = sum(max(one.height for one in row) + PADDING_POINTS for row in rows)
    used = sum(
        (one.width + PADDING_POINTS) * (one.height + PADDING_POINTS) for row in rows for one in row
    )
    empty = 1.0 - used / (width * height)
    return abs(math.log(width / height / ASPECT_RATIO)) + EMPTY_WEIGHT * empty


def _weight(kind: str, line: int) -> str:
    return "bold" if line == 0 and kind != "more" else "normal"


def _draw(axes: Axes, place: _Place, x: float, y: float, scale: float) -> None:
    kind = place.box.kind
    style: dict[str, Any] = {
        "facecolor": BOX_COLOURS[kind],
        "edgecolor": EDGE_COLOUR,
        "linewidth": 0.6,
    }
    if kind == "more":
        style |= {"linestyle": (0, (3, 2)), "linewidth": 0.5}
    axes.add_patch(Rectangle((x, y), place.width, place.height, **style))
    for number, line in enumerate(place.lines):
        axes.text(
            x + PADDING_POINTS, y + PADDING_POINTS + LINE_POINTS * (number + 0.5), line,
            fontsize=scale * TEXT_POINTS["small"], fontweight=_weight(kind, number),
            va="center", ha="left", parse_math=False,
        )  # fmt: skip
    for dx, dy, one in place.inside:
        _draw(axes, one, x + dx, y + dy, scale)
