"""One kernel by itself, on data of its own: to measure how long it takes."""

from __future__ import annotations

from itertools import cycle
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.kernels.dense import Kernel, PreparedCall, dense_kernel
from tasksim.kernels.errors import KernelError
from tasksim.kernels.memory import Memory
from tasksim.kernels.pointers import Precision, precision
from tasksim.kernels.tiled import failure
from tasksim.kernels.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.kernels.pointers import Reference

    Sizes = Mapping[str, int]

__all__ = ["Standalone", "standalone"]


def standalone(
    name: str,
    parameters: Mapping[str, float],
    dtype: str | None = None,
    seed: int = 0,
    *,
    buffers: int = 1,
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
    buffers
        How many sets of operands there are; executions use one after the other. With more
        of them than caches hold, every execution finds its data in main memory.

    Raises
    ------
    InputError
        If there is no such kernel, or the parameters are not its.

    Examples
    --------
    >>> gemm = standalone("gemm", {"m": 8, "n": 8, "k": 8})
    >>> gemm.run()
    >>> gemm.restore()
    """
    kernel, real_type = dense_kernel(name)
    if dtype is not None and precision(dtype) != real_type:
        if name != kernel.name:
            raise InputError(f"kernel {name} is not of {dtype}")
        real_type = precision(dtype)
    if buffers < 1:
        raise InputError(f"buffers={buffers}: at least 1")
    return Standalone(kernel, kernel.sizes(parameters), real_type, seed, buffers)


class Standalone:
    """A kernel on data of its own.

    Attributes
    ----------
    kernel
        Which it is.
    operands
        Name -> array, per set of operands.
    """

    def __init__(
        self, kernel: Kernel, sizes: Sizes, real_type: Precision, seed: int, buffers: int
    ) -> None:
        self.kernel = kernel
        self._initial = _data(kernel, sizes, real_type, np.random.default_rng(seed))
        self._workspace = Workspace(kernel.work_elements(sizes) * real_type.size_bytes)
        prepared = PreparedCall(kernel, sizes, real_type)
        self._call, tail = prepared.routine, self._workspace.tail(prepared.tail)
        self.operands: list[dict[str, NDArray[Any]]] = []
        self._arguments: list[tuple[Reference, ...]] = []
        for _ in range(buffers):
            memories = [Memory(data.nbytes) for data in self._initial.values()]
            references = [memory.reference() for memory in memories]
            self.operands.append(_copies(self._initial, memories))
            self._arguments.append((*prepared.arguments(references), *tail))
        self._turn = cycle(range(buffers))
        self._used: dict[int, None] = {}

    def run(self) -> None:
        """Execute the kernel once, on the next set of operands."""
        turn = next(self._turn)
        self._used[turn] = None
        self._call(*self._arguments[turn])
        info = self._workspace.info.value
        if info:
            raise KernelError(self.kernel.name, failure(self.kernel.name, info))

    def restore(self) -> None:
        """Make the operands that were used again what they were at first."""
        for turn in self._used:
            for name in self.kernel.written:
                self.operands[turn][name][:] = self._initial[name]
        self._used.clear()


def _copies(
    initial: Mapping[str, NDArray[Any]], memories: Sequence[Memory]
) -> dict[str, NDArray[Any]]:
    """Return copies of the *initial* operands, each in its own memory."""
    copies = {}
    for (name, data), memory in zip(initial.items(), memories, strict=True):
        copies[name] = memory.array(0, data.shape, data.dtype.name)
        copies[name][:] = data
    return copies


def _data(
    kernel: Kernel, sizes: Sizes, real_type: Precision, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return operands that the kernel can work on, uniform on [-1/2, 1/2) but for what it needs."""
    operands = {
        name: np.asfortranarray(rng.random(shape) - 0.5, dtype=real_type.dtype)
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
        operands.update(_reflectors(_FACTORED_BY[kernel.name], sizes, real_type, rng))
    return operands


_FACTORED_BY = {"gemqrt": ("geqrt", "A"), "tpmqrt": ("tpqrt", "B")}
"""Kernel that applies a Q -> the one that makes it, and where that leaves the reflectors."""


def _reflectors(
    maker: tuple[str, str], sizes: Sizes, real_type: Precision, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return V and T as the kernel that makes them left them."""
    name, where = maker
    seed = int(rng.integers(2**32))
    factored = {"m": sizes["m"], "n": sizes["k"], "ib": sizes["ib"]}
    made = standalone(name, factored, real_type.dtype, seed)
    made.run()
    return {"V": made.operands[0][where], "T": made.operands[0]["T"]}
