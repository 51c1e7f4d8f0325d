"""A single kernel on data of its own, to measure its duration."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.arguments import refuse_too_large
from tasksim.kernels.calls import KernelError, address_of
from tasksim.kernels.dense import DenseKernel, PreparedCall, dense_kernel, failure
from tasksim.kernels.pointers import Buffer, Precision, Workspace

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Sizes = Mapping[str, int]

__all__ = ["Standalone", "standalone"]


def standalone(
    name: str, parameters: Mapping[str, float], dtype: str | None = None, seed: int = 0
) -> Standalone:
    """Return the kernel *name* with suitable data.

    Parameters
    ----------
    name
        The name of the kernel's model, one of :func:`~tasksim.kernels.dense.kernel_names`.
    parameters
        The sizes by name.
    dtype
        ``"float64"`` or ``"float32"``; by default the precision in the name.
    seed
        The seed of the data.

    Raises
    ------
    InputError
        If the kernel or a parameter is unknown, or the memory is too small.

    Examples
    --------
    >>> gemm = standalone("gemm", {"m": 8, "n": 8, "k": 8})
    >>> gemm.run()
    >>> gemm.reset()
    """
    kernel, precision = dense_kernel(name, dtype)
    return Standalone(kernel, kernel.sizes(parameters), precision, seed)


class Standalone:
    """A kernel on data of its own.

    Attributes
    ----------
    kernel
        The description of the kernel.
    operands
        Map from the name of an operand to its array.
    """

    def __init__(self, kernel: DenseKernel, sizes: Sizes, precision: Precision, seed: int) -> None:
        self.kernel = kernel
        # The operands, and a copy to restore them from.
        refuse_too_large(2 * kernel.elements(sizes) * precision.size_bytes, f"kernel {kernel.name}")
        self._initial = _data(kernel, sizes, precision, np.random.default_rng(seed))
        self._workspace = Workspace(kernel.work_elements(sizes), precision)
        buffers = {name: Buffer(data.nbytes) for name, data in self._initial.items()}
        self.operands: dict[str, NDArray[Any]] = {
            name: buffers[name].array(0, data.shape, data.dtype.name)
            for name, data in self._initial.items()
        }
        for name, data in self._initial.items():
            self.operands[name][:] = data
        self._prepared = prepared = PreparedCall(kernel, sizes, precision)
        self._references = references = [buffer.reference() for buffer in buffers.values()]
        self._call = prepared.routine
        tail = self._workspace.tail(prepared.tail)
        self._arguments = (*prepared.arguments(references), *tail)

    def run(self) -> None:
        """Execute the kernel once; raise :exc:`KernelError` if it fails."""
        self._call(*self._arguments)
        info = self._workspace.info.value
        if info:
            raise KernelError(self.kernel.name, failure(self.kernel.name, info))

    def called(self, core: ctypes.CDLL) -> tuple[int, list[int]]:
        """Return the address of the routine and its arguments for callers outside Python.

        The addresses are valid as long as this object lives. *core* has the routine that LAPACK
        lacks.
        """
        self._called = called = self._prepared.called(core)
        operands = np.array([[address_of(item) for item in self._references]], dtype=np.int64)
        tail = [address_of(item) for item in self._workspace.tail(self._prepared.tail)]
        return called.address, [*called.rows(operands)[0].tolist(), *tail]

    def reset(self) -> None:
        """Restore the initial operands."""
        for name in self.kernel.written:
            self.operands[name][:] = self._initial[name]

    def restored(self) -> list[tuple[int, int, int]]:
        """Return the copies of :meth:`reset` for callers outside Python: target, source, bytes."""
        pairs = [(self.operands[name], self._initial[name]) for name in self.kernel.written]
        return [(to.ctypes.data, first.ctypes.data, first.nbytes) for to, first in pairs]


def _data(
    kernel: DenseKernel, sizes: Sizes, precision: Precision, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return operands uniform on [-1/2, 1/2), changed where the kernel needs other values."""
    operands = {
        name: np.asfortranarray(rng.random(shape) - 0.5, dtype=precision.dtype)
        for name, shape in kernel.shapes(sizes).items()
    }
    first = next(iter(operands.values()))
    dominance = 2 * sqrt(len(first)) + 1
    if kernel.name in ("potrf", "getrf", "trsm", "trsm_ru"):
        first[np.diag_indices(len(first))] += dominance
    elif kernel.name == "trsm_ll":
        # Its diagonal counts as ones; the part below must be small, or the inverse would explode.
        first /= dominance
    elif kernel.name in _FACTORED_BY:
        operands.update(_reflectors(_FACTORED_BY[kernel.name], sizes, precision, rng))
    return operands


_FACTORED_BY = {"gemqrt": ("geqrt", "A"), "tpmqrt": ("tpqrt", "B")}
"""Map from a kernel that applies a Q to the kernel that makes it, and its operand with V."""


def _reflectors(
    maker: tuple[str, str], sizes: Sizes, precision: Precision, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return the V and T made by the kernel *maker*."""
    name, where = maker
    seed = int(rng.integers(2**32))
    factored = {"m": sizes["m"], "n": sizes["k"], "ib": sizes["ib"]}
    made = standalone(name, factored, precision.dtype, seed)
    made.run()
    return {"V": made.operands[where], "T": made.operands["T"]}
