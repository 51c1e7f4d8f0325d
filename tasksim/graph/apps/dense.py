"""Parts that the generators of dense linear algebra share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tasksim.graph.apps.parameters import Dtype

__all__ = ["item_bytes", "model_names"]


def item_bytes(dtype: Dtype) -> int:
    """Return the size of one matrix element."""
    return 4 if dtype == "float32" else 8


def model_names(dtype: Dtype, *kernels: str, **renamed: str) -> dict[str, str]:
    """Return kernel -> kernel model; single precision has models of its own.

    >>> model_names("float32", "getrf", gemm="gemm_nn")
    {'getrf': 'getrf_float32', 'gemm': 'gemm_nn_float32'}
    """
    suffix = "_float32" if dtype == "float32" else ""
    return {kernel: name + suffix for kernel, name in ({k: k for k in kernels} | renamed).items()}
