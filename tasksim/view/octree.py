"""Drawings of the octree under a fast multipole method: cells, groups, interaction lists, passes.

Figures 1 to 3 of E. Agullo, B. Bramas, O. Coulaud, L. Stanisic, S. Thibault, "Modeling irregular
kernels of task-based codes: illustration with the fast multipole method" (Inria research report
9036, 2017), for any particles, in two and three dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.patches import Patch, Rectangle

from tasksim.base.arguments import one_of
from tasksim.base.errors import InputError, unknown
from tasksim.graph.apps.parameters import Parameter
from tasksim.graph.octree.interactions import m2l_pairs, neighbour_pairs
from tasksim.graph.octree.morton import decode
from tasksim.graph.octree.particles import DISTRIBUTIONS, all_positions
from tasksim.graph.octree.tree import tree_of_particles
from tasksim.view.colours import PALETTE
from tasksim.view.style import TEXT_POINTS, new_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tasksim.base.arrays import Floats, Ints
    from tasksim.graph.octree.interactions import CellPairs
    from tasksim.graph.octree.tree import CellTree

__all__ = ["OCTREE_PANELS", "Octree", "drawn", "octree_figure", "octree_settings", "read_octree"]

MAX_DRAWN_LEAVES: Final = {2: 4096, 3: 512}
"""Number of leaves, by dimension, beyond which a drawing is a blot."""
MAX_DRAWN_PARTICLES: Final = 5000
"""Number of particles beyond which their dots cover the cells."""
MAX_NUMBERED_LEAVES: Final = 300
"""Number of leaves up to which the Morton indices are written into them."""
CELL, PARTNER, NEIGHBOUR = "#d03030", "#f5a742", "#f7dfae"
EDGE, EMPTY = "#5a6570", "#e4e7ea"
FRAMES: Final = ("#0072b2", "#20803a")
"""Colours of the frames of groups, of leaves and of their parents, as in the paper."""
OPERATOR_COLOURS: Final = {
    "P2M": "#997233", "M2M": "#0072b2", "M2L": "#20603a", "P2P": "#602045", "L2L": "#0072b2",
    "L2P": "#997233",
}  # fmt: skip

_COUNT: Final = Parameter("particles", int, minimum=1)
_PARAMETERS: Final = (
    Parameter("particles", str, required=True),
    Parameter("height", int, required=True, minimum=1, maximum=21),
    Parameter("group_size", int, 8, minimum=1),
    Parameter("distribution", str, "cube", choices=DISTRIBUTIONS),
    Parameter("dimension", int, 2, minimum=2, maximum=3),
    Parameter("seed", int, 0, minimum=0),
    Parameter("cell", int, minimum=0),
)
_LEGAL: Final = {"particles": "how many, or a CSV file of their positions"}


@dataclass(frozen=True, eq=False)
class Octree:
    """Octree of particles, cut into groups, with one cell whose interactions are of interest.

    Attributes
    ----------
    positions
        float64 [particles, dimension], in the unit box.
    cell
        Morton index of a leaf that has particles.
    """

    positions: Floats
    tree: CellTree
    group_size: int
    cell: int

    @property
    def last(self) -> int:
        """The level of the leaves."""
        return self.tree.height - 1

    @property
    def leaves(self) -> Ints:
        """The Morton indices of the leaves with particles."""
        return self.tree.levels[-1]

    @cached_property
    def partners(self) -> Ints:
        """The Morton indices of the interaction list of the cell."""
        return self.partners_in(m2l_pairs(self.tree, self.last))

    def partners_in(self, pairs: CellPairs) -> Ints:
        """Return the Morton indices of the leaves that some *pairs* of leaves join to the cell."""
        number = int(np.searchsorted(self.leaves, self.cell))
        partners: Ints = self.leaves[pairs.source[pairs.target == number]]
        return partners

    def facts(self) -> dict[str, Any]:
        """Return numbers of cells, groups and interactions as plain data."""
        pairs = m2l_pairs(self.tree, self.last)
        number = int(np.searchsorted(self.leaves, self.cell))
        group = number // self.group_size
        targets, sources = pairs.target // self.group_size, pairs.source // self.group_size
        per_leaf = np.bincount(pairs.target, minlength=len(self.leaves))
        inside = np.bincount(targets[targets == sources], minlength=targets.max(initial=0) + 1)
        of_group = targets == group
        return {
            "dimension": self.tree.dimension,
            "particles": len(self.positions),
            "height": self.tree.height,
            "group_size": self.group_size,
            "cells": [len(cells) for cells in self.tree.levels],
            "groups": [self.tree.groups(k, self.group_size) for k in range(self.tree.height)],
            "neighbours": len(neighbour_pairs(self.tree).target),
            "interactions": {
                "total": len(pairs.target),
                "least": int(per_leaf.min()),
                "most": int(per_leaf.max()),
                "bound": 6**self.tree.dimension - 3**self.tree.dimension,
                "inside_groups": inside.tolist(),
            },
            "cell": {
                "index": self.cell,
                "group": group,
                "interactions": int(per_leaf[number]),
                "list": self.partners.tolist(),
                "in_its_group": int(((pairs.target == number) & (sources == group)).sum()),
                "of_its_group_inside": int((of_group & (sources == group)).sum()),
                "of_its_group_outside": int((of_group & (sources != group)).sum()),
                "groups_of_the_list": np.unique(sources[pairs.target == number]).tolist(),
            },
        }


def read_octree(
    particles: int | str | Path | Floats,
    height: int | str,
    group_size: int | str = 8,
    *,
    distribution: str = "cube",
    dimension: int | str = 2,
    seed: int | str = 0,
    cell: int | str | None = None,
) -> Octree:
    """Return an octree that can be drawn; numbers may be texts, see :func:`octree_figure`."""
    given = {
        "height": height, "group_size": group_size, "distribution": distribution,
        "dimension": dimension, "seed": seed, "cell": cell,
    }  # fmt: skip
    values: dict[str, Any] = {
        parameter.name: parameter.convert(given[parameter.name], "octree")
        for parameter in _PARAMETERS
        if given.get(parameter.name) is not None
    }
    if isinstance(particles, np.ndarray):
        positions = np.asarray(particles, dtype=np.float64)
    elif isinstance(particles, Path) or str(particles).endswith(".csv"):
        positions = _read_positions(Path(str(particles)))
    else:
        count: Any = _COUNT.convert(particles, "octree")
        drawn_from = values["distribution"], count, values["dimension"], values["seed"]
        positions = all_positions(*drawn_from)
    tree, _ = tree_of_particles(positions, values["height"])
    leaves = tree.levels[-1]
    if cell is None:
        # In the middle of the curve, most cells have others on all sides.
        values["cell"] = int(leaves[len(leaves) // 2])
    elif values["cell"] not in leaves:
        near = int(leaves[np.abs(leaves - values["cell"]).argmin()])
        raise InputError(
            f"octree: cell: got {cell}, which holds no particle; legal: the Morton index of a "
            f"leaf with particles, such as {near}"
        )
    return Octree(positions, tree, values["group_size"], values["cell"])


def octree_figure(
    particles: int | str | Path | Floats,
    height: int,
    group_size: int = 8,
    *,
    distribution: str = "cube",
    dimension: int = 2,
    seed: int = 0,
    cell: int | None = None,
    panels: Sequence[str] = ("tree", "groups"),
) -> Figure:
    """Draw the octree (in two dimensions: the quadtree) of a fast multipole method.

    Parameters
    ----------
    particles : int, str, Path or ndarray
        How many are drawn from the *distribution*; or their positions in the unit box, shape
        (particles, 2 or 3), or a CSV file of these with the columns x, y and perhaps z.
    height : int
        Levels of the tree, the box and the leaves included.
    group_size : int, default 8
        Cells per group.
    distribution : str, default "cube"
        Distribution of drawn particles, as for the generator ``fmm``.
    dimension : int, default 2
        Dimension of drawn particles: 2 or 3.
    seed : int, default 0
        Seed of drawn particles.
    cell : int, optional
        Morton index of the leaf whose interaction list is shown. By default one in the middle of
        the curve.
    panels : sequence of str, default ("tree", "groups")
        ``tree``: the cells in space, and the hierarchy of levels. ``groups``: the leaves with
        their groups, and the interaction list of the cell. ``passes``: the steps of the method.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it.

    Raises
    ------
    InputError
        If an argument is illegal, a panel unknown, or there are too many leaves to draw.

    See Also
    --------
    save_figure : Write it to a file.
    generate : The task graph over such a tree, ``fmm``.

    Examples
    --------
    >>> import tasksim
    >>> made = tasksim.octree_figure(200, height=4, panels=["groups"])
    >>> made.axes[0].get_title(loc="left")
    'groups of 8 cells; interaction list of cell 31'
    """
    octree = read_octree(
        particles, height, group_size,
        distribution=distribution, dimension=dimension, seed=seed, cell=cell,
    )  # fmt: skip
    return drawn(octree, panels)


def drawn(octree: Octree, panels: Sequence[str]) -> Figure:
    """Return the drawing of an octree."""
    names = [one_of(name, OCTREE_PANELS, "panels") for name in panels]
    if not names:
        raise InputError(f"panels: got none; legal: some of {', '.join(OCTREE_PANELS)}")
    most, leaves = MAX_DRAWN_LEAVES[octree.tree.dimension], len(octree.leaves)
    if leaves > most:
        raise InputError(
            f"{leaves} leaves are too many to be drawn; legal: up to {most} in "
            f"{octree.tree.dimension}-D: give fewer particles or a smaller height"
        )
    heights = [4.4 if name == "passes" else 5.6 for name in names]
    figure = new_figure(sum(heights))
    parts: Any = figure.subfigures(len(names), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, name in zip(parts, names, strict=True):
        OCTREE_PANELS[name](part, octree)
    return figure


def octree_settings(words: Sequence[str]) -> dict[str, str]:
    """Return the arguments of :func:`read_octree` that *words* such as ``height=4`` give.

    Raises
    ------
    InputError
        If one is not ``KEY=VALUE``, unknown or given twice, or a required one is missing.
    """
    known, given = [parameter.name for parameter in _PARAMETERS], dict[str, str]()
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            legal = f"legal: KEY=VALUE with KEY one of {', '.join(known)}"
            raise InputError(f"octree: got '{word}'; {legal}")
        if key not in known:
            raise unknown("setting", key, known, "octree")
        if key in given:
            raise InputError(f"octree: {key} is given twice: {given[key]} and {value}")
        given[key] = value
    for parameter in _PARAMETERS:
        if parameter.required and parameter.name not in given:
            legal = f"give {parameter.name}=VALUE, {_LEGAL.get(parameter.name, parameter.legal)}"
            raise InputError(f"octree: {parameter.name} is missing; {legal}")
    return given


def _read_positions(path: Path) -> Floats:
    """Return the positions in a CSV file with the columns x, y and perhaps z."""
    from tasksim.base.documents.csv_table import read_csv_table

    table = read_csv_table(path)
    header = table.header.fields
    if header not in (("x", "y"), ("x", "y", "z")):
        raise table.header.error(f"got the columns '{','.join(header)}'; legal: x,y or x,y,z")
    rows = [
        [row.number(text, axis) for text, axis in zip(row.fields, header, strict=True)]
        for row in table.body
    ]
    for row, values in zip(table.body, rows, strict=True):
        for axis, value in zip(header, values, strict=True):
            if value > 1:
                raise row.error(f"{axis}: got {value:g}; legal: from 0 to 1, the unit box")
    if not rows:
        raise table.header.error("there are no particles below the header")
    return np.array(rows)


# The tree: cells in space, and their hierarchy


def _draw_tree(figure: Any, octree: Octree) -> None:
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.25))
    tree = octree.tree
    if tree.dimension == 2:
        axes = left.subplots()
        _square_axes(axes)
        for level, cells in enumerate(tree.levels):
            side = 0.5**level
            for corner in side * decode(cells, 2):
                axes.add_patch(Rectangle(tuple(corner), side, side, fill=False, edgecolor=EDGE,
                                         linewidth=max(0.3, 2.0 - 0.5 * level)))  # fmt: skip
    else:
        axes = _cube_axes(left)
        corners = 0.5 ** (tree.height - 1) * decode(octree.leaves, 3)
        _draw_cubes(axes, corners, 0.5 ** (tree.height - 1), "#dbe6f2", 0.12)
    if len(octree.positions) <= MAX_DRAWN_PARTICLES:
        axes.plot(*octree.positions.T, ".", color="#222222", markersize=2.0)
    kind = "quadtree" if tree.dimension == 2 else "octree"
    axes.set_title(f"{kind} of height {tree.height}: {len(octree.leaves)} leaves with particles",
                   fontsize=TEXT_POINTS["title"], loc="left")  # fmt: skip
    _draw_hierarchy(right.subplots(), octree)


def _draw_hierarchy(axes: Axes, octree: Octree) -> None:
    """Draw the levels below one another; a line leads from each cell to its parent."""
    tree = octree.tree
    leaves = len(tree.levels[-1])
    places = [(np.arange(leaves) + 0.5) / leaves]
    for level in range(tree.height - 1, 0, -1):
        parents = tree.parents(level)
        sums = np.bincount(parents, weights=places[0])
        places.insert(0, sums / np.bincount(parents))
    size = float(np.clip(160.0 / leaves, 1.0, 6.0))
    for level, x in enumerate(places):
        if level > 0:
            above = places[level - 1][tree.parents(level)]
            axes.plot([x, above], [np.full(len(x), -level), np.full(len(x), 1 - level)],
                      color="#b9c2ca", linewidth=0.6, zorder=1)  # fmt: skip
        axes.plot(x, np.full(len(x), -level), "o", color=FRAMES[0], markersize=size, zorder=2)
        axes.text(-0.03, -level, f"level {level}: {len(x)}", ha="right", va="center",
                  fontsize=TEXT_POINTS["small"])  # fmt: skip
    axes.set_ylim(-len(places) + 0.5, 0.6)
    axes.set_xlim(-0.18, 1.0)
    axes.set_title("hierarchy: cells by level", fontsize=TEXT_POINTS["title"], loc="left")
    axes.set_axis_off()


# Groups and the interaction list of a cell


def _draw_groups(figure: Any, octree: Octree) -> None:
    tree, dimension = octree.tree, octree.tree.dimension
    side, leaves = 0.5 ** (tree.height - 1), octree.leaves
    group = np.arange(len(leaves)) // octree.group_size
    near = np.setdiff1d(octree.partners_in(neighbour_pairs(tree)), [octree.cell])
    title = f"groups of {octree.group_size} cells; interaction list of cell {octree.cell}"
    handles = [
        Patch(facecolor=CELL, label=f"cell {octree.cell}"),
        Patch(facecolor=PARTNER, label=f"its interaction list: {len(octree.partners)} cells"),
        Patch(facecolor=NEIGHBOUR, label=f"neighbours: {len(near)}"),
    ]
    if dimension == 3:
        solid, lists = figure.subfigures(1, 2)
        axes = _cube_axes(solid)
        for number in range(group[-1] + 1):
            corners = side * decode(leaves[group == number], 3)
            _draw_cubes(axes, corners, side, PALETTE[number % len(PALETTE)], 0.35)
        axes.set_title(f"{group[-1] + 1} groups", fontsize=TEXT_POINTS["title"], loc="left")
        axes = _cube_axes(lists)
        for cells, colour, alpha in (
            (octree.partners, PARTNER, 0.30), (near, NEIGHBOUR, 0.35), ([octree.cell], CELL, 1.0),
        ):  # fmt: skip
            chosen = np.asarray(cells, dtype=np.int64)
            if len(chosen):
                _draw_cubes(axes, side * decode(chosen, 3), side, colour, alpha)
        axes.set_title(title, fontsize=TEXT_POINTS["title"], loc="left")
        axes.legend(handles=handles, fontsize=TEXT_POINTS["small"], loc="upper left", frameon=False)
        return
    axes = figure.subplots()
    _square_axes(axes)
    colours = dict.fromkeys(octree.partners.tolist(), PARTNER) | dict.fromkeys(
        near.tolist(), NEIGHBOUR
    )
    colours[octree.cell] = CELL
    every = np.arange(1 << (2 * (tree.height - 1)))
    here = set(leaves.tolist())
    for index, corner in zip(every.tolist(), (side * decode(every, 2)).tolist(), strict=True):
        colour = colours.get(index, "#ffffff" if index in here else EMPTY)
        axes.add_patch(Rectangle(tuple(corner), side, side, facecolor=colour, edgecolor="#c4ccd3",
                                 linewidth=0.5))  # fmt: skip
        if len(leaves) <= MAX_NUMBERED_LEAVES:
            axes.text(corner[0] + side / 2, corner[1] + side / 2, str(index), ha="center",
                      va="center", fontsize=TEXT_POINTS["small"] * min(1.0, 12 * side),
                      color="#222222" if index in here else "#9aa4ad")  # fmt: skip
    for above, colour in enumerate(FRAMES):
        level = tree.height - 1 - above
        if level < 1:
            continue
        _frame_groups(axes, tree.levels[level], octree.group_size, level, colour, above)
        handles.append(Patch(fill=False, edgecolor=colour, linestyle="--",
                             label=f"groups of level {level}"))  # fmt: skip
    handles.append(Patch(facecolor=EMPTY, label="no particles"))
    axes.set_title(title, fontsize=TEXT_POINTS["title"], loc="left")
    axes.legend(handles=handles, fontsize=TEXT_POINTS["small"], frameon=False, loc="center left",
                bbox_to_anchor=(1.02, 0.5))  # fmt: skip


def _frame_groups(
    axes: Axes, cells: Ints, group_size: int, level: int, colour: str, inset: int
) -> None:
    """Draw the borders between each group and what is not of it, dashed."""
    side = 0.5**level
    group = dict(zip(cells.tolist(), (np.arange(len(cells)) // group_size).tolist(), strict=True))
    places = {tuple(place): index for place, index in
              zip(decode(cells, 2).tolist(), cells.tolist(), strict=True)}  # fmt: skip
    # Frames of parents are drawn further inside, so that both are seen.
    gap = (0.06 if inset else 0.04) * side
    for (i, j), index in places.items():
        for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            other = places.get((i + di, j + dj))
            if other is not None and group[other] == group[index]:
                continue
            x, y = (i + 0.5 + di * 0.5) * side - di * gap, (j + 0.5 + dj * 0.5) * side - dj * gap
            half = side / 2 - gap
            ends = ([x, x], [y - half, y + half]) if di else ([x - half, x + half], [y, y])
            axes.plot(*ends, color=colour, linewidth=2.0 if inset else 1.4, linestyle=(0, (4, 1.5)))


# Passes


def _draw_passes(figure: Any, octree: Octree) -> None:
    """Draw the levels three times, with an arrow for each operator."""
    steps = (
        ("upward pass", (("M2M", "up"), ("P2M", "leaf up"))),
        ("transfer pass and direct step", (("M2L", "across"), ("P2P", "leaf across"))),
        ("downward pass", (("L2L", "down"), ("L2P", "leaf down"))),
    )
    last = octree.tree.height - 1
    for axes, (title, operators) in zip(figure.subplots(1, 3), steps, strict=True):
        for level in range(last + 1):
            y = -level
            axes.plot([-0.1, 1.1], [y, y], color=EDGE, linewidth=0.8)
            for tick in np.linspace(0.0, 1.0, 2 ** min(level, 4) + 1):
                axes.plot([tick, tick], [y - 0.07, y + 0.07], color=EDGE, linewidth=0.6)
            axes.text(
                -0.12, y, f"level {level}", ha="right", va="center", fontsize=TEXT_POINTS["small"]
            )
        axes.plot(np.linspace(0.03, 0.97, 24), np.full(24, -last - 1.0), ".", color="#222222",
                  markersize=4)  # fmt: skip
        axes.text(
            -0.12, -last - 1.0, "particles", ha="right", va="center", fontsize=TEXT_POINTS["small"]
        )
        for name, where in operators:
            _draw_operator(axes, name, where, last)
        axes.set_xlim(-0.55, 1.15)
        axes.set_ylim(-last - 1.5, 0.4)
        axes.set_title(title, fontsize=TEXT_POINTS["title"], loc="left")
        axes.set_axis_off()


def _draw_operator(axes: Axes, name: str, where: str, last: int) -> None:
    """Draw the arrows of one operator on all levels on which it works, and its name once."""
    if where.startswith("leaf"):
        places = [(last, last + 1)]
    elif where == "across":
        places = [(level, level) for level in range(2, last + 1)]
    else:
        places = [(level, level + 1) for level in range(2, last)]
    colour = OPERATOR_COLOURS[name]
    style: dict[str, Any] = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.6}
    for upper, lower in places:
        for x in (0.25, 0.75):
            if where.endswith("across"):
                y = -float(lower)
                start, end = (x - 0.18, y), (x + 0.18, y)
                style["connectionstyle"] = "arc3,rad=-0.45"
            else:
                up = (x, -upper - 0.1), (x + 0.08, -lower + 0.1)
                start, end = up if where.endswith("down") else up[::-1]
            axes.annotate("", end, start, arrowprops=style)
    if places:
        upper, lower = places[-1]
        y = 0.36 - lower if where.endswith("across") else -(upper + lower) / 2
        axes.text(0.5, y, name, ha="center", va="center", color=colour,
                  fontsize=TEXT_POINTS["normal"], fontweight="bold")  # fmt: skip


# Axes and cubes


def _square_axes(axes: Axes) -> None:
    axes.set_aspect("equal")
    axes.set_xlim(-0.01, 1.01)
    axes.set_ylim(-0.01, 1.01)
    axes.set_axis_off()


def _cube_axes(figure: Any) -> Any:
    axes = figure.add_subplot(projection="3d")
    axes.set_box_aspect((1, 1, 1))
    for name in ("x", "y", "z"):
        getattr(axes, f"set_{name}lim")(0, 1)
        getattr(axes, f"set_{name}ticks")([0, 0.5, 1])
    axes.tick_params(labelsize=TEXT_POINTS["small"])
    axes.view_init(22, -55)
    return axes


def _draw_cubes(axes: Any, corners: Any, side: float, colour: str, alpha: float) -> None:
    axes.bar3d(*corners.T, side, side, side, color=colour, alpha=alpha, edgecolor=EDGE,
               linewidth=0.25, shade=False)  # fmt: skip


OCTREE_PANELS: Final[Mapping[str, Callable[[Any, Octree], None]]] = {
    "tree": _draw_tree,
    "groups": _draw_groups,
    "passes": _draw_passes,
}
"""Name -> what draws a panel into a part of a figure."""
