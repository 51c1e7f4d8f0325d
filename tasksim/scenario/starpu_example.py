"""Example of StarPU for a first simulation on an imported machine."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.formats.starpu.examples import EXAMPLES, Example
from tasksim.graph.apps.dense import item_bytes
from tasksim.graph.apps.registry import generate
from tasksim.models.rows import SIZE_PARAMETER
from tasksim.scenario.advice import extrapolated
from tasksim.scenario.kernel_models import with_model_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.graph.apps.parameters import Dtype
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.modelnames import ModelNames
    from tasksim.platform.description import Platform

__all__ = ["Suggestion", "suggested"]

EXAMPLE_TILES_PER_SIDE: Final = 16
"""Tile rows of the suggested graph: enough tasks for a dozen workers."""
_TILES_OF_GEMM: Final = 3
"""Number of tiles of a gemm; a matrix with this number of tile rows has tasks of all kernels."""
_USUAL_SIZES: Final = (960, 640, 320, 1024, 512, 256)
"""Usual tile sizes of StarPU's examples, for models without measured sizes."""


class Suggestion(NamedTuple):
    """A graph to simulate, with its settings and the names of its kernels' models."""

    graph: str
    settings: tuple[str, ...]
    model_names: ModelNames


def suggested(models: ModelLibrary, platform: Platform) -> Suggestion | None:
    """Return an example of StarPU whose kernels all have models on *platform*; None if none has.

    Its tile size is one that all models were measured with, the one with the most samples.
    """
    for example in EXAMPLES:
        for names in example.model_names(models.kernels()):
            size = _tile_size(example, names, models, platform)
            if size is not None:
                settings = (
                    f"tiles={EXAMPLE_TILES_PER_SIDE}",
                    f"tile_size={size}",
                    f"dtype={example.dtype}",
                )
                return Suggestion(example.graph, settings, names)
    return None


def _tile_size(
    example: Example, names: ModelNames, models: ModelLibrary, platform: Platform
) -> int | None:
    """Return a tile size that all models were measured with; None if there is none."""

    def graph(size: int) -> TaskGraph:
        made = generate(example.graph, tiles=_TILES_OF_GEMM, tile_size=size, dtype=example.dtype)
        return with_model_names(made, names)

    architectures = [group.models for group in platform.classes]
    known = {}
    for kernel, name in zip(graph(1).kernels, graph(1).model_names, strict=True):
        entries = models.file(name).architectures
        known[kernel] = [entries[each].model for each in architectures if each in entries]
    if not all(known.values()) or any(
        m.names_ != (SIZE_PARAMETER,) for each in known.values() for m in each
    ):
        return None
    sizes = _sizes(known["gemm"][0], example.dtype)
    fitting = (size for size in sizes if not extrapolated(graph(size), models, architectures))
    return next(fitting, None)


def _sizes(gemm: KernelModel, dtype: Dtype) -> Iterator[int]:
    """Yield the tile sizes that *gemm* was measured with, those with the most samples first."""
    entries = sorted(getattr(gemm, "entries_", ()), key=lambda e: (e.count, e.size), reverse=True)
    elements = [int(entry.size) / (_TILES_OF_GEMM * item_bytes(dtype)) for entry in entries]
    yield from (isqrt(int(n)) for n in elements if n and isqrt(int(n)) ** 2 == n)
    yield from _USUAL_SIZES
