"""Loops over blocks of vectors and matrices in chunks, as in numerical libraries.

A library such as Blaze cuts an operation into blocks and hands them to threads in chunks of some
blocks each; a free thread takes the next chunk. Small chunks cost more, large ones leave threads
without work at the end. All chunks of one pass end before the next pass begins, as in a parallel
loop.

The operations are those of Blaze in G. Laberge, S. Shirzad, P. Diehl, H. Kaiser, S. Prudhomme and
A. S. Lemoine, "Scheduling optimization of parallel linear algebra algorithms using supervised
learning" (2019), tables 1 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tasksim.applications.application import application
from tasksim.applications.data import Datum
from tasksim.applications.flow import TaskFlow  # noqa: TC001 - read at run time
from tasksim.applications.foreign import compiled_in
from tasksim.applications.kernel import kernel
from tasksim.base.errors import InputError
from tasksim.graph.access_codes import RW, R, W
from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.applications.data import DatumVector
    from tasksim.applications.store import Results

__all__ = ["OPERATIONS", "chunks", "loop"]

ALPHA = 3.0
"""Factor of daxpy and matrix-scale."""
NORMAL, TRANSPOSED = float(ord("N")), float(ord("T"))
"""Fortran's codes for a matrix: rows of C are columns of Fortran."""


ELEMENTWISE_MODULE = "tasksim.kernels.elementwise"


def _blas(name: str) -> Callable[[], Any]:
    def load() -> Any:
        from tasksim.kernels.pointers import routine

        return routine(name)

    return load


def _elements(c: Any) -> dict[str, float]:
    return {"n": c.size}


def _rows(c: Any) -> dict[str, float]:
    return {"rows": c.shape[0], "columns": c.shape[1]}


def _product(a: Any, b: Any) -> dict[str, float]:
    return {"rows": a.shape[0], "columns": b.shape[1], "inner": a.shape[1]}


_TWO_READ = {"c": W, "a": R, "b": R}
_VECTOR_ADD = kernel(
    compiled_in(ELEMENTWISE_MODULE, "add"), name="vector_add", operands=_TWO_READ,
    arguments="c a b n:int64", parameters=_elements,
)  # fmt: skip
_MATRIX_ADD = kernel(
    compiled_in(ELEMENTWISE_MODULE, "add"), name="matrix_add", operands=_TWO_READ,
    arguments="c a b c.size:int64", parameters=_rows,
)  # fmt: skip
_MATRIX_ADD_NT = kernel(
    compiled_in(ELEMENTWISE_MODULE, "add_transposed"), name="matrix_add_nt", operands=_TWO_READ,
    arguments="c a b rows:int64 columns:int64 first:int64", parameters=_rows,
)  # fmt: skip
_MATRIX_SCALE = kernel(
    compiled_in(ELEMENTWISE_MODULE, "scale"), name="matrix_scale", operands={"c": W, "a": R},
    arguments="c a c.size:int64 alpha:float64", parameters=_rows,
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
    _blas("dgemm"), name="matrix_multiply", operands=_TWO_READ,
    arguments="trans:int32& trans:int32& columns:int32& rows:int32& inner:int32& one:float64&"
    " b columns:int32& a inner:int32& zero:float64& c columns:int32&",
    parameters=_product,
)  # fmt: skip
_MATRIX_MULTIPLY_NT = kernel(
    _blas("dgemm"), name="matrix_multiply_nt", operands=_TWO_READ,
    arguments="by_columns:int32& trans:int32& columns:int32& rows:int32& inner:int32&"
    " one:float64& b inner:int32& a inner:int32& zero:float64& c columns:int32&",
    parameters=_product,
)  # fmt: skip
_MATRIX_MULTIPLY_TN = kernel(
    compiled_in(ELEMENTWISE_MODULE, "multiply_tn"), name="matrix_multiply_tn", operands=_TWO_READ,
    arguments="c a b rows:int64 columns:int64 first:int64", parameters=_rows,
)  # fmt: skip
_BLOCK_ARGUMENTS = "c a b n:int64 height:int64 width:int64 first:int64 count:int64 transposed:int64"
_COMBINE_BLOCKS = kernel(
    compiled_in(ELEMENTWISE_MODULE, "combine_blocks"), name="combine_blocks", operands=_TWO_READ,
    arguments=f"{_BLOCK_ARGUMENTS} alpha:float64 beta:float64",
    parameters=lambda c, height, width: {"elements": c.size, "height": height, "width": width},
)  # fmt: skip
_MULTIPLY_BLOCKS = kernel(
    compiled_in(ELEMENTWISE_MODULE, "multiply_blocks"), name="multiply_blocks", operands=_TWO_READ,
    arguments=_BLOCK_ARGUMENTS,
    parameters=lambda c, n, height, width: {
        "elements": c.size, "inner": n, "height": height, "width": width
    },
)  # fmt: skip
_NEXT_PASS = kernel(
    compiled_in(ELEMENTWISE_MODULE, "count"),
    name="next_pass",
    operands={"passes": RW},
    arguments="passes",
)


