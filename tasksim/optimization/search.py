"""The search for a schedule: heuristics first, then a search from the best of them."""

from __future__ import annotations

import math
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from tasksim.base.arguments import one_of, positive_number, whole_number
from tasksim.base.errors import InputError, TasksimError
from tasksim.base.log import Log
from tasksim.optimization.bounds import MAX_COPIED_TASKS, MAX_MIXED_TASKS, mixed_bound
from tasksim.optimization.chains import CHAIN_COUNT, Chains, Limit
from tasksim.optimization.copies import LeastCopies
from tasksim.optimization.optimum import (
    PRIORITY_SCHEDULERS,
    Improvement,
    Optimum,
    optimum_of,
    read_earlier,
)
from tasksim.optimization.replayer import Replayer
from tasksim.optimization.schedule import (
    ReplayedPlan,
    placed,
    schedule_from,
    with_classes_merged,
    with_near_classes_merged,
)
from tasksim.optimization.solver import (
    COARSE_STEP_SHARE,
    MAX_SOLVER_TASKS,
    MIN_COARSE_UNITS,
    SolverLimit,
    Solving,
    has_solver,
    refuse_missing_solver,
    unit_count,
    workers_by_clock,
)
from tasksim.scenario.resolved import resolve
from tasksim.scenario.scenario import Scenario
from tasksim.schedulers.static import ALGORITHMS
from tasksim.schedulers.static.plan import schedule_of

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.base.progress import ShareProgress
    from tasksim.engine.choice import Engine
    from tasksim.optimization.windows import Window
    from tasksim.platform.description import Platform
    from tasksim.scenario.resolved import Resolved
    from tasksim.scenario.setup import AnyGraph, AnyModels, AnyPlatform
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["HEURISTICS", "SEARCH_METHODS", "SearchMethod", "optimize"]

_log = Log("optimization")

SearchMethod = Literal["auto", "annealing", "solver"]
SEARCH_METHODS: Final = get_args(SearchMethod)

DEFAULT_TIME_S: Final = 60.0
"""Duration of a search that has no limit, in seconds."""
HEURISTICS: Final = (
    "heft", "peft", "cpop", "min-min", "max-min", "heteroprio-static", "modular-heft",
    "dmda", "dmdas", "dmdar", "dmdasd", "heteroprio", "multiprio", "prio", "lws", "eager",
)  # fmt: skip
"""Schedulers whose schedules the search may start from."""
QUICK_HEURISTICS: Final = ("dmdas", "dmda", "dmdar", "prio", "lws", "eager")
"""The heuristics for graphs of more than :data:`MAX_PLANNED_TASKS` tasks."""
MAX_PLANNED_TASKS: Final = 20_000
"""Most tasks for which static heuristics plan: HEFT takes some 4 s for as many."""
PLANNING_S_PER_TASK: Final = 2e-4
"""Expected duration of a static heuristic per task, in seconds, before one was measured."""
HEURISTICS_SHARE: Final = 0.5
"""Share of the time after which no other heuristic begins."""
BOUND_SHARE: Final = 0.25
"""Share of the time that is left that each mixed bound may take."""
SURVIVAL_SHARE: Final = 0.1
"""Largest share of the time that the dynamic schedulers with the plan's order may take."""
MIN_REPLAYS_LEFT: Final = 4
"""Replays that must fit into the time for annealing to begin: a first one, and candidates."""
PROOF_TOLERANCE: Final = 1e-9
"""Relative difference to a lower bound below which a schedule is optimal; replays count ns."""


SOLVER_SHARE: Final = 0.25
"""Share of a search that the solver gets, if it is there and copies count: it knows few of them."""
SOLVER_SHARE_WITHOUT_COPIES: Final = 0.75
"""Share of a search that the solver gets where copies do not count: its schedules are replayed so.

Cholesky of 8 tiles on mirage, in one memory, took 141.5 ms after 40 s of a processor with the
solver alone, and 144.1 ms when annealing had three quarters of 40 s.
"""
NEAR_SHARE: Final = 0.6
"""Share of the solver's time for the relaxation with nearly equal classes as one, if there are.

On Cholesky of 8 tiles on mirage it finds 140.1 ms in 45 s of a processor, and 146.7 ms without.
"""
COARSE_SHARE: Final = 0.3
"""Share of the solver's time for bounds by that relaxation, with a coarse objective."""
SOLVER_S_PER_STEP: Final = 2e-4
"""Deterministic time of the solver in seconds that counts as one candidate."""


