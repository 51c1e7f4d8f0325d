"""Vertical marks on a time axis, with their values above the axes, none over another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasksim.view.style import TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["Mark", "draw_marks"]

_LINE_POINTS = TEXT["small"] + 3.5
_WIDTH_OF_A_CHARACTER = 0.6  # of the font size; DejaVu Sans has 0.55 on average


@dataclass(frozen=True, slots=True)
class Mark:
    """A time worth a line across the panel."""

    at_s: float
    text: str
    colour: str = "#222222"
    line: str = "-"


def draw_marks(axes: Axes, marks: Sequence[Mark]) -> float:
    """Draw *marks* and their texts above *axes*; return the height of the texts in points.

    Marks outside the limits of the axis are left out.
    """
    low, high = axes.get_xlim()
    shown = sorted((m for m in marks if low <= m.at_s <= high), key=lambda m: m.at_s)
    levels = _levels(axes, shown)
    for mark, (level, anchor) in zip(shown, levels, strict=True):
        _draw(axes, mark, level, anchor)
    return _LINE_POINTS * (1 + max((level for level, _ in levels), default=-1))


def _draw(axes: Axes, mark: Mark, level: int, anchor: str) -> None:
    if mark.line != "-":
        axes.axvline(mark.at_s, color="white", alpha=0.6, linewidth=2.4)
    axes.axvline(mark.at_s, color=mark.colour, linestyle=mark.line, linewidth=1.2)
    axes.annotate(
        mark.text,
        xy=(mark.at_s, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-3.0 if anchor == "right" else 3.0, 3.0 + level * _LINE_POINTS),
        textcoords="offset points",
        ha=anchor,
        va="bottom",
        fontsize=TEXT["small"],
        color=mark.colour,
        annotation_clip=False,
    )
    axes.annotate(
        "",
        xy=(mark.at_s, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0.0, (level + 1) * _LINE_POINTS),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": mark.colour, "linewidth": 0.8, "shrinkB": 0},
        annotation_clip=False,
    )


def _levels(axes: Axes, marks: Sequence[Mark]) -> list[tuple[int, str]]:
    """Return per mark, in order of time, the line its text goes to and which end is at the mark.

    No text is over another, or over the line that leads from another text down to its mark.
    """
    low, high = axes.get_xlim()
    points = axes.get_window_extent().width * 72.0 / axes.figure.dpi
    at = [(mark.at_s - low) / (high - low) * points for mark in marks]
    widths = [len(m.text) * TEXT["small"] * _WIDTH_OF_A_CHARACTER + 8.0 for m in marks]
    anchors = _anchors(at, widths)
    levels = [0] * len(marks)
    placed: list[tuple[float, float, int]] = []
    for index in _stacking_order(anchors):
        left = at[index] - (widths[index] if anchors[index] == "right" else 0.0)
        right = left + widths[index]
        over = [level for a, b, level in placed if a < right and left < b]
        levels[index] = max(over, default=-1) + 1
        placed.append((left, right, levels[index]))
    return list(zip(levels, anchors, strict=True))


def _anchors(at: Sequence[float], widths: Sequence[float]) -> list[str]:
    """Return which end of each text is at its mark: the right one where there is room."""
    anchors, taken = [], 0.0
    for x, width in zip(at, widths, strict=True):
        anchors.append("right" if x - width > taken else "left")
        if anchors[-1] == "left":
            taken = max(taken, x)
    return anchors


def _stacking_order(anchors: Sequence[str]) -> list[int]:
    """Return the marks from the lowest text up, such that no line to a mark crosses a text.

    Texts that end at their marks rise from left to right; above them, texts that begin at
    their marks rise from right to left.
    """
    ends = [index for index, anchor in enumerate(anchors) if anchor == "right"]
    begins = [index for index, anchor in enumerate(anchors) if anchor == "left"]
    return ends + begins[::-1]
