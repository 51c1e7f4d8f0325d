"""Emulated machine: models of what ranks compute and send, from a few rates."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim import LinearModel, Samples, save_models

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from experiments.frame import Work

    Cost = Callable[..., float]

__all__ = ["MODELS_FILE", "make_machine", "write_models"]

MODELS_FILE: Final = "models.json"
"""File with the models of the emulated machine, in the folder of its step."""

ITEM_BYTES: Final = 8
"""Size of a matrix element: a double."""
CALL_S: Final = 1e-6
"""Duration of the call of a kernel without work, in seconds."""
MEMORY_BYTES_PER_S: Final = 4e9
"""Bandwidth of the memory for one rank of a full node, in bytes per second."""
SLOWDOWN_OF_OPERATION: Final = {
    "potrf": 3.0, "trtri": 3.0, "geqrf": 3.0, "tpqrt": 4.0, "getrf": 3.0, "ormqr": 1.5,
    "geqrt": 4.0, "gemqrt": 1.5, "tpmqrt": 1.5,
}  # fmt: skip
"""Factor by which an operation is slower in factorisations than in matrix products."""
FITTED_SIZES: Final = (16.0, 64.0, 160.0, 400.0, 1000.0)
"""Sizes that models are fitted to: they are exact, so that any do."""

COMPUTING_KERNELS: Final[dict[str, tuple[str, str, Cost, Cost]]] = {
    "gemm": ("m n k", "m*n*k + m*k + k*n + m*n", lambda m, n, k: 2 * m * n * k,
             lambda m, n, k: m * k + k * n + 2 * m * n),
    "trmm": ("m n", "m^2*n + m^2 + m*n", lambda m, n: m * m * n,
             lambda m, n: m * m / 2 + 2 * m * n),
    "trsm": ("m n", "m*n^2 + n^2 + m*n", lambda m, n: m * n * n,
             lambda m, n: n * n / 2 + 2 * m * n),
    "syrk": ("n k", "n^2*k + n*k + n^2", lambda n, k: n * n * k, lambda n, k: n * k + n * n),
    "potrf": ("n", "n^3 + n^2", lambda n: n**3 / 3, lambda n: n * n),
    "trtri": ("n", "n^3 + n^2", lambda n: n**3 / 3, lambda n: n * n),
    "getrf": ("n", "n^3 + n^2", lambda n: 2 * n**3 / 3, lambda n: 2 * n * n),
    "geqrf": ("m n", "m*n^2 + m*n", lambda m, n: 2 * m * n * n, lambda m, n: 2 * m * n),
    "tpqrt": ("m n", "m*n^2 + m*n", lambda m, n: 2 * m * n * n, lambda m, n: 2 * m * n),
    "geqrt": ("m n", "m*n^2 + m*n", lambda m, n: 2 * m * n * n, lambda m, n: 2 * m * n),
    "gemqrt": ("m n k", "m*n*k + m*k + m*n", lambda m, n, k: 2 * m * n * k,
               lambda m, n, k: m * k + 2 * m * n),
    "tpmqrt": ("m n k", "m*n*k + m*k + m*n", lambda m, n, k: 4 * m * n * k,
               lambda m, n, k: m * k + 3 * m * n),
    "ormqr": ("m n k", "m*n*k + m*k + m*n", lambda m, n, k: 4 * m * n * k,
              lambda m, n, k: m * k + 2 * m * n),
}  # fmt: skip
"""Kernel -> its sizes, the terms of its model, its operations, the elements that it moves."""

COLLECTIVES: Final = {
    "bcast": (1, 1), "reduce": (1, 1), "allreduce": (2, 2), "allgather": (1, 1), "gather": (1, 1),
    "scatter": (1, 1), "sendrecv": (1, 1),
}  # fmt: skip
"""Collective -> how many times it goes through the tree of ranks, and moves its bytes."""


def make_machine(work: Work) -> dict[str, str]:
    """Write the models of the emulated machine; return the name of their file."""
    return {"models": write_models(work.folder / MODELS_FILE, work.settings).name}


def write_models(path: Path, settings: Mapping[str, Any]) -> Path:
    """Write models of all kernels on a machine with the rates of the *settings*; return *path*."""
    kernels = {name: {"cpu": _computing(name, settings)} for name in COMPUTING_KERNELS}
    kernels |= {name: {"cpu": _communicating(name, settings)} for name in COLLECTIVES}
    return save_models(path, kernels, machine="emulated", how="from rates, without noise")


def _computing(name: str, settings: Mapping[str, Any]) -> LinearModel:
    names, terms, operations, elements = COMPUTING_KERNELS[name]
    parameters = names.split()
    rows = np.array(list(product(FITTED_SIZES, repeat=len(parameters))))
    rate = 1e9 * settings["gflops"] / SLOWDOWN_OF_OPERATION.get(name, 1.0)
    seconds = [
        CALL_S + operations(*row) / rate + ITEM_BYTES * elements(*row) / MEMORY_BYTES_PER_S
        for row in rows
    ]
    return _fitted(parameters, rows, seconds, terms)


def _communicating(name: str, settings: Mapping[str, Any]) -> LinearModel:
    through, moved = COLLECTIVES[name]
    rows = np.array(list(product([2.0, 4.0, 16.0, 64.0], [8.0, 1e3, 1e5, 1e7])))
    seconds = [
        through * settings["latency_us"] * 1e-6 * np.log2(ranks)
        + moved * size / (1e9 * settings["bandwidth_gbs"])
        for ranks, size in rows
    ]
    return _fitted(["ranks", "bytes"], rows, seconds, "log2(ranks) + bytes")


def _fitted(names: list[str], rows: Any, seconds: list[float], terms: str) -> LinearModel:
    return LinearModel(terms).fit(Samples(tuple(names), rows, np.array(seconds)))
