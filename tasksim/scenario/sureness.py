"""Replications of a scenario with drawn models, runs and noise, up to a requested precision."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from tasksim.base.arguments import one_of, whole_number
from tasksim.base.errors import InputError, expect
from tasksim.base.log import Log
from tasksim.engine.choice import ENGINES
from tasksim.engine.replications import UNCERTAINTY_SOURCES, Replication, Replicator
from tasksim.run.replicated import MEMBERS, Replicates, errors
from tasksim.scenario.prediction import Prediction, predicted
from tasksim.scenario.resolved import resolve
from tasksim.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tasksim.base.progress import CountProgress
    from tasksim.engine.choice import Engine
    from tasksim.engine.simulation import Simulation
    from tasksim.models.uncertainty.slowdownlaw import Probes
    from tasksim.scenario.resolved import Resolved

__all__ = ["UNCERTAINTIES", "Uncertain", "how_sure", "how_sure_of"]

Uncertain = Literal["none", "models", "runs", "tasks", "both", "all"]
"""Sources of uncertainty; ``both`` and ``all`` stand for all known ones: models, runs and tasks."""
UNCERTAINTIES: Final = get_args(Uncertain)
DEFAULT_REPLICATIONS: Final = 400
"""Default number of replications: quantiles need more than 40 groups, and have 133."""
MAX_REPLICATIONS: Final = 20_000
"""Number of replications after which a requested precision is given up."""
REPLICATIONS_PER_CHECK: Final = 402
"""Number of replications between two checks of the precision, a multiple of the group sizes 1, 2
and 3."""
MIN_REPLICATIONS: Final = 12
"""Minimum number of replications for an interval: four groups of three."""
_log = Log("scenario")
_CHOICES_STREAM: Final = 3
"""Index of the random stream of a scheduler's choices, after those of the three sources."""