DETERMINISTIC_THREADS: Final = 1
"""Threads of the solver where steps count: of two, either may be the first to find a schedule."""


def optimize(
    graph: AnyGraph | Scenario,
    platform: AnyPlatform | None = None,
    models: AnyModels | None = None,
    *,
    time_s: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    method: SearchMethod = "auto",
    resume: str | Path | None = None,
    engine: Engine = "auto",
    progress: ShareProgress | None = None,
    **scenario: Any,
) -> Optimum:
    """Search for the schedule of a graph with the shortest replayed makespan.

    Every candidate is replayed as :func:`tasksim.simulate` replays it, with copies, limited
    memories, the costs of the runtime and contention. The search begins with the best schedule of
    the heuristics, replayed as a plan, so the result is never worse than that. Ctrl-C ends the
    search and keeps the best.

    Parameters
    ----------
    graph : str, Path, TaskGraph or Scenario
        The graph, or a scenario, which has all other parameters, too.
    platform : str, Path, Platform or None, default None
        The machine; *workers* may be given instead.
    models : str, Path, mapping, models or None, default None
        Kernel models, as for :func:`tasksim.simulate`.
    time_s : float, optional
        Duration in seconds, of the graph, the heuristics, the bounds and the search together; by
        default 60 unless *steps* are given. What does not fit is not begun, and a note says so. A
        schedule and its replay are made in any case.
    steps : int, optional
        Number of candidates. The same number and seed give the same schedule, unless *time_s* ends
        the search before.
    seed : int, default 0
        Seed of the search.
    method : {"auto", "annealing", "solver"}, default "auto"
        Method of the search. ``annealing`` changes workers and places of tasks at random.
        ``solver`` is CP-SAT of OR-Tools, whose model has no copies; it proves bounds, too. ``auto``
        begins with the solver, if it is installed and there are at most 400 tasks, and continues
        with annealing.
    resume : str or Path, optional
        Folder of an earlier result for the same graph and workers, to go on from.
    engine : {"auto", "simpy", "compiled"}, default "auto"
        Engine of the replays, as for :func:`tasksim.simulate`; SimPy's tries hundreds of times
        fewer candidates in a second.
    progress : callable, optional
        Called with a message and the share of the search that is over.
    **scenario
        Other parameters of :class:`tasksim.Scenario`: *settings*, *workers*, *durations*,
        *model_names*, *library*, *changes*.

    Returns
    -------
    Optimum

    Raises
    ------
    InputError
        If an argument is illegal, no worker can run a task, the platform has several nodes, or
        the solver is asked for and is not installed.

    See Also
    --------
    tasksim.plan : A plan by one heuristic, without search.
    tasksim.bounds : Lower bounds on the makespan.

    Examples
    --------
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> found = optimize(
    ...     "cholesky tiles=4", workers=2, models=seconds, steps=300, method="annealing"
    ... )
    >>> found.makespan_s, round(found.bound_s, 2)
    (35.0, 34.5)
    """
    begun_s = time.perf_counter()
    one_of(method, SEARCH_METHODS, "method")
    if steps is not None:
        steps = whole_number(steps, "steps", low=1)
    if time_s is not None:
        time_s = positive_number(time_s, "time_s", "60.0")
    seed = whole_number(seed, "seed")
    if method == "solver":
        refuse_missing_solver()
    if isinstance(graph, Scenario):
        if platform is not None or models is not None or scenario:
            raise InputError("a scenario says itself where it runs; legal: optimize(scenario)")
        asked = graph
    else:
        asked = Scenario(graph, platform=platform, models=models, **scenario)
    if asked.clock != "simulated":
        raise InputError(f"{asked.label}: its clock is native; a search replays simulations")
    if steps is None and time_s is None:
        time_s = DEFAULT_TIME_S
    show = progress or (lambda _message, _share: None)
    search = _Search(asked, seed, method, engine, show)
    return search.run(Limit(steps, time_s, begun_s), resume)


