"""Replications of a scenario with drawn models, runs and noise, up to a requested precision."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from tasksim.base.arguments import one_of, whole_number
from tasksim.base.errors import InputError, expect
from tasksim.engine.choice import ENGINES
from tasksim.engine.replications import SOURCES, Replication, Replicator
from tasksim.run.replicated import MEMBERS, Replicates, errors
from tasksim.scenario.prediction import Prediction, predicted
from tasksim.scenario.resolved import resolve
from tasksim.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.engine.choice import Engine
    from tasksim.engine.simulation import Simulation
    from tasksim.scenario.resolved import Resolved

__all__ = ["UNCERTAINTIES", "Uncertain", "how_sure", "how_sure_of"]

Uncertain = Literal["none", "models", "runs", "tasks", "both", "all"]
"""Sources of uncertainty; ``both`` stands for all known ones: models, runs and tasks."""
UNCERTAINTIES: Final = get_args(Uncertain)
USUAL: Final = 400
"""Default number of replications, for quantiles of 133 groups; 40 groups are far too few."""
MOST: Final = 20_000
"""Number of replications after which a requested precision is given up."""
ROUND: Final = 402
"""Number of replications between two checks of the precision: groups of one, two or three fill
it."""
LEAST: Final = 12
"""Minimum number of replications for any statement: four groups of three."""
_CHOICES: Final = 3
"""Index of a scheduler's random choices, after those of the sources."""


def how_sure(
    scenario: Scenario,
    *,
    uncertainty: Uncertain = "both",
    replications: int | None = None,
    until: float | None = None,
    level: float = 0.95,
    probes: float | Sequence[float] | None = None,
    threads: int | None = None,
    engine: Engine = "auto",
) -> Prediction:
    """Predict the makespan and say how sure that is, by simulating with what is uncertain drawn.

    Models are drawn as other samples of the same kernels may have given them, runs as slow or fast
    as those of the calibration were, tasks with the noise of the samples. The luck of a
    replication does not depend on the scheduler, so that predictions of the same *seed* compare
    (:func:`difference`).

    Parameters
    ----------
    scenario : Scenario
        A simulated one, without noise; its seed is that of all luck.
    uncertainty : {"both", "models", "runs", "tasks", "all", "none"}, default "both"
        What is drawn. ``both``, or ``all``: whatever is known of the three.
    replications : int, optional
        How many; with *until*, at most. Default: 400, with *until* 20 000.
    until : float, optional
        Go on until each number is known within this share of the mean, as 0.01.
    level : float, default 0.95
        Of the intervals.
    probes : float or sequence of float, optional
        How others slow the machine just before the run that is predicted, as a
        :class:`tasksim.native.slowdown_probe.SlowdownProbe` tells, or the last few slowdowns, the
        latest last, which tell how restless it is; by default those of no moment, but of any like
        the calibration's.
    threads : int, optional
        How many replay at a time; by default as many as there are cores to use.
    engine : {"auto", "simpy", "compiled"}, default "auto"
        What replays, as for :func:`simulate`.

    Returns
    -------
    Prediction

    Raises
    ------
    InputError
        If an argument is illegal, or nothing is known of what is asked for.
    ModelError
        If a model does not say how well it is known; the message names it, and what to do.
    KeyboardInterrupt
        If interrupted before there is anything to say; later, what there is is returned.

    See Also
    --------
    simulate : one run, of means.
    difference : of two predictions.

    Examples
    --------
    >>> import tasksim
    >>> scenario = tasksim.Scenario("cholesky tiles=8", platform="xeon-2c", scheduler="lws")
    >>> sure = how_sure(scenario, uncertainty="tasks", replications=100)
    >>> sure.run_low_s < sure.mean_s < sure.run_high_s, list(sure.shares)
    (True, ['tasks'])
    """
    expect(scenario, Scenario, "scenario")
    if scenario.clock != "simulated":
        raise InputError(f"{scenario.label}: its clock is native; only simulations are replicated")
    asked: Any = {"uncertainty": uncertainty, "replications": replications, "until": until}
    how: Any = {"level": level, "probes": probes, "threads": threads, "engine": engine}
    return how_sure_of(resolve(scenario), **asked, **how)


