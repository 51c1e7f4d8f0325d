"""Limit of the threads of BLAS to one per worker, so that workers do not share cores."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["blas_info", "single_threaded_blas"]

THREADS_FOLDER: Final = Path("/proc/self/task")
LONGEST_SPIN_S: Final = 0.3
"""Longest time in seconds that a library's idle threads spin before they sleep: OpenBLAS's spin for
.1, those of LLVM's OpenMP for .2."""
SPIN_PAUSE_S: Final = 0.5e-3
"""Time between two looks at these threads, in seconds."""


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Run every BLAS call within the block on the thread that makes it.

    The block begins when the idle threads of BLAS sleep. They spin for a while after their last
    work, on the cores that the threads within the block need.
    """
    from threadpoolctl import threadpool_limits

    _load()
    with threadpool_limits(limits=1, user_api="blas"):
        until = time.monotonic() + LONGEST_SPIN_S
        while _libraries_are_busy() and time.monotonic() < until:
            time.sleep(SPIN_PAUSE_S)
        yield


def _libraries_are_busy() -> bool:
    """Return whether a thread that Python did not start runs; False if this is unknown."""
    known = {thread.native_id for thread in threading.enumerate()} | {threading.get_native_id()}
    with suppress(OSError):
        for folder in THREADS_FOLDER.iterdir():
            if int(folder.name) not in known:
                _, _, facts = (folder / "stat").read_text().rpartition(")")
                if facts.split()[0] == "R":
                    return True
    return False


def blas_info() -> list[dict[str, Any]]:
    """Return the properties of the BLAS libraries in this process.

    Returns
    -------
    list of dict
        The result of threadpoolctl per library: ``internal_api`` (``"openblas"``, ``"mkl"``),
        ``version``, ``architecture`` (the target of its kernels), ``threading_layer``,
        ``num_threads``, ``filepath``.
    """
    from threadpoolctl import threadpool_info

    _load()
    return [library for library in threadpool_info() if library["user_api"] == "blas"]


def _load() -> None:
    """Load the library, because threadpoolctl sees only loaded ones."""
    from tasksim.kernels.pointers import routine

    routine("dgemm")
