"""Replications of durations, with new draws of the models, the run and the noise of tasks.

Every draw has its own generator, seeded by its subject and the replication, but not by the
scheduler: two schedulers, or two platforms, get the same draws, so their difference has little
noise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from zlib import crc32

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.durations import Demands
from tasksim.models.uncertainty.doubt import student_stretch
from tasksim.models.uncertainty.drawn import drawer_of
from tasksim.models.uncertainty.slowdownlaw import UNSEEN_MINUTES_FACTOR, Probe, SlowdownLaw
from tasksim.models.uncertainty.tasknoise import noise_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from tasksim.engine.durations import Demand, Models
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.uncertainty.drawn import Drawer, Drawn
    from tasksim.models.uncertainty.runeffects import RunEffect
    from tasksim.models.uncertainty.slowdownlaw import ExpectedSlowdown, Probes
    from tasksim.models.uncertainty.tasknoise import TaskNoise
    from tasksim.platform.description import Platform

__all__ = ["UNCERTAINTY_SOURCES", "Draws", "Replication", "Replicator"]

UNCERTAINTY_SOURCES: Final = ("models", "runs", "tasks")
"""Sources of uncertainty, the outermost first."""
_MODELS, _RUNS, _TASKS = range(3)
_SLOWDOWN_KEY: Final = 0
"""Key of the random draws of slowdowns; the keys of kernels and architectures are checksums of
their names."""
MIN_DEVIATION_BETWEEN_MINUTES: Final = 0.025
"""Minimum standard deviation, as a logarithm, of runs on this machine from minute to minute. Other
virtual machines of the host slow it for minutes, which nothing shows in full, and a calibration
sees one or two of these. Intervals in calm held 93 % of 300 runs with it. Before the crowding of
each kernel was known, they held 99 % with .03, and 90 % of others with .02 (docs/fidelity.md)."""
MAX_RUN_DEVIATION: Final = float(np.log(3.0))
"""Maximum deviation of a run, as a logarithm: as a rule, runs differ by a factor of 3 at most. With
only two measured runs, Student's distribution would allow any difference."""
VARIANCE_DRAWS: Final = 200
"""Number of draws for the variance of a model: it is known to a tenth then, which is enough for
quantiles."""
SLOWDOWN_STRATA: Final = 50
"""Number of equal parts of the distribution of slowdowns: of so many groups, each takes its
slowdown from another part. By chance alone, twice as many runs as expected may meet a new load, and
the bounds of an interval show it."""
MAX_KEPT_MODELS: Final = 256
"""Maximum number of cached drawn models: each thread reuses those of its group."""
MIN_RUNS_FOR_SPREAD: Final = 5
"""Number of runs below which the spread between runs is known only to a factor of two."""


class Replication(NamedTuple):
    """Numbers of a replication: its group draws models, and within it the run and the tasks."""

    group: int
    run: int
    tasks: int


class Draws(NamedTuple):
    """The draws of a replication.

    Parameters
    ----------
    durations_s : ndarray, shape (classes, tasks)
        Durations of the tasks, in seconds.
    ratios : ndarray, shape (kernels on architectures,)
        Mean duration of the tasks of each, divided by the model's mean.
    alone_ratios : ndarray, shape (kernels on architectures,)
        The same ratios without the slowdown by other programs.
    model_ratios : ndarray, shape (kernels on architectures,)
        The same ratios for the drawn models alone.
    """

    durations_s: NDArray[np.float64]
    ratios: NDArray[np.float64]
    alone_ratios: NDArray[np.float64]
    model_ratios: NDArray[np.float64]


class _Part(NamedTuple):
    """A kernel in a class of workers, and the source of its draws."""

    demand: Demand
    expected_s: NDArray[np.float64]
    key: int
    of_run: int
    drawer: Drawer | None
    noise: TaskNoise | None
    effect: RunEffect | None


