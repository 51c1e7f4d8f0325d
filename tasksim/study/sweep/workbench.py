"""Workbench: where the cells of a study are computed; what they have in common is made once.

Each process (and each thread) that computes cells has one. It keeps the graphs, platforms, models
and prepared durations of the last groups of cells, which come in order.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import fields, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.errors import InputError, TasksimError
from tasksim.scenario.fingerprints import fingerprints
from tasksim.scenario.nodes import spread_of
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.study.sweep.columns import Answer
from tasksim.study.sweep.plan import drawn
from tasksim.study.sweep.study_warnings import as_text

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from tasksim.engine.batch import Item, Settled
    from tasksim.engine.cluster.spread import Spread
    from tasksim.run.record import Run
    from tasksim.scenario.resolved import Resolved
    from tasksim.study.sweep.plan import Planned

__all__ = ["Job", "Workbench", "compute", "failed", "group_of", "put_away"]

GROUPS: Final = 8
"""Of cells that share a graph and a platform, so many are remembered: cells come group by group,
and a graph of a million tasks has 200 MB."""
RESOLVED: Final = 64
"""After so many groups all that was read is forgotten, for the same reason."""
LONGEST: Final = 1000
"""Characters of an error in a table."""
_OF_GROUP: Final = tuple(
    field.name for field in fields(Scenario) if field.name not in {"scheduler", "seed", "noise"}
)


class Job(NamedTuple):
    """A cell as it is sent to what computes it."""

    cell: str
    scenario: Scenario
    """What is asked, but for the seed: sent once for all cells of a message that share it."""
    seed: int
    fingerprint: str
    """Of the scenario, where the study was planned."""
    study: str
    """Of what study, of what content, the cell is."""
    metrics: tuple[str, ...] = ()

    @classmethod
    def of(cls, asked: Planned, study: str, metrics: tuple[str, ...]) -> Job:
        """Return the job that a planned cell is."""
        return cls(
            asked.cell, asked.row.scenario, asked.draw_seed, asked.fingerprint, study, metrics
        )


class _Group(NamedTuple):
    """What cells of one graph on one platform share."""

    resolved: Resolved
    settled: Settled
    spread: Spread | None
    bounds: dict[Hashable, dict[str, float]]
    """By what draws the costs."""
    warnings: dict[str, str | None]
    """What its cells warn of, by the noise that is asked for."""

    @property
    def workers(self) -> int:
        """How many there are, on all nodes."""
        nodes = 1 if self.spread is None else self.spread.nodes
        return nodes * len(self.resolved.platform.workers)


_benches = threading.local()


def compute(jobs: Iterable[Job]) -> list[Answer]:
    """Return the answers of some cells, computed on this thread's workbench."""
    bench = getattr(_benches, "bench", None)
    if bench is None:
        bench = _benches.bench = Workbench()
    return list(bench.answers(jobs))


def put_away() -> None:
    """Forget what this thread's workbench has: other processes go on."""
    _benches.bench = None


def group_of(scenario: Scenario) -> Hashable:
    """Return what cells of one graph on one platform have in common, and no others."""
    return tuple(getattr(scenario, name) for name in _OF_GROUP)


def failed(cell: str, error: BaseException) -> Answer:
    """Return the answer of a cell that raised *error*."""
    if _is_short_of_memory(error):
        return Answer(cell, "memory", "out of memory")
    known = isinstance(error, TasksimError)
    text = str(error) if known else f"{type(error).__name__}: {error}".rstrip(": ")
    return Answer(cell, "failed", text[:LONGEST])