class _Search:
    """A search for one scenario, with its results so far."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        method: SearchMethod,
        engine: Engine,
        progress: ShareProgress,
    ) -> None:
        self._scenario, self._seed, self._progress = scenario, seed, progress
        self._method = method
        self._resolved: Resolved = resolve(scenario)
        quiet = scenario.vary(noise="none")
        self._replayer = Replayer(self._resolved.simulation(quiet), engine)
        self._bounds = self._resolved.bounds()
        self._heuristics: dict[str, float] = {}
        self._notes: list[str] = []
        self._improvements: list[Improvement] = []
        self._steps = 0
        self._searched_s = 0.0
        self._replays = 0
        self._replay_s = self._dynamic_s = 0.0
        self._best: ReplayedPlan | None = None
        self._plans: list[ReplayedPlan] = []
        self._windows: tuple[Window, ...] = ()

    def run(self, limit: Limit, resume: str | Path | None) -> Optimum:
        """Search until *limit*, from the heuristics or from an earlier result."""
        interrupted = False
        before, survivals = 0, True
        try:
            if resume is not None:
                plan, before = read_earlier(resume, self._replayer)
                self._start_from("resumed", plan, limit)
            self._start(limit)
            limit, survivals = self._closing(limit)
            self._bound(limit)
            self._solve(limit)
            if self._method != "solver":
                self._anneal(limit, before)
        except KeyboardInterrupt:
            if self._best is None:
                raise
            interrupted = True
        assert self._best is not None
        return optimum_of(
            self._scenario,
            self._replayer,
            self._best,
            replays=self._replays,
            searched_s=self._searched_s,
            bounds=dict(self._bounds),
            heuristics=self._heuristics,
            improvements=tuple(self._improvements),
            seed=self._seed,
            steps=before + self._steps,
            interrupted=interrupted,
            notes=tuple(self._notes),
            survivals=survivals,
        )

    def _start(self, limit: Limit) -> None:
        """Replay the schedules of the heuristics."""
        names: tuple[str, ...] = HEURISTICS
        tasks = len(self._replayer.graph)
        if tasks > MAX_PLANNED_TASKS:
            names = QUICK_HEURISTICS
            self._notes.append(
                f"{tasks} tasks: the search starts from dynamic schedulers alone, as static ones "
                f"plan at most {MAX_PLANNED_TASKS} tasks here"
            )
        failure: TasksimError | None = None
        longest_s = {True: PLANNING_S_PER_TASK * tasks, False: 0.0}
        left_out = []
        for name in names:
            planned = name in ALGORITHMS
            if not self._fits(longest_s[planned], limit):
                left_out.append(name)
                continue
            self._progress(f"{name}", min(0.99, limit.share(0)))
            begun_s = time.perf_counter()
            try:
                asked = self._scenario.vary(scheduler=name, noise="none")
                run = self._resolved.simulation(asked).run()
            except TasksimError as error:
                failure = failure or error
                self._notes.append(f"{name} is left out: {error}")
                continue
            self._heuristics[name] = run.makespan_s
            self._start_from(name, schedule_of(run), limit)
            longest_s[planned] = max(longest_s[planned], time.perf_counter() - begun_s)
        self._dynamic_s = longest_s[False]
        if self._best is None:
            raise failure or InputError("no heuristic has a schedule that can be followed")
        if left_out:
            self._notes.append(f"no time for these heuristics: {', '.join(left_out)}")

    def _fits(self, expected_s: float, limit: Limit) -> bool:
        """Return whether there is time for one more heuristic with this expected duration.

        There always is for the first dynamic one, whose duration is unknown.
        """
        if math.isinf(limit.left_s) or not expected_s:
            return True
        assert limit.time_s is not None
        return expected_s <= limit.left_s - (1 - HEURISTICS_SHARE) * limit.time_s

    def _start_from(self, source: str, plan: Plan, limit: Limit) -> None:
        """Keep a plan as a start of the search, and the duration of its replay."""
        begun_s = time.perf_counter()
        schedule = schedule_from(self._replayer, plan)
        self._replay_s = max(self._replay_s, time.perf_counter() - begun_s)
        if np.isfinite(schedule.makespan_s):
            self._plans.append(schedule)
            self._found(source, schedule, 0, limit.spent_s)

    def _starts(self) -> list[ReplayedPlan]:
        """Return the schedules that the chains begin with: the best, and the next best."""
        assert self._best is not None
        if len(self._replayer.graph) > MAX_PLANNED_TASKS:
            return [self._best]
        others = sorted(self._plans, key=lambda plan: plan.makespan_s)
        others = [plan for plan in others if plan.makespan_s > self._best.makespan_s]
        return [self._best, *(others or [self._best])[: CHAIN_COUNT - 1]]

    def _closing(self, limit: Limit) -> tuple[Limit, bool]:
        """Return the limit less the time for making the result.

        Also return whether there is time for the dynamic schedulers with the order of the plan.
        """
        if limit.time_s is None:
            return limit, True
        if limit.left_s <= 0:
            self._notes.append(
                f"one schedule and its replay are what there was time for: with the graph, they "
                f"took {limit.spent_s:.1f} s"
            )
        survivals_s = 2 * len(PRIORITY_SCHEDULERS) * self._dynamic_s
        survivals = survivals_s <= min(limit.left_s, SURVIVAL_SHARE * limit.time_s)
        if not survivals:
            self._notes.append(
                f"no time for {' and '.join(PRIORITY_SCHEDULERS)} with the order of the plan as "
                "priorities"
            )
        taken_s = self._replay_s + survivals * survivals_s
        return limit._replace(time_s=max(0.0, limit.time_s - taken_s)), survivals

    def _found(self, source: str, schedule: ReplayedPlan, step: int, at_s: float) -> None:
        """Keep *schedule* if it is the best so far; *step* and *at_s* say when it was found."""
        if not np.isfinite(schedule.makespan_s):
            return
        if self._best is None or schedule.makespan_s < self._best.makespan_s:
            self._best = schedule
            _log.info("%s: makespan %.9g s", source, schedule.makespan_s)
            self._improvements.append(Improvement(source, step, at_s, schedule.makespan_s))

    @cached_property
    def _alike(self) -> Problem:
        """The problem with classes of workers that have equal durations as one."""
        return with_classes_merged(self._replayer.problem)

    @property
    def _bound_s(self) -> float:
        return max(self._bounds.values())

    def _bound(self, limit: Limit) -> None:
        """Find the mixed bound, unless there are too many tasks."""
        if self._is_proven() or limit.left_s <= 0:
            return
        if self._replayer.problem.tasks > MAX_MIXED_TASKS:
            self._notes.append(f"no mixed bound: it is for at most {MAX_MIXED_TASKS} tasks")
            return
        self._mixed_bound(None, limit)
        platform = self._replayer.platform
        if not LeastCopies(platform, self._alike).apart or self._is_proven():
            return
        if self._alike.tasks <= MAX_COPIED_TASKS:
            self._mixed_bound(platform, limit)
        else:
            self._notes.append(
                f"no mixed bound with copies: it is for at most {MAX_COPIED_TASKS} tasks"
            )

    def _mixed_bound(self, platform: Platform | None, limit: Limit) -> None:
        """Find the mixed bound, with copies if there is a *platform*."""
        self._progress(f"mixed bound{'' if platform is None else ' with copies'}", 0.0)
        found = mixed_bound(self._alike, None, platform, time_s=BOUND_SHARE * limit.left_s)
        self._bounds[f"{found.name}_s"], self._windows = found.value_s, found.windows

    def _solve(self, limit: Limit) -> None:
        """Let the solver improve the schedule and the bound."""
        assert self._best is not None
        if self._method == "annealing" or self._is_proven() or limit.left_s <= 0:
            return
        if self._method == "auto" and self._replayer.problem.tasks > MAX_SOLVER_TASKS:
            return
        if not has_solver():
            self._notes.append("no solver: pip install 'tasksim[optimize]' for CP-SAT of OR-Tools")
            return
        near = with_near_classes_merged(self._alike, self._replayer.platform)
        apart = LeastCopies(self._replayer.platform, self._alike).apart
        whole = SOLVER_SHARE if apart else SOLVER_SHARE_WITHOUT_COPIES
        if self._method == "solver":
            whole = 1.0
        left_s = limit.left_s
        windows = self._windows
        models = [(near, NEAR_SHARE, 0.0), (near, COARSE_SHARE, COARSE_STEP_SHARE)]
        if near.costs_s.shape != self._alike.costs_s.shape:
            copies = self._replayer.platform if "mixed_with_copies_s" in self._bounds else None
            windows = mixed_bound(near, None, copies, time_s=BOUND_SHARE * whole * left_s).windows
            models.append((self._alike, 1 - NEAR_SHARE - COARSE_SHARE, 0.0))
        elif unit_count(near, self._best.makespan_s) < MIN_COARSE_UNITS:
            models = [(near, 1.0, 0.0)]
        else:
            models[0] = (near, 1 - COARSE_SHARE, 0.0)
        for problem, share, grain in models:
            if self._is_proven() or limit.left_s <= 0:
                break
            # A share of the time that was left at first.
            part = 1.0 if limit.time_s is None else left_s / limit.left_s
            known = windows if problem is near else self._windows
            # From the start of a heuristic, the solver ends in worse schedules of the relaxation.
            hinted = problem.costs_s.shape == self._alike.costs_s.shape and not grain
            allowed = min(1.0, whole * share * part)
            self._solve_model(problem, known, limit, allowed, grain, hinted=hinted)

    def _solve_model(
        self,
        problem: Problem,
        windows: tuple[Window, ...],
        limit: Limit,
        share: float,
        grain: float,
        *,
        hinted: bool,
    ) -> None:
        """Let the solver work on *problem* for a share of the search that is left.

        *hinted* says whether it starts from the best schedule.
        """
        assert self._best is not None
        time_s = deterministic = None
        if limit.time_s is not None:
            time_s = max(0.01, share * limit.left_s)
        if limit.steps is not None:
            deterministic = share * limit.steps * SOLVER_S_PER_STEP
        threads = DETERMINISTIC_THREADS if limit.steps is not None else workers_by_clock()
        allowed = SolverLimit(time_s, deterministic, threads, self._seed % 2**31)
        self._replayer.makespan_s(self._best.worker, self._best.order)
        start_s = self._replayer.table().start_s
        schedules: list[tuple[Any, Any]] = []

        def bounded(value_s: float) -> None:
            self._bounds["solver_s"] = max(self._bounds.get("solver_s", 0.0), value_s)

        solving = Solving(
            problem, self._bound_s, self._best.makespan_s, self._replayer.platform, windows, grain
        )
        if hinted:
            solving.hint(start_s, problem.class_of[self._best.worker])
        self._progress("solver", limit.share(self._steps))
        try:
            solved = solving.solve(allowed, lambda *found: schedules.append(found), bounded)
            bounded(solved.bound_s)
        finally:
            for found in schedules:
                schedule = placed(self._replayer, problem, *found)
                self._found("solver", schedule, 0, limit.spent_s)
            if schedules and np.isfinite(schedule.makespan_s):
                # The best of the model may start a chain, even if its copies make it longer.
                self._plans.append(schedule)

    def _is_proven(self) -> bool:
        assert self._best is not None
        return self._best.makespan_s <= self._bound_s * (1 + PROOF_TOLERANCE)

    def _anneal(self, limit: Limit, before: int) -> None:
        """Improve the best schedule until *limit*; *before* is the number of earlier steps."""
        assert self._best is not None
        if len(self._replayer.graph) < 2 or self._is_proven():
            return
        if limit.left_s < MIN_REPLAYS_LEFT * self._replay_s:
            self._notes.append(f"no time for candidates: a replay takes {self._replay_s:.2g} s")
            return
        begun_s = time.perf_counter()
        replays = self._replayer.replays
        chains = Chains(self._replayer, self._starts(), limit, f"{self._seed} {before}")
        try:
            for found in chains.rounds(self._bound_s * (1 + PROOF_TOLERANCE)):
                for better in found:
                    step, at_s = chains.count * better.step, better.found_s - limit.begun_s
                    self._found("annealing", better.schedule, step, at_s)
                self._progress(self._state(), min(1.0, limit.share(chains.steps)))
        finally:
            self._steps += chains.steps
            self._searched_s += time.perf_counter() - begun_s
            self._replays += chains.replays - replays

    def _state(self) -> str:
        from tasksim.base.units import duration_text

        assert self._best is not None
        gap = 1 - self._bound_s / self._best.makespan_s if self._best.makespan_s else 0.0
        return (
            f"{duration_text(self._best.makespan_s)}, bound {duration_text(self._bound_s)}, "
            f"gap {100 * gap:.1f} %"
        )