class Replicator:
    """Generator of task durations, which queries graph, platform and models once.

    Parameters
    ----------
    graph, platform, models : TaskGraph, Platform, Models
        The replayed graph, its machine and its models.
    sources : collection of str
        Sources of uncertainty, of :data:`UNCERTAINTY_SOURCES`.
    seed : int
        Seed of all draws.
    probes : float, Probe, or sequence of them, optional
        Slowdown of the machine by other programs, or the last few slowdowns, the latest last.
    makespan_s : float, default 0.0
        Makespan with mean durations, without other programs, in seconds; 0: unknown. Slowdowns of
        long runs vary less.

    Attributes
    ----------
    sources : tuple of str
        Sources with known uncertainty, the outermost first.
    kernels : list of (str, str)
        Kernel and architecture of each ratio of a :class:`Draws`.
    expected_s : ndarray
        Mean duration of the tasks of each, predicted by its model.
    notes : list of str
        Uncertainties that are unknown, and so left out.
    usual : float
        Median slowdown of a run.

    Raises
    ------
    InputError
        If the requested uncertainties are all unknown; the message has remedies.
    ModelError
        If a model has no uncertainty.
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        models: Models,
        sources: Collection[str],
        seed: int,
        probes: Probes | None = None,
        makespan_s: float = 0.0,
    ) -> None:
        demands = Demands(graph, platform, models).asked
        if demands is None:
            raise InputError(
                "durations measured task by task have no uncertainty; give models, or durations by "
                "kernel and noise"
            )
        self._seed, self._shape = seed, (len(platform.classes), len(graph))
        self.notes: list[str] = []
        used = [demand for demand in demands if len(demand.tasks)]
        self._parts = [_part(graph, platform, models, demand, sources) for demand in used]
        self.kernels = [
            (
                graph.kernels[int(graph.kernel[part.demand.tasks[0]])],
                platform.classes[part.demand.group].architecture,
            )
            for part in self._parts
        ]
        self.expected_s = np.array([part.expected_s.mean() for part in self._parts])
        self._slowdown: ExpectedSlowdown | None = None
        if "runs" in sources:
            times_s: dict[str, float] = defaultdict(float)
            for (kernel, _), part in zip(self.kernels, self._parts, strict=True):
                times_s[kernel] += float(part.expected_s.sum())
            self._slowdown = _expected_slowdown(models, probes, times_s, makespan_s)
        self.usual = 1.0 if self._slowdown is None else float(np.exp(self._slowdown.expected))
        self.sources = tuple(
            name for name in UNCERTAINTY_SOURCES if name in sources and self._known(name)
        )
        self._freedom = _freedom_together(self._parts)
        self._model = lru_cache(maxsize=MAX_KEPT_MODELS)(self._drawn)
        self._slowdowns = lru_cache(self._drawn_slowdowns)
        if not self.sources:
            raise InputError(f"all requested uncertainties are unknown: {'; '.join(self.notes)}")

    def _known(self, source: str) -> bool:
        """Return whether the uncertainty of *source* is known; note the kernels without it."""
        given = [part for part in self._parts if not part.demand.model.needs_fit]
        if source != "runs":
            if given:
                named = _named(part.demand.model.label or part.demand.model.kind for part in given)
                note = f"{named}: given durations count as exact"
                self.notes += [note] if note not in self.notes else []
            return len(given) < len(self._parts)
        fitted = [part for part in self._parts if part.demand.model.needs_fit]
        silent = [part for part in fitted if part.effect is None]
        single = [part for part in fitted if part.effect is not None and not part.effect.known]
        known = [part.effect.runs for part in fitted if part.effect and part.effect.known]
        if silent:
            self.notes.append(
                f"run to run: unknown for {_named(p.demand.model.label for p in silent)}, "
                "whose files lack it; calibrate again (tasksim calibrate)"
            )
        if single:
            self.notes.append(
                f"run to run: unknown for {_named(p.demand.model.label for p in single)}, "
                "measured in a single run; calibrate again (tasksim calibrate)"
            )
        if known and min(known) < MIN_RUNS_FOR_SPREAD:
            self.notes.append(f"run to run: known from {min(known)} runs only")
        return bool(known) or self._slowdown is not None

    def draw(self, which: Replication) -> Draws:
        """Return the durations of a replication, always the same for the same *which*."""
        durations = np.full(self._shape, np.inf)
        slowdown = 0.0  # of the run by other programs, as a logarithm
        if self._slowdown is not None:
            block, number = divmod(which.group, SLOWDOWN_STRATA)
            slowdown = self._slowdowns(block, which.run)[number]
        ratios, alone, of_models = np.ones((3, len(self._parts)))
        for index, part in enumerate(self._parts):
            rows = part.demand.rows
            drawn = self._model(index, which.group)
            run, level = self._run(part, which)
            taken = part.expected_s
            if drawn is not None:
                taken = taken * np.exp(drawn.shift + level)[rows]
                of_models[index] = taken.mean() / self.expected_s[index]
            elif level:
                taken = taken * np.exp(level)
                of_models[index] = taken.mean() / self.expected_s[index]
            slowed = slowdown if part.demand.model.needs_fit else 0.0
            taken = taken * np.exp(run + slowed)
            if part.noise is not None and "tasks" in self.sources:
                stretch = np.ones(len(rows)) if drawn is None else drawn.stretch[rows]
                taken = taken * part.noise(self._generator(_TASKS, part.key, *which), stretch)
            durations[part.demand.group, part.demand.tasks] = taken
            ratios[index] = taken.mean() / self.expected_s[index]
            alone[index] = ratios[index] * np.exp(-slowed)
        return Draws(durations, ratios, alone, of_models)

    def _drawn(self, index: int, group: int) -> Drawn | None:
        """Return the drawn model of a part for a group."""
        part = self._parts[index]
        if part.drawer is None or "models" not in self.sources:
            return None
        stretch = 1.0  # from normal to Student's draws, with the freedom of all models
        if self._freedom is not None:
            freedom = np.array([self._freedom])
            stretch = float(student_stretch(freedom, self._generator(_MODELS, group))[0])
        return part.drawer(self._generator(_MODELS, part.key, group), stretch)

    def _drawn_slowdowns(self, block: int, run: int) -> list[float]:
        """Return the log slowdowns of a run of each of :data:`SLOWDOWN_STRATA` groups."""
        assert self._slowdown is not None
        rng = self._generator(_RUNS, _SLOWDOWN_KEY, block, run)
        shares = (rng.permutation(SLOWDOWN_STRATA) + rng.random(SLOWDOWN_STRATA)) / SLOWDOWN_STRATA
        return [float(level) for level in self._slowdown.quantiles(shares)]

    def _run(self, part: _Part, which: Replication) -> tuple[float, float]:
        """Return the log slowdowns of the drawn run and of the measured runs.

        Only the mean of the measured runs is known, not their slowdown: that belongs to the model's
        uncertainty, and all kernels of the calibration share it.
        """
        effect = part.effect
        if effect is None or not effect.known:
            return 0.0, 0.0
        run, level = 0.0, 0.0
        scale = np.ones(2)
        draws = np.zeros(2)
        keys = part.of_run, part.key
        if "models" in self.sources:
            found = [self._generator(_MODELS, _RUNS, key, which.group) for key in keys]
            freedom = np.array([effect.runs - 1.0])
            scale = np.array([student_stretch(freedom, rng)[0] for rng in found])
            draws = np.array([rng.standard_normal() for rng in found])
        shared = (
            effect.shared
            if self._slowdown is None
            else max(effect.shared, MIN_DEVIATION_BETWEEN_MINUTES)
        )
        differ = np.array([shared, effect.own])
        deviations = np.clip(differ * scale, 0.0, MAX_RUN_DEVIATION)
        level = float(deviations @ draws) / effect.runs**0.5
        if "runs" in self.sources:
            draws = np.array(
                [self._generator(_RUNS, key, *which[:2]).standard_normal() for key in keys]
            )
            if self._slowdown is not None:  # a run here, and later than those of the calibration
                deviations = np.minimum(deviations * UNSEEN_MINUTES_FACTOR, MAX_RUN_DEVIATION)
            # Models predict the mean of runs, so the mean of the exponential is divided out.
            run = float(deviations @ draws - deviations @ deviations / 2)
        return run, level

    def _generator(self, *of: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=of))


def _freedom_together(parts: list[_Part]) -> float | None:
    """Return the degrees of freedom of the time of all tasks, after Welch and Satterthwaite.

    The sum of Student's draws of each kernel is too wide (the Behrens-Fisher problem: for four
    equal kernels with 5 samples each, 95 % intervals hold 99 %). None: nothing is drawn.
    """
    variances, freedoms = [], []
    for part in parts:
        if part.drawer is None:
            continue
        rng, rows = np.random.default_rng(part.key), part.demand.rows
        weights = np.bincount(rows, part.expected_s, len(part.demand.table))
        shifts = [part.drawer.normal(rng) @ weights for _ in range(VARIANCE_DRAWS)]
        variances.append(float(np.mean(np.square(shifts))))
        freedoms.append(float(part.drawer.freedom @ weights / weights.sum()))
    whole = sum(variances)
    if not whole:
        return None
    parts_of = sum(v**2 / f for v, f in zip(variances, freedoms, strict=True))
    return float(whole**2 / parts_of)


def _part(
    graph: TaskGraph,
    platform: Platform,
    models: Models,
    demand: Demand,
    sources: Collection[str],
) -> _Part:
    """Return the source of the draws of a kernel in a class of workers."""
    model, group = demand.model, platform.classes[demand.group]
    name = graph.model_names[int(graph.kernel[demand.tasks[0]])]
    find = getattr(models, "run_effect", None)
    expected = model.predict(demand.table)
    return _Part(
        demand,
        np.asarray(expected[demand.rows] / demand.speed),
        crc32(f"{name} on {group.models}".encode()),
        crc32(group.models.encode()),
        drawer_of(model, model.uncertainty_, demand.table)
        if "models" in sources and model.needs_fit
        else None,
        noise_of(model, demand.table[demand.rows]) if "tasks" in sources else None,
        None if find is None else find(name, group.models),
    )


def _expected_slowdown(
    models: Models, probes: Probes | None, times_s: Mapping[str, float], makespan_s: float
) -> ExpectedSlowdown | None:
    """Return the slowdown of a run by other programs after *probes*, or at any moment.

    *times_s* is the time of all tasks of each kernel. None if the slowdown is unknown.
    """
    find = getattr(models, "slowdown_law", None)
    law: SlowdownLaw | None = None if find is None else find()
    if probes is None:
        return None if law is None else law.at_any(makespan_s)
    one = isinstance(probes, Probe) or not isinstance(probes, Iterable)
    given: list[Probe] = []
    with suppress(TypeError, ValueError):  # text, or a list of lists
        given = [
            each if isinstance(each, Probe) else Probe(float(each))
            for each in cast("Iterable[float | Probe]", [probes] if one else probes)
        ]
    if not (given and all(each.legal for each in given)):
        raise InputError(
            f"probes: got {probes!r}; legal: a slowdown, or some in order, finite and 1 or more"
        )
    of_work = [probe.of_work(times_s) for probe in given]
    return (SlowdownLaw.of([]) if law is None else law).at(of_work, makespan_s)


def _named(labels: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(labels))
