"""Workbenches that compute the cells of a study, and prepare shared data only once.

Each process (and each thread) that computes cells has a workbench. It keeps the graphs, platforms,
models and prepared durations of the last groups of cells; cells arrive group by group.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import fields, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.errors import InputError, TasksimError
from tasksim.scenario.fingerprints import fingerprints
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.study.sweep.columns import Answer

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from tasksim.engine.simulation import Settled
    from tasksim.scenario.resolved import Resolved
    from tasksim.study.sweep.plan import PlannedCell

__all__ = ["Job", "Workbench", "compute", "failed", "group_of", "put_away"]

MAX_KEPT_GROUPS: Final = 8
"""Maximum number of groups (cells that share a graph and a platform) that a workbench keeps: cells
arrive group by group, and a graph of a million tasks has 200 MB."""
MAX_RESOLVED_GROUPS: Final = 64
"""Number of groups after which a workbench forgets all files that it has read, to bound its
memory."""
MAX_ERROR_CHARACTERS: Final = 1000
"""Longest error in a table, in characters."""
_OF_GROUP: Final = tuple(
    field.name for field in fields(Scenario) if field.name not in {"scheduler", "seed", "noise"}
)


class Job(NamedTuple):
    """A cell in the form that is sent to a worker."""

    cell: str
    scenario: Scenario
    """The scenario without the seed: pickle sends it once for all cells of a message."""
    seed: int
    fingerprint: str
    """Fingerprint of the scenario when the study was planned."""
    study: str
    """Identity of the study and of the content of its files."""
    metrics: tuple[str, ...] = ()

    @classmethod
    def of(cls, asked: PlannedCell, study: str, metrics: tuple[str, ...]) -> Job:
        """Return the job for a planned cell."""
        return cls(
            asked.cell, asked.row.scenario, asked.draw_seed, asked.fingerprint, study, metrics
        )


class _Group(NamedTuple):
    """Data that the cells of one graph on one platform share."""

    resolved: Resolved
    settled: Settled
    bounds: dict[Hashable, dict[str, float]]
    """Lower bounds by the seed of the draws; by None without noise."""
    warnings: dict[str, str | None]
    """Warnings by kind of noise."""

    @property
    def workers(self) -> int:
        """Number of workers on all nodes."""
        return self.resolved.nodes * len(self.resolved.platform.workers)


_benches = threading.local()


def compute(jobs: Iterable[Job]) -> list[Answer]:
    """Return the answers of some cells, computed on this thread's workbench."""
    bench = getattr(_benches, "bench", None)
    if bench is None:
        bench = _benches.bench = Workbench()
    return list(bench.answers(jobs))


def put_away() -> None:
    """Free this thread's workbench."""
    _benches.bench = None


def group_of(scenario: Scenario) -> Hashable:
    """Return the key of the group of cells that share the graph and the platform of *scenario*."""
    return tuple(getattr(scenario, name) for name in _OF_GROUP)


def failed(cell: str, error: BaseException) -> Answer:
    """Return the answer of a cell that raised *error*."""
    if _is_short_of_memory(error):
        return Answer(cell, "memory", "out of memory")
    known = isinstance(error, TasksimError)
    text = str(error) if known else f"{type(error).__name__}: {error}".rstrip(": ")
    return Answer(cell, "failed", text[:MAX_ERROR_CHARACTERS])


