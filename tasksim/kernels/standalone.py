"""One kernel by itself, on data of its own: to measure how long it takes."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.memory import refuse_too_large
from tasksim.kernels.buffer import Buffer
from tasksim.kernels.calls import address_of
from tasksim.kernels.dense import DenseKernel, PreparedCall, dense_kernel
from tasksim.kernels.errors import KernelError
from tasksim.kernels.pointers import Precision, precision_of
from tasksim.kernels.tiled import failure
from tasksim.kernels.workspace import Workspace

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Sizes = Mapping[str, int]

__all__ = ["Standalone", "standalone"]


def standalone(
    name: str, parameters: Mapping[str, float], dtype: str | None = None, seed: int = 0
) -> Standalone:
    """Return the kernel *name* with data that it can work on.

    Parameters
    ----------
    name
        The name of its model, one of :func:`~tasksim.kernels.dense.kernel_names`.
    parameters
        Its sizes by name.
    dtype
        ``"float64"`` or ``"float32"``; by default what the name says.
    seed
        Of the data.

    Raises
    ------
    InputError
        If there is no such kernel, the parameters are not its, or there is not the memory.

    Examples
    --------
    >>> gemm = standalone("gemm", {"m": 8, "n": 8, "k": 8})
    >>> gemm.run()
    >>> gemm.reset()
    """
    kernel, precision = dense_kernel(name)
    if dtype is not None and precision_of(dtype) != precision:
        if name != kernel.name:
            raise InputError(f"kernel {name} is not of {dtype}")
        precision = precision_of(dtype)
    return Standalone(kernel, kernel.sizes(parameters), precision, seed)


class Standalone:
    """A kernel on data of its own.

    Attributes
    ----------
    kernel
        Which it is.
    operands
        Name -> array.
    """

    def __init__(self, kernel: DenseKernel, sizes: Sizes, precision: Precision, seed: int) -> None:
        self.kernel = kernel
        # What it works on, and a copy to begin again with.
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
        self._arguments = (
            *prepared.arguments(references),
            *self._workspace.tail(prepared.tail),
        )

    def run(self) -> None:
        """Execute the kernel once; :exc:`KernelError` if it fails."""
        self._call(*self._arguments)
        info = self._workspace.info.value
        if info:
            raise KernelError(self.kernel.name, failure(self.kernel.name, info))

    def called(self, core: ctypes.CDLL) -> tuple[int, list[int]]:
        """Return the address of the routine, and its arguments, for callers that are not Python.

        They are good as long as the kernel is there; *core* has what LAPACK lacks.
        """
        self._called = called = self._prepared.called(core)
        operands = np.array([[address_of(item) for item in self._references]], dtype=np.int64)
        tail = [address_of(item) for item in self._workspace.tail(self._prepared.tail)]
        return called.address, [*called.rows(operands)[0].tolist(), *tail]

    def reset(self) -> None:
        """Make the operands again what they were at first."""
        for name in self.kernel.written:
            self.operands[name][:] = self._initial[name]

    def restored(self) -> list[tuple[int, int, int]]:
        """Return what :meth:`reset` copies, for callers that are not Python: to, from, bytes."""
        pairs = [(self.operands[name], self._initial[name]) for name in self.kernel.written]
        return [(to.ctypes.data, first.ctypes.data, first.nbytes) for to, first in pairs]


def _data(
    kernel: DenseKernel, sizes: Sizes, precision: Precision, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return operands that the kernel can work on, uniform on [-1/2, 1/2) but for what it needs."""
    operands = {
        name: np.asfortranarray(rng.random(shape) - 0.5, dtype=precision.dtype)
        for name, shape in kernel.shapes(sizes).items()
    }
    first = next(iter(operands.values()))
    dominance = 2 * sqrt(len(first)) + 1
    if kernel.name in ("potrf", "getrf", "trsm", "trsm_ru"):
        first[np.diag_indices(len(first))] += dominance
    elif kernel.name == "trsm_ll":
        # Its diagonal counts as ones; what is below must be small for the inverse not to explode.
        first /= dominance
    elif kernel.name in _FACTORED_BY:
        operands.update(_reflectors(_FACTORED_BY[kernel.name], sizes, precision, rng))
    return operands


_FACTORED_BY = {"gemqrt": ("geqrt", "A"), "tpmqrt": ("tpqrt", "B")}
"""Kernel that applies a Q -> the one that makes it, and where that leaves the reflectors."""


def _reflectors(
    maker: tuple[str, str], sizes: Sizes, precision: Precision, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return V and T as the kernel that makes them left them."""
    name, where = maker
    seed = int(rng.integers(2**32))
    factored = {"m": sizes["m"], "n": sizes["k"], "ib": sizes["ib"]}
    made = standalone(name, factored, precision.dtype, seed)
    made.run()
    return {"V": made.operands[where], "T": made.operands["T"]}
