r"""Dense kernels on tiles, with their operands and their BLAS or LAPACK routines.

The first twelve are the kernels of tiled Cholesky, LU and QR.

Tiles are column-major and contiguous, in float64 or float32. Parameters are sizes with the names of
the routines' own documentation; ``ib`` is the inner block size of the QR kernels.

===========  ==========================  =====================================================
kernel       parameters                  operation
===========  ==========================  =====================================================
potrf        n                           A = L, the Cholesky factor of its lower part
trsm         m, n                        B = B L⁻ᵀ
syrk         n, k                        C -= A Aᵀ, lower part
gemm         m, n, k                     C -= A Bᵀ
getrf        n                           A = L \\ U, without pivoting
trsm_ll      m, n                        B = L⁻¹ B, L of unit diagonal
trsm_ru      m, n                        B = B U⁻¹
gemm_nn      m, n, k                     C -= A B
geqrt        m, n, ib                    A = V \\ R, its QR factorisation, and T
gemqrt       m, n, k, ib                 C = Qᵀ C, the Q of geqrt
tpqrt        m, n, ib                    A (triangular) over B = R over V, and T
tpmqrt       m, n, k, ib                 A over B = Qᵀ (A over B), the Q of tpqrt
geqrf        m, n                        A = V \\ R, its QR factorisation without inner blocks
lacpy        m, n                        B = A, a copy
===========  ==========================  =====================================================

Tiled algorithms: A. Buttari, J. Langou, J. Kurzak, J. Dongarra, "A class of parallel tiled
linear algebra algorithms for multicore architectures", Parallel Computing 35(1), 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.kernels.calls import address_of
from tasksim.kernels.getrf import Getrf
from tasksim.kernels.pointers import (
    LibraryRoutine,
    Precision,
    Reference,
    character,
    integer,
    precision_of,
    real,
    routine,
)

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Mapping, Sequence

    from tasksim.base.arrays import Ints

__all__ = [
    "FAILURE_TEXTS",
    "KERNELS",
    "SINGLE_SUFFIX",
    "CalledRoutine",
    "DenseKernel",
    "PreparedCall",
    "dense_kernel",
    "failure",
    "kernel_names",
]

TAIL_ARGUMENTS = ("work", "lwork", "info")
"""Last arguments of routines, in this order."""
SINGLE_SUFFIX: Final = "_float32"
"""End of the names of models of kernels in single precision."""
_MAX_SIZE = 2**31 - 1  # the largest Fortran integer


@dataclass(frozen=True)
class DenseKernel:
    """A kernel on tiles, with the sizes of its operands and its routine.

    Attributes
    ----------
    name, parameters
        The name of the kernel, and the names of its sizes.
    operands
        Map from the name of an operand to its rows and columns, each a parameter or an integer.
    written
        The operands that the kernel changes.
    routine
        The BLAS or LAPACK routine, without the letter of its precision.
    arguments
        The arguments of the routine in order, as text: the name of a parameter or operand, a
        character in quotes, an integer, or a real number with a decimal point. The last ones may be
        ``work``, ``lwork`` and ``info``, which belong to a worker.
    work
        The extents of the workspace, each a parameter or an integer.
    at_most
        Pairs of parameters of which the first must not exceed the second.
    """

    name: str
    parameters: tuple[str, ...]
    operands: Mapping[str, tuple[str, str]]
    written: tuple[str, ...]
    routine: str
    arguments: tuple[str, ...]
    work: tuple[str, ...] = ()
    at_most: tuple[tuple[str, str], ...] = ()

    def sizes(self, parameters: Mapping[str, float], where: str = "") -> dict[str, int]:
        """Return the *parameters* as integers; raise :exc:`InputError` if a size is illegal."""
        prefix = f"{where}: " if where else ""
        if set(parameters) != set(self.parameters):
            raise InputError(
                f"{prefix}kernel {self.name} has parameters {', '.join(self.parameters)}, "
                f"got {', '.join(parameters) or 'none'}"
            )
        for name, value in parameters.items():
            if not (1 <= value <= _MAX_SIZE and value == int(value)):
                raise InputError(
                    f"{prefix}kernel {self.name}: {name}={value:g}: not a size; "
                    f"legal: an integer from 1 to {_MAX_SIZE}"
                )
        for small, large in self.at_most:
            if parameters[small] > parameters[large]:
                raise InputError(
                    f"{prefix}kernel {self.name}: {small}={parameters[small]:g} is more than "
                    f"{large}={parameters[large]:g}"
                )
        return {name: int(parameters[name]) for name in self.parameters}

    def shapes(self, sizes: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        """Return the (rows, columns) of each operand."""
        return {
            name: (_extent(rows, sizes), _extent(columns, sizes))
            for name, (rows, columns) in self.operands.items()
        }

    def work_elements(self, sizes: Mapping[str, Any]) -> Any:
        """Return the elements of workspace per execution; arrays of sizes give an array."""
        return prod(_extent(text, sizes) for text in self.work) if self.work else 0

    def elements(self, sizes: Mapping[str, Any]) -> Any:
        """Return the total elements of all operands; arrays of sizes give an array."""
        return sum(rows * columns for rows, columns in self.shapes(sizes).values())


def _extent(text: str, sizes: Mapping[str, Any]) -> Any:
    return sizes[text] if text in sizes else int(text)


def _kernel(
    name: str,
    operands: str,
    call: str,
    *,
    written: str,
    work: str = "",
    at_most: tuple[tuple[str, str], ...] = (),
) -> DenseKernel:
    """Return the kernel ``"name(m, n)"`` on operands ``"A:m,n"`` with the text of its *call*."""
    title, _, parameters = name.rstrip(")").partition("(")
    shapes = (text.replace(":", ",").split(",") for text in operands.split())
    routine_name, *arguments = call.split()
    return DenseKernel(
        name=title,
        parameters=tuple(parameters.split(", ")),
        operands={name: (rows, columns) for name, rows, columns in shapes},
        written=tuple(written),
        routine=routine_name,
        arguments=tuple(arguments),
        work=tuple(work.split()),
        at_most=at_most,
    )


_ALL = (
    _kernel("potrf(n)", "A:n,n", "potrf 'L' n A n info", written="A"),
    _kernel("trsm(m, n)", "L:n,n B:m,n", "trsm 'R' 'L' 'T' 'N' m n 1. L n B m", written="B"),
    _kernel("syrk(n, k)", "A:n,k C:n,n", "syrk 'L' 'N' n k -1. A n 1. C n", written="C"),
    _kernel(
        "gemm(m, n, k)", "A:m,k B:n,k C:m,n", "gemm 'N' 'T' m n k -1. A m B n 1. C m", written="C"
    ),
    _kernel("getrf(n)", "A:n,n", "getrf n A n work info", written="A", work="n n"),
    _kernel("trsm_ll(m, n)", "L:m,m B:m,n", "trsm 'L' 'L' 'N' 'U' m n 1. L m B m", written="B"),
    _kernel("trsm_ru(m, n)", "U:n,n B:m,n", "trsm 'R' 'U' 'N' 'N' m n 1. U n B m", written="B"),
    _kernel(
        "gemm_nn(m, n, k)",
        "A:m,k B:k,n C:m,n",
        "gemm 'N' 'N' m n k -1. A m B k 1. C m",
        written="C",
    ),
    _kernel(
        "geqrt(m, n, ib)",
        "A:m,n T:ib,n",
        "geqrt m n ib A m T ib work info",
        written="AT",
        work="ib n",
        at_most=(("ib", "n"), ("n", "m")),
    ),
    _kernel(
        "gemqrt(m, n, k, ib)",
        "V:m,k T:ib,k C:m,n",
        "gemqrt 'L' 'T' m n k ib V m T ib C m work info",
        written="C",
        work="ib n",
        at_most=(("ib", "k"), ("k", "m")),
    ),
    _kernel(
        "tpqrt(m, n, ib)",
        "A:n,n B:m,n T:ib,n",
        "tpqrt m n 0 ib A n B m T ib work info",
        written="ABT",
        work="ib n",
        at_most=(("ib", "n"),),
    ),
    _kernel(
        "tpmqrt(m, n, k, ib)",
        "V:m,k T:ib,k A:k,n B:m,n",
        "tpmqrt 'L' 'T' m n k 0 ib V m T ib A k B m work info",
        written="AB",
        work="ib n",
        at_most=(("ib", "k"),),
    ),
    _kernel(
        "geqrf(m, n)",
        "A:m,n T:1,n",
        "geqrf m n A m T work lwork info",
        written="AT",
        work="n 32",  # LAPACK's own block size (ilaenv): less workspace would give smaller blocks
        at_most=(("n", "m"),),
    ),
    _kernel("lacpy(m, n)", "A:m,n B:m,n", "lacpy 'A' m n A m B m", written="B"),
)

KERNELS: Mapping[str, DenseKernel] = {kernel.name: kernel for kernel in _ALL}
"""The kernels by the name of their model, without ``_float32``."""


def kernel_names() -> dict[str, tuple[str, ...]]:
    """Return a map from model name to parameter names for all kernels in both precisions."""
    return {
        name + suffix: kernel.parameters
        for suffix in ("", SINGLE_SUFFIX)
        for name, kernel in KERNELS.items()
    }


def dense_kernel(model_name: str, dtype: str | None = None) -> tuple[DenseKernel, Precision]:
    """Return the kernel with this *model_name* and its precision, single for ``_float32``.

    A name without this ending takes the precision of *dtype*, if that is given.

    >>> kernel, precision = dense_kernel("syrk_float32")
    >>> kernel.parameters, precision.letter
    (('n', 'k'), 's')
    """
    name = model_name.removesuffix(SINGLE_SUFFIX)
    if name not in KERNELS:
        raise unknown("kernel", model_name, kernel_names())
    precision = precision_of("float64" if name == model_name else "float32")
    if dtype is not None and precision_of(dtype) != precision:
        if name != model_name:
            raise InputError(f"kernel {model_name} is not of {dtype}")
        precision = precision_of(dtype)
    return KERNELS[name], precision


FAILURE_TEXTS: Final = {
    "potrf": "the leading minor of order {info} is not positive definite",
    "getrf": "pivot {info} is zero",
}
"""Kernel that may fail -> what its ``info`` tells."""


def failure(kernel: str, info: int) -> str:
    """Return a description of the failure of *kernel* with a nonzero *info*."""
    if info < 0:
        return f"argument {-info} of its routine is illegal"
    return FAILURE_TEXTS.get(kernel, "info {info}").format(info=info)


class PreparedCall:
    """A call of a kernel in which only the operands are missing.

    Parameters
    ----------
    kernel, sizes, precision
        The kernel, its parameters (:meth:`DenseKernel.sizes`) and its precision.

    Attributes
    ----------
    routine
        The routine to call with :meth:`arguments`, followed by the ``tail`` of a worker.
    tail
        The last arguments of the routine, from ``work``, ``lwork`` and ``info``.
    """

    def __init__(self, kernel: DenseKernel, sizes: Mapping[str, int], precision: Precision) -> None:
        self.routine: LibraryRoutine = routine(precision.letter + kernel.routine)
        if kernel.name == "getrf":  # LAPACK has none without interchanges
            self.routine = Getrf(precision.dtype)
        self.tail = tuple(name for name in TAIL_ARGUMENTS if name in kernel.arguments)
        fixed = kernel.arguments[: len(kernel.arguments) - len(self.tail)]
        self._template = [_constant(item, kernel, sizes, precision) for item in fixed]
        self._places = [fixed.index(operand) for operand in kernel.operands]

    def arguments(self, operands: Sequence[Reference]) -> tuple[Reference, ...]:
        """Return the arguments for *operands*, which are in the order of the kernel."""
        filled = self._template.copy()
        for place, operand in zip(self._places, operands, strict=True):
            filled[place] = operand
        return tuple(filled)

    def called(self, core: ctypes.CDLL) -> CalledRoutine:
        """Return the call for callers outside Python; *core* has the routine that LAPACK lacks."""
        routine = self.routine
        before: list[int] = []
        if isinstance(routine, Getrf):
            routine, before = routine.compiled(core)
        template = [address_of(item) if item is not None else 0 for item in self._template]
        places = [place + len(before) for place in self._places]
        return CalledRoutine(address_of(routine), before + template, places, self)


class CalledRoutine:
    """The address of a kernel's routine, and of all arguments except its operands.

    *kept* owns the memory behind the addresses of the arguments in *template*; the operands are
    at *places* among them.
    """

    def __init__(
        self, address: int, template: list[int], places: list[int], kept: PreparedCall
    ) -> None:
        self.address = address
        self._template, self._places, self._kept = template, places, kept

    def rows(self, operands: Ints) -> Ints:
        """Return the arguments for each row of *operands*, which are in the order of the kernel."""
        filled = np.tile(np.array(self._template, dtype=np.int64), (len(operands), 1))
        filled[:, self._places] = operands
        return filled


def _constant(
    item: str, kernel: DenseKernel, sizes: Mapping[str, int], precision: Precision
) -> Reference:
    """Return the reference to one argument; None for an operand."""
    if item in kernel.operands:
        return None
    if item in sizes:
        return integer(sizes[item])
    if item.startswith("'"):
        return character(item[1])
    return real(float(item), precision.dtype) if "." in item else integer(int(item))
