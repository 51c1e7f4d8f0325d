"""Loops over blocks of vectors and matrices in chunks, as in numerical libraries.

A library such as Blaze cuts an operation into blocks and hands them to threads in chunks of some
blocks each; a free thread takes the next chunk. Small chunks cost more, large ones leave threads
without work at the end. All chunks of one pass end before the next pass begins, as in a parallel
loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tasksim.applications.application import application
from tasksim.applications.flow import TaskFlow  # noqa: TC001 - read at run time
from tasksim.applications.kernel import kernel
from tasksim.graph.access_codes import RW, R, W
from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.applications.data import Datum, DatumVector
    from tasksim.applications.results import Results

__all__ = ["OPERATIONS", "loop"]

ALPHA = 3.0
"""Factor of daxpy."""
NORMAL, TRANSPOSED = float(ord("N")), float(ord("T"))
"""Fortran's codes for a matrix: the rows of C are the columns of Fortran."""


def _sum_of_two() -> Any:
    """Return c[i] = a[i] + b[i], compiled when it is first to run."""
    from tasksim.kernels.elementwise import add

    return add()


def _blas(name: str) -> Callable[[], Any]:
    def load() -> Any:
        from tasksim.kernels.pointers import routine

        return routine(name)

    return load


def _elements(c: Any) -> dict[str, float]:
    return {"n": c.size}


_VECTOR_ADD = kernel(
    _sum_of_two, name="vector_add", operands={"c": W, "a": R, "b": R},
    arguments="c a b n:int64", parameters=_elements,
)  # fmt: skip
_MATRIX_ADD = kernel(
    _sum_of_two, name="matrix_add", operands={"c": W, "a": R, "b": R},
    arguments="c a b c.size:int64",
    parameters=lambda c: {"rows": c.shape[0], "columns": c.shape[1]},
)  # fmt: skip
_DAXPY = kernel(
    _blas("daxpy"), name="daxpy", operands={"c": RW, "a": R},
    arguments="n:int32& alpha:float64& a one:int32& c one:int32&", parameters=_elements,
)  # fmt: skip
_MATRIX_VECTOR = kernel(
    _blas("dgemv"), name="matrix_vector", operands={"c": W, "a": R, "x": R},
    arguments="trans:int32& columns:int32& rows:int32& one:float64& a columns:int32& x"
    " stride:int32& zero:float64& c stride:int32&",
    parameters=lambda a: {"rows": a.shape[0], "columns": a.shape[1]},
)  # fmt: skip
_MATRIX_MULTIPLY = kernel(
    _blas("dgemm"), name="matrix_multiply", operands={"c": W, "a": R, "b": R},
    arguments="trans:int32& trans:int32& columns:int32& rows:int32& inner:int32& one:float64&"
    " b columns:int32& a inner:int32& zero:float64& c columns:int32&",
    parameters=lambda a, b: {"rows": a.shape[0], "columns": b.shape[1], "inner": a.shape[1]},
)  # fmt: skip


def _next_pass() -> Any:
    """Return the function that counts the passes, compiled when it is first to run."""
    from tasksim.kernels.elementwise import count

    return count()


_NEXT_PASS = kernel(_next_pass, name="next_pass", operands={"passes": RW}, arguments="passes")


@dataclass(frozen=True)
class Operation:
    """An operation of the loops.

    Attributes
    ----------
    kernel : Kernel
        What does a chunk of it.
    result, operands : str
        Shapes, in the number of elements along an axis: ``n`` of a vector, ``nn`` of a matrix. A
        capital letter: all chunks read the whole, as of the right factor.
    values : mapping
        What the kernel takes besides.
    flop : callable
        Of the length of an axis.
    exact : callable
        What the result should be: of what the operands and the result were at first, and the
        passes.
    """

    kernel: Any
    result: str
    operands: Sequence[str]
    values: dict[str, Any]
    flop: Callable[[float], float]
    exact: Callable[..., Any]


