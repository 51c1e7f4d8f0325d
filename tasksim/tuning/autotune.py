"""Autotuning by native runs of configurations, complete or selective.

A tuning is a search (:mod:`tasksim.tuning.search`) whose answers are native runs. The prediction of
each configuration, its duration and its effort are kept run by run, so that an interruption loses
only the current run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from tasksim.base.errors import InputError, TasksimError
from tasksim.tuning.emulated import Emulated
from tasksim.tuning.one_node import OneNode
from tasksim.tuning.search import Tried, Tuned, ordered, search
from tasksim.tuning.selection import SelectiveSettings, TuningRun
from tasksim.tuning.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.progress import CountProgress
    from tasksim.tuning.one_node import RunSite
    from tasksim.tuning.over import ValueCombination
    from tasksim.tuning.search import SearchMode

__all__ = ["Autotuned", "SearchWay", "SelectiveSettings", "TuningRun", "autotune"]

SearchWay = Literal["selective", "full", "simulation", "emulation"]


@dataclass
class Autotuned:
    """Result of a tuning.

    Attributes
    ----------
    tuned : Tuned
        The configurations, the best first.
    runs : dict of int to list of TuningRun
        The native runs of each configuration, by its place among the candidates.
    places : dict
        Values of the axes -> place among the candidates.
    wall_s : float
        Total time of all runs, without the full runs beside them and the preparation of data.
    prepared_s : float
        Time to bind graphs to data, and to warm up.
    interrupted : bool
        Whether it was interrupted.
    notes : list of str
        Disturbances: short tasks, other programs, selective runs that are no shorter.
    """

    tuned: Tuned
    runs: dict[int, list[TuningRun]]
    places: dict[tuple[Any, ...], int]
    wall_s: float
    prepared_s: float
    interrupted: bool = False
    notes: list[str] = field(default_factory=list)

    def of(self, tried: Tried) -> list[TuningRun]:
        """Return the runs of a configuration."""
        return self.runs.get(self.places[tuple(tried.values.values())], [])

    def full_median(self, tried: Tried, name: str) -> float | None:
        """Return the median of a column of the full runs of a configuration; None if unknown."""
        values = (getattr(full, name) for ran in self.of(tried) for full in ran.full)
        known = [value for value in values if value is not None]
        return median(known) if known else None

    def full_s(self, tried: Tried) -> float | None:
        """Return the median makespan of the full runs of a configuration; None without any."""
        return self.full_median(tried, "makespan_s")

    def error(self, tried: Tried) -> float | None:
        """Return the error of the prediction, relative to the full runs."""
        full_s = self.full_s(tried)
        return tried.mean_s / full_s - 1 if full_s and tried.makespans_s else None

    def path_error(self, tried: Tried) -> float | None:
        """Return the error of the critical path's kernel time, relative to full runs.

        None if one of them is unknown.
        """
        said = [ran.path_s for ran in self.of(tried) if ran.path_s is not None]
        full_s = self.full_median(tried, "path_s")
        return sum(said) / len(said) / full_s - 1 if said and full_s is not None else None

    def alone_error(self, tried: Tried) -> float | None:
        """Return the error of the prediction, relative to the full runs alone on the machine.

        None if these are unknown.
        """
        alone_s = self.full_median(tried, "alone_s")
        return tried.mean_s / alone_s - 1 if alone_s is not None and tried.makespans_s else None

    @property
    def mean_error(self) -> float | None:
        """The mean of the absolute errors."""
        errors = [abs(e) for tried in self.tuned.tried if (e := self.error(tried)) is not None]
        return sum(errors) / len(errors) if errors else None

    @property
    def regret(self) -> float | None:
        """Loss of the choice against the best, both in full runs, as a share of the best."""
        full = [f for tried in self.tuned.tried if (f := self.full_s(tried)) is not None]
        chosen_s = self.full_s(self.tuned.best)
        return chosen_s / min(full) - 1 if full and chosen_s is not None else None

    @property
    def speedup(self) -> float | None:
        """Time of the same number of full runs over the time of the tuning; None if unknown.

        The full runs are measured, or else predicted.
        """
        all_runs = [ran for runs in self.runs.values() for ran in runs]
        if not all_runs or not self.wall_s:
            return None
        full_s = (median(f.wall_s for f in r.full) if r.full else r.makespan_s for r in all_runs)
        return sum(full_s) / self.wall_s


def autotune(
    candidates: Sequence[ValueCombination],
    *,
    by: SearchWay = "selective",
    selection: SelectiveSettings | None = None,
    repetitions: int = 1,
    how: SearchMode = "exhaustive",
    judge: int = 0,
    progress: CountProgress | None = None,
    site: RunSite | None = None,
    watch: Watch | None = None,
) -> Autotuned:
    """Run *candidates*, and return them from the best to the worst, with the effort.

    Parameters
    ----------
    candidates : sequence of ValueCombination
        The choices, with the native clock except for simulation.
    by : {"selective", "full", "simulation", "emulation"}
        Native runs that skip kernels whose mean is known, full native runs, simulations, or runs
        that skip such kernels and draw the durations of the others from models.
    selection : SelectiveSettings, optional
        Settings of selective execution.
    repetitions : int, default 1
        Number of runs of the best candidates; for halving at least 2.
    how : {"exhaustive", "halving"}
        ``"exhaustive"`` gives all runs to all candidates; ``"halving"`` gives three times as many
        runs as before to the best third of each round.
    judge : int, default 0
        Number of full runs beside each run, to judge it.
    progress : callable, optional
        Called with the numbers of finished and of all runs.
    site : RunSite, optional
        Site of the runs; by default this machine, one node, or an emulation.
    watch : Watch, optional
        Judge of selective runs; if they save no time, everything is executed.

    Raises
    ------
    InputError
        If every candidate fails, or the tolerance, policy or search is illegal.
    KeyboardInterrupt
        If it is interrupted before the first answer; later, the result so far is returned.
    """
    told = selection or SelectiveSettings()
    told.statistics()
    if how == "halving" and repetitions == 1:
        raise InputError("--search halving needs several runs; give --repetitions")
    watch = watch or Watch()
    if by == "emulation" and site is None:
        site = Emulated(candidates, told)
    answers = _Runs(candidates, by, site or OneNode(candidates, told), judge, watch)
    begun = perf_counter()
    interrupted = False
    try:
        tuned = search(
            candidates,
            seeds=repetitions,
            how=how,
            progress=progress,
            answers=None if by == "simulation" else answers,
        )
        tuned = answers.settled(tuned)
    except KeyboardInterrupt:
        if not any(answers.runs.values()):
            raise
        tuned, interrupted = answers.so_far(), True
    simulated_s = perf_counter() - begun if by == "simulation" else 0.0
    if by == "simulation" and judge:
        answers.judge_all()
    places = {tuple(c.values.values()): place for place, c in enumerate(candidates)}
    wall_s = simulated_s + sum(ran.wall_s for runs in answers.runs.values() for ran in runs)
    if by == "full":
        watch.is_disturbed()
    return Autotuned(
        tuned, answers.runs, places, wall_s, answers.prepared_s, interrupted, watch.notes
    )


@dataclass
class _Runs:
    """Native runs of the candidates of a search."""

    candidates: Sequence[ValueCombination]
    by: SearchWay
    site: RunSite
    judge: int
    watch: Watch
    runs: dict[int, list[TuningRun]] = field(default_factory=dict)
    prepared_s: float = 0.0

    def __call__(
        self, candidates: Sequence[ValueCombination], tried: Sequence[Tried], count: int
    ) -> list[Tried]:
        """Return the results of *candidates* with *count* runs each."""
        places = {id(candidate): place for place, candidate in enumerate(self.candidates)}
        found = []
        for candidate, one in zip(candidates, tried, strict=True):
            place, more = places[id(candidate)], []
            try:
                for _ in range(count - len(one.makespans_s)):
                    more.append(self._ran(place).makespan_s)
            except TasksimError as error:
                found.append(Tried(one.values, (), str(error)))
                continue
            found.append(replace(one, makespans_s=(*one.makespans_s, *more)))
        return found

    def _ran(self, place: int) -> TuningRun:
        self._prepare(place)
        own = self.runs.setdefault(place, [])
        # Full runs before and after in turn, so that no phase of the machine favours one.
        first = self._full() if len(own) % 2 else ()
        ran = self._answer(place)
        full = first or self._full()
        if full:
            ran = replace(ran, full=full)
        own.append(ran)
        return ran

    def _answer(self, place: int) -> TuningRun:
        """Return a run of the configuration at *place*, full if selective runs save no time."""
        if self.by == "emulation":
            return self.site.selective()
        if self.by != "selective" or self.watch.gave_up:
            return self._noted(self.site.full())
        ran = self.site.selective()
        return self._executed(ran) if self.watch.selective(place, ran) else ran

    def _noted(self, ran: TuningRun) -> TuningRun:
        self.watch.note(ran)
        return ran

    def _executed(self, selective: TuningRun) -> TuningRun:
        """Return a full run instead of a *selective* one, whose time counts, too."""
        full = self._noted(self.site.full())
        return replace(full, wall_s=selective.wall_s + full.wall_s, full=selective.full)

    def settled(self, tuned: Tuned) -> Tuned:
        """Return *tuned*, or its order by full runs alone if selective runs saved no time.

        Predictions and full runs cannot be compared: predictions are too short if other programs
        use the cores.
        """
        if not self.watch.gave_up:
            return tuned
        for place, runs in self.runs.items():
            for number, ran in enumerate(runs):
                if ran.selective:
                    self._prepare(place)
                    runs[number] = self._executed(ran)
        places = {tuple(c.values.values()): place for place, c in enumerate(self.candidates)}
        tried = []
        for one in tuned.tried:
            runs = self.runs.get(places[tuple(one.values.values())], [])
            makespans = tuple(ran.makespan_s for ran in runs)
            tried.append(replace(one, makespans_s=makespans) if one.makespans_s else one)
        return ordered(tried, tuned.simulations)

    def _full(self) -> tuple[TuningRun, ...]:
        return tuple(self.site.full() for _ in range(self.judge))

    def _prepare(self, place: int) -> None:
        begun = perf_counter()
        self.site.prepare(place)
        self.prepared_s += perf_counter() - begun

    def judge_all(self) -> None:
        """Make the full runs of each candidate, without selective runs."""
        for place, candidate in enumerate(self.candidates):
            if candidate.scenario is None:
                continue
            self._prepare(place)
            # A simulation predicts makespans alone: nothing else is compared.
            full = tuple(
                TuningRun(f.makespan_s, f.wall_s, f.executed, f.tasks) for f in self._full()
            )
            self.runs[place] = [TuningRun(0.0, 0.0, 0, full[0].tasks, full)]

    def so_far(self) -> Tuned:
        """Return the results of the candidates with runs."""
        tried = [
            Tried(self.candidates[place].values, tuple(ran.makespan_s for ran in runs))
            for place, runs in self.runs.items()
            if runs
        ]
        return ordered(tried, sum(len(one.makespans_s) for one in tried))
