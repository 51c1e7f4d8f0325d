"""Public functions on runs that take runs or where they are kept: compare, check, critical path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.arguments import flag
from tasksim.base.errors import expect
from tasksim.formats.runs import as_run
from tasksim.graph.taskgraph import TaskGraph
from tasksim.platform.description import Platform
from tasksim.run import compare as comparison
from tasksim.run import critical, runchecks

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from tasksim.run.record import Run

__all__ = ["check_run", "compare", "practical_critical_path"]


def compare(
    a: Run | str | Path, b: Run | str | Path, *, any_graph: bool = False
) -> comparison.Comparison:
    """Compare run *b* with the reference *a*: the older, or the real one.

    Parameters
    ----------
    a : Run, str or Path
        The reference: a run, or the folder that it is kept in.
    b : Run, str or Path
        What is compared with it.
    any_graph : bool, default False
        Whether runs of different graphs are compared too.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If the runs are of different graphs and *any_graph* is not given: unequal generators or
        arguments (other than ``priorities``), or tasks of other kernels.
    CheckFailed
        If the records of one of them are not possible.

    See Also
    --------
    practical_critical_path : why one of them took as long as it did.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> one, two = (tasksim.simulate("cholesky tiles=4", workers=n, models=seconds) for n in (1, 2))
    >>> round(compare(one, two).error_percent, 1)
    -40.6
    """
    flag(any_graph, "any_graph")
    return comparison.compare(as_run(a, "a"), as_run(b, "b"), any_graph=any_graph)


def check_run(
    run: Run | str | Path,
    graph: TaskGraph | None = None,
    platform: Platform | None = None,
    durations_s: ArrayLike | None = None,
) -> None:
    """Raise :exc:`CheckFailed`, which names the task and the worker, if *run* is impossible.

    Always: every task once, times in order (submitted <= ready <= popped <= start <= end), no
    two tasks at once on a worker; of copies, that they lead from one memory to another, times
    in order, and tasks after the copies made for them; of memories, that nothing is fuller than it
    can be. Differences of 1e-12 of the makespan are rounding.

    Parameters
    ----------
    run : Run, str or Path
        A run, or the folder that it is kept in.
    graph : TaskGraph, optional
        Then also: its tasks and kernels, every task after its predecessors, commutative accesses
        to one handle one at a time, ``released_by`` a task whose end made this one ready; that
        whatever a task reads is valid in its worker's memory, and what is copied in the memory it
        comes from.
    platform : Platform, optional
        Then also: its workers and memories.
    durations_s : array_like, shape (classes, tasks), optional
        With *platform*, infinite where a class cannot run a task; then also: every worker able.

    Raises
    ------
    CheckFailed
        If the run is impossible.
    InputError
        If an argument is none of these.

    See Also
    --------
    simulate : its *check* does this at once.

    Examples
    --------
    >>> import tasksim
    >>> check_run(tasksim.simulate("chain length=3 duration=0.5", workers=1))
    """
    for value, kind, what in ((graph, TaskGraph, "graph"), (platform, Platform, "platform")):
        if value is not None:
            expect(value, kind, what)
    runchecks.check_run(as_run(run), graph, platform, durations_s)


def practical_critical_path(run: Run | str | Path) -> critical.PracticalPath:
    """Return what each task waited for, from the task that ended last back to the start.

    A task that became ready before its worker was free waited for the worker; another for the
    task that released it, or for its submission. Of several tasks that end last, the first in
    order of submission is taken.

    Parameters
    ----------
    run : Run, str or Path
        A run, or the folder that it is kept in.

    Returns
    -------
    PracticalPath

    Raises
    ------
    InputError
        If the records go round in a circle, which no real run does.
    CheckFailed
        If they are not possible at all.

    See Also
    --------
    bounds : what no run can beat.

    Examples
    --------
    >>> import tasksim
    >>> run = tasksim.simulate("chain length=3 duration=0.5", workers=1)
    >>> len(practical_critical_path(run).steps)
    3
    """
    return critical.practical_critical_path(as_run(run))
