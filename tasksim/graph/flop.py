"""Leading terms of the floating-point operations (flop) of the dense kernels.

Sources: LAPACK Working Note 41 (S. Blackford, J. Dongarra, "Installation Guide for LAPACK",
appendix C) for the factorisations and BLAS; H. Bouwmeester, M. Jacquelin, J. Langou, Y. Robert,
"Tiled QR factorization algorithms", SC 2011, table 1, for the kernels of tiled QR, which leave
out the terms of the inner block size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["COLLECTIVES", "flop", "flop_kernels", "task_flop"]

COLLECTIVES: Final = (
    "bcast", "reduce", "allreduce", "allgather", "gather", "scatter", "sendrecv",
)  # fmt: skip
"""Names of the kernels of communication among ranks, without operations."""

# Kernel -> its relevant parameters, and the function from them to the operations.
_FORMULAS: Mapping[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "potrf": (("n",), lambda n: n**3 / 3),
    "trsm": (("m", "n"), lambda m, n: m * n**2),
    "syrk": (("n", "k"), lambda n, k: n**2 * k),
    "gemm": (("m", "n", "k"), lambda m, n, k: 2 * m * n * k),
    "getrf": (("n",), lambda n: 2 * n**3 / 3),
    "trsm_ll": (("m", "n"), lambda m, n: m**2 * n),
    "trsm_ru": (("m", "n"), lambda m, n: m * n**2),
    "geqrt": (("m", "n"), lambda m, n: 2 * m * n**2 - 2 * n**3 / 3),
    "gemqrt": (("m", "n", "k"), lambda m, n, k: (4 * m - 2 * k) * n * k),
    "tpqrt": (("m", "n"), lambda m, n: 2 * m * n**2),
    "tpmqrt": (("m", "n", "k"), lambda m, n, k: 4 * m * n * k),
    "trmm": (("m", "n"), lambda m, n: m**2 * n),
    "trtri": (("n",), lambda n: n**3 / 3),
    "geqrf": (("m", "n"), lambda m, n: 2 * m * n**2 - 2 * n**3 / 3),
    "ormqr": (("m", "n", "k"), lambda m, n, k: (4 * m - 2 * k) * n * k),
    **dict.fromkeys(COLLECTIVES, (("bytes", "ranks"), lambda size, ranks: 0.0 * size * ranks)),
}


def flop_kernels() -> tuple[str, ...]:
    """Return the names of the kernels with known operations."""
    return tuple(_FORMULAS)


def flop(kernel: str, **parameters: Any) -> Any:
    """Return the number of floating-point operations of one *kernel*, to leading order.

    Parameters
    ----------
    kernel
        One of :func:`flop_kernels`.
    **parameters
        Its sizes: numbers, or arrays of one shape. Others are ignored.

    Returns
    -------
    float or array of float

    Raises
    ------
    InputError
        If the kernel is unknown or one of its sizes is missing.

    Notes
    -----
    ==============  ==============================  =========================================
    kernel          operations                      sizes
    ==============  ==============================  =========================================
    potrf           n³/3                            n x n
    trsm, trsm_ru   m n²                            n x n triangle from the right on m x n
    trsm_ll         m² n                            m x m triangle from the left on m x n
    syrk            n² k                            n x k times its transpose, one triangle
    gemm            2 m n k                         m x k times k x n
    getrf           2n³/3                           n x n
    geqrt           2 m n² - 2n³/3                  m x n, m >= n
    gemqrt          4 m n k - 2 n k²                k reflectors of length m on m x n
    tpqrt           2 m n²                          n x n triangle on top of m x n
    tpmqrt          4 m n k                         k such reflectors on k x n and m x n
    trmm            m² n                            m x m triangle times m x n
    trtri           n³/3                            inverse of an n x n triangle
    geqrf           2 m n² - 2n³/3                  m x n, m >= n
    ormqr           4 m n k - 2 n k²                k reflectors of length m on m x n
    ==============  ==============================  =========================================

    Collective communication (bcast, reduce, allreduce, allgather, gather, scatter, sendrecv, with
    bytes and ranks) has none.

    Examples
    --------
    >>> flop("gemm", m=2, n=3, k=4)
    48.0
    """
    if kernel not in _FORMULAS:
        raise unknown("kernel", kernel, _FORMULAS, "flop")
    names, formula = _FORMULAS[kernel]
    missing = [name for name in names if name not in parameters]
    if missing:
        raise InputError(
            f"flop of {kernel}: {', '.join(missing)} missing; needs {', '.join(names)}"
        )
    count = formula(*(np.asarray(parameters[name], dtype=np.float64) for name in names))
    return count if count.ndim else float(count)


def task_flop(graph: TaskGraph) -> NDArray[np.float64]:
    """Return the floating-point operations of every task; NaN if unknown.

    Parameters
    ----------
    graph
        The task graph; kernels are known by their names and those of their parameters, or have a
        parameter ``flop``.

    Returns
    -------
    float64 [tasks]
    """
    counts = np.full(len(graph), np.nan)
    for index, kernel in enumerate(graph.kernels):
        columns = dict(zip(graph.parameter_names[index], graph.parameters[index].T, strict=True))
        tasks = graph.kernel == index
        if "flop" in columns:
            counts[tasks] = columns["flop"][graph.row[tasks]]
        elif kernel in _FORMULAS and columns.keys() >= set(_FORMULAS[kernel][0]):
            counts[tasks] = flop(kernel, **columns)[graph.row[tasks]]
    return counts
