"""Pixels that are true to the time, on boxes made by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.view.bands import Boxes, coverage_image

RED, BLUE = "#ff0000", "#0000ff"


def image(boxes, width, height, border=0.0):
    size = (width, height)
    return coverage_image(boxes, boxes.start, boxes.end, boxes.edges, size, border)


def row(*spans, width=4, border=0.0):
    """The only row of pixels of boxes (start, end, colour)."""
    start, end, state = zip(*spans, strict=True)
    edges = ([0.0] * len(spans), [1.0] * len(spans))
    return image(Boxes.of(start, end, edges, state, [RED, BLUE]), width, 1, border)[0]


def test_a_pixel_has_the_mean_of_what_covers_it():
    drawn = row((0.5, 1.25, 0), (1.25, 2.0, 1), (3.0, 3.1, 0))
    assert drawn[:, 3] == pytest.approx([0.5, 1.0, 0.0, 0.1])
    assert drawn[:, 0] == pytest.approx([0.5, 0.25, 0.0, 0.1])
    assert drawn[:, 2] == pytest.approx([0.0, 0.75, 0.0, 0.0])


def test_what_is_outside_is_not_drawn():
    drawn = row((-3.0, -1.0, 0), (-1.0, 0.5, 0), (3.5, 9.0, 1), (9.0, 10.0, 1))
    assert drawn[:, 3] == pytest.approx([0.5, 0.0, 0.0, 0.5])


def test_boxes_that_overlap_share_the_pixel():
    drawn = row((0.0, 1.0, 0), (0.0, 1.0, 1))
    assert drawn[0] == pytest.approx([0.5, 0.0, 0.5, 1.0])


def test_wide_boxes_have_dark_edges_and_cover_as_much():
    drawn = row((10.0, 20.0, 0), (20.0, 24.0, 0), width=30, border=1.0)
    assert drawn[10:24, 3] == pytest.approx(np.ones(14))
    dark = 0.62
    assert drawn[10:20, 0] == pytest.approx([dark, *[1.0] * 8, dark])
    assert drawn[20:24, 0] == pytest.approx([1.0] * 4)  # no room


def test_thin_bands_share_a_row_of_pixels():
    boxes = Boxes.of([0, 0], [1, 1], ([0.0, 0.25], [0.25, 1.0]), [0, 1], [RED, BLUE])
    assert image(boxes, 1, 1)[0, 0] == pytest.approx([0.25, 0.0, 0.75, 1.0])


def test_edges_of_thick_bands_are_whole_pixels():
    boxes = Boxes.of([0], [1], ([0.4], [4.6]), [0], [RED])
    assert image(boxes, 1, 6)[:, 0, 3].tolist() == [1, 1, 1, 1, 1, 0]


def test_no_boxes():
    assert not image(Boxes.of([], [], ([], []), [], []), 3, 2).any()


@given(
    st.lists(st.floats(0.0, 40.0), min_size=2, max_size=60),
    st.integers(1, 37),
    st.sampled_from([0.0, 0.3]),
)
def test_coverage_adds_up_to_the_lengths(times, width, border):
    ends = np.unique(times)
    start, end = ends[:-1:2], ends[1::2][: len(ends[:-1:2])]
    zeros = np.zeros(len(start))
    boxes = Boxes.of(start, end, (zeros, zeros + 1), zeros, [RED])
    drawn = image(boxes, width, 1, border)[0, :, 3]
    inside = np.clip(end, 0, width) - np.clip(start, 0, width)
    assert drawn.sum() == pytest.approx(inside.sum(), abs=1e-9)
    assert drawn.max(initial=0) <= 1 + 1e-9
