"""Choice of the engine for a replay, the compiled core if it supports everything, else SimPy's.

The results are the same to the last byte; SimPy's engine is the one to read, to extend and to
compare with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from tasksim.base.errors import InputError
from tasksim.base.progress import noting
from tasksim.base.threadclock import no_garbage_collection
from tasksim.engine.question import ClusterQuestion, Question

if TYPE_CHECKING:
    from tasksim.base.progress import CountProgress
    from tasksim.engine.cluster.cluster import ClusterReplay
    from tasksim.engine.compiled.cluster import CompiledCluster
    from tasksim.engine.compiled.plans import CompiledPlans
    from tasksim.engine.compiled.replay import CompiledReplay
    from tasksim.engine.compiled.series import Series
    from tasksim.engine.outcome import Ended
    from tasksim.engine.question import NodeQuestion
    from tasksim.engine.replay import Replay

__all__ = [
    "ENGINES", "EndedReplay", "Engine", "as_data", "plans_of", "replayed", "replayed_by_core",
    "series_of",
]  # fmt: skip

Engine = Literal["auto", "simpy", "compiled"]
"""``auto``: the compiled core if it is available and supports the replay, else SimPy's engine."""
ENGINES: Final = get_args(Engine)


class EndedReplay(NamedTuple):
    """A replay that has ended, the engine that made it, and the reason for that engine.

    The reason says why it was not the core, or that the core called a Python scheduler.
    """

    replay: Ended
    engine: str
    why: str = ""


def replayed(
    question: Question | ClusterQuestion,
    seed: int,
    engine: Engine = "auto",
    progress: CountProgress | None = None,
) -> EndedReplay:
    """Replay *question* on the core, unless SimPy's *engine* is requested or the core refuses.

    *progress* is called from time to time with the number of finished tasks and of all tasks.

    Raises
    ------
    InputError
        If the compiled engine was requested and does not support the question, or if a task can
        never run.
    SchedulerError
        If the scheduler breaks a rule or fails.
    """
    progress = progress or noting("tasks")
    if engine == "simpy":
        return _replayed_by_simpy(question, seed, "asked for", progress)
    from tasksim.runtime.flat import Refused

    try:
        return replayed_by_core(question, seed, progress)
    except Refused as refusal:
        why = str(refusal)
    if engine == "compiled":
        raise InputError(f"the compiled engine does not replay this: {why}")
    return _replayed_by_simpy(question, seed, why, progress)


def replayed_by_core(
    question: Question | ClusterQuestion, seed: int, progress: CountProgress | None = None
) -> EndedReplay:
    """Replay *question* on the core; raise ``Refused`` if the core does not support it."""
    replay = _on_core(question)
    replay.run(seed, progress)
    return EndedReplay(replay, "compiled", replay.why)


def _on_core(question: Question | ClusterQuestion) -> CompiledReplay | CompiledCluster:
    """Return the replay of *question* on the core; raise ``Refused`` if it does not support it."""
    if isinstance(question, Question):
        from tasksim.engine.compiled.replay import CompiledReplay

        return CompiledReplay(question)
    from tasksim.engine.compiled.cluster import CompiledCluster

    return CompiledCluster(question)


def _replayed_by_simpy(
    question: Question | ClusterQuestion, seed: int, why: str, progress: CountProgress | None
) -> EndedReplay:
    """Replay *question* on SimPy's engine, for the reason *why*."""
    if question.needs_threads:
        raise _only_by_core(question)
    with no_garbage_collection():
        replay = _in_simpy(question)
    replay.run(seed, progress)
    return EndedReplay(replay, "simpy", why)


def _in_simpy(question: Question | ClusterQuestion) -> Replay | ClusterReplay:
    """Return the replay of *question* on SimPy's engine."""
    if isinstance(question, Question):
        from tasksim.engine.replay import Replay

        return Replay(question)
    from tasksim.engine.cluster.cluster import ClusterReplay

    return ClusterReplay(question)


def _only_by_core(question: Question | ClusterQuestion) -> InputError:
    """Return the error for the threads of StarPU-SimGrid, which only the core can replay."""
    from tasksim.core.library import status

    asked: Question | NodeQuestion
    if isinstance(question, Question):
        asked = question
    else:
        asked = next(filter(question.has_threads, question.nodes))
    core = status()
    cure = "use engine auto or compiled" if core.available else f"the core is {core.why}"
    return InputError(
        f"scheduler {asked.scheduler.name} with simultaneous pushes 'blind' needs the threads of "
        f"StarPU-SimGrid, which only the compiled core replays: {cure}"
    )


def series_of(question: Question) -> Series | None:
    """Return a series of replays on the core, like *question*; None if the core has none such.

    It returns None for a wrong question, too: a single replay raises the error.
    """
    try:
        from tasksim.engine.compiled.replay import CompiledReplay

        return CompiledReplay(question).series()
    except Exception:
        return None


def plans_of(question: Question) -> CompiledPlans | None:
    """Return replays on the core under any plan; None if the core does not support *question*.

    The scheduler of *question* follows a plan.
    """
    from tasksim.engine.compiled.replay import CompiledReplay
    from tasksim.runtime.flat import Refused

    try:
        return CompiledReplay(question).plans()
    except Refused:
        return None


def as_data(question: Question | ClusterQuestion, seed: int) -> dict[str, Any]:
    """Return the question that a core elsewhere would get: numbers, texts and arrays by name.

    Raises ``Refused`` if the core does not know all that is asked, or if a scheduler is none of its
    own.
    """
    return _on_core(question).as_data(seed)
