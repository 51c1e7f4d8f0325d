"""Reproduction of a recorded run: its scenario solved again, and compared bit by bit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.arguments import flag
from tasksim.base.errors import InputError, TasksimError
from tasksim.run.recordtables import is_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.engine.choice import Engine
    from tasksim.run.record import Run

__all__ = ["Change", "Reproduction", "reproduce"]

COMPARED_TABLES: Final = ("tasks", "transfers", "memory", "messages")
"""Tables of a run, all of whose values must be the same."""
BOUND_TOLERANCE: Final = 1e-9
"""Relative tolerance of lower bounds: a linear program sums in another order with another BLAS."""


@dataclass(frozen=True)
class Change:
    """A cause, or a symptom, of another result: a value that is not the recorded one.

    Attributes
    ----------
    what : str
        Kind of the change: ``version``, ``file``, ``graph``, ``platform``, ``engine`` or ``bound``.
    name : str
        Which one: a package, a path, an argument of the generator.
    recorded, now : str or None
        The recorded value and the value now; None where there is none. For a file, its SHA-256.
    """

    what: str
    name: str
    recorded: str | None
    now: str | None

    def __str__(self) -> str:
        if self.what == "file":
            state = "has changed" if self.now is not None else "is missing"
            return f"file {self.name} {state}"
        return f"{self.what} {self.name}: {self.recorded or 'none'}, now {self.now or 'none'}"


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A recorded run, its scenario solved by this version, and the differences.

    Attributes
    ----------
    recorded, run : Run
        The run as recorded, and as this version simulates it.
    columns : dict of str to int
        Columns whose values differ, such as ``tasks.start_s``, with the number of rows that do.
    not_recorded : tuple of str
        Columns that the version of then did not record, and that are not compared.
    first_difference : str or None
        The earliest event that happened in only one of the runs; None if they are the same.
    changes : tuple of Change
        Changes since then: versions, files, the graph, the workers. A change need not alter
        the result.
    """

    recorded: Run
    run: Run
    columns: dict[str, int]
    not_recorded: tuple[str, ...]
    first_difference: str | None
    changes: tuple[Change, ...]

    @property
    def same(self) -> bool:
        """Whether all that was recorded is the same, bit by bit."""
        return not self.columns

    def __repr__(self) -> str:
        what = "the same" if self.same else f"{len(self.columns)} columns differ"
        return f"<Reproduction of {self.recorded.graph_label}: {what}>"

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain data, without the runs."""
        return {
            "same": self.same,
            "makespan_s": {"recorded": self.recorded.makespan_s, "now": self.run.makespan_s},
            "tasks": {"recorded": len(self.recorded), "now": len(self.run)},
            "first_difference": self.first_difference,
            "columns": dict(self.columns),
            "not_recorded": list(self.not_recorded),
            "changes": [asdict(change) for change in self.changes],
        }


def reproduce(
    run: Run,
    where: str | Path = "run",
    *,
    trust: bool = False,
    engine: Engine = "auto",
) -> Reproduction:
    """Solve the scenario that a simulated *run* recorded, and compare the results bit by bit.

    Parameters
    ----------
    run : Run
        A run, perhaps of an earlier version of tasksim.
    where : str or Path, default "run"
        Path of the run, for messages.
    trust : bool, default False
        Import a generator or a scheduler that the run names as ``MODULE:NAME``.
    engine : {"auto", "simpy", "compiled"}, default "auto"
        Engine of the replay; the result is the same with each.

    Returns
    -------
    Reproduction

    Raises
    ------
    InputError
        If *run* is not simulated, has no scenario, names code to import and *trust* is not given,
        or if its scenario has no meaning any more, such as a platform that is gone.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> run = tasksim.simulate("cholesky tiles=4", workers=2, durations=seconds)
    >>> reproduce(run).same
    True
    """
    from tasksim.run.first_difference import first_difference
    from tasksim.scenario.recorded import scenario_of

    flag(trust, "trust")
    scenario = scenario_of(run, Path(where), trust=trust)
    try:
        found = scenario.solve(engine=engine)
    except TasksimError as error:
        raise InputError(f"{where}: this version cannot replay its scenario: {error}") from error
    masked, not_recorded = _as_recorded(found, run)
    columns = dict(_differing(run, masked))
    return Reproduction(
        recorded=run,
        run=found,
        columns=columns,
        not_recorded=not_recorded,
        first_difference=first_difference(run, masked) if columns else None,
        changes=tuple(_changes(run, found)),
    )


def _as_recorded(found: Run, recorded: Run) -> tuple[Run, tuple[str, ...]]:
    """Return *found* without the columns that *recorded* lacks, and their names.

    Earlier versions recorded less: when a worker took a task is known since the middle of 0.1.
    """
    tables: dict[str, Any] = {}
    lacking = []
    for name in COMPARED_TABLES:
        then, now = getattr(recorded, name), getattr(found, name)
        if then is None and now is not None:
            lacking.append(name)
            tables[name] = None
        elif then is not None and now is not None:
            unknown = [
                column
                for column in then.optional
                if is_unknown(then, column) and not is_unknown(now, column)
            ]
            lacking += [f"{name}.{column}" for column in unknown]
            values = {column: np.zeros(0, then.dtypes[column]) for column in unknown}
            tables[name] = replace(now, **values)
    return replace(found, **tables), tuple(lacking)


def _differing(recorded: Run, found: Run) -> Iterator[tuple[str, int]]:
    """Yield the columns and facts that differ, each with the number of rows that do."""
    for name in COMPARED_TABLES:
        then, now = getattr(recorded, name), getattr(found, name)
        if then is None or now is None:
            if then is not now:
                yield name, len(then if now is None else now)
            continue
        for column in then.dtypes:
            if column in then.optional and is_unknown(then, column) and is_unknown(now, column):
                continue
            here, there = getattr(then, column), getattr(now, column)
            if column == "kernel":
                here, there = (
                    np.array(run.kernel_names, object)[values]
                    for run, values in ((recorded, here), (found, there))
                )
            rows = min(len(here), len(there))
            differ = int((here[:rows] != there[:rows]).sum()) + abs(len(here) - len(there))
            if here.dtype.kind == "f":
                differ -= int((np.isnan(here[:rows]) & np.isnan(there[:rows])).sum())
            if differ:
                yield f"{name}.{column}", differ
    if recorded.evictions != found.evictions:
        yield "evictions", 1
    if recorded.workers != found.workers:
        yield "workers", _unequal(recorded.workers, found.workers)
    if recorded.memories and recorded.memories != found.memories:
        yield "memories", _unequal(recorded.memories, found.memories)


def _unequal(here: tuple[Any, ...], there: tuple[Any, ...]) -> int:
    rows = sum(1 for a, b in zip(here, there, strict=False) if a != b)
    return rows + abs(len(here) - len(there))


def _changes(recorded: Run, found: Run) -> Iterator[Change]:
    """Yield the changes since *recorded* was written."""
    yield from _changed("version", recorded.versions, found.versions)
    digests = _digests(found)
    for path, digest in sorted(_digests(recorded).items()):
        now = digests.get(path)
        if now is None:  # a library may have the file in another place
            end = Path(path).parts[-2:]
            same = (other for other in digests if Path(other).parts[-2:] == end)
            now = next((digests[other] for other in same), None)
        if now != digest:
            yield Change("file", path, digest, now)
    if recorded.engine and recorded.engine != found.engine:
        yield Change("engine", "of the simulation", recorded.engine, found.engine)
    yield from _changed("graph", _graph_facts(recorded), _graph_facts(found))
    yield from _changed("platform", _platform_facts(recorded), _platform_facts(found))
    then, now_bounds = recorded.bounds or {}, found.bounds or {}
    for name in then:
        if name not in now_bounds or not np.isclose(
            then[name], now_bounds[name], rtol=BOUND_TOLERANCE, atol=0.0
        ):
            yield Change("bound", name, _text(then[name]), _text(now_bounds.get(name)))


def _changed(what: str, then: dict[str, Any], now: dict[str, Any]) -> Iterator[Change]:
    for name in [*then, *(name for name in now if name not in then)]:
        if then.get(name) != now.get(name):
            yield Change(what, name, _text(then.get(name)), _text(now.get(name)))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _digests(run: Run) -> dict[str, str]:
    """Return the digests of the files that a run depends on, by path."""
    found = run.config.get("sha256")
    return found if isinstance(found, dict) else {}


def _graph_facts(run: Run) -> dict[str, Any]:
    kernels = np.array([*run.kernel_names, ""], object)[run.tasks.kernel]
    names, counts = np.unique(kernels.astype(str), return_counts=True)
    facts = {f"tasks of {name}": int(n) for name, n in zip(names, counts, strict=True)}
    return {"generator": run.graph_name, **run.graph_arguments, "tasks": len(run), **facts}


def _platform_facts(run: Run) -> dict[str, Any]:
    architectures = [worker.architecture for worker in run.workers]
    counts = {
        f"workers of {name}": architectures.count(name) for name in dict.fromkeys(architectures)
    }
    return {"name": run.platform, **counts}
