"""Labels of figures: axes and colour bars that numbers stand at, but no word."""

from __future__ import annotations

import re

NUMBER = re.compile(r"[-−+]?[\d.,]+(e[-+−]?\d+)?%?|\$\\mathdefault\{.*\}\$")


def unlabelled(figure):
    """Return the axes of *figure* at which numbers are shown without what they are, in words."""
    figure.draw_without_rendering()  # ticks are where they would be drawn
    found = []
    for number, axes in enumerate(figure.axes):
        if not axes.get_visible() or not axes.axison:
            continue
        for axis in (axes.xaxis, axes.yaxis):
            texts = [text.get_text() for text in axis.get_ticklabels() if shown(axis, text)]
            named = axis.get_label().get_text().strip() and axis.get_label().get_visible()
            if any(NUMBER.fullmatch(text) for text in texts) and not named:
                found.append((number, axis.axis_name, texts))
    return found


def shown(axis, text):
    low, high = sorted(axis.get_view_interval())
    place = text.get_position()[0 if axis.axis_name == "x" else 1]
    return bool(
        axis.get_visible() and text.get_visible() and text.get_text() and low <= place <= high
    )
