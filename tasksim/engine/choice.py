"""Choice of the engine for a replay, the compiled core if it supports everything, else SimPy's.

The results are the same to the last byte; SimPy's engine is the one to read, to extend and to
compare with.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar, get_args

from tasksim.base.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from tasksim.engine.compiled.foreign import Called
    from tasksim.engine.compiled.plans import CompiledPlans
    from tasksim.engine.compiled.replay import CompiledReplay
    from tasksim.engine.compiled.series import Series
    from tasksim.engine.locality import FarCharge
    from tasksim.engine.machine.instant import SimultaneousPushes
    from tasksim.engine.replay import Replay
    from tasksim.engine.slowing import Slowing
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.runtime.policies import Ported
    from tasksim.schedulers.base import Scheduler

__all__ = [
    "ENGINES", "Engine", "Question", "Replayed", "as_data", "can_be_threads", "check_engine",
    "chosen", "needs_machine", "plans_of", "replayed", "series_of",
]  # fmt: skip

T = TypeVar("T")

Engine = Literal["auto", "simpy", "compiled"]
"""``auto``: the compiled core if it is available and supports the replay, else SimPy's engine."""
ENGINES: Final = get_args(Engine)


@dataclass(frozen=True, eq=False)
class Question:
    """One replay for an engine.

    Attributes
    ----------
    graph, platform, scheduler : TaskGraph, Platform, Scheduler
        The graph, the machine, and the policy.
    costs, estimates : ndarray, shape (classes, tasks)
        Durations of the tasks, and the scheduler's estimates of them, seconds.
    far : FarCharge or None
        Seconds added when a task starts, for data that left the cache.
    simultaneous_pushes : {"serial", "blind"}
        Whether a push sees the other pushes of its instant.
    submitted_s : ndarray or None
        Submission time of each task, in order; None: tasks are submitted one after the other, at
        the platform's cost.
    slowing : Slowing or None
        Slowdown of tasks by each other; None without contention.
    decisions : bool
        Whether the decisions of the scheduler are recorded.
    """

    graph: TaskGraph
    platform: Platform
    scheduler: Scheduler
    costs: NDArray[np.float64]
    estimates: NDArray[np.float64]
    far: FarCharge | None = None
    simultaneous_pushes: SimultaneousPushes = "serial"
    submitted_s: NDArray[np.float64] | None = None
    slowing: Slowing | None = None
    decisions: bool = False

    @property
    def needs_machine(self) -> bool:
        """Whether the question needs more than the core's fast path for cores with one memory."""
        blind, slowed = self.simultaneous_pushes == "blind", self.slowing is not None
        return blind or slowed or needs_machine(self.platform)

    @property
    def needs_threads(self) -> bool:
        """Whether the workers are StarPU-SimGrid's threads."""
        if self.simultaneous_pushes != "blind" or self.submitted_s is not None:
            return False
        return self.slowing is None and can_be_threads(self.platform, self.scheduler)


class Replayed(NamedTuple):
    """The result of a replay, the engine that made it, and the reason for that engine.

    The reason says why it was not the core, or that the core called a Python scheduler.
    """

    replay: Replay | CompiledReplay
    engine: str
    why: str = ""


def needs_machine(platform: Platform) -> bool:
    """Return whether *platform* needs the replay of machines: memories, devices, costs."""
    return (
        len(platform.memories) > 1
        or any(platform.device(name).pipeline for name in platform.architectures)
        or not platform.overheads.only_basic
    )


def can_be_threads(platform: Platform, scheduler: Scheduler, *, of_cluster: bool = False) -> bool:
    """Return whether StarPU-SimGrid's threads support *scheduler* and *platform*.

    Each step of a thread must take time, so that no thread polls for ever at one instant; cores
    must share an unlimited main memory, and each other memory must belong to one device. Nodes
    *of_cluster* have threads only if they have devices: the order of the communication thread and
    the others within an instant is not known exactly, and for cores alone the order without threads
    is closer to StarPU's.
    """
    from tasksim.engine.ticks import OverheadTicks
    from tasksim.runtime.policies import ported

    if of_cluster and len(platform.memories) == 1:
        return False
    if not getattr(scheduler, "as_threads", False) or ported(scheduler) is None:
        return False  # a user's scheduler is called back, which threads do not support
    devices = [w.memory for w in platform.workers if platform.device(w.architecture).pipeline]
    cores = [w.memory for w in platform.workers if not platform.device(w.architecture).pipeline]
    cost = OverheadTicks.of(platform.overheads)
    return (
        min(cost.push, cost.fetch, cost.progress, cost.submission) > 0
        and cost.task == cost.wakeup == cost.start == 0
        and sorted(devices) == list(range(1, len(platform.memories)))
        and not any(cores)
        and platform.memories[0].size_bytes is None
    )