@dataclass(frozen=True)
class LoopOperation:
    """An operation of the loops.

    Attributes
    ----------
    kernel : Kernel
        Kernel of a chunk.
    result, operands : str
        Shapes by a letter per axis: ``n`` for a vector, ``nn`` for a matrix. With a capital letter
        all chunks read the whole, as for the right factor.
    values : mapping
        Further values of the kernel.
    flop : callable
        Function from the length of an axis to the flop.
    exact : callable
        Function from the initial operands and result and the number of passes to the exact result.
    placed : bool
        Whether the kernel gets the first row of its chunk, for operands that it reads whole.
    by_blocks : Kernel or None
        Kernel of a chunk of blocks that are not whole rows.
    """

    kernel: Any
    result: str
    operands: Sequence[str]
    values: dict[str, Any]
    flop: Callable[[float], float]
    exact: Callable[..., Any]
    placed: bool = False
    by_blocks: Any = None


def _adding(transposed: int, *, b: str = "nn", **how: Any) -> LoopOperation:
    return LoopOperation(
        how.pop("kernel", _MATRIX_ADD), "nn", ("nn", b), {"transposed": transposed}, lambda n: n**2,
        lambda _c, a, b, _: a + (b.T if transposed in (1, 2) else b), by_blocks=_COMBINE_BLOCKS,
        **how,
    )  # fmt: skip


def _multiplying(transposed: int, exact: Callable[..., Any], **how: Any) -> LoopOperation:
    return LoopOperation(
        how.pop("kernel", _MATRIX_MULTIPLY), "nn", (how.pop("a", "nn"), "NN"),
        {"trans": NORMAL, "by_columns": TRANSPOSED, "one": 1.0, "zero": 0.0,
         "transposed": transposed},
        lambda n: 2 * n**3, exact, by_blocks=_MULTIPLY_BLOCKS, **how,
    )  # fmt: skip


OPERATIONS: dict[str, LoopOperation] = {
    "vector-add": LoopOperation(
        _VECTOR_ADD, "n", ("n", "n"), {}, lambda n: n, lambda _c, a, b, _: a + b
    ),
    "daxpy": LoopOperation(
        _DAXPY, "n", ("n",), {"alpha": ALPHA, "one": 1}, lambda n: 2 * n,
        lambda c, a, passes: c + passes * ALPHA * a,
    ),
    "matrix-add": _adding(0),
    "matrix-add-nt": _adding(2, b="NN", kernel=_MATRIX_ADD_NT, placed=True),
    # If one summand is stored by columns, the other one is cut into rows.
    "matrix-add-tn": _adding(2, b="NN", kernel=_MATRIX_ADD_NT, placed=True),
    # C by columns, too: the sum of the stored arrays.
    "matrix-add-tt": _adding(0),
    "matrix-scale": LoopOperation(
        _MATRIX_SCALE, "nn", ("nn",), {"alpha": ALPHA, "transposed": 0}, lambda n: n**2,
        lambda _c, a, _: ALPHA * a, by_blocks=_COMBINE_BLOCKS,
    ),
    "matrix-vector": LoopOperation(
        _MATRIX_VECTOR, "n", ("nn", "N"),
        {"trans": TRANSPOSED, "one": 1.0, "zero": 0.0, "stride": 1}, lambda n: 2 * n**2,
        lambda _c, a, x, _: a @ x,
    ),
    "matrix-multiply": _multiplying(0, lambda _c, a, b, _: a @ b),
    "matrix-multiply-nt": _multiplying(
        2, lambda _c, a, b, _: a @ b.T, kernel=_MATRIX_MULTIPLY_NT
    ),
    "matrix-multiply-tn": _multiplying(
        1, lambda _c, a, b, _: a.T @ b, a="NN", kernel=_MATRIX_MULTIPLY_TN, placed=True
    ),
    # C by columns, too: its stored array is that of B times that of A.
    "matrix-multiply-tt": _multiplying(0, lambda _c, b, a, _: b @ a),
}  # fmt: skip
"""Loops by name.

Two letters are the layouts of A and B: n, by rows; t, by columns.
"""


