"""Python's lock: whether a kernel lets other threads run Python meanwhile."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TRIALS = 30
"""A busy machine may not let this thread run during one call, or some; hardly during all."""


def lets_others_run(call: Callable[[], object], turns: int) -> bool:
    """Return whether this thread had more than so many *turns* during one *call* in another.

    A call that holds the lock leaves one turn or two, before it and after it, in each trial.
    """
    return any(_turns(call) > turns for _ in range(TRIALS))


def _turns(call: Callable[[], object]) -> int:
    thread = threading.Thread(target=call)
    turns = 0
    thread.start()
    while thread.is_alive():
        time.sleep(0.001)
        turns += 1
    return turns