def how_sure(
    scenario: Scenario,
    *,
    uncertainty: Uncertain = "both",
    replications: int | None = None,
    until: float | None = None,
    level: float = 0.95,
    probes: Probes | None = None,
    threads: int | None = None,
    engine: Engine = "auto",
) -> Prediction:
    """Predict the makespan with its uncertainty, by replications with random draws.

    Models are drawn as if fitted to other samples of the same kernels, runs as slow or fast as
    those of the calibration, tasks with the noise of the samples. The draws of a replication do not
    depend on the scheduler, so predictions with the same *seed* can be compared
    (:func:`difference`).

    Parameters
    ----------
    scenario : Scenario
        A scenario with the simulated clock and without noise; its seed is that of all draws.
    uncertainty : {"both", "models", "runs", "tasks", "all", "none"}, default "both"
        Sources to draw; ``both`` and ``all``: all known ones.
    replications : int, optional
        Number of replications; with *until*, the largest number. Default: 400; with *until*,
        20,000.
    until : float, optional
        Continue until each number is known within this share of the mean, as 0.01.
    level : float, default 0.95
        Confidence level of the intervals.
    probes : float, Probe, or sequence of them, optional
        Slowdown by other programs just before the predicted run, as measured by
        :class:`tasksim.native.slowdown_probe.SlowdownProbe`; or the last few slowdowns, the
        latest last, which show how much it varies. A
        :class:`tasksim.models.uncertainty.slowdownlaw.Probe` knows how much of it others on the
        same processor cause. Default: slowdowns as during the calibration.
    threads : int, optional
        Number of simultaneous replays. Default: the number of usable cores.
    engine : {"auto", "simpy", "compiled"}, default "auto"
        Engine of the replays, as for :func:`simulate`.

    Returns
    -------
    Prediction

    Raises
    ------
    InputError
        If an argument is illegal, or the requested uncertainty is unknown.
    ModelError
        If a model has no uncertainty; the message names the model and the remedy.
    KeyboardInterrupt
        If interrupted before the first interval; later, the result so far is returned.

    See Also
    --------
    simulate : Simulate one run with mean durations.
    difference : Compare two predictions.

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
    probes: Probes | None = None,
    threads: int | None = None,
    engine: Engine = "auto",
    progress: CountProgress | None = None,
) -> Prediction:
    """Return the result of :func:`how_sure` for a resolved scenario.

    *progress* is called with the replications that are done, and all: with *until*, as many as are
    needed at the present precision.
    """
    scenario = resolved.scenario
    one_of(uncertainty, UNCERTAINTIES, "uncertainty")
    one_of(engine, ENGINES, "engine")
    level = _share(level, "level")
    until = None if until is None else _share(until, "until")
    if replications is None:
        replications = DEFAULT_REPLICATIONS if until is None else MAX_REPLICATIONS
    replications = whole_number(replications, "replications", low=MIN_REPLICATIONS)
    if scenario.noise != "none":
        raise InputError(
            f"{scenario.label}: noise is {scenario.noise!r}, which uncertainty draws, too: give one"
        )
    if uncertainty == "none":
        raise InputError("uncertainty: 'none' leaves nothing to draw; use simulate")
    if threads is not None:
        threads = whole_number(threads, "threads", low=1)
    sources = UNCERTAINTY_SOURCES if uncertainty in ("both", "all") else (uncertainty,)
    models = resolved.known_models()
    from tasksim.engine.batch import totals

    item = resolved.simulation()
    means_s = next(iter(totals([item], engine=engine))).makespan_s
    replicator = Replicator(
        resolved.graph, resolved.platform, models, sources, scenario.seed, probes, means_s
    )
    from tasksim.native.this_machine import usable_cores

    members = len(replicator.sources)
    groups = math.ceil(replications / members)
    per_check = groups if until is None else math.ceil(REPLICATIONS_PER_CHECK / members)
    expected = per_check

    def tell(replications: int) -> None:
        if progress is not None:
            progress(replications, max(replications, members * expected))

    series = _Series(item, replicator, threads or len(usable_cores()), engine, tell)
    while series.done < groups and not series.interrupted:
        series.go_on(min(per_check, groups - series.done))
        if until is not None:
            found = series.found()
            off = max(errors(found, level, models="models" in replicator.sources))
            aim = until * float(found.makespans_s.mean())
            _log.info("%d replications: known to %.3g s, asked for %.3g s",
                      found.makespans_s.size, off, aim)  # fmt: skip
            if off <= aim:
                break
            # Errors fall with the root of the number of groups.
            expected = int(min(groups, series.done * (off / aim) ** 2))
    return predicted(
        series.found(),
        replicator,
        label=scenario.label,
        level=level,
        means_s=means_s * replicator.usual,
        until=until,
        interrupted=series.interrupted,
        seed=scenario.seed,
    )


class _Series:
    """Replications so far, which can be continued."""

    def __init__(
        self,
        item: Simulation,
        replicator: Replicator,
        threads: int,
        engine: Engine,
        tell: Callable[[int], None],
    ) -> None:
        from tasksim.engine.batch import totals

        self._replicator, self._members = replicator, MEMBERS[len(replicator.sources)]
        self._item, self._tell = item, tell
        self._replay: Callable[[list[Simulation]], Iterator[Any]] = partial(
            totals, threads=threads, engine=engine
        )
        self._spans: list[float] = []
        self._ratios: list[NDArray[np.float64]] = []
        self.interrupted = False

    @property
    def done(self) -> int:
        """Number of complete groups."""
        return len(self._spans) // len(self._members)

    def go_on(self, groups: int) -> None:
        """Replicate *groups* more groups; if interrupted, keep the complete ones."""
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
                self._tell(len(self._spans))
        except KeyboardInterrupt:
            self.interrupted = True
            whole = len(self._spans) // len(self._members) * len(self._members)
            ended -= len(self._spans) - whole
            del self._spans[whole:]
            if whole < MIN_REPLICATIONS:
                raise
        self._ratios += noted[:ended]

    def found(self) -> Replicates:
        """Return the results so far."""
        shape = self.done, len(self._members)
        ratios, alone, of_models = np.moveaxis(np.reshape(self._ratios, (*shape, 3, -1)), 2, 0)
        return Replicates(np.reshape(self._spans, shape), ratios, alone, of_models[:, 0])

    def _which(self, group: int, member: tuple[int, ...]) -> Replication:
        """Return the draws of a *member* of a group, without the sources that are not requested."""
        inner = dict(zip(self._replicator.sources[1:], member[1:], strict=True))
        return Replication(group, inner.get("runs", 0), inner.get("tasks", 0))

    def _draw(self, which: Replication, noted: list[Any], index: int) -> NDArray[np.float64]:
        drawing = self._replicator.draw(which)
        noted[index] = drawing.ratios, drawing.alone_ratios, drawing.model_ratios
        return drawing.durations_s

    def _choices(self, which: Replication) -> int:
        """Return the seed of a scheduler's random choices."""
        of = np.random.SeedSequence(self._item.seed, spawn_key=(_CHOICES_STREAM, *which))
        return int(of.generate_state(1, np.uint64)[0])


def _share(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise InputError(f"{name}: got {value!r}; legal: above 0 and below 1, as 0.95 or 0.01")
    return float(value)
