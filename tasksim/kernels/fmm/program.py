"""The fast multipole method as a program, with all indices computed before the first task.

The graph's arguments determine particles and charges. The potential is 1/r in 3-D and -log r in
2-D. The force on particle i is its charge times minus the gradient of the potential, in 3-D
q_i sum_j q_j (x_i - x_j) / |x_i - x_j|^3. A particle does not act on itself, nor on others at the
same position.

A task writes to the cells or particles of one group (P2P_out: of two). The graph's accesses to
``up``, ``down`` and ``part_down`` exclude each other, so that no other task uses this group at the
same time and no locks are needed. The order of the tasks may differ between runs, which changes the
rounding of the sums.
"""

from __future__ import annotations

from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

# Numba multiplies matrices with SciPy's BLAS, which it would otherwise import at the first product,
# in the middle of a task.
import scipy.linalg.cython_blas  # noqa: F401

from tasksim.base.arguments import refuse_too_large
from tasksim.kernels.fmm.layout import Data, DatumGroups, Held, layout_of
from tasksim.kernels.fmm.p2p import due_to
from tasksim.kernels.fmm.plan import arrays_of_handles, calls
from tasksim.kernels.program import ALONE, Residual

if TYPE_CHECKING:
    import ctypes

    from numpy.typing import NDArray

    from tasksim.base.arrays import Bools, Floats, Ints
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.calls import Calls
    from tasksim.kernels.fmm.layout import Layout
    from tasksim.kernels.program import Together

__all__ = ["MAX_COMPARED_PARTICLES", "FmmProgram", "tolerance"]

MAX_COMPARED_PARTICLES = 2000
"""Largest number of particles that are compared with the direct sum."""

_MIN_TOLERANCE = 1e-9  # an upper bound of the errors of higher orders, rounding included
_AVERAGING_PARTICLES = 1000  # with fewer particles, their errors do not average out
_PAIR_BYTES = 64  # memory per pair of cells, for the plan and its construction
_MATRIX_BYTES = 8 * 64  # times p^(2d): 32 matrices in 3-D, twice during their construction


