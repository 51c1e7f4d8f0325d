"""Public functions that run a study, from a study file to a complete store.

::

    outcome = run_study("study.yaml", "study", jobs=2)
    table = read_table("study")
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.arguments import flag, path_of, whole_number
from tasksim.base.errors import InputError, expect, listed, option
from tasksim.base.log import Log
from tasksim.study.executors.registry import opened
from tasksim.study.sweep.columns import COMPUTED, Columns
from tasksim.study.sweep.grid import LABEL_COLUMNS
from tasksim.study.sweep.plan import PlannedCell, plan, question_of
from tasksim.study.sweep.running import Progress, Sweep
from tasksim.study.sweep.store import StudyHeader, StudyStore, read_cells, read_column, read_header
from tasksim.study.sweep.study import Study
from tasksim.study.sweep.study_file import read_study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["StudyOutcome", "cores_to_use", "differences", "run_study", "warning_summary"]

_log = Log("study")

_NUMBER: Final = re.compile(r"(?<![\w.])\d[\d.e+-]*(?: to \d[\d.e+-]*)?(?: [kMGTP]?i?B\b)?")
"""A number that is not part of a name, with the other end of its range and the unit of a size."""


class StudyOutcome(NamedTuple):
    """Outcome of running a study.

    Attributes
    ----------
    cells : int
        Number of cells of the study.
    computed : int
        Number of cells computed by this run.
    failed : int
        Number of failed cells, those of earlier runs included.
    seconds : float
        Time from the first cell to the last.
    engine_s : float
        Time spent computing cells, summed over all workers.
    workers : int
        Number of cells computed at a time.
    warnings : tuple of str
        Warnings of all computed cells, those of earlier runs included; each warning once.
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
) -> StudyOutcome:
    """Compute the cells of a study that are not in its store yet.

    Parameters
    ----------
    study : Study, str or Path
        The study, or the path of its file.
    folder : str or Path
        The store: a new folder, or one with a part of this study.
    executor : str, default "serial"
        Executor that computes the cells: ``NAME`` or ``NAME:ARGUMENT``.
    jobs : int, optional
        Number of cells to compute at a time; by default the number of usable cores.
    extend : bool, default False
        Whether to add the new cells of a changed study to those in the store.
    retry : bool, default False
        Whether to compute failed cells again.
    trust : bool, default False
        Whether to import generators and schedulers that the file names as ``MODULE:NAME``.
    tell : callable, optional
        Called with the progress, a few times per second.

    Returns
    -------
    StudyOutcome

    Raises
    ------
    InputError
        If the file or an argument is wrong; if the folder holds another study, or an earlier
        version of this one and *extend* is false; if another process adds to the store.
    OutputError
        If the store cannot be written; its content stays.

    Warns
    -----
    UserWarning
        For each warning of the simulations, for example that models extrapolate, or that a memory
        is too small for the data at home in it. Cells with the same warning are counted.

    See Also
    --------
    tasksim.study.sweep.store.read_table : Read the results.
    """
    folder = path_of(folder, "folder")
    cores = cores_to_use() if jobs is None else whole_number(jobs, "jobs", 1)
    expect(executor, str, "executor")
    for name, value in {"extend": extend, "retry": retry, "trust": trust}.items():
        flag(value, name)
    asked = study if isinstance(study, Study) else read_study(Path(study), trust=trust)
    native = asked.base.get("clock") == "native"
    if executor == "auto" and (native or trust or any(asked.limits)):
        # Native, foreign and limited cells need processes of their own.
        executor = "processes"
    with opened(executor, 1 if native else cores) as pool:
        cells = plan(asked)
        header = StudyHeader.of(asked, cells)
        before = _before(folder, header, asked, extend=extend, trust=trust)
        with StudyStore.opened(folder, header) as store:
            if before is not None and before != header:
                _extend(store, header, before, cells)
            failed = _failed(store, cells, retry=retry)
            _log.info("%d cells, %d of them done before, %d at a time",
                      len(cells), len(store.done), pool.workers)  # fmt: skip
            if pool.wait is not None:
                pool.wait()
            begun = perf_counter()
            sweep = Sweep(
                cells, store, pool, asked.limits, header.plan, asked.metrics, tell, failed
            )
            sweep.run()
            seconds = perf_counter() - begun
            store.compact()
        _log.info("%d cells computed, %d failed in all, in %.3f s, of which the engine took %.3f s",
                  sweep.computed, sweep.failed, seconds, sweep.engine_s)  # fmt: skip
        wanted = {one.cell for one in cells}
        kept = read_cells(folder, ["cell", "position", "warnings"]).sort_by("position").to_pylist()
        texts = (row["warnings"] for row in kept if row["cell"] in wanted)
        said = tuple(warning_summary(texts, len(cells)))
    for line in said:
        warnings.warn(line, stacklevel=2)
    return StudyOutcome(
        len(cells), sweep.computed, sweep.failed, seconds, sweep.engine_s, pool.workers, said
    )


def warning_summary(texts: Iterable[str | None], cells: int) -> list[str]:
    r"""Return the distinct warnings in the *texts* of a study of *cells* cells, in their order.

    Warnings that differ only in numbers, for example along an axis of sizes, are represented by the
    first of them.

    >>> said = ["ram has 1 MiB", None, "ram has 1.5 GiB\ngemm on cpu: n 9"]
    >>> for line in warning_summary(said, cells=8):
    ...     print(line)
    ram has 1 MiB, and 1 more like it (2 of 8 cells)
    gemm on cpu: n 9 (1 of 8 cells)
    """
    told: dict[str, dict[str, None]] = {}
    count: Counter[str] = Counter()
    for text in filter(None, texts):
        lines = {line: _NUMBER.sub("#", line) for line in text.split("\n")}
        for line, alike in lines.items():
            told.setdefault(alike, {})[line] = None
        count.update(set(lines.values()))
    found = []
    for alike, (first, *others) in told.items():
        more = f", and {len(others)} more like it" if others else ""
        found.append(f"{first}{more} ({count[alike]} of {cells} cells)")
    return found