def _is_short_of_memory(error: BaseException | None) -> bool:
    """Return whether an error is, or comes from, a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


class Workbench:
    """Computes cells."""

    def __init__(self) -> None:
        self._groups: OrderedDict[Hashable, _Group] = OrderedDict()
        self._resolver = Resolver()
        self._resolved = 0
        self._study = ""

    def warm_up(self) -> None:
        """Import what cells will need, before the first one's time counts."""
        import tasksim.engine.batch
        import tasksim.formats.graphs
        import tasksim.formats.platforms
        import tasksim.models.files.store
        import tasksim.scenario.solving  # noqa: F401

    def answers(self, jobs: Iterable[Job]) -> Iterator[Answer]:
        """Yield the answer of each cell: also of those that fail."""
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
            except BaseException as error:  # an exit, too, is a scheduler's and not ours
                answer = failed(job.cell, error)._replace(seconds=perf_counter() - begun)
            yield answer

    def _answered(self, job: Job, begun: float) -> Answer:
        """Return the answer of a cell; short of memory, with nothing kept of earlier ones."""
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
        # To compute a cell is also to give back what it took, which is done here.
        return Answer(*found[:-1], perf_counter() - begun)

    def _of_totals(self, job: Job) -> Answer:
        """Return the answer that the fast way gives: no tables are made."""
        from tasksim.engine.batch import Item, totals
        from tasksim.scenario.solving import policy_of

        scenario = job.scenario
        group = self._group(job)
        item = Item(
            group.resolved.graph,
            group.resolved.platform,
            group.resolved.known_models(),
            policy_of(scenario.scheduler),
            job.seed,
            scenario.noise,
            **scenario.engine,
            spread=group.spread,
        )
        (found,) = totals([item], settled=group.settled)
        return Answer(
            job.cell,
            makespan_s=found.makespan_s,
            **_bounds(_bounds_of(group, item)),
            tasks=len(group.resolved.graph),
            busy_share=_share(found.busy_s, group.workers, found.makespan_s),
            moved_bytes=found.copied_bytes,
            engine=found.engine,
            warnings=_warnings_of(group, scenario),
        )

    def _of_run(self, job: Job) -> Answer:
        """Return the answer read off a whole run, as native ones and some metrics need it."""
        from tasksim.scenario.solving import solve
        from tasksim.study.sweep.metrics import measured

        native = job.scenario.clock == "native"
        warnings = None if native else _warnings_of(self._group(job), job.scenario)
        self._refuse_other_files(job)
        run = solve(self._resolver.resolve(drawn(job.scenario, job.seed)))
        return Answer(
            job.cell,
            makespan_s=run.makespan_s,
            **_bounds(run.bounds or {}),
            tasks=len(run),
            busy_share=_share(_busy_s(run), len(run.workers), run.makespan_s),
            moved_bytes=_moved_bytes(run),
            engine=run.engine or None,
            warnings=warnings,
            metrics=measured(run, job.metrics),
        )

    def _forget(self) -> None:
        """Forget all that was read."""
        self._resolver, self._resolved = Resolver(), 0

    def _refuse_other_files(self, job: Job) -> None:
        """Raise :exc:`InputError` if what is read here is not what the study was planned with."""
        if next(fingerprints(job.scenario, [job.seed], self._resolver)) != job.fingerprint:
            raise InputError(
                "the files that it names, or tasksim, are not the same where it is computed as "
                "where the study was planned"
            )

    def _group(self, job: Job) -> _Group:
        scenario = job.scenario
        key = group_of(scenario)
        if key in self._groups:
            self._groups.move_to_end(key)
            return self._groups[key]
        if self._resolved >= RESOLVED:
            self._forget()
        self._resolved += 1
        self._refuse_other_files(job)
        from tasksim.engine.batch import Settled

        resolved = self._resolver.resolve(scenario)
        found = self._groups[key] = _Group(resolved, Settled(), spread_of(resolved), {}, {})
        if len(self._groups) > GROUPS:
            self._groups.popitem(last=False)
        return found


def _bounds_of(group: _Group, item: Item) -> dict[str, float]:
    """Return the bounds of a replay; those of other schedulers with the same costs are known."""
    key = None if item.noise == "none" else item.seed
    if key not in group.bounds:
        group.bounds[key] = group.settled.bounds(item)
    return group.bounds[key]


def _warnings_of(group: _Group, scenario: Scenario) -> str | None:
    """Return what a cell warns of, which others of its group with the same noise do, too."""
    if scenario.noise not in group.warnings:
        asked = group.resolved.scenario.vary(noise=scenario.noise)
        said = replace(group.resolved, scenario=asked).warnings()
        group.warnings[scenario.noise] = as_text(said)
    return group.warnings[scenario.noise]


def _bounds(found: Mapping[str, float]) -> dict[str, Any]:
    if not found:
        return {}
    return {"critical_path_s": found["critical_path_s"], "lower_bound_s": max(found.values())}


def _share(busy_s: float, workers: int, makespan_s: float) -> float:
    capacity = workers * makespan_s
    return busy_s / capacity if capacity else 0.0


def _busy_s(run: Run) -> float:
    return float((run.tasks.end_s - run.tasks.start_s).sum())


def _moved_bytes(run: Run) -> int:
    return 0 if run.transfers is None else int(run.transfers.size_bytes.sum())
