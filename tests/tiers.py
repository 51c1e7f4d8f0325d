"""How many cases a test tries: all in CI, a fifth of them in `make test`."""

from __future__ import annotations

import os

ALL_CASES = os.environ.get("TASKSIM_ALL_CASES") == "1"
"""Set by `make test-all`, thus in CI."""
LEAST = 5
"""Fewer drawn cases are hardly more than the simplest ones, with which Hypothesis begins."""


def few(count: int) -> int:
    """Return *count* in CI, else a fifth of it."""
    return count if ALL_CASES else min(count, max(LEAST, count // 5))
