"""Bands of boxes in a figure, as exact pixels in PNG and as vectors in PDF and SVG.

A pixel gets a third of a task's colour if the task covers a third of its time, whatever covers the
rest. So a chart of a million tasks shows true shares, without stripes from rounding to pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_rgb
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Extent = tuple[int, int, int, int]

__all__ = ["MAX_VECTOR_BOXES", "Bands", "Boxes", "add_bands", "coverage_image", "darker"]

_BANDS_PER_STEP: Final = 64
"""Number of bands per step: bounds the memory to some megabytes at any number of rows."""
_MIN_CRISP_HEIGHT: Final = 3.0
"""Height in pixels from which the edges of a band are moved to whole pixels: thinner bands would
change their height by a third or more."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Rectangles in bands, each in the colour of its state.

    The rectangles of one band have the same lower and upper edge. They come in order of time and
    should not overlap; where they do, they share the pixel by their time.
    """

    start: Floats
    end: Floats
    state: NDArray[np.int64]
    """Index into ``colours``."""
    band: NDArray[np.int64]
    """Index into ``edges``; ascending."""
    edges: Floats
    """[bands, 2], the lower and the upper edge of each band."""
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
        The boxes to draw.
    start, end :
        Beginnings and ends of the boxes along x, in pixels.
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
    low, high = np.sort(edges, axis=1).T
    crisp = high - low >= _MIN_CRISP_HEIGHT
    low, high = np.where(crisp, np.round(low), low), np.where(crisp, np.round(high), high)
    limits = np.searchsorted(boxes.band, np.arange(len(edges) + 1))
    colours = boxes.rgb()
    for first in range(0, len(edges), _BANDS_PER_STEP):
        bands = range(first, min(first + _BANDS_PER_STEP, len(edges)))
        part = slice(limits[bands.start], limits[bands.stop])
        rgb = colours[boxes.state[part]]
        pieces = _with_borders(start[part], end[part], boxes.band[part] - first, rgb, border)
        covered = _covered(*pieces, len(bands), width)
        for band, row in zip(bands, covered, strict=True):
            _add_row(image, row, low[band], high[band])
    alpha = image[..., 3:]
    # Overlaps add up to more than there is.
    return image / np.maximum(alpha, 1.0)


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


MAX_VECTOR_BOXES: Final = 20_000
"""Maximum number of boxes drawn as vectors: some 6 MB of SVG or 1 MB of PDF, which viewers scroll
well."""
_BORDER_POINTS: Final = 0.4
"""Width of a border in points: the borders of two neighbours make a line that is just visible."""
_COORDINATE_DECIMALS: Final = 3
"""Decimals of coordinates in points, a millionth of the width of a page."""
_SEAM_POINTS: Final = 1.0
"""Overlap of a box with its neighbour, in points, so that no viewer shows the page between them."""


class Bands(Artist):
    """Boxes as an artist; see :func:`add_bands`."""

    def __init__(self, boxes: Boxes) -> None:
        super().__init__()
        self.boxes = boxes
        self.set_zorder(1)  # as other areas: below lines and texts

    def draw(self, renderer: Any) -> None:
        """Draw the boxes, as *renderer* can best."""
        if not self.get_visible() or not len(self.boxes):
            return
        renderer.open_group("bands", self.get_gid())
        context = renderer.new_gc()
        if isinstance(renderer, RendererAgg) or len(self.boxes) > MAX_VECTOR_BOXES:
            context.set_clip_rectangle(self.get_clip_box())
            context.set_clip_path(self.get_clip_path())
            self._draw_image(renderer, context)
        else:
            self._draw_vectors(renderer, context)
        context.restore()
        renderer.close_group("bands")

    def _draw_image(self, renderer: Any, context: Any) -> None:
        scale = renderer.get_image_magnification()
        x, y, width, height = self._extent(scale)
        if width <= 0 or height <= 0:
            return
        start, end, edges = self._places(scale)
        border = _BORDER_POINTS * renderer.points_to_pixels(1.0) * scale
        image = coverage_image(self.boxes, start - x, end - x, edges - y, (width, height), border)
        alpha = image[..., 3:]
        with np.errstate(invalid="ignore", divide="ignore"):
            image[..., :3] = np.where(alpha > 0, image[..., :3] / alpha, 0.0)
        pixels = np.round(255.0 * np.clip(image, 0.0, 1.0)).astype(np.uint8)
        renderer.draw_image(context, x / scale, y / scale, pixels)

    def _extent(self, scale: float) -> Extent:
        """Return the pixels of the axes that the boxes are in: x, y, width, height."""
        inside = self._home().bbox
        low = np.floor(np.multiply(inside.min, scale)).astype(int).tolist()
        high = np.ceil(np.multiply(inside.max, scale)).astype(int).tolist()
        return low[0], low[1], high[0] - low[0], high[1] - low[1]

    def _places(self, scale: float) -> tuple[Floats, Floats, Floats]:
        """Return beginnings, ends, and the edges of bands, in pixels of the figure."""
        transform, boxes = self._home().transData, self.boxes
        start, end = (
            transform.transform(np.column_stack((at, np.zeros(len(at)))))[:, 0] * scale
            for at in (boxes.start, boxes.end)
        )
        heights = boxes.edges.ravel()
        edges = transform.transform(np.column_stack((np.zeros(len(heights)), heights)))[:, 1]
        return start, end, (edges * scale).reshape(-1, 2)

    def _home(self) -> Axes:
        axes: Any = self.axes
        assert axes is not None
        return axes  # type: ignore[no-any-return]

    def _draw_vectors(self, renderer: Any, context: Any) -> None:
        points, inside = renderer.points_to_pixels(1.0), self._home().bbox
        start, end, edges = self._places(1.0)
        # Instead of a path that clips: each shape would name it, in a fifth of its bytes.
        start, end = (np.clip(at, inside.x0, inside.x1) for at in (start, end))
        edges = np.clip(edges, inside.y0, inside.y1).round(_COORDINATE_DECIMALS)
        start, end = start.round(_COORDINATE_DECIMALS), end.round(_COORDINATE_DECIMALS)
        seen = end > start
        start, end, bands = start[seen], end[seen], self.boxes.band[seen]
        border, rgb = _BORDER_POINTS * points, self.boxes.rgb()[self.boxes.state[seen]]
        until = _reach(start, end, bands, _SEAM_POINTS * points)
        page = np.array(self._home().get_facecolor()[:3])
        context.set_linewidth(0.0)
        for i, band in enumerate(bands.tolist()):
            low, high = edges[band]
            self._fill(renderer, context, start[i], until[i], low, high, rgb[i])
            if until[i] > end[i]:
                gap = min(until[i], start[i + 1])
                if gap > end[i]:
                    self._fill(renderer, context, end[i], gap, low, high, page)
            if end[i] - start[i] >= 9.0 * border:
                dark = darker(rgb[i])
                self._fill(renderer, context, start[i], start[i] + border, low, high, dark)
                self._fill(renderer, context, end[i] - border, end[i], low, high, dark)

    @staticmethod
    def _fill(
        renderer: Any, context: Any, left: float, right: float, low: float, high: float, rgb: Floats
    ) -> None:
        # With a point more than a rectangle has: PDFium makes rectangles a pixel wide at least.
        middle = (round((left + right) / 2, _COORDINATE_DECIMALS), low + 0.05)
        corners = [(left, low), middle, (right, low), (right, high), (left, high), (left, low)]
        path = Path(corners, closed=True)
        renderer.draw_path(context, path, IdentityTransform(), (*rgb, 1.0))


def add_bands(axes: Axes, boxes: Boxes) -> Bands:
    """Draw *boxes* into *axes* whose x axis is linear.

    Screens and PNG get pixels that are true to the time: each has the mean of the colours that
    cover it. PDF and SVG get vectors, or such pixels where there are more than
    :data:`MAX_VECTOR_BOXES` boxes. Where there is room, boxes have thin borders.
    """
    drawn = Bands(boxes)
    axes.add_artist(drawn)
    return drawn


def _reach(start: Floats, end: Floats, band: NDArray[np.int64], seam: float) -> Floats:
    """Return until where each box is drawn: under those that follow without a visible gap.

    Viewers mix the colours at an edge with what is below. With the page below both of two
    neighbours, it would shine through between them. Real gaps are drawn over it again.
    """
    until = end.copy()
    if len(until) < 2:
        return until
    near = (band[1:] == band[:-1]) & (start[1:] - end[:-1] < seam)
    # The end of the chain of neighbours that each box is in.
    last = np.flatnonzero(~np.append(near, False))
    chain = end[last[np.searchsorted(last, np.arange(len(end)))]]
    until[:-1] = np.where(near, np.minimum(end[:-1] + seam, chain[:-1]), end[:-1])
    return np.maximum(until, end)
