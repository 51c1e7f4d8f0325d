"""StarPU's examples of dense linear algebra, and the names of their performance models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tasksim.graph.apps.parameters import Dtype
    from tasksim.models.modelnames import ModelNames

__all__ = ["EXAMPLES", "Example"]

_CHOLESKY: Final = ("potrf", "trsm", "syrk", "gemm")
_LU: Final = ("getrf", "trsm_ll", "trsm_ru", "gemm")
_BLAS: Final = ("", "_openblas", "_goto", "_atlas")
"""Suffixes of the names by the BLAS of StarPU's configuration; empty for MKL and others."""


class Example(NamedTuple):
    """An example of StarPU, with the prefix and the middle of its performance models' names.

    Since 1.4 the middles are names of kernels. Before, they are positions in a matrix of 2 x 2
    tiles, and gemm does the work of syrk, with the same tile twice.
    """

    graph: str
    dtype: Dtype
    prefix: str
    kernels: tuple[str, ...]
    parts: tuple[str, ...]

    def model_names(self, known: Collection[str]) -> Iterator[ModelNames]:
        """Yield sets of names under which all kernels have *known* models."""
        for end in _BLAS:
            names = [f"{self.prefix}{part}{end}" for part in self.parts]
            if not set(names) <= set(known):
                continue
            if self.kernels == self.parts:
                yield f"{self.prefix}{{kernel}}{end}"
            else:
                yield tuple(zip(self.kernels, names, strict=True))


_OLD_CHOLESKY: Final = ("11", "21", "22", "22")
_OLD_LU: Final = ("11", "12", "21", "22")

EXAMPLES: Final = (
    Example("cholesky", "float32", "chol_model_", _CHOLESKY, _CHOLESKY),
    Example("cholesky", "float32", "chol_model_", _CHOLESKY, _OLD_CHOLESKY),
    Example("lu", "float32", "starpu_slu_lu_model_", _LU, _LU),
    Example("lu", "float32", "starpu_slu_lu_model_", _LU, _OLD_LU),
    Example("lu", "float64", "starpu_dlu_lu_model_", _LU, _LU),
    Example("lu", "float64", "starpu_dlu_lu_model_", _LU, _OLD_LU),
)
"""Examples whose graphs have generators, with the names since 1.4 and the older ones."""