def _is_short_of_memory(error: BaseException | None) -> bool:
    """Return whether an error is, or was caused by, a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


class Workbench:
    """A place where one thread computes cells, with the data that they share."""

    def __init__(self) -> None:
        self._groups: OrderedDict[Hashable, _Group] = OrderedDict()
        self._resolver = Resolver()
        self._resolved = 0
        self._study = ""

    def warm_up(self) -> None:
        """Import the modules that cells need, so that the first cell's time does not include it."""
        import tasksim.engine.batch
        import tasksim.formats.graphs
        import tasksim.formats.platforms
        import tasksim.models.files.store
        import tasksim.scenario.solving  # noqa: F401

    def answers(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        """Yield the answer of each cell, failed ones included."""
        for job in jobs:
            begun = perf_counter()
            if job.study != self._study:  # files may have changed since the last one
                self._study = job.study
                self._groups.clear()
                self._forget()
            try:
                answer = self._answered(job, begun)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a scheduler that calls sys.exit() must not end tasksim
                answer = failed(job.cell, error)._replace(seconds=perf_counter() - begun)
            yield answer

    def _answered(self, job: Job, begun: float) -> Answer:
        """Return the answer of a cell; if memory runs out, try again with nothing else kept."""
        try:
            return self._answer(job, begun)
        except Exception as error:
            if not _is_short_of_memory(error):
                raise
            self._groups.clear()
            self._forget()
        return self._answer(job, begun)

    def _answer(self, job: Job, begun: float) -> Answer:
        whole = job.metrics or job.scenario.clock == "native"
        found = self._of_run(job) if whole else self._of_totals(job)
        # The time is taken last, so that it includes freeing the cell's memory.
        return Answer(*found[:-1], perf_counter() - begun)

    def _of_totals(self, job: Job) -> Answer:
        """Return the answer of a batch simulation, which is fast because it makes no tables."""
        from tasksim.engine.batch import totals

        scenario = job.scenario
        group = self._group(job)
        asked = group.resolved.simulation(scenario)._replace(seed=job.seed)
        (found,) = totals([asked], settled=group.settled)
        key = None if asked.noise == "none" else asked.seed
        if key not in group.bounds:  # schedulers with the same costs share them
            group.bounds[key] = group.settled.bounds(asked) or {}
        return Answer(
            job.cell,
            makespan_s=found.makespan_s,
            **_bounds(group.bounds[key]),
            tasks=len(group.resolved.graph),
            busy_share=_share(found.busy_s, group.workers, found.makespan_s),
            moved_bytes=found.copied_bytes,
            engine=found.engine,
            warnings=_warnings_of(group, scenario),
        )

    def _of_run(self, job: Job) -> Answer:
        """Return the answer from a whole run, which native cells and metrics need."""
        from tasksim.scenario.solving import solve
        from tasksim.study.sweep.metrics import measured

        native = job.scenario.clock == "native"
        warnings = None if native else _warnings_of(self._group(job), job.scenario)
        self._refuse_other_files(job)
        resolved = self._resolver.resolve(job.scenario.with_seed(job.seed))
        run = solve(resolved, digests=False)
        busy_s = float((run.tasks.end_s - run.tasks.start_s).sum())
        return Answer(
            job.cell,
            makespan_s=run.makespan_s,
            **_bounds(run.bounds or {}),
            tasks=len(run),
            busy_share=_share(busy_s, len(run.workers), run.makespan_s),
            moved_bytes=0 if run.transfers is None else int(run.transfers.size_bytes.sum()),
            engine=run.engine or None,
            warnings=warnings,
            metrics=measured(run, resolved.graph, job.metrics),
        )

    def _forget(self) -> None:
        """Forget all files that were read."""
        self._resolver, self._resolved = Resolver(), 0

    def _refuse_other_files(self, job: Job) -> None:
        """Raise :exc:`InputError` if files or tasksim differ from those of the planning process."""
        if next(fingerprints(job.scenario, [job.seed], self._resolver)) != job.fingerprint:
            raise InputError(
                "the files that it names, or tasksim, differ between the process that computes it "
                "and the one that planned the study"
            )

    def _group(self, job: Job) -> _Group:
        scenario = job.scenario
        key = group_of(scenario)
        if key in self._groups:
            self._groups.move_to_end(key)
            return self._groups[key]
        if self._resolved >= MAX_RESOLVED_GROUPS:
            self._forget()
        self._resolved += 1
        self._refuse_other_files(job)
        from tasksim.engine.simulation import Settled

        resolved = self._resolver.resolve(scenario)
        found = self._groups[key] = _Group(resolved, Settled(), {}, {})
        if len(self._groups) > MAX_KEPT_GROUPS:
            self._groups.popitem(last=False)
        return found


def _warnings_of(group: _Group, scenario: Scenario) -> str | None:
    """Return the warnings of a cell, which all cells of its group with the same noise share."""
    if scenario.noise not in group.warnings:
        asked = group.resolved.scenario.vary(noise=scenario.noise)
        said = replace(group.resolved, scenario=asked).warnings()
        group.warnings[scenario.noise] = "\n".join(said) or None
    return group.warnings[scenario.noise]


def _bounds(found: Mapping[str, float]) -> dict[str, Any]:
    if not found:
        return {}
    return {"critical_path_s": found["critical_path_s"], "lower_bound_s": max(found.values())}


def _share(busy_s: float, workers: int, makespan_s: float) -> float:
    capacity = workers * makespan_s
    return busy_s / capacity if capacity else 0.0
