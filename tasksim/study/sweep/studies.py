"""Studies: from a study file to a store in which all cells have their answers.

::

    outcome = run_study("study.yaml", "study", jobs=2)
    table = read_table("study")
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.arguments import flag, path_of, whole_number
from tasksim.base.errors import InputError, expect, option
from tasksim.study.executors.registry import opened
from tasksim.study.sweep.plan import Planned, plan, question_of
from tasksim.study.sweep.running import Progress, Sweep
from tasksim.study.sweep.store import Header, Store, read_cells, read_header
from tasksim.study.sweep.study import Study
from tasksim.study.sweep.study_file import read_study
from tasksim.study.sweep.study_warnings import warnings_of_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.study.executors.pool import Pool

__all__ = ["Outcome", "compute_study", "cores_to_use", "run_study"]

LABELS: Final = ("graph", "platform", "scheduler", "seed")


class Outcome(NamedTuple):
    """What running a study came to.

    Attributes
    ----------
    cells : int
        Of the study.
    computed : int
        Now, not before.
    failed : int
        Without an answer, of all.
    seconds : float
        From the first cell to the last.
    engine_s : float
        What computing the cells took, on all workers together.
    workers : int
    warnings : tuple of str
        What is to be said of the cells that are done, now or before: once for all of which it is.
    """

    cells: int
    computed: int
    failed: int
    seconds: float
    engine_s: float
    workers: int
    warnings: tuple[str, ...] = ()


def run_study(
    study: Study | str | Path,
    folder: str | Path,
    *,
    executor: str = "serial",
    jobs: int | None = None,
    extend: bool = False,
    retry: bool = False,
    trust: bool = False,
    tell: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Compute the cells of a study that are not in its store yet.

    Parameters
    ----------
    study : Study, str or Path
        Or its file.
    folder : str or Path
        The store: a new folder, or one with a part of this study.
    executor : str, default "serial"
        What computes: ``NAME`` or ``NAME:ARGUMENT``.
    jobs : int, optional
        How many cells are computed at a time; by default as many as there are cores to use.
    extend : bool, default False
        Whether a study that has changed adds to the cells that are there.
    retry : bool, default False
        Whether cells that have failed are computed again.
    trust : bool, default False
        Whether generators and schedulers that the file names as ``MODULE:NAME`` are imported.
    tell : callable, optional
        Is told the progress, a few times a second.

    Returns
    -------
    Outcome

    Raises
    ------
    InputError
        For whatever is wrong with the file or an argument; if the folder holds another study, or an
        earlier version of this one and *extend* is not given; if another process adds to it.
    OutputError
        If the store cannot be written; what is in it stays.

    Warns
    -----
    UserWarning
        If models extrapolate, memories have no room for what is at home in them, or whatever else
        simulations of cells warn of: once for all of which it is said.

    See Also
    --------
    tasksim.study.sweep.table.read_table : what came out.
    """
    outcome = compute_study(
        study,
        folder,
        executor=executor,
        jobs=jobs,
        extend=extend,
        retry=retry,
        trust=trust,
        tell=tell,
    )
    for line in outcome.warnings:
        warnings.warn(line, stacklevel=2)
    return outcome


