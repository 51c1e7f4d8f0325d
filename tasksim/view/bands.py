"""Bands of boxes in a figure: pixels true to the time in PNG, vectors in PDF and SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform

from tasksim.view.coverage import Boxes, coverage_image, darker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Extent = tuple[int, int, int, int]

__all__ = ["MOST_VECTORS", "Bands", "add_bands"]

MOST_VECTORS: Final = 20_000
"""Maximum number of boxes drawn as vectors: some 6 MB of SVG or 1 MB of PDF, which viewers scroll
well."""
_BORDER_POINTS: Final = 0.4
"""Two of them, of neighbours, are a line that is just seen."""
_DIGITS: Final = 3
"""Decimals of coordinates in points: a millionth of the width of a page."""
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
        if isinstance(renderer, RendererAgg) or len(self.boxes) > MOST_VECTORS:
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
        edges = np.clip(edges, inside.y0, inside.y1).round(_DIGITS)
        start, end = start.round(_DIGITS), end.round(_DIGITS)
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
        middle = (round((left + right) / 2, _DIGITS), low + 0.05)
        corners = [(left, low), middle, (right, low), (right, high), (left, high), (left, low)]
        path = Path(corners, closed=True)
        renderer.draw_path(context, path, IdentityTransform(), (*rgb, 1.0))


def add_bands(axes: Axes, boxes: Boxes) -> Bands:
    """Draw *boxes* into *axes* whose x axis is linear.

    Screens and PNG get pixels that are true to the time: each has the mean of the colours that
    cover it. PDF and SVG get vectors, or such pixels where there are more than
    :data:`MOST_VECTORS` boxes. Where there is room, boxes have thin borders.
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
