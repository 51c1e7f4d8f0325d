"""Picture of a decision tree, with questions above and choices below.

Its width grows with the number of leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.tuning.tree import Leaf, TreeNode
from tasksim.view.style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tasksim.tuning.tree_file import ChoosingTree

__all__ = ["picture"]

LEAF_INCHES, LEVEL_INCHES = 0.95, 0.85
"""Width of a leaf and height of a level, in inches: a box of three short lines of small print."""
MAX_WIDTH_INCHES: Final = 60.0
"""Maximum width in inches: a picture of more leaves is not readable, but the text is."""


def picture(found: ChoosingTree) -> Figure:
    """Return a drawing of the tree, with questions, answers and choices."""
    leaves = (len(found.tree) + 1) // 2
    width = min(max(4.0, LEAF_INCHES * leaves), MAX_WIDTH_INCHES)
    figure = new_figure(max(1.6, LEVEL_INCHES * (found.tree.depth + 1.4)), width)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.6, leaves - 0.4)
    axes.set_ylim(-found.tree.depth - 0.6, 0.6)
    axes.set_title(
        f"{found.choose}: {100 * found.msop:.1f} % of the best over {found.examples} examples",
        fontsize=9,
    )
    _draw(axes, found, found.tree.root, 0, 0)
    return figure


def _leaves(node: TreeNode) -> int:
    """Return the number of leaves below a node, itself included."""
    return 1 if isinstance(node, Leaf) else _leaves(node.low) + _leaves(node.high)


def _centre(node: TreeNode, first: int) -> float:
    """Return the position of a node whose leaves are numbered from *first*."""
    if isinstance(node, Leaf):
        return float(first)
    return (_centre(node.low, first) + _centre(node.high, first + _leaves(node.low))) / 2


def _draw(axes: Axes, found: ChoosingTree, node: TreeNode, first: int, depth: int) -> None:
    """Draw a node, whose leaves are numbered from *first*, and all below it."""
    x = _centre(node, first)
    if isinstance(node, Leaf):
        choice = found.tree.choices[node.choice]
        examples = f"{node.examples} example{'s' if node.examples > 1 else ''}"
        _box(axes, x, -depth, f"{choice}\n{examples}\n{100 * node.msop:.1f} %", leaf=True)
        return
    parts = ((node.low, first, "yes"), (node.high, first + _leaves(node.low), "no"))
    gap = {"boxstyle": "square,pad=0.2", "facecolor": "#ffffff", "edgecolor": "none"}
    for part, begin, answer in parts:
        below = _centre(part, begin)
        axes.plot([x, below], [-depth, -depth - 1], color="0.6", linewidth=0.8, zorder=1)
        axes.text(
            (x + below) / 2, -depth - 0.5, answer, fontsize=6, color="0.4", ha="center",
            va="center", bbox=gap,
        )  # fmt: skip
        _draw(axes, found, part, begin, depth + 1)
    feature = found.tree.features[node.feature].removeprefix("graph.")
    _box(axes, x, -depth, f"{feature}\n≤ {node.threshold:.5g}", leaf=False)


def _box(axes: Axes, x: float, y: float, text: str, *, leaf: bool) -> None:
    colour = "#e8f1e4" if leaf else "#ffffff"
    box = {"boxstyle": "round,pad=0.3", "facecolor": colour, "edgecolor": "0.4", "linewidth": 0.7}
    axes.text(x, y, text, fontsize=6.5, ha="center", va="center", bbox=box, zorder=2)
