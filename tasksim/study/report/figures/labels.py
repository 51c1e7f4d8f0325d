"""Placement of labels beside the points of a figure, without overlaps."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from matplotlib.text import Text

from tasksim.view.style import TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox
    from numpy.typing import NDArray

__all__ = ["label_points"]

DISTANCES_POINTS: Final = (5.0, 13.0, 23.0, 35.0, 50.0, 68.0, 89.0, 113.0, 140.0)
"""Distances from a point to its label that are tried, in typographic points: the first is beside
the point, the others need a line."""
SIDES: Final = ((-1, -1), (1, 1), (-1, 0), (1, 0), (0, -1), (0, 1), (1, -1), (-1, 1))
"""Directions that are tried, as (across, up): below to the left first, because no point lies below
a Pareto front."""
MARKER_MARGIN_POINTS: Final = 4.0
"""Free space around a marker, in typographic points."""


def label_points(
    axes: Axes, points: NDArray[np.float64], texts: Sequence[str], avoided: NDArray[np.float64]
) -> int:
    """Write the *texts* beside *points*; return the number of texts without room.

    Parameters
    ----------
    axes : Axes
        Axes of a figure whose layout is done (``figure.draw_without_rendering()``).
    points : array of shape (n, 2)
    texts : sequence of str
        One per point.
    avoided : array of shape (m, 2)
        Points that no label may cover.
    """
    marks = axes.transData.transform(avoided)
    taken: list[Bbox] = []
    for point, text in zip(points, texts, strict=True):
        for label in _tried(axes, point, text):
            label.get_window_extent()  # places the text; its own box would include the line
            box = Text.get_window_extent(label)
            if _is_free(axes, box, marks, taken):
                taken.append(box)
                break
            label.remove()
    return len(texts) - len(taken)


def _tried(axes: Axes, point: NDArray[np.float64], text: str) -> Iterator[Annotation]:
    """Yield the label at each place in turn; the caller removes it or keeps it and stops."""
    for distance, (across, up) in product(DISTANCES_POINTS, SIDES):
        yield axes.annotate(
            text, (float(point[0]), float(point[1])), (across * distance, up * distance),
            textcoords="offset points", fontsize=TEXT["small"], in_layout=False,
            ha=("center", "left", "right")[across], va=("center", "bottom", "top")[up],
            arrowprops=None if distance == DISTANCES_POINTS[0] else
            {"arrowstyle": "-", "color": "#999999", "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3},
        )  # fmt: skip


def _is_free(axes: Axes, box: Bbox, marks: NDArray[np.float64], taken: Sequence[Bbox]) -> bool:
    margin = MARKER_MARGIN_POINTS * axes.figure.dpi / 72.0
    inside = axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1
    inside = inside and axes.bbox.y0 <= box.y0 and box.y1 <= axes.bbox.y1
    across = (box.x0 - margin < marks[:, 0]) & (marks[:, 0] < box.x1 + margin)
    up = (box.y0 - margin < marks[:, 1]) & (marks[:, 1] < box.y1 + margin)
    return bool(inside and not (across & up).any() and not any(map(box.overlaps, taken)))
