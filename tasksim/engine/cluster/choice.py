"""Choice of the engine for the replay of a cluster.

The rule is that of :mod:`tasksim.engine.choice` for a single node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tasksim.engine.choice import chosen, only_by_core
from tasksim.engine.cluster.cluster import ClusterReplay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.choice import Engine
    from tasksim.engine.cluster.cluster import NodeQuestion
    from tasksim.engine.cluster.outcome import ClusterOutcome
    from tasksim.engine.compiled.cluster import CompiledCluster
    from tasksim.engine.machine.instant import SimultaneousPushes
    from tasksim.graph.distribution.parts import Distribution
    from tasksim.network.description import Network

__all__ = ["ClusterQuestion", "ClusterReplayed", "as_data", "replayed", "replayed_by_core"]


class ClusterQuestion(NamedTuple):
    """One replay of a cluster for an engine."""

    distribution: Distribution
    nodes: Sequence[NodeQuestion]
    network: Network
    simultaneous_pushes: SimultaneousPushes = "serial"
    cores: int | None = None


class ClusterReplayed(NamedTuple):
    """The result of a replay, the engine that made it, and why it was not the core."""

    outcome: ClusterOutcome
    engine: str
    why: str = ""


def replayed(question: ClusterQuestion, seed: int, engine: Engine = "auto") -> ClusterReplayed:
    """Replay *question* on the chosen engine.

    Raises
    ------
    InputError
        If the compiled engine was requested and does not support the question, or if a task can
        never run.
    SchedulerError
        If a scheduler breaks a rule or fails.
    """

    def by_simpy(why: str) -> ClusterReplayed:
        for node in question.nodes:
            if node.has_threads(question.simultaneous_pushes, question.cores):
                raise only_by_core(node.scheduler)
        replay = ClusterReplay(*question)
        replay.run(seed)
        return ClusterReplayed(replay.outcome(), "simpy", why)

    return chosen(engine, lambda: replayed_by_core(question, seed), by_simpy)


def as_data(question: ClusterQuestion, seed: int) -> dict[str, Any]:
    """Return the core's input as data; see :func:`tasksim.engine.choice.as_data`."""
    return _compiled(question).as_data(seed)


def replayed_by_core(question: ClusterQuestion, seed: int) -> ClusterReplayed:
    """Replay *question* on the core; raise ``Refused`` if the core does not support it."""
    replay = _compiled(question)
    replay.run(seed)
    return ClusterReplayed(replay.outcome(), "compiled")


def _compiled(question: ClusterQuestion) -> CompiledCluster:
    from tasksim.core.library import status
    from tasksim.engine.compiled.cluster import CompiledCluster
    from tasksim.runtime.flat import Refused

    core = status()
    if not core.available:
        raise Refused(f"the core is {core.why}")
    return CompiledCluster(*question)