def check_engine(engine: str) -> None:
    """Raise :exc:`InputError` unless *engine* is one."""
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)


def replayed(question: Question, seed: int, engine: Engine = "auto") -> Replayed:
    """Replay *question* on the chosen engine.

    Raises
    ------
    InputError
        If the compiled engine was requested and does not support the question, or if a task can
        never run.
    SchedulerError
        If the scheduler breaks a rule or fails.
    """

    def by_simpy(why: str) -> Replayed:
        replay = _simpy(question)
        replay.run(random.Random(seed))
        return Replayed(replay, "simpy", why)

    return chosen(engine, lambda: replayed_by_core(question, seed), by_simpy)


def chosen(engine: Engine, by_core: Callable[[], T], by_simpy: Callable[[str], T]) -> T:
    """Return the core's result, unless SimPy's *engine* is requested or the core refuses.

    In these cases, return the result of SimPy's engine, with the reason. Raises :exc:`InputError`
    if the core was requested and refuses.
    """
    if engine == "simpy":
        return by_simpy("asked for")
    from tasksim.runtime.flat import Refused

    try:
        return by_core()
    except Refused as refusal:
        why = str(refusal)
    if engine == "compiled":
        raise InputError(f"the compiled engine does not replay this: {why}")
    return by_simpy(why)


def replayed_by_core(question: Question, seed: int) -> Replayed:
    """Replay *question* on the core; raise ``Refused`` if the core does not support it."""
    replay = _compiled(question)
    replay.run(random.Random(seed))
    return Replayed(replay, "compiled", replay.why)


def series_of(question: Question) -> Series | None:
    """Return a series of replays on the core, like *question*; None if the core has none such.

    It returns None for a wrong question, too: a single replay raises the error.
    """
    try:
        return _compiled(question).series()
    except Exception:
        return None


def as_data(question: Question, seed: int) -> dict[str, Any]:
    """Return the question that a core elsewhere would get: numbers, texts and arrays by name.

    Raises ``Refused`` if the core does not know all that is asked, or if the scheduler is none of
    its own.
    """
    return _compiled(question).as_data(seed)


def plans_of(question: Question) -> CompiledPlans | None:
    """Return replays on the core under any plan; None if the core does not support *question*.

    The scheduler of *question* follows a plan.
    """
    from tasksim.runtime.flat import Refused

    try:
        return _compiled(question).plans()
    except Refused:
        return None


def _compiled(question: Question) -> CompiledReplay:
    from tasksim.core.library import status
    from tasksim.runtime.flat import Refused

    core = status()
    if not core.available:
        raise Refused(f"the core is {core.why}")

    from tasksim.engine.compiled.replay import CompiledReplay
    from tasksim.runtime.policies import ported

    graph, platform, scheduler = question.graph, question.platform, question.scheduler
    policy: Ported | Called | None = ported(scheduler)
    if policy is None:
        if question.decisions:
            raise Refused(
                "decisions of a scheduler written in Python are recorded in SimPy's engine"
            )
        from tasksim.engine.compiled.foreign import Called

        policy = Called(scheduler, graph, platform, machine=question.needs_machine)
    return CompiledReplay(
        graph,
        platform,
        policy,
        question.costs,
        question.estimates,
        question.far,
        machine=question.needs_machine,
        submitted_s=question.submitted_s,
        blind=question.simultaneous_pushes == "blind",
        threads=question.needs_threads,
        slowing=question.slowing,
        decisions=question.decisions,
    )


def _simpy(question: Question) -> Replay:
    from tasksim.base.threadclock import no_garbage_collection
    from tasksim.engine.replay import Replay

    if question.needs_threads:
        raise only_by_core(question.scheduler)
    with no_garbage_collection():
        believed = question.estimates.tolist()
        alike = question.costs is question.estimates
        times = question.submitted_s
        return Replay(
            question.graph,
            question.platform,
            question.scheduler,
            believed if alike else question.costs.tolist(),
            believed,
            question.far,
            question.simultaneous_pushes,
            submitted_s=None if times is None else times.tolist(),
            slowing=question.slowing,
            decisions=question.decisions,
        )


def only_by_core(scheduler: Scheduler) -> InputError:
    """Return the error for the threads of StarPU-SimGrid, which only the core can replay."""
    from tasksim.core.library import status

    core = status()
    cure = "use engine auto or compiled" if core.available else f"the core is {core.why}"
    return InputError(
        f"scheduler {scheduler.name} with simultaneous pushes 'blind' needs the threads of "
        f"StarPU-SimGrid, which only the compiled core replays: {cure}"
    )
