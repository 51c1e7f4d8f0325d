"""Runs of a scenario, solved once or repeated natively.

Native repetitions are interleaved: every scenario runs once, then every scenario again, so that a
slow minute of the machine does not affect only one of them. With a gate, only runs in calm moments
count.

::

    questions = base.variants({"graph.tiles": [8, 12], "scheduler": ["eager", "lws"]})
    predicted = [solved(question) for question in questions]
    measured = measure([q.vary(clock="native") for q in questions], repetitions=5)
    pairs = zip(predicted, measured.scenarios, strict=True)
    print(ErrorSummary.of(p.median_s / m.median_s - 1 for p, m in pairs))
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasksim.base.arguments import positive_number, whole_number
from tasksim.base.errors import InputError, expect, short
from tasksim.native.calm_moments import measure_calmly, run_gate
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.solving import bound, execute, solve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tasksim.base.progress import ShareProgress
    from tasksim.kernels.program import Program
    from tasksim.native.calm_moments import Calmness, Gate
    from tasksim.run.record import Run
    from tasksim.scenario.resolved import Resolved
    from tasksim.scenario.setup import Setup

__all__ = [
    "ErrorSummary",
    "Repetitions",
    "ScenarioRuns",
    "calm_warning",
    "execute_many",
    "measure",
    "solved",
]


@dataclass(frozen=True, eq=False)
class ScenarioRuns:
    """A scenario with its runs, one per native repetition or per draw of a simulation.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    runs : tuple of Run, default ()
        Its runs in the order of execution.

    See Also
    --------
    solved, measure : Make them.

    Examples
    --------
    >>> from tasksim.scenario.scenario import Scenario
    >>> once = solved(Scenario("chain length=3 duration=0.5", workers=1))
    >>> once.median_s, once.spread
    (1.5, 0.0)
    """

    scenario: Setup
    runs: tuple[Run, ...] = ()

    @property
    def makespans_s(self) -> list[float]:
        """The makespans in seconds, in the order of the runs."""
        return [run.makespan_s for run in self.runs]

    @property
    def median_s(self) -> float:
        """The median makespan in seconds."""
        return statistics.median(self.makespans_s)

    @property
    def alone_s(self) -> float | None:
        """The median makespan that native runs would have had alone; None if it is unknown."""
        found = [run.disturbance.alone_s for run in self.runs if run.disturbance is not None]
        known = [alone_s for alone_s in found if alone_s is not None]
        return statistics.median(known) if known else None

    @property
    def spread(self) -> float:
        """Largest minus smallest makespan, relative to the median."""
        return (max(self.makespans_s) - min(self.makespans_s)) / self.median_s

    @property
    def median_run(self) -> Run:
        """The run with the median makespan (the lower one of an even number)."""
        ordered = sorted(self.runs, key=lambda run: run.makespan_s)
        return ordered[(len(ordered) - 1) // 2]


def solved(scenario: Setup, resolver: Resolver | None = None) -> ScenarioRuns:
    """Solve *scenario*, and return it with its run.

    Parameters
    ----------
    scenario : Scenario
    resolver : Resolver, optional
        Makes the objects that several scenarios share only once.
    """
    return ScenarioRuns(scenario, (solve((resolver or Resolver()).resolve(scenario)),))


@dataclass(frozen=True)
class ErrorSummary:
    """Summary of relative errors.

    Attributes
    ----------
    median, worst : float
        Median and largest absolute error.
    mean_signed : float
        Mean of the signed errors.
    """

    median: float
    worst: float
    mean_signed: float

    @classmethod
    def of(cls, errors: Iterable[float]) -> ErrorSummary:
        """Return the summary of signed relative *errors*; :exc:`InputError` if there are none."""
        signed = list(errors)
        if not signed:
            raise InputError("no errors to summarise: no run was both predicted and measured")
        sizes = [abs(error) for error in signed]
        return cls(statistics.median(sizes), max(sizes), statistics.mean(signed))


@dataclass(frozen=True, eq=False)
class Repetitions:
    """Native runs of each scenario, with the calmness of the machine if it was observed.

    Parameters
    ----------
    scenarios : list of ScenarioRuns
        Each scenario with its ``runs``, ``median_s``, ``spread`` and ``median_run``.
    calm : Calmness, optional
        Numbers of runs that counted, were repeated, and were disturbed.

    See Also
    --------
    execute_many : Makes them.

    Examples
    --------
    >>> import tasksim
    >>> asked = tasksim.Scenario("chain length=2 duration=0.001", workers=1, clock="native")
    >>> tasksim.execute_many([asked], repetitions=1).scenarios[0].median_s >= 0.002
    True
    """

    scenarios: list[ScenarioRuns]
    calm: Calmness | None = None


def measure(
    scenarios: Sequence[Scenario],
    repetitions: int,
    *,
    gate: Gate[Run] | None = None,
    patience_s: float = 0.0,
    check: bool = True,
    resolver: Resolver | None = None,
    progress: ShareProgress | None = None,
) -> Repetitions:
    """Run each of *scenarios* natively, *repetitions* times.

    A first run of each graph does not count: it touches the memory and verifies the result. The
    data of a graph are bound once.

    Parameters
    ----------
    scenarios : sequence of Scenario
        Scenarios with the native clock.
    repetitions : int
        Number of runs of each scenario; runs of all scenarios are interleaved.
    gate : Gate, optional
        A gate of :func:`~tasksim.native.calm_moments.run_gate`: only runs count in which other
        programs took hardly any time. By default all runs count.
    patience_s : float, default 0.0
        With a *gate*, longest time to wait for calm moments, in seconds.
    check : bool, default True
        Verify every run, not only the first of each graph.
    resolver : Resolver, optional
        Makes the objects that several scenarios share only once.
    progress : callable, optional
        Called before each run, or with a *gate* after it.

    Raises
    ------
    CheckFailed
        If a run computes something wrong.
    """
    whole_number(repetitions, "repetitions", 1)

    def runner(resolved: Resolved, program: Program) -> Callable[[], Run]:
        return lambda: execute(resolved, check=check, program=program).passed()

    resolve = (resolver or Resolver()).resolve
    programs: dict[tuple[int, int, int], Program] = {}
    runners = []
    for resolved in [resolve(scenario) for scenario in scenarios]:
        workers, seed = len(resolved.platform.workers), resolved.scenario.seed
        key = (id(resolved.graph), workers, seed)
        if key not in programs:
            programs[key] = bound(resolved)
            execute(resolved, check=True, program=programs[key]).passed()
        runners.append(runner(resolved, programs[key]))
    if gate is None:
        found: list[list[Run]] = [[] for _ in runners]
        total, calm = repetitions * len(runners), None
        for done in range(total):
            index = done % len(runners)
            if progress is not None:
                scenario = scenarios[index]
                what = f"{scenario.graph_label}, {scenario.scheduler_label}"
                progress(what, done / total)
            found[index].append(runners[index]())
    else:
        most = 0

        def tell(done: int, total: int) -> None:
            nonlocal most
            most = max(most, done)  # a disturbed run is repeated, but the share never falls
            if progress is not None:
                progress(f"{most} of {total} runs in calm moments", most / total)

        measured = measure_calmly(
            runners, gate, repetitions=repetitions, patience_s=patience_s, progress=tell
        )
        found, calm = measured.values, measured.calm
    pairs = zip(scenarios, found, strict=True)
    return Repetitions([ScenarioRuns(scenario, tuple(runs)) for scenario, runs in pairs], calm)


def execute_many(
    scenarios: Sequence[Scenario],
    repetitions: int = 3,
    *,
    patience_s: float = 0.0,
    check: bool = False,
    progress: ShareProgress | None = None,
) -> Repetitions:
    """Run each scenario natively several times, interleaved; return the runs of each.

    Runs are interleaved, so that a slow minute of the machine does not affect only one scenario. A
    first run of each graph is verified and does not count.

    Parameters
    ----------
    scenarios : sequence of Scenario
        Scenarios with ``clock="native"`` and the same number of workers.
    repetitions : int, default 3
        Number of runs of each scenario.
    patience_s : float, default 0.0
        Longest time in seconds to wait for moments in which other programs take hardly any of the
        workers' time; 0: all runs count.
    check : bool, default False
        Verify every run, not only the first of each graph.
    progress : callable, optional
        Called with a description of the current work and the finished share.

    Raises
    ------
    InputError
        If there is no scenario, one is not native, or their numbers of workers differ.
    CheckFailed
        If a run computes something wrong.

    Examples
    --------
    >>> import tasksim
    >>> asked = tasksim.Scenario("chain length=2 duration=0.001", workers=1, clock="native")
    >>> done = tasksim.execute_many([asked, asked.vary(seed=1)], repetitions=2)
    >>> [len(scenario.runs) for scenario in done.scenarios]
    [2, 2]

    See Also
    --------
    execute : Run one scenario.
    simulate_many : Simulate many scenarios.
    """
    given: object = scenarios
    if not isinstance(given, list | tuple) or not given:
        raise InputError(f"scenarios: got {short(given)}; legal: a list of scenarios")
    for scenario in scenarios:
        expect(scenario, Scenario, "scenarios")
        if scenario.clock != "native":
            raise InputError(f"scenarios: {scenario.graph_label}: legal: clock='native'")
    if patience_s != 0:
        positive_number(patience_s, "patience_s", "60.0")
    resolver = Resolver()
    counts = {len(resolver.resolve(scenario).platform.workers) for scenario in scenarios}
    if len(counts) > 1:
        told = ", ".join(map(str, sorted(counts)))
        raise InputError(f"scenarios: got {told} workers; legal: the same number for all")
    gate = run_gate(counts.pop()) if patience_s else None
    return measure(
        scenarios, repetitions, gate=gate, patience_s=patience_s, check=check, resolver=resolver,
        progress=progress,
    )  # fmt: skip


def calm_warning(calm: Calmness | None) -> str | None:
    """Return a warning about disturbed runs that count; None if there are none."""
    if calm is None or not calm.disturbed:
        return None
    return (
        f"the machine was not calm: in {calm.disturbed} of {calm.kept} runs {calm.worst}. Such runs"
        " take longer than undisturbed ones, so the error is partly the machine's and not the"
        " prediction's; try again when it is quiet"
    )