def cores_to_use() -> int:
    """Return the number of cores that this process may use, within its SLURM allocation if any."""
    from tasksim.native.this_machine import usable_cores

    given = os.environ.get("SLURM_CPUS_PER_TASK", "")
    cores = len(usable_cores())
    return min(cores, max(1, int(given))) if given.isdecimal() else cores


def _before(
    folder: Path, header: StudyHeader, study: Study, *, extend: bool, trust: bool
) -> StudyHeader | None:
    """Return the header of the store in *folder*, None if there is none; refuse another study."""
    if not (folder / "study.json").exists():
        return None
    before = read_header(folder)
    if before.name != header.name:
        raise InputError(
            f"{folder}: holds the study '{before.name}', this one is '{header.name}': choose "
            "another folder"
        )
    if before.plan != header.plan and not extend:
        changed = "\n  ".join(differences(before, header, study, trust=trust))
        raise InputError(
            f"{folder}: the study has changed since it was begun:\n  {changed}\n"
            f"{option('extend', 'True')} adds the new cells; or choose another folder"
        )
    return before


def _extend(
    store: StudyStore, header: StudyHeader, before: StudyHeader, cells: list[PlannedCell]
) -> None:
    """Move the stored cells to their places in the new plan; drop those that must be recomputed."""
    if before.plan != header.plan:
        names = [*LABEL_COLUMNS, *before.columns]
        positions = {one.cell: one.position for one in cells}
        questions = {question_of(one.labels) for one in cells}
        kept: list[dict[str, Any]] = []
        for row in read_cells(store.folder).to_pylist():
            known = positions.get(row["cell"])
            # Same labels under another identity: a file or tasksim changed, so the cell is stale.
            if known is None and question_of({name: row[name] for name in names}) in questions:
                continue
            kept.append({**row, "position": len(cells) + len(kept) if known is None else known})
        # The settings' columns of both headers, with types that fit the values of both.
        columns = dict(header.columns)
        for name, kind in before.columns.items():
            numbers = {columns.get(name, kind), kind} <= {"int64", "float64"}
            if columns.setdefault(name, kind) != kind:
                columns[name] = "float64" if numbers else "string"
        store.columns = Columns(columns, header.metrics)
        header = StudyHeader(**{**vars(header), "columns": columns})
        store.rewrite(kept)
    header.write(store.folder)  # last: if the process is killed before, the next run starts over


def _failed(store: StudyStore, cells: list[PlannedCell], *, retry: bool) -> int:
    """Return the number of cells that failed before; with *retry*, remove them from the store."""
    states = read_column(store.folder, "status")
    bad = {one.cell for one in cells if states.get(one.cell, COMPUTED) != COMPUTED}
    if not (retry and bad):
        return len(bad)
    rows: list[dict[str, Any]] = read_cells(store.folder).to_pylist()
    store.rewrite([row for row in rows if row["cell"] not in bad])
    return 0


MAX_SHOWN_VALUES = 20
"""Maximum number of values of an axis that a line lists; it counts the others."""


def differences(
    before: StudyHeader, now: StudyHeader, study: Study, *, trust: bool = False
) -> list[str]:
    """Return the changes, one per line; there is at least one line."""
    found = [] if before.tasksim == now.tasksim else [f"tasksim: {before.tasksim} -> {now.tasksim}"]
    path = Path(before.folder) / study.path.name
    if before.digest != now.digest:
        try:
            found += _of_files(read_study(path, before.file, trust=trust), study)
        except InputError as error:  # the old file may name things that are gone
            found.append(f"its file, whose old version cannot be read any more: {error}")
    return found or ["files that it names (graphs, platforms, models) have changed"]


def _of_files(before: Study, now: Study) -> Iterator[str]:
    for what in ("graphs", "platforms", "schedulers"):
        # The axes of the entries by name; the last one counts if several share a name.
        old, new = (
            {entry.name or "workers": dict(entry.axes) for entry in getattr(study, what)}
            for study in (before, now)
        )
        yield from _of_values(what, tuple(old), tuple(new))
        for name in old.keys() & new.keys():
            yield from _of_axes(f"{what}, {name}", old[name], new[name])
    yield from _of_axes("settings", dict(before.settings), dict(now.settings))
    yield from _of_values("seeds", before.seeds, now.seeds)
    yield from _of_values("where", before.where, now.where)
    yield from _of_values("metrics", before.metrics, now.metrics)
    for name in sorted({*before.base, *now.base}):
        if before.base.get(name) != now.base.get(name):
            yield f"{name}: {before.base.get(name)} -> {now.base.get(name)}"


def _of_axes(what: str, before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    for path in {**before, **now}:
        yield from _of_values(f"{what}, {path}", before.get(path, ()), now.get(path, ()))


def _of_values(what: str, before: Sequence[Any], now: Sequence[Any]) -> Iterator[str]:
    for sign, values, others in (("+", now, before), ("-", before, now)):
        known = others if isinstance(others, range) else set(others)
        news = [value for value in values if value not in known]
        if news:
            yield f"{what}: {sign} {listed([*map(str, news)], MAX_SHOWN_VALUES)}"
