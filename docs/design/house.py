"""Draw the rooms of tasksim and the imports between them: ``python docs/design/house.py``.

The layers come from the contract of ``lint-imports`` in pyproject.toml, the imports from the code.
The picture, ``house.svg``, also holds both as JSON: a test compares that with the code.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import grimp
import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

PICTURE = Path(__file__).with_name("house.svg")
ROOT = Path(__file__).resolve().parents[2]

MIN_MODULES = (1, 3, 10, 30)
"""Least number of importing modules of each kind of arrow, from thin to thick."""

ARROW_WIDTHS_POINTS = (0.5, 0.9, 1.5, 2.4)
ARROW_GREYS = ("0.66", "0.54", "0.4", "0.15")
DOT_AREAS_POINTS = (20, 34, 56, 90)

ROOM_COLOURS = (
    ("#dfe8f3", "what a user asks", ("cli", "tuning", "study", "reports", "view")),
    ("#f6e7cd", "measure and record", ("recording", "calibration")),
    (
        "#dcebd8",
        "run a scenario",
        ("optimization", "scenario", "selective", "native", "engine", "runtime"),
    ),
    ("#efdde6", "decide, read, store", ("schedulers", "formats", "run")),
    ("#e8e3f1", "tasks and their cost", ("applications", "kernels", "models")),
    ("#ececec", "foundations", ("network", "platform", "graph", "core", "base")),
)
"""Colours of the boxes: a help for the eye, not part of the contract."""


def layers_of_contract() -> list[list[str]]:
    """Return the rooms of each layer, from the top, as the contract of lint-imports lists them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = settings["contracts"]
    layers = [re.findall(r"tasksim\.(\w+)", layer) for layer in contract["layers"]]
    return [rooms for rooms in layers if rooms]


def imports_between_rooms() -> Counter[tuple[str, str]]:
    """Return the number of modules of one room that import another, for each pair of rooms."""
    code = grimp.build_graph("tasksim", cache_dir=None)
    rooms = {room for layer in layers_of_contract() for room in layer}
    importing = Counter()
    for module in code.modules:
        others = {
            name.split(".")[1]
            for name in code.find_modules_directly_imported_by(module)
            if "." in name
        }
        source = module.partition(".")[2].partition(".")[0]
        importing.update(
            (source, target) for target in others & rooms - {source} if source in rooms
        )
    return importing


def described(layers: list[list[str]], imports: Counter[tuple[str, str]]) -> dict[str, Any]:
    """Return what the picture shows: the layers, and for each room the rooms that it imports."""
    targets: dict[str, list[str]] = {room: [] for layer in layers for room in layer}
    for source, target in sorted(imports):
        targets[source].append(target)
    return {"layers": layers, "imports": targets}


def description_in(picture: Path) -> dict[str, Any]:
    """Return the description that is stored in the metadata of *picture*."""
    (text,) = re.findall(r"<dc:description>(.*?)</dc:description>", picture.read_text(), re.DOTALL)
    return json.loads(text)


