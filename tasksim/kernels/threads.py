"""The threads of BLAS itself: one per worker, so that workers do not share cores."""

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
"""Time for which threads that have nothing more to do may look for work before they sleep, in
seconds: OpenBLAS's do for .1, those of LLVM's OpenMP for .2."""
SPIN_PAUSE_S: Final = 0.5e-3
"""Time between two looks at them, in seconds."""


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Within the block, every BLAS call runs on the thread that made it.

    It begins when the threads that BLAS had before sleep: they look for more work for a while,
    on cores that those within the block need.
    """
    from threadpoolctl import threadpool_limits

    _load()
    with threadpool_limits(limits=1, user_api="blas"):
        until = time.monotonic() + LONGEST_SPIN_S
        while _libraries_are_busy() and time.monotonic() < until:
            time.sleep(SPIN_PAUSE_S)
        yield


def _libraries_are_busy() -> bool:
    """Return whether a thread runs that is not Python's; False where the system does not tell."""
    known = {thread.native_id for thread in threading.enumerate()} | {threading.get_native_id()}
    with suppress(OSError):
        for folder in THREADS_FOLDER.iterdir():
            if int(folder.name) not in known:
                _, _, facts = (folder / "stat").read_text().rpartition(")")
                if facts.split()[0] == "R":
                    return True
    return False


def blas_info() -> list[dict[str, Any]]:
    """Return what is known of the BLAS libraries in this process.

    Returns
    -------
    list of dict
        Per library: ``internal_api`` (``"openblas"``, ``"mkl"``), ``version``,
        ``architecture`` (what its kernels were chosen for), ``threading_layer``,
        ``num_threads``, ``filepath``; what threadpoolctl finds.
    """
    from threadpoolctl import threadpool_info

    _load()
    return [library for library in threadpool_info() if library["user_api"] == "blas"]


def _load() -> None:
    """Load the library: threadpoolctl sees only those that are there."""
    from tasksim.kernels.pointers import routine

    routine("dgemm")
