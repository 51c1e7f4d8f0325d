"""Executable kernels, of BLAS and LAPACK on tiles, of waiting and of Python functions."""

from __future__ import annotations

from tasksim.kernels.calls import KernelError
from tasksim.kernels.dense import kernel_names
from tasksim.kernels.program import Program, Residual, bind
from tasksim.kernels.standalone import Standalone, standalone
from tasksim.kernels.threads import blas_info, single_threaded_blas

__all__ = [
    "KernelError",
    "Program",
    "Residual",
    "Standalone",
    "bind",
    "blas_info",
    "kernel_names",
    "single_threaded_blas",
    "standalone",
]
