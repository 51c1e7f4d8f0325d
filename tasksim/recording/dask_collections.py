"""Dask collections as task graphs, without computing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError, expect
from tasksim.recording.dask_graphs import DaskGraph
from tasksim.recording.log import RecordingLog
from tasksim.recording.tables import graph_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["from_dask"]


def from_dask(collection: Any, name: str = "dask", optimize: bool = True) -> TaskGraph:
    """Return the task graph of a Dask collection, without computing it.

    Tasks are numbered in the order in which Dask prefers to run them, and have priorities in it.
    Kernels are what Dask calls its tasks: of a key such as ``("sum-aggregate-8f3c", 0)`` the part
    ``sum-aggregate``. The sizes of results and the durations of tasks are unknown before they
    have run: :func:`record` measures them, for the same graph.

    Parameters
    ----------
    collection : Dask collection
        An array, a data frame, a bag, or something delayed.
    name : str, default "dask"
        Name of the graph.
    optimize : bool, default True
        Whether Dask optimizes the graph, as it does before it computes.

    Returns
    -------
    TaskGraph

    Raises
    ------
    InputError
        If *collection* is no Dask collection, or Dask is not installed.

    See Also
    --------
    record : Record tasks while they are computed, with their durations.

    Examples
    --------
    >>> import dask
    >>> parts = [dask.delayed(abs)(number, dask_key_name=f"abs-{number}") for number in (-1, -2)]
    >>> graph = from_dask(dask.delayed(sum)(parts, dask_key_name="sum-all"))
    >>> graph.kernels, graph.edges
    (('abs', 'sum-all'), 2)
    """
    expect(name, str, "name")
    graph, keys = _graph_of(collection, optimize)
    from dask.local import start_state_from_dask

    log = RecordingLog()
    found = DaskGraph(log, start_state_from_dask(graph, keys=keys))
    found.finish(graph)
    return graph_of(sorted(log.tasks, key=lambda task: task.place), name)


def _graph_of(collection: Any, optimize: bool) -> tuple[dict[Hashable, Any], set[Hashable]]:
    """Return the graph that Dask would compute for a collection, and the keys of its results."""
    try:
        from dask._task_spec import convert_legacy_graph
        from dask.base import compute, is_dask_collection
        from dask.core import flatten
    except ImportError as error:
        raise InputError(f"Dask is needed, and cannot be imported: {error}") from None
    if not is_dask_collection(collection):
        kind = type(collection).__name__
        raise InputError(f"collection: got {kind}; legal: a collection of Dask, not computed yet")
    caught: list[tuple[Any, Any]] = []

    def scheduler(graph: Any, keys: Any, **_: Any) -> None:
        caught.append((graph, keys))
        raise _CaughtError

    try:
        compute(collection, scheduler=scheduler, optimize_graph=optimize)
    except _CaughtError:
        graph, keys = caught[0]
    if not isinstance(graph, Mapping):
        graph = graph.__dask_graph__()
    return convert_legacy_graph(graph), set(flatten(keys))


class _CaughtError(Exception):
    """Signal that the scheduler got the graph, which was the only purpose of the call."""