def compute_study(
    study: Study | str | Path,
    folder: str | Path,
    *,
    executor: str = "serial",
    jobs: int | None = None,
    extend: bool = False,
    retry: bool = False,
    trust: bool = False,
    tell: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Do what :func:`run_study` does, but for warning: the outcome has what is to be said."""
    folder = path_of(folder, "folder")
    cores = cores_to_use() if jobs is None else whole_number(jobs, "jobs", 1)
    expect(executor, str, "executor")
    for name, value in {"extend": extend, "retry": retry, "trust": trust}.items():
        flag(value, name)
    asked = study if isinstance(study, Study) else read_study(Path(study), trust=trust)
    native = asked.base.get("clock") == "native"
    if executor == "auto" and (native or trust or any(asked.limits)):
        executor = "processes"  # such cells are kept apart from all others
    with opened(executor, 1 if native else cores) as pool:
        return _run(pool, asked, folder, extend=extend, retry=retry, trust=trust, tell=tell)


def _run(
    pool: Pool,
    asked: Study,
    folder: Path,
    *,
    extend: bool,
    retry: bool,
    trust: bool,
    tell: Callable[[Progress], None] | None,
) -> Outcome:
    """Run a study on a pool."""
    cells = plan(asked)
    header = Header.of(asked, cells)
    before = _before(folder, header, asked, extend=extend, trust=trust)
    with Store.opened(folder, header) as store:
        if before is not None and before != header:
            _extend(store, header, before, cells)
        failed = _failed(store, cells, retry=retry)
        if pool.wait is not None:
            pool.wait()
        begun = perf_counter()
        sweep = Sweep(cells, store, pool, asked.limits, header.plan, asked.metrics, tell, failed)
        sweep.run()
        seconds = perf_counter() - begun
        store.compact()
    said = warnings_of_store(folder, {one.cell for one in cells})
    return Outcome(
        len(cells),
        sweep.computed,
        sweep.failed,
        seconds,
        sweep.engine_s,
        pool.workers,
        tuple(said),
    )


def cores_to_use() -> int:
    """Return how many cores this process may use, also after SLURM."""
    from tasksim.native.cores import usable_cores

    given = os.environ.get("SLURM_CPUS_PER_TASK", "")
    cores = len(usable_cores())
    return min(cores, max(1, int(given))) if given.isdecimal() else cores


def _before(
    folder: Path, header: Header, study: Study, *, extend: bool, trust: bool
) -> Header | None:
    """Return what the store in *folder* holds; refuse what this study does not belong to."""
    if not (folder / "study.json").exists():
        return None
    before = read_header(folder)
    if before.name != header.name:
        raise InputError(
            f"{folder}: holds the study '{before.name}', this one is '{header.name}': choose "
            "another folder"
        )
    if before.plan != header.plan and not extend:
        from tasksim.study.sweep.differences import differences

        changed = "\n  ".join(differences(before, header, study, trust=trust))
        raise InputError(
            f"{folder}: the study has changed since it was begun:\n  {changed}\n"
            f"{option('extend', 'True')} adds the new cells; or choose another folder"
        )
    return before


def _extend(store: Store, header: Header, before: Header, cells: list[Planned]) -> None:
    """Put the cells that are there in their new places; those asked anew give way to come."""
    from tasksim.study.sweep.columns import Columns

    if before.plan != header.plan:
        names = [*LABELS, *before.columns]
        positions = {one.cell: one.position for one in cells}
        questions = {question_of(one.labels) for one in cells}
        kept: list[dict[str, Any]] = []
        for row in read_cells(store.folder).to_pylist():
            known = positions.get(row["cell"])
            if known is None and question_of({name: row[name] for name in names}) in questions:
                continue
            kept.append({**row, "position": len(cells) + len(kept) if known is None else known})
        store.columns = Columns(_both(before, header), header.metrics)
        header = Header(**{**vars(header), "columns": store.columns.settings})
        store.rewrite(kept)
    header.write(store.folder)  # the last: if this process is killed before, all is done again


def _both(before: Header, header: Header) -> dict[str, str]:
    """Return the columns of settings of both, of a type for the values of both."""
    found: dict[str, str] = dict(header.columns)
    for name, kind in before.columns.items():
        numbers = {found.get(name, kind), kind} <= {"int64", "float64"}
        if found.setdefault(name, kind) != kind:
            found[name] = "float64" if numbers else "string"
    return found


def _failed(store: Store, cells: list[Planned], *, retry: bool) -> int:
    """Return how many cells of the study have failed before; forget them if *retry*."""
    wanted = {one.cell for one in cells}
    table = read_cells(store.folder, ["cell", "status"])
    states = dict(
        zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    )
    bad = {cell for cell, status in states.items() if status != "done" and cell in wanted}
    if not (retry and bad):
        return len(bad)
    rows: list[dict[str, Any]] = read_cells(store.folder).to_pylist()
    store.rewrite([row for row in rows if row["cell"] not in bad])
    return 0
