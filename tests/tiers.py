"""Cases that a test tries: a fifth of drawn ones, each value once, as in CI; all on request."""

from __future__ import annotations

import os
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def each_once(*values: Sequence[object]) -> list[tuple[object, ...]]:
    """Return combinations in which each of the values occurs; all combinations in a long run.

    As many as the longest sequence has values, with those of the others in turn: for parameters
    that code treats independently of each other.
    """
    if LONG:
        return list(product(*values))
    longest = max(map(len, values))
    return [tuple(some[i % len(some)] for some in values) for i in range(longest)]