OPERATIONS: dict[str, Operation] = {
    "vector-add": Operation(
        _VECTOR_ADD, "n", ("n", "n"), {}, lambda n: n, lambda _c, a, b, _: a + b
    ),
    "daxpy": Operation(
        _DAXPY, "n", ("n",), {"alpha": ALPHA, "one": 1}, lambda n: 2 * n,
        lambda c, a, passes: c + passes * ALPHA * a,
    ),
    "matrix-add": Operation(
        _MATRIX_ADD, "nn", ("nn", "nn"), {}, lambda n: n**2, lambda _c, a, b, _: a + b
    ),
    "matrix-vector": Operation(
        _MATRIX_VECTOR, "n", ("nn", "N"),
        {"trans": TRANSPOSED, "one": 1.0, "zero": 0.0, "stride": 1}, lambda n: 2 * n**2,
        lambda _c, a, x, _: a @ x,
    ),
    "matrix-multiply": Operation(
        _MATRIX_MULTIPLY, "nn", ("nn", "NN"), {"trans": NORMAL, "one": 1.0, "zero": 0.0},
        lambda n: 2 * n**3, lambda _c, a, b, _: a @ b,
    ),
}  # fmt: skip
"""Loops by name; a new one is a kernel and a line here."""


@application("loop")
def loop(
    g: TaskFlow,
    operation: Literal[
        "vector-add", "daxpy", "matrix-add", "matrix-vector", "matrix-multiply"
    ] = "vector-add",
    n: Count = 100_000,
    block: Count = 1000,
    chunk_size: Count = 10,
    iterations: Count = 1,
) -> None:
    """Loop over blocks of a vector or matrix, some blocks per chunk.

    Parameters
    ----------
    operation
        vector-add, c = a + b; daxpy, c += 3 a; matrix-add, C = A + B; matrix-vector, c = A x;
        matrix-multiply, C = A B.
    n
        Elements of a vector; rows, and columns, of a matrix.
    block
        Elements, or rows, of a block: the loop has n / block of them.
    chunk_size
        Blocks per task.
    iterations
        How often the whole loop is done, each time when the last one is over.
    """
    found = OPERATIONS[operation]
    bounds = [*range(0, n, min(block * chunk_size, n)), n]
    c = g.cut("c", _shape(found.result, n), bounds, initial=_random(found.result, n))
    operands = [
        _operand(g, name, form, n, bounds) for name, form in zip("ab", found.operands, strict=False)
    ]
    passes = g.array("passes")
    before: list[int] = []
    for _ in range(iterations):
        chunks = [
            g.insert(
                found.kernel, piece, *(_piece(operand, i) for operand in operands),
                after=before, **found.values,
            )
            for i, piece in enumerate(c)
        ]  # fmt: skip
        before = [g.insert(_NEXT_PASS, passes, after=chunks)]
    _checked(g, found, c, operands, iterations)


def _shape(form: str, n: int) -> int | tuple[int, ...]:
    return n if len(form) == 1 else (n, n)


def _random(form: str, n: int) -> Callable[[Any], Any]:
    return lambda rng: rng.random(_shape(form, n))


def _operand(
    g: TaskFlow, name: str, form: str, n: int, bounds: Sequence[int]
) -> Datum | DatumVector:
    """Describe an operand: in pieces as the result, or whole."""
    if form.isupper():
        return g.array(name, _shape(form, n), initial=_random(form, n))
    return g.cut(name, _shape(form, n), bounds, initial=_random(form, n))


def _piece(operand: Any, index: int) -> Datum:
    from tasksim.applications.data import Datum

    found: Datum = operand if isinstance(operand, Datum) else operand[index]
    return found


def _checked(
    g: TaskFlow, operation: Operation, c: DatumVector, operands: Sequence[Any], passes: int
) -> None:
    """Check the result against NumPy's, relative to its largest element."""

    def error(results: Results) -> float:
        given = [results.initial(operand) for operand in (c, *operands)]
        exact = operation.exact(*given, passes)
        return float(np.abs(results[c] - exact).max() / np.abs(exact).max())

    # Sums of n products in another order differ by n roundings at most.
    g.check(error, tolerance=1e-11, what="error against NumPy")
