"""Number of cases that a test tries: a fifth, as CI does; two fifths, or all, on request."""

from __future__ import annotations

import os

LONG = os.environ.get("TASKSIM_LONG_TESTS") == "1"
"""Whether tests try all their cases, for hours."""
FIFTHS = 5 if LONG else 2 if os.environ.get("TASKSIM_MORE_CASES") == "1" else 1
"""Fifths of the cases that are tried. CI tries one: the cases are the same in each run, so more of
them would tell the same again."""
MIN_DRAWN_CASES = 5
"""Fewer drawn cases are hardly more than the simplest ones, with which Hypothesis begins."""


def few(count: int) -> int:
    """Return the part of *count* cases that is tried in this run."""
    return min(count, max(MIN_DRAWN_CASES, count * FIFTHS // 5))