def how_sure_of(
    resolved: Resolved,
    *,
    uncertainty: str = "both",
    replications: int | None = None,
    until: float | None = None,
    level: float = 0.95,
    probes: float | Sequence[float] | None = None,
    threads: int | None = None,
    engine: Engine = "auto",
) -> Prediction:
    """Return what :func:`how_sure` does, of a scenario that is resolved."""
    scenario = resolved.scenario
    one_of(uncertainty, UNCERTAINTIES, "uncertainty")
    one_of(engine, ENGINES, "engine")
    level = _share(level, "level")
    until = None if until is None else _share(until, "until")
    if replications is None:
        replications = USUAL if until is None else MOST
    replications = whole_number(replications, "replications", low=LEAST)
    if scenario.noise != "none":
        raise InputError(
            f"{scenario.label}: noise is {scenario.noise!r}, which uncertainty draws, too: give one"
        )
    if uncertainty == "none":
        raise InputError("uncertainty: 'none' leaves nothing to be sure of; ask simulate")
    if threads is not None:
        threads = whole_number(threads, "threads", low=1)
    sources = SOURCES if uncertainty in ("both", "all") else (uncertainty,)
    models = resolved.known_models()
    replicator = Replicator(
        resolved.graph, resolved.platform, models, sources, scenario.seed, probes
    )
    return _replicated(resolved, replicator, replications, until, level, threads, engine)


def _replicated(
    resolved: Resolved,
    replicator: Replicator,
    replications: int,
    until: float | None,
    level: float,
    threads: int | None,
    engine: Engine,
) -> Prediction:
    from tasksim.native.cores import usable_cores

    scenario = resolved.scenario
    series = _Series(resolved, replicator, threads or len(usable_cores()), engine)
    members = len(replicator.sources)
    groups = math.ceil(replications / members)
    round_of = groups if until is None else math.ceil(ROUND / members)
    while series.done < groups and not series.interrupted:
        series.go_on(min(round_of, groups - series.done))
        if until is not None and _reached(series.found(), replicator, level, until):
            break
    return predicted(
        series.found(),
        replicator,
        label=scenario.label,
        level=level,
        means_s=series.means_s * replicator.usual,
        until=until,
        interrupted=series.interrupted,
        seed=scenario.seed,
    )


def _reached(found: Replicates, replicator: Replicator, level: float, until: float) -> bool:
    off = errors(found, level, models="models" in replicator.sources)
    return max(off) <= until * float(found.makespans_s.mean())


class _Series:
    """Replications so far, which can be continued."""

    def __init__(
        self, resolved: Resolved, replicator: Replicator, threads: int, engine: Engine
    ) -> None:
        from tasksim.engine.batch import totals

        self._replicator, self._members = replicator, MEMBERS[len(replicator.sources)]
        self._item = resolved.simulation()
        self._replay: Callable[[list[Simulation]], Iterator[Any]] = partial(
            totals, threads=threads, engine=engine
        )
        self._spans: list[float] = []
        self._ratios: list[NDArray[np.float64]] = []
        self._of_models: list[NDArray[np.float64]] = []
        self.interrupted = False
        self.means_s = next(iter(totals([self._item], engine=engine))).makespan_s

    @property
    def done(self) -> int:
        """Number of complete groups."""
        return len(self._spans) // len(self._members)

    def go_on(self, groups: int) -> None:
        """Replicate so many more *groups*; interrupted, keep what is done."""
        which = [
            self._which(group, member)
            for group in range(self.done, self.done + groups)
            for member in self._members
        ]
        noted: list[Any] = [None] * len(which)
        items = [
            self._item._replace(seed=self._choices(of), drawn=partial(self._draw, of, noted, i))
            for i, of in enumerate(which)
        ]
        ended = 0
        try:
            for done in self._replay(items):
                self._spans.append(done.makespan_s)
                ended += 1
        except KeyboardInterrupt:
            self.interrupted = True
            whole = len(self._spans) // len(self._members) * len(self._members)
            ended -= len(self._spans) - whole
            del self._spans[whole:]
            if whole < LEAST:
                raise
        for ratios, of_models in noted[:ended]:
            self._ratios.append(ratios)
            self._of_models.append(of_models)

    def found(self) -> Replicates:
        """Return what came out so far."""
        shape = self.done, len(self._members)
        return Replicates(
            np.reshape(self._spans, shape),
            np.reshape(self._ratios, (*shape, -1)),
            np.reshape(self._of_models, (*shape, -1))[:, 0],
        )

    def _which(self, group: int, member: tuple[int, ...]) -> Replication:
        """Return the luck of a *member* of a group: what is not asked for is never drawn."""
        inner = dict(zip(self._replicator.sources[1:], member[1:], strict=True))
        return Replication(group, inner.get("runs", 0), inner.get("tasks", 0))

    def _draw(self, which: Replication, noted: list[Any], index: int) -> NDArray[np.float64]:
        drawing = self._replicator.draw(which)
        noted[index] = drawing.ratios, drawing.model_ratios
        return drawing.durations_s

    def _choices(self, which: Replication) -> int:
        """Return the seed of a scheduler's random choices."""
        of = np.random.SeedSequence(self._item.seed, spawn_key=(_CHOICES, *which))
        return int(of.generate_state(1, np.uint64)[0])


def _share(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise InputError(f"{name}: got {value!r}; legal: above 0 and below 1, as 0.95 or 0.01")
    return float(value)
