"""Coverage of pixels: boxes over time as an image whose pixels have the mean colour of their time.

A pixel that a task covers for a third of its time has a third of the task's colour, whatever
happens in the rest. So a chart of a million tasks shows true shares, and no stripes that come
from rounding to pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.colors import to_rgb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Boxes", "coverage_image", "darker"]

_CHUNK: Final = 64
"""Bands that are worked on together: bounds the memory to some megabytes at any number of rows."""
_CRISP: Final = 3.0
"""Pixels from which on the edges of a band are moved to whole pixels: thinner ones would change
their height by a third or more."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Rectangles, each in the colour of its state; those of one band have the same two edges.

    Boxes of a band come in order of time and should not overlap; where they do, they share the
    pixel by their time.
    """

    start: Floats
    end: Floats
    state: NDArray[np.int64]
    """Index into ``colours``."""
    band: NDArray[np.int64]
    """Index into ``edges``; ascending."""
    edges: Floats
    """[bands, 2], the lower and the upper edge of each."""
    colours: tuple[str, ...]

    @classmethod
    def of(
        cls,
        start: ArrayLike,
        end: ArrayLike,
        edges: tuple[ArrayLike, ArrayLike],
        state: ArrayLike,
        colours: Sequence[str],
    ) -> Boxes:
        """Return boxes in any order, each with its own pair of *edges*, sorted into bands.

        >>> boxes = Boxes.of([1, 0], [2, 1], ([0, 0], [1, 1]), [1, 0], ["#ff0000", "#0000ff"])
        >>> boxes.start, boxes.edges
        (array([0., 1.]), array([[0., 1.]]))
        """
        begin, until = np.asarray(start, np.float64), np.asarray(end, np.float64)
        pairs = np.stack([np.asarray(edge, np.float64) for edge in edges], axis=1)
        distinct, band = np.unique(pairs, axis=0, return_inverse=True)
        band = band.reshape(-1).astype(np.int64)
        order = np.lexsort((until, begin, band))
        which = np.asarray(state, np.int64)[order]
        return cls(begin[order], until[order], which, band[order], distinct, tuple(colours))

    def __len__(self) -> int:
        return len(self.start)

    def rgb(self) -> Floats:
        """Return the colour of each state."""
        return np.array([to_rgb(colour) for colour in self.colours]).reshape(-1, 3)


def darker(rgb: Floats) -> Floats:
    """Return the colour of the borders of what has the colours *rgb*."""
    return 0.62 * rgb  # dark enough to be seen on every colour of the palette


def coverage_image(
    boxes: Boxes,
    start: Floats,
    end: Floats,
    edges: Floats,
    size: tuple[int, int],
    border: float = 0.0,
) -> Floats:
    """Return *boxes* as an image: a pixel has the mean of the colours that cover it.

    Parameters
    ----------
    boxes :
        What to draw.
    start, end :
        Where the boxes begin and end along x, in pixels.
    edges :
        As ``boxes.edges``, in pixels.
    size :
        Width and height of the image.
    border :
        How much of the left and of the right of each box is darker, in pixels; boxes less than
        nine times as wide have none, since a border would be most of what one sees of them.

    Returns
    -------
    float64 [height, width, 4]
        Red, green, blue, multiplied by the last, which is the share that is covered. The first
        row is that of the smallest y.
    """
    width, height = size
    image = np.zeros((height, width, 4))
    low, high = _whole_pixels(np.sort(edges, axis=1))
    limits = np.searchsorted(boxes.band, np.arange(len(edges) + 1))
    colours = boxes.rgb()
    for first in range(0, len(edges), _CHUNK):
        bands = range(first, min(first + _CHUNK, len(edges)))
        part = slice(limits[bands.start], limits[bands.stop])
        rgb = colours[boxes.state[part]]
        pieces = _with_borders(start[part], end[part], boxes.band[part] - first, rgb, border)
        covered = _covered(*pieces, len(bands), width)
        for band, row in zip(bands, covered, strict=True):
            _add_row(image, row, low[band], high[band])
    alpha = image[..., 3:]
    # Overlaps add up to more than there is.
    return image / np.maximum(alpha, 1.0)


def _whole_pixels(edges: Floats) -> tuple[Floats, Floats]:
    low, high = edges[:, 0], edges[:, 1]
    crisp = high - low >= _CRISP
    return np.where(crisp, np.round(low), low), np.where(crisp, np.round(high), high)


def _with_borders(
    start: Floats, end: Floats, band: NDArray[np.int64], rgb: Floats, border: float
) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
    """Return the boxes with their borders as boxes of their own."""
    wide = end - start >= 9.0 * border if border > 0 else np.zeros(len(start), dtype=bool)
    inset = np.where(wide, border, 0.0)
    dark = darker(rgb[wide])
    return (
        np.concatenate((start + inset, start[wide], end[wide] - border)),
        np.concatenate((end - inset, start[wide] + border, end[wide])),
        np.concatenate((band, band[wide], band[wide])),
        np.concatenate((rgb, dark, dark)),
    )


def _covered(
    start: Floats, end: Floats, band: NDArray[np.int64], rgb: Floats, bands: int, width: int
) -> Floats:
    """Return the exact coverage [bands, width, 4] of pixels by intervals.

    Coverage is the running sum of what each interval adds where it begins, in two pixels, and
    takes away where it ends: the work is that of the intervals plus that of the pixels.
    """
    begins, ends = np.clip(start, 0.0, width), np.clip(end, 0.0, width)
    weights = np.column_stack((rgb, np.ones(len(rgb))))
    change = np.zeros((4, bands * (width + 2)))
    for at, sign in ((begins, 1.0), (ends, -1.0)):
        pixel = np.floor(at).astype(np.int64)
        cell, right = band * (width + 2) + pixel, sign * (at - pixel)
        for channel in range(4):
            weight = weights[:, channel]
            change[channel] += np.bincount(cell, (sign - right) * weight, bands * (width + 2))
            change[channel] += np.bincount(cell + 1, right * weight, bands * (width + 2))
    covered = np.cumsum(change.reshape(4, bands, width + 2), axis=2)[:, :, :width]
    return np.clip(covered, 0.0, None).transpose(1, 2, 0)


def _add_row(image: Floats, row: Floats, low: float, high: float) -> None:
    """Add the coverage along a band to the rows of pixels between its edges."""
    first, last = max(int(np.floor(low)), 0), min(int(np.ceil(high)), len(image))
    for y in range(first, last):
        share = min(high, y + 1) - max(low, y)
        if share > 0:
            image[y] += share * row
