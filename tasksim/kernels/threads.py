"""The threads of BLAS itself: one per worker, so that workers do not share cores."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["blas_info", "single_threaded_blas"]


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Within the block, every BLAS call runs on the thread that made it."""
    from threadpoolctl import threadpool_limits

    _load()
    with threadpool_limits(limits=1, user_api="blas"):
        yield


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
