"""Reading, writing, comparison and checks of runs in files of any format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.base.arguments import flag, path_of
from tasksim.base.errors import InputError, expect
from tasksim.base.files import exists, refuse_existing
from tasksim.base.log import Log
from tasksim.base.progress import reached
from tasksim.formats.registry import FORMATS, format_of, formats_that
from tasksim.run.foldernames import refuse_run_folder
from tasksim.run.record import Run

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tasksim.base.progress import CountProgress
    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.compare import Comparison
    from tasksim.run.critical import PracticalPath

__all__ = [
    "as_run",
    "check_run",
    "compare",
    "load_checked_run",
    "load_run",
    "practical_critical_path",
    "read_trace",
    "refuse_run",
    "save_run",
]

READ_SHARE: Final = 0.6
"""Share of the time of reading and checking a run after which it is read."""

_ZSTD: Final = "'zstd -d {}' unpacks it"
_NSYS: Final = (
    "'nsys stats --report cuda_gpu_trace --format csv --output run {}' writes a table that is read"
)
_PERFETTO: Final = "'traceconv json {} run.json' of Perfetto writes a trace that is read"
CONVERSION_HINTS: Final = {
    ".zst": _ZSTD, ".zstd": _ZSTD, ".nsys-rep": _NSYS, ".qdrep": _NSYS, ".pftrace": _PERFETTO,
    ".perfetto-trace": _PERFETTO,
}  # fmt: skip
"""Suffix of a binary trace that is not read -> the command that converts it."""

_log = Log("formats")


def load_run(path: str | Path) -> Run:
    """Read a run.

    Parameters
    ----------
    path : str or Path
        A folder that :func:`save_run` wrote, or its ``run.json``; or a file of another format
        that reads runs (``tasksim list formats``).

    Raises
    ------
    InputError
        If there is no run, or an incomplete one.

    See Also
    --------
    save_run : Write a run.

    Examples
    --------
    >>> import tempfile
    >>> import tasksim
    >>> run = tasksim.simulate(tasksim.generate("chain", length=2), tasksim.Platform.identical(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_run(run, Path(folder, "run"))
    ...     load_run(Path(folder, "run")).makespan_s
    0.002
    """
    where = path_of(path, "run")
    found = format_of(where, "reads_run") or FORMATS.find("run")
    assert found.reads_run is not None  # chosen for this ability
    return found.reads_run(where)


def load_checked_run(path: str | Path) -> Run:
    """Read a run as :func:`load_run`, and check its records, on which all its numbers rely."""
    from tasksim.run.runchecks import check_records

    run = load_run(path)
    reached(READ_SHARE)
    check_records(run, path)
    return run


def save_run(
    run: Run, folder: str | Path, force: bool = False, *, progress: CountProgress | None = None
) -> None:
    """Write *run* to *folder*, all or nothing.

    ``run.json`` holds the resolved configuration, seed, versions, makespan, bounds and a summary of
    the metrics; ``tasks.parquet`` the task records, and where there are several memories
    ``transfers.parquet`` and ``memory.parquet`` the copies and what is allocated: the same bytes
    for the same records; ``graph.npz`` the graph, if the run has one. Other files in a replaced run
    folder, such as figures, stay there.

    Parameters
    ----------
    run : Run
        Run to write.
    folder : str or Path
        Folder to write; the suffix of another format that writes runs (``tasksim list formats``)
        selects that format.
    force : bool, default False
        Whether to replace an existing run.
    progress : callable, optional
        Called with the number of written records and that of all records, if *folder* is a run
        folder: for other formats, the time is unknown.

    Raises
    ------
    InputError
        If *folder* exists without *force*, or is not a run folder; if the configuration is not
        plain JSON data.
    OutputError
        If the operating system refuses: no permission, no space.

    See Also
    --------
    load_run : Read a run back.

    Examples
    --------
    >>> import tasksim, tempfile
    >>> run = tasksim.simulate("chain length=3", workers=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_run(run, f"{folder}/kept")
    ...     tasksim.load_run(f"{folder}/kept") == run
    True
    """
    where = path_of(folder, "folder")
    flag(force, "force")
    own = FORMATS.find("run")
    found = format_of(where, "writes_run") or own
    if found is own:
        from tasksim.run.runfolder import save

        save(run, where, force, progress=progress)
        return
    assert found.writes_run is not None  # chosen for this ability
    found.writes_run(run, where, force)


def read_trace(path: str | Path, *, skip_bad: bool = False) -> RecordedTrace:
    """Read a run that another tool recorded, with notes on its trace.

    Parameters
    ----------
    path : str or Path
        A file or folder of a format that imports runs (``tasksim list formats``).
    skip_bad : bool, default False
        Whether malformed records are skipped and counted instead of refused.

    Returns
    -------
    RecordedTrace
        The run, with its graph; notes; skipped records.

    Raises
    ------
    InputError
        If no format recognises it, or it is malformed; with the file and the line.

    See Also
    --------
    load_run : The run alone.
    """
    where = path_of(path, "trace")
    if not exists(where):
        raise InputError(f"{where}: no such file or folder")
    found = format_of(where, "reads_trace")
    if found is None or found.reads_trace is None:
        if format_of(where, "reads_graph") is not None:
            raise InputError(
                f"{where}: a task graph, not a run of another tool: 'tasksim simulate {where}' "
                "reads it as it is, 'tasksim import workflow' imports it"
            )
        if hint := CONVERSION_HINTS.get(where.suffix):
            raise InputError(f"{where}: not read as it is: {hint.format(where)}")
        known = ", ".join(formats_that("reads_trace"))
        raise InputError(f"{where}: not in a format of recorded runs; legal: {known}")
    _log.info("%s is read as %s", where, found.summary)
    return found.reads_trace(where, flag(skip_bad, "skip_bad"))


def as_run(run: Run | str | Path, what: str = "run") -> Run:
    """Return *run*, read from its folder or file if it is a path; *what* labels it in messages."""
    if isinstance(run, str | Path):
        return load_run(run)
    expect(run, Run, what)
    return run


def refuse_run(path: Path, *, force: bool) -> None:
    """Refuse an existing *path* before any work is done, as :func:`save_run` would after it."""
    if format_of(path, "writes_run") in (None, FORMATS.find("run")):
        refuse_run_folder(path, force=force)
    else:
        refuse_existing(path, force=force)


def compare(a: Run | str | Path, b: Run | str | Path, *, any_graph: bool = False) -> Comparison:
    """Compare run *b* with the reference *a*: the older, or the real one.

    Parameters
    ----------
    a : Run, str or Path
        The reference: a run, or its folder.
    b : Run, str or Path
        The run to compare with it.
    any_graph : bool, default False
        Whether to compare even runs of different graphs.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If the runs are of different graphs and *any_graph* is not given: unequal generators or
        arguments (other than ``priorities``), or tasks of other kernels.
    CheckFailed
        If the records of one of them are impossible.

    See Also
    --------
    practical_critical_path : Why a run took its time.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> one, two = (tasksim.simulate("cholesky tiles=4", workers=n, models=seconds) for n in (1, 2))
    >>> round(compare(one, two).error_percent, 1)
    -40.6
    """
    from tasksim.run import compare as comparison

    flag(any_graph, "any_graph")
    return comparison.compare(
        as_run(a, "a"), as_run(b, "b"), any_graph=any_graph, graph_of=_graph_if_any
    )


def _graph_if_any(run: Run) -> TaskGraph | None:
    from tasksim.formats.graphs import graph_if_any

    return graph_if_any(run)


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
        A run, or its folder.
    graph : TaskGraph, optional
        Adds checks of its tasks and kernels: every task after its predecessors, commutative
        accesses to one handle one at a time, ``released_by`` a task whose end made this one ready,
        and data valid in the memory of the worker that reads them, or in the source of a copy.
    platform : Platform, optional
        Adds checks of its workers and memories.
    durations_s : array_like, shape (classes, tasks), optional
        With *platform*, infinite if a class cannot run a task; adds the check that every worker can
        run its tasks.

    Raises
    ------
    CheckFailed
        If the run is impossible.
    InputError
        If an argument is none of these.

    See Also
    --------
    simulate : Its *check* includes this check.

    Examples
    --------
    >>> import tasksim
    >>> check_run(tasksim.simulate("chain length=3 duration=0.5", workers=1))
    """
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run import runchecks

    for value, kind, what in ((graph, TaskGraph, "graph"), (platform, Platform, "platform")):
        if value is not None:
            expect(value, kind, what)
    runchecks.check_run(as_run(run), graph, platform, durations_s)


def practical_critical_path(run: Run | str | Path) -> PracticalPath:
    """Return what each task waited for, from the task that ended last back to the start.

    A task that became ready before its worker was free waited for the worker; another for the task
    that released it, or for its submission. Of several tasks that end last, the first submitted one
    counts.

    Parameters
    ----------
    run : Run, str or Path
        A run, or its folder.

    Returns
    -------
    PracticalPath

    Raises
    ------
    InputError
        If the records contain a cycle, which no real run has.
    CheckFailed
        If the records are impossible.

    See Also
    --------
    bounds : Lower bounds on the makespan.

    Examples
    --------
    >>> import tasksim
    >>> run = tasksim.simulate("chain length=3 duration=0.5", workers=1)
    >>> len(practical_critical_path(run).steps)
    3
    """
    from tasksim.run import critical

    return critical.practical_critical_path(as_run(run))