class FmmProgram:
    """A task graph of the fast multipole method with a prepared call per task.

    Parameters
    ----------
    graph
        A graph of the generator ``fmm``, or another one with the *layout* of its particles.
    workers
        The number of workers, which need no workspace.
    seed
        The seed of the sample of particles that are compared with the direct sum.
    layout
        The particles and their tree; by default those of the graph's arguments.
    held
        The data that have memory, by default all; tasks on other data cannot be executed.

    Attributes
    ----------
    layout : Layout
        The layout of the held particles.
    data : Data
        Expansions, potentials and forces.
    together : Together
        All processes with parts of the data, which check the result together.

    Raises
    ------
    InputError
        If the particles are unknown, the graph does not fit their tree, or this machine has too
        little memory.
    """

    holds_parts = True
    """Whether the program can hold a part of the data of its graph."""

    def __init__(
        self,
        graph: TaskGraph,
        workers: int,  # noqa: ARG002
        seed: int = 0,
        *,
        layout: Layout | None = None,
        held: NDArray[np.integer] | None = None,
    ) -> None:
        self._here = np.ones(graph.handles, np.bool_)
        if held is not None:
            self._here = np.isin(np.arange(graph.handles), held)
        refuse_too_large(_size_bytes(graph, self._here), f"graph {graph.name}")
        self.graph = graph
        self.together: Together = ALONE
        everything = layout_of(graph) if layout is None else layout
        self._groups = DatumGroups(graph, everything)
        cells = Held.of(self._groups, everything, held)
        self.layout = everything if held is None else everything.of_leaves(cells.leaves)
        self.data = Data.of(self.layout, cells)
        self._calls = calls(graph, self.layout, self.data, self._groups, self._here)
        self._seed = seed
        self._found: Floats | None = None

    def run(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Execute *task*."""
        call = self._calls[task]
        assert call is not None, "its data are not held"
        call()

    def calls(self, core: ctypes.CDLL) -> Calls:  # noqa: ARG002
        """Return the calls of all tasks without Python."""
        from tasksim.kernels.fmm.plan import entry_calls

        return entry_calls(self._calls)

    def datum(self, handle: int) -> NDArray[np.generic] | None:
        """Return the data of *handle*, for positions and charges a copy; None if it is not held."""
        arrays = self._arrays[handle]
        if not arrays:
            return None
        return arrays[0] if len(arrays) == 1 else np.vstack(arrays)

    def pieces(self, handle: int) -> tuple[NDArray[np.generic], ...]:
        """Return the arrays of *handle*."""
        return self._arrays[handle]

    @cached_property
    def _arrays(self) -> list[tuple[NDArray[np.generic], ...]]:
        return arrays_of_handles(self.graph, self.layout, self.data, self._groups, self._here)

    def reset(self) -> None:
        """Set expansions, potentials and forces to zero."""
        self.data.clear()

    def check(self) -> Residual:
        """Return the error of the potentials; see :meth:`errors` and :func:`tolerance`."""
        error = self.errors()["potential_error"]
        legal = tolerance(self.layout.order, self._particles)
        if self.layout.tree.dimension == 2:
            # Potentials may cancel: -log r is 0 at distance 1 and changes its sign there, while
            # errors are those of terms as large as the charges.
            typical = sqrt(float(np.mean(self._exact[0] ** 2)))
            charges = self.together.total(np.array([self.layout.charges[self._counted].sum()]))
            legal *= max(1.0, float(charges[0]) / typical if typical else 1.0)
        what = "relative error of the potentials (2-norm, against the direct sum)"
        return Residual(error, legal, what)

    def errors(self) -> dict[str, float]:
        """Return ``potential_error`` and ``force_error``.

        They are 2-norms of the difference from the direct sum, relative to the 2-norm of the direct
        sum, over all particles or a random sample of :data:`MAX_COMPARED_PARTICLES`.
        """
        chosen, places = self._sample
        got = np.zeros((len(self.data.result), len(chosen)))
        got[:, chosen] = self.data.result[:, places]
        got, exact = self.together.total(got), self._exact
        return {
            "potential_error": _relative_error(got[0], exact[0]),
            "force_error": _relative_error(got[1:], exact[1:]),
        }

    @property
    def _particles(self) -> int:
        return int(self.layout.tree.counts.sum())

    @cached_property
    def _counted_leaves(self) -> Bools:
        """The mask of leaves whose particles this process counts."""
        return self._groups.cells("part_down", self.together.counts)

    @property
    def _counted(self) -> Bools:
        """The mask of held particles that this process counts."""
        return np.repeat(self._counted_leaves, np.diff(self.layout.offsets))

    @cached_property
    def _sample(self) -> tuple[Bools, Ints]:
        """The mask of sampled particles that this process counts, and their places here."""
        count, layout = self._particles, self.layout
        drawn = np.random.default_rng(self._seed).choice(
            count, min(count, MAX_COMPARED_PARTICLES), replace=False
        )
        drawn.sort()
        begins = np.append(0, np.cumsum(layout.tree.counts))
        leaf = np.searchsorted(begins, drawn, side="right") - 1
        mine = self._counted_leaves[leaf]
        return mine, (drawn - begins[leaf] + layout.offsets[leaf])[mine]

    @property
    def _exact(self) -> Floats:
        """Potentials and forces of the sample, summed over the particles of all processes."""
        # Not a cached_property, which before Python 3.12 holds one lock for all programs.
        if self._found is None:
            mine, places = self._sample
            positions, charges, counted = self.layout.positions, self.layout.charges, self._counted
            points = np.zeros((len(positions) + 1, len(mine)))
            points[:, mine] = np.vstack([positions[:, places], charges[places]])
            points = self.together.total(points)
            found = due_to(positions[:, counted], charges[counted], points)
            self._found = self.together.total(found)
        return self._found


def tolerance(order: int, particles: int) -> float:
    """Return the largest relative error of correct potentials of an interpolation of *order*.

    The tolerance has one digit per node of an axis: 1e-3 at order 3, 1e-5 at 5, 1e-7 at 7, down to
    1e-9. It is 0.5 at order 1, which uses only the total charge of a cell. It is the usual error or
    more, because the errors of many particles average out. With n < 1000 particles, it is
    (1000 / n)^(1/2) times as large.
    """
    usual = 0.5 if order == 1 else max(10.0**-order, _MIN_TOLERANCE)
    return usual * sqrt(max(1.0, _AVERAGING_PARTICLES / particles))


def _relative_error(got: Floats, exact: Floats) -> float:
    """Return the 2-norm of the difference relative to that of *exact*; 0 if both are 0."""
    difference, norm = float(np.linalg.norm(got - exact)), float(np.linalg.norm(exact))
    if difference == 0:
        return 0.0
    return difference / norm if norm else np.inf


def _size_bytes(graph: TaskGraph, here: Bools) -> int:
    """Return an estimate of the memory for the data that are *here*, the plan and the matrices."""
    pairs = _total(graph, "M2L_in", "NbInteractions")
    pairs += _total(graph, "M2L_out", "OutsideInteractionsSize")
    size = int(graph.handle_size[here].sum()) + _PAIR_BYTES * pairs
    if "M2L_in" in graph.kernels:
        order, dimension = (int(graph.arguments.get(name, 0)) for name in ("order", "dimension"))
        size += _MATRIX_BYTES * order ** (2 * dimension)
    return size


def _total(graph: TaskGraph, kernel: str, parameter: str) -> int:
    """Return the sum of a parameter over the tasks of *kernel*; 0 without such tasks."""
    if kernel not in graph.kernels:
        return 0
    number = graph.kernels.index(kernel)
    column = graph.parameters[number][:, graph.parameter_names[number].index(parameter)]
    return int(column[graph.row[graph.kernel == number]].sum())