def draw() -> Figure:
    """Draw the rooms on a diagonal, and an arrow for each import: to the right, then down.

    An arrow leaves the box of the importing room to the right, turns at a dot above the imported
    room, and enters that from above. The dot is what counts: row and column name both rooms.
    """
    layers, imports = layers_of_contract(), imports_between_rooms()
    rooms = [room for layer in layers for room in layer]
    place = {room: number for number, room in enumerate(rooms)}
    colour = {room: group[0] for group in ROOM_COLOURS for room in group[2]}
    step_x, step_y, width, height = 1.0, 0.56, 1.66, 0.40

    figure = Figure(figsize=(12.4, 8.2))
    axes = figure.add_axes((0.005, 0.005, 0.99, 0.99))
    axes.set_axis_off()
    last = len(rooms) - 1
    axes.set_xlim(-0.95, last + 0.95)
    axes.set_ylim(-last * step_y - 0.35, 0.35)

    # Layers as bands, every other one shaded; one layer has two rooms, which may not import
    # each other.
    for number, layer in enumerate(layers):
        if number % 2 == 0:
            top = -place[layer[0]] * step_y + step_y / 2
            bottom = -place[layer[-1]] * step_y - step_y / 2
            axes.axhspan(bottom, top, color="0.965", zorder=0, linewidth=0)

    # Thick arrows lie over thin ones.
    for (source, target), modules in sorted(imports.items(), key=lambda item: (item[1], item[0])):
        rank = sum(modules >= least for least in MIN_MODULES) - 1
        x, y = place[target] * step_x, -place[source] * step_y
        start = place[source] * step_x + width / 2
        end = -place[target] * step_y + height / 2
        line = {
            "color": ARROW_GREYS[rank],
            "linewidth": ARROW_WIDTHS_POINTS[rank],
            "zorder": 1 + rank,
        }
        name = f"import-{source}-{target}"
        axes.plot([start, x, x], [y, y, end + 0.03], solid_joinstyle="round", gid=name, **line)
        axes.scatter(
            [x],
            [y],
            s=DOT_AREAS_POINTS[rank],
            color=ARROW_GREYS[rank],
            zorder=6 + rank,
            edgecolors="white",
            linewidths=0.6,
        )
    for room in rooms:
        if any(target == room for _, target in imports):
            tip = -place[room] * step_y + height / 2
            axes.scatter(
                [place[room] * step_x],
                [tip + 0.035],
                marker="v",
                s=26,
                color="0.2",
                zorder=9,
                linewidths=0,
            )
        corner = (place[room] * step_x - width / 2, -place[room] * step_y - height / 2)
        axes.add_patch(
            FancyBboxPatch(
                corner,
                width,
                height,
                facecolor=colour[room],
                edgecolor="0.35",
                linewidth=0.8,
                zorder=10,
                boxstyle="round,pad=0,rounding_size=0.08",
            )
        )
        axes.text(
            place[room] * step_x,
            -place[room] * step_y - 0.01,
            room,
            ha="center",
            va="center",
            fontsize=9.5,
            zorder=11,
        )
    _draw_legend(axes, -last * step_y)
    return figure


def _draw_legend(axes: Any, bottom: float) -> None:
    """Explain arrows and colours in the empty corner at the lower left."""
    top = bottom + 4.6
    axes.add_patch(Rectangle((-0.95, bottom - 0.35), 5.6, 5.2, facecolor="white", zorder=0.5))
    axes.text(
        -0.6,
        top,
        "An arrow: a room imports another,\nto the right and down to it.",
        fontsize=9.5,
        va="top",
    )
    names = ("1 or 2 modules import it", "3 to 9", "10 to 29", "30 or more")
    for rank, name in enumerate(names):
        y = top - 0.95 - 0.36 * rank
        axes.plot(
            [-0.55, 0.35], [y, y], color=ARROW_GREYS[rank], linewidth=ARROW_WIDTHS_POINTS[rank]
        )
        axes.scatter(
            [0.35],
            [y],
            s=DOT_AREAS_POINTS[rank],
            color=ARROW_GREYS[rank],
            zorder=6,
            edgecolors="white",
            linewidths=0.6,
        )
        axes.text(0.65, y, name, fontsize=9, va="center")
    for number, (colour, name, _) in enumerate(ROOM_COLOURS):
        y = top - 2.55 - 0.34 * number
        axes.add_patch(
            FancyBboxPatch(
                (-0.55, y - 0.1),
                0.6,
                0.2,
                facecolor=colour,
                edgecolor="0.35",
                linewidth=0.6,
                boxstyle="round,pad=0,rounding_size=0.05",
            )
        )
        axes.text(0.25, y, name, fontsize=9, va="center")


def write(path: Path = PICTURE) -> None:
    """Write the picture as SVG, the same bytes for the same code."""
    description = json.dumps(described(layers_of_contract(), imports_between_rooms()))
    style = {
        "svg.hashsalt": "house",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    }
    with mpl.rc_context(style):
        figure = draw()
        FigureCanvasSVG(figure)
        figure.savefig(
            path,
            format=path.suffix[1:],
            **(
                {"metadata": {"Date": None, "Creator": None, "Description": description}}
                if path.suffix == ".svg"
                else {"dpi": 110}
            ),
        )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    write(*(Path(name) for name in sys.argv[1:]))
