"""Choices over ranks, by each rank's own statistics, and for messages by those of both ends.

A message is a kernel whose signature is its size, source and target. Source and target time it
independently. It is skipped if both would skip it or, as an option, if either would; as all choices
are made in one place, both ends do the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.selective.policies import Chooser, Rules
from tasksim.selective.statistics import Signature, signatures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.graph.distribution.messages import PostedMessages
    from tasksim.graph.distribution.parts import Distribution
    from tasksim.runtime.pathrecords import PathRecord
    from tasksim.selective.charges import Charge
    from tasksim.selective.policies import Policy, SamplingOrder
    from tasksim.selective.statistics import Statistics

__all__ = [
    "MESSAGES",
    "MessageRule",
    "RankChoosers",
    "RankRules",
    "RankSignatures",
    "statistics_of_ranks",
]

MessageRule = Literal["all", "any"]
MESSAGES: Final = ("all", "any")
"""Rule for messages: whether all ends must know it well enough, or any."""

MESSAGE: Final = "message"
"""Kernel name of messages' signatures."""


class RankSignatures:
    """The signatures of a cut graph, first of its tasks, then of its messages.

    Attributes
    ----------
    found : list of Signature
    of_task : list of list of int
        Index of the signature of each task of each rank's part; both ends of a message have the
        same one.
    """

    def __init__(self, cut: Distribution) -> None:
        kernels, of_whole = signatures(cut.graph)
        sent, of_message = _signatures_of(cut.messages)
        self.found = [*kernels, *sent]
        tasks = np.asarray(of_whole, np.int64)
        messages = np.asarray(of_message, np.int64) + len(kernels)
        self.of_task: list[list[int]] = []
        for part in cut.parts:
            places = tasks[np.maximum(part.task, 0)] if len(tasks) else part.task
            ours = part.message >= 0
            places[ours] = messages[part.message[ours]]
            self.of_task.append(places.tolist())


def _signatures_of(messages: PostedMessages) -> tuple[list[Signature], list[int]]:
    rows = zip(
        messages.size_bytes.tolist(), messages.source.tolist(), messages.target.tolist(),
        strict=True,
    )  # fmt: skip
    found: dict[tuple[int, int, int], int] = {}
    of_message = [found.setdefault(row, len(found)) for row in rows]
    return [
        Signature(MESSAGE, (("size_bytes", float(size)),), f"{source} to {target}")
        for size, source, target in found
    ], of_message


def statistics_of_ranks(
    policy: str, make: Callable[[], Statistics], ranks: int
) -> list[Statistics]:
    """Return the statistics of each rank; for *eager*, all ranks share one object.

    The paper's eager policy spreads the measurements of one rank to all of them.
    """
    if policy == "eager":
        return [make()] * ranks
    return [make() for _ in range(ranks)]


class RankRules(NamedTuple):
    """Parameters of choices over ranks.

    *statistics* holds those of each rank, or one object for all of them; *profile* the number of
    occurrences of each signature on the critical path of an earlier run.
    """

    policy: Policy
    statistics: Sequence[Statistics]
    tolerance: float
    messages: MessageRule = "all"
    profile: Sequence[int] = ()
    sampling: SamplingOrder = "spread"
    charge: Charge = "drawn"
    seed: int = 0


class RankChoosers:
    """Chooser for the tasks and messages of all ranks of one run.

    Parameters
    ----------
    rules : RankRules
    known : RankSignatures
    cut : Distribution
    workers : sequence of int
        Number of workers of each rank; the communication thread is one more.

    Raises
    ------
    InputError
        If the rule for messages is unknown.
    """

    def __init__(
        self, rules: RankRules, known: RankSignatures, cut: Distribution, workers: Sequence[int]
    ) -> None:
        one_of(rules.messages, MESSAGES, "messages")
        self._of_task, self._workers = known.of_task, workers
        self._either = rules.messages == "any"
        self._statistics = rules.statistics
        self._choosers = [
            Chooser(
                Rules(
                    rules.policy, statistics, rules.tolerance, known.found, of_task, count + 1,
                    rules.profile, rules.sampling, rules.charge, rules.seed * len(workers) + rank,
                )
            )
            for rank, (statistics, of_task, count) in enumerate(
                zip(rules.statistics, known.of_task, workers, strict=True)
            )
        ]  # fmt: skip
        self._ends = cut.messages.ends()

    def kind(self, rank: int, task: int) -> int:
        """Return the signature index of a task of a rank's part."""
        return self._of_task[rank][task]

    def charge_s(
        self, rank: int, task: int, worker: int, before: PathRecord, now_s: float
    ) -> float | None:
        """Return the charge of a task in seconds; None: execute it."""
        return self._choosers[rank].charge_s(task, worker, before, now_s)

    def charge_message_s(self, message: int, before: PathRecord, now_s: float) -> float | None:
        """Return the charge of a message, by the durations of its target; None: send it."""
        ends = self._ends[message]
        told: list[float | None] = [
            self._choosers[rank].charge_s(task, self._workers[rank], before, now_s)
            for rank, task in ends
        ]
        known = [charge_s is not None for charge_s in told]
        if not (any(known) if self._either else all(known)):
            return None
        for (rank, task), knows in zip(ends, known, strict=True):
            if not knows:
                self._choosers[rank].withdraw(task)
        target, task = ends[1]
        return told[1] or self._choosers[target].mean_s(task) or told[0]

    def measured(self, rank: int, task: int, seconds: float) -> None:
        """Note the measured duration of a task."""
        self._choosers[rank].measured(task, seconds)

    def measured_message(self, message: int, source_s: float, target_s: float) -> None:
        """Note both durations of a message; only the target's if both ends share statistics."""
        (source, send), (target, receive) = self._ends[message]
        if self._statistics[source] is not self._statistics[target]:
            self._choosers[source].measured(send, source_s)
        self._choosers[target].measured(receive, target_s)