@application("loop")
def loop(
    g: TaskFlow,
    operation: Literal[
        "vector-add",
        "daxpy",
        "matrix-add",
        "matrix-add-nt",
        "matrix-add-tn",
        "matrix-add-tt",
        "matrix-scale",
        "matrix-vector",
        "matrix-multiply",
        "matrix-multiply-nt",
        "matrix-multiply-tn",
        "matrix-multiply-tt",
    ] = "vector-add",
    n: Count = 100_000,
    block: Count = 1000,
    chunk_size: Count = 10,
    iterations: Count = 1,
    block_columns: Count | None = None,
    schedule: Literal["fixed", "static", "guided", "factoring", "trapezoid"] = "fixed",
    threads: Count = 2,
) -> None:
    """Loop over blocks of a vector or matrix, some blocks per chunk.

    Parameters
    ----------
    operation
        vector-add, c = a + b; daxpy, c += 3 a; matrix-add, C = A + B; matrix-scale, C = 3 A;
        matrix-vector, c = A x; matrix-multiply, C = A B. With -nt, B is stored by columns, with
        -tn, A, with -tt, both and C.
    n
        Elements of a vector; rows and columns of a matrix.
    block
        Elements, or rows, of a block; the loop has n / block blocks.
    chunk_size
        Blocks per task; for guided, factoring and trapezoid the smallest number.
    iterations
        Number of executions of the whole loop, one after the other.
    block_columns
        Columns of a block of the matrix C, which is then stored block by block; by default all.
    schedule
        Numbers of blocks per task: fixed, all the same; static, a task per thread; guided, the
        remaining blocks divided by the threads; factoring, half of the remaining blocks in a task
        per thread; trapezoid, decreasing by a constant.
    threads
        Number of threads for all schedules except fixed.
    """
    found = OPERATIONS[operation]
    height = min(block, n)
    width = n if block_columns is None else min(block_columns, n)
    if width < n and found.by_blocks is None:
        raise InputError(
            f"loop: block_columns: got {block_columns}; legal: none, as the result of {operation}"
            " is not a matrix"
        )
    across = 1 if found.by_blocks is None else -(-n // width)
    blocks = -(-n // height) * across
    sizes = list(chunks(schedule, blocks, min(chunk_size, blocks), threads))
    ends = np.cumsum([0, *sizes]).tolist()
    if across > 1:
        _in_blocks(g, found, n, (height, width), ends, iterations)
        return
    bounds = [min(end * height, n) for end in ends]
    c = g.cut("c", _shape(found.result, n), bounds, initial=_random(found.result, n))
    operands: list[Datum | DatumVector] = []  # in pieces like the result, or whole
    for name, form in zip("ab", found.operands, strict=False):
        shape, values = _shape(form, n), _random(form, n)
        whole = form.isupper()
        operands.append(
            g.array(name, shape, initial=values) if whole
            else g.cut(name, shape, bounds, initial=values)
        )  # fmt: skip
    _passes(
        g, found.kernel, iterations,
        [
            ([piece, *(x if isinstance(x, Datum) else x[i] for x in operands)],
             {**found.values, "first": bounds[i]})
            for i, piece in enumerate(c)
        ],
    )  # fmt: skip

    def error(results: Results) -> float:
        given = [results.initial(operand) for operand in (c, *operands)]
        return _error(results[c], found.exact(*given, iterations))

    # Sums of n products in another order differ by at most n roundings.
    g.check(error, tolerance=1e-11, what="error against NumPy")


def chunks(schedule: str, blocks: int, least: int, threads: int) -> Iterator[int]:
    """Yield the number of blocks of each chunk, in order.

    Parameters
    ----------
    schedule : {"fixed", "static", "guided", "factoring", "trapezoid"}
        Guided self-scheduling is that of C. D. Polychronopoulos and D. J. Kuck (1987), factoring
        that of S. F. Hummel, E. Schonberg and L. E. Flynn (1992), trapezoid self-scheduling that
        of T. H. Tzen and L. M. Ni (1993).
    blocks : int
        Number of all blocks.
    least : int
        Smallest number in a chunk except the last; for fixed, the number in each; unused for
        static.
    threads : int
        Number of threads.

    Examples
    --------
    >>> list(chunks("guided", 20, 1, 4))
    [5, 4, 3, 2, 2, 1, 1, 1, 1]
    >>> list(chunks("factoring", 20, 1, 4))
    [3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1]
    >>> list(chunks("trapezoid", 20, 1, 2))
    [5, 4, 4, 3, 2, 2]
    """
    left, number = blocks, 0
    first = -(-blocks // (2 * threads))
    steps = max(1, -(-2 * blocks // (first + least)) - 1)
    while left:
        if schedule == "static":
            size = blocks * (number + 1) // threads - blocks * number // threads
        elif schedule == "guided":
            size = max(least, -(-left // threads))
        elif schedule == "factoring":
            if number % threads == 0:
                batch = max(least, -(-left // (2 * threads)))
            size = batch
        elif schedule == "trapezoid":
            size = max(least, round(first - (first - least) * number / steps))
        else:
            size = least
        number += 1
        if size:  # static chunks may be empty if there are more threads than blocks
            yield min(size, left)
        left -= min(size, left)


def _in_blocks(
    g: TaskFlow,
    found: LoopOperation,
    n: int,
    block: tuple[int, int],
    ends: Sequence[int],
    iterations: int,
) -> None:
    """Insert the tasks of a matrix in blocks that are not whole rows."""
    height, width = block
    across = -(-n // width)
    shapes = [
        (min(height, n - number // across * height), min(width, n - number % across * width))
        for number in range(ends[-1])
    ]
    bounds = np.cumsum([0, *(rows * columns for rows, columns in shapes)])
    c = g.cut("c", n * n, bounds[list(ends)].tolist(), initial=_random("n", n * n))
    operands = [g.array(name, (n, n), initial=_random("NN", n)) for name in "ab"]
    factors = {"alpha": ALPHA, "beta": 0.0} if found.kernel is _MATRIX_SCALE else {}
    values = {"n": n, "height": height, "width": width, "alpha": 1.0, "beta": 1.0, **factors,
              "transposed": found.values["transposed"]}  # fmt: skip
    _passes(
        g, found.by_blocks, iterations,
        [
            ([piece, *operands], {**values, "first": ends[i], "count": ends[i + 1] - ends[i]})
            for i, piece in enumerate(c)
        ],
    )  # fmt: skip

    def error(results: Results) -> float:
        stored, rebuilt = results[c], np.empty((n, n))
        for number, (rows, columns) in enumerate(shapes):
            row, column = number // across * height, number % across * width
            part = stored[bounds[number] : bounds[number + 1]].reshape(rows, columns)
            rebuilt[row : row + rows, column : column + columns] = part
        given = [results.initial(operand) for operand in operands[: len(found.operands)]]
        return _error(rebuilt, found.exact(None, *given, iterations))

    g.check(error, tolerance=1e-11, what="error against NumPy")


def _passes(
    g: TaskFlow, kernel: Any, iterations: int, chunks: Sequence[tuple[list[Any], dict[str, Any]]]
) -> None:
    """Insert a task per chunk, with its operands and values, and a task that ends each pass."""
    g.announce((len(chunks) + 1) * iterations)
    passes = g.array("passes")
    before: list[int] = []
    for _ in range(iterations):
        made = [
            g.insert(
                kernel, *operands, after=before,
                **{name: value for name, value in values.items() if name in kernel.values},
            )
            for operands, values in chunks
        ]  # fmt: skip
        before = [g.insert(_NEXT_PASS, passes, after=made)]


def _shape(form: str, n: int) -> int | tuple[int, ...]:
    return n if len(form) == 1 else (n, n)


def _random(form: str, n: int) -> Callable[[Any], Any]:
    return lambda rng: rng.random(_shape(form, n))


def _error(found: Any, exact: Any) -> float:
    """Return the largest difference, relative to the largest element."""
    return float(np.abs(found - exact).max() / np.abs(exact).max())
