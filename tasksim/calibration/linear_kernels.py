"""Linear kernels: which get a linear model, and which a history of what was measured.

A history knows a configuration from its repetitions, and no other configuration. That is right
for the kernels of factorisations, which work on tiles of one size. The tasks of irregular
applications are nearly all different: another input has other configurations, of which a
history knows nothing, and a configuration is measured once per run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.taskgraph import TaskGraph
from tasksim.models.terms.candidates import AUTO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.models.samples import Samples

__all__ = ["SEARCHES", "LinearKernels", "Search", "choose_linear", "irregular"]

Search = Literal["irregular", "all", "none"]
SEARCHES: Final = ("irregular", "all", "none")

MANY: Final = 40
"""Configurations of a kernel; with no more than these, tables of them are still read."""


@dataclass(frozen=True)
class LinearKernels:
    """The kernels with linear models; all others get histories.

    Attributes
    ----------
    terms
        Kernel -> its terms, as they were asked for.
    searched
        Kernels whose terms are searched for; histories where the samples do not suffice.
    irregular
        Those of them for which nobody asked.
    """

    terms: Mapping[str, str] = field(default_factory=dict)
    searched: frozenset[str] = frozenset()
    irregular: frozenset[str] = frozenset()

    @property
    def linear(self) -> frozenset[str]:
        """All kernels that are to have linear models."""
        return self.searched | self.terms.keys()

    def terms_of(self, kernel: str) -> str | None:
        """Return the terms of *kernel*; None if it gets a history."""
        return self.terms.get(kernel) or (AUTO if kernel in self.searched else None)


def choose_linear(
    items: Sequence[TaskGraph | KernelCall],
    terms: Mapping[str, str],
    search: Search,
    earlier: Mapping[str, Samples] | None = None,
) -> LinearKernels:
    """Return which kernels of *items* get linear models.

    Parameters
    ----------
    terms
        Of the kernels for which they are known.
    search
        Of which other kernels terms are searched for: those of graphs that are
        :func:`irregular`, all, or none.
    earlier
        Kernel -> its samples of earlier calibrations, which will count too: a graph is taken for
        irregular if it shares a kernel with one that was, however few tasks it has.

    Raises
    ------
    InputError
        For another *search*.
    """
    if search not in SEARCHES:
        raise InputError(f"search: got '{search}'; legal: {', '.join(SEARCHES)}")
    graphs = [item for item in items if isinstance(item, TaskGraph)]
    found: set[str] = set()
    if search == "all":
        found.update(item.name for item in items if not isinstance(item, TaskGraph))
    for graph in graphs:
        if search == "all" or (search == "irregular" and _irregular(graph, earlier or {})):
            found.update(graph.model_names)
    searched = frozenset(found - terms.keys())
    return LinearKernels(dict(terms), searched, searched if search == "irregular" else frozenset())


def irregular(graph: TaskGraph) -> bool:
    """Return whether tasks of *graph* hardly repeat each other.

    They do not if some kernel has more than 40 configurations, most of which occur once. That
    says something of the graph, not of this kernel alone: another input will have other
    configurations of the other kernels too.
    """
    return any(
        _hardly_repeat(np.bincount(graph.row[graph.kernel == kernel]))
        for kernel in range(len(graph.kernels))
    )


def _irregular(graph: TaskGraph, earlier: Mapping[str, Samples]) -> bool:
    """Return whether *graph* is, or one was of which there are *earlier* samples."""
    known = [earlier[name] for name in graph.model_names if name in earlier]
    return irregular(graph) or any(_hardly_repeat(_counts(samples)) for samples in known)


def _counts(samples: Samples) -> NDArray[np.intp]:
    """Return how often each configuration occurs in its runs, usually; none if they are unknown."""
    if samples.runs is None:
        return np.empty(0, dtype=np.intp)
    group = samples.configurations()[1]
    occurs = np.unique(np.column_stack([group, samples.runs]), axis=0)[:, 0]
    return np.asarray(np.bincount(group) // np.bincount(occurs))


def _hardly_repeat(counts: NDArray[np.intp]) -> bool:
    return bool(len(counts) > MANY and np.median(counts) <= 1)
