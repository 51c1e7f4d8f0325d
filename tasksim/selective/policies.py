"""Policies of selective execution, which decide when a kernel is known well enough.

The policies are those of E. Hutter and E. Solomonik, "Accelerating distributed-memory autotuning
via statistical analysis of execution paths", applied to one node: there, every process keeps its
own statistics and passes them on with its messages; here, all workers share one table in memory.
"""

from __future__ import annotations

import random
from functools import partial
from math import floor, inf
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tasksim.base.arguments import one_of
from tasksim.base.errors import InputError, unknown
from tasksim.selective.charges import CHARGES, Deck
from tasksim.selective.statistics import estimate_from_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.runtime.pathrecords import PathRecord
    from tasksim.selective.charges import Charge
    from tasksim.selective.statistics import Signature, Statistics

__all__ = [
    "POLICIES",
    "SAMPLINGS",
    "Chooser",
    "Policy",
    "Rules",
    "SamplingOrder",
    "checked_policy",
    "policy_of",
]

SamplingOrder = Literal["spread", "apart", "first"]
SAMPLINGS: Final = ("spread", "apart", "first")


class Policy(NamedTuple):
    """A policy of selective execution.

    Attributes
    ----------
    counts : {"", "own", "path", "profile", "share"}
        Number of occurrences of a kernel by which its interval may be wider: none; those that its
        worker met; those on the sub-critical path of the task; those on the critical path of a full
        run before. ``"share"`` uses the kernel's share of the makespan instead.
    every_configuration : bool
        Whether each kernel is executed at least once per configuration.
    reuses : bool
        Whether statistics are kept from one configuration to the next by default.
    summary : str
    """

    counts: str
    every_configuration: bool
    reuses: bool
    summary: str


POLICIES: Final[dict[str, Policy]] = {
    "conditional": Policy("", True, False, "the mean of one execution is known"),
    "local": Policy(
        "own", True, False, "the sum over the executions that the worker has met is known"
    ),
    "online": Policy(
        "path", True, False, "the sum over the executions on the path so far is known"
    ),
    "apriori": Policy("profile", True, False, "the same, for the path of an earlier full run"),
    "eager": Policy(
        "", False, True, "as conditional; samples of all configurations, none required of each"
    ),
    "shares": Policy(
        "share",
        False,
        True,
        "the uncertainty of all kernels moves the makespan by at most the tolerance",
    ),
}
"""All policies by name."""


def policy_of(name: str) -> Policy:
    """Return the policy called *name*.

    Raises
    ------
    InputError
        If it is unknown; with the most similar name.
    """
    if name not in POLICIES:
        raise unknown("policy", name, POLICIES)
    return POLICIES[name]


def checked_policy(name: str, tolerance: float, sampling: str, charge: str) -> Policy:
    """Return the policy called *name* after a check of the other settings.

    Raises
    ------
    InputError
        If a name is unknown, or the tolerance is not above 0 (nothing would ever be skipped) and at
        most 1.
    """
    found = policy_of(name)
    if not 0 < tolerance <= 1:
        raise InputError(f"tolerance={tolerance:g}; legal: above 0, at most 1 (4% or 0.04)")
    one_of(sampling, SAMPLINGS, "sampling")
    one_of(charge, CHARGES, "charge")
    return found


BURSTS: Final = 4
"""Number of bursts in which spread samples are taken: consecutive tasks find the caches as in a
full run, and several bursts cover the whole run."""


class Rules(NamedTuple):
    """Rules and facts by which a :class:`Chooser` decides.

    Attributes
    ----------
    policy : Policy
    statistics : Statistics
        Measurements so far; new ones are added.
    tolerance : float
        Half-width up to which a mean is known well enough, relative to the mean; 0: never.
    found : sequence of Signature
    of_task : sequence of int
        Index in *found* of the signature of each task.
    workers : int
    profile : sequence of int, optional
        Number of occurrences of each signature on the critical path of an earlier run.
    sampling : {"spread", "apart", "first"}
        Tasks of a kernel to execute: spread over the run, as the graph has their number; apart,
        the same with separate signatures for first touches; or the first ones, as in the paper,
        whose programs do not know the number.
    charge : {"drawn", "mean"}
        Charge of a skipped task: drawn from the measured durations of its kernel, or their mean,
        as in the paper. A kernel that only other sizes made known is charged the mean.
    seed : int
        Seed of the draws.
    """

    policy: Policy
    statistics: Statistics
    tolerance: float
    found: Sequence[Signature]
    of_task: Sequence[int]
    workers: int
    profile: Sequence[int] = ()
    sampling: SamplingOrder = "spread"
    charge: Charge = "drawn"
    seed: int = 0


class Chooser:
    """Chooser between the execution of each task of a run and a charge of a known duration."""

    def __init__(self, rules: Rules) -> None:
        statistics, found, of_task = rules.statistics, rules.found, rules.of_task
        self._policy = rules.policy
        self._statistics = statistics
        self._tolerance = rules.tolerance
        self._signatures = found
        self._of_task = of_task
        self._profile = rules.profile or [0] * len(found)
        self._spread = rules.sampling != "first"
        self._least = int(rules.policy.every_configuration)
        self._occurs = [0] * len(found)  # in all, then met so far, executed so far, known before
        for place in of_task:
            self._occurs[place] += 1
        self._met = [0] * len(found)
        self._met_by = [[0] * len(found) for _ in range(rules.workers)]
        self._begun = [0] * len(found)
        self._before = [statistics.count(signature) for signature in found]
        self._count = list(self._before)
        # Per signature: the number of samples that make a single occurrence known, and the mean.
        self._needed = [inf] * len(found)
        self._mean_s = [0.0] * len(found)
        self._told = [False] * len(found)  # whether other sizes made it known
        self._workers = rules.workers
        self._decks: list[Deck] = []
        if rules.charge == "drawn":
            rng, samples_s = random.Random(rules.seed), statistics.samples_s
            self._decks = [Deck(partial(samples_s, signature), rng) for signature in found]
        for place in range(len(found)):
            self._look(place)
            if statistics.cells and self._needed[place] > self._count[place]:
                told = estimate_from_sizes(statistics, found[place])
                if told.half_width <= self._tolerance:
                    self._needed[place], self._mean_s[place] = 0.0, told.mean_s
                    self._told[place] = True
        self._work_s = sum(n * mean for n, mean in zip(self._occurs, self._mean_s, strict=True))

    def charge_s(
        self, task: int, worker: int, before: PathRecord, now_s: float = 0.0
    ) -> float | None:
        """Return the charge of *task* in seconds; None: execute it.

        *before* is the record of the path that it continues, *now_s* the time on the account.
        """
        place = self._of_task[task]
        self._met[place] += 1
        self._met_by[worker][place] += 1
        # The interval of n occurrences is narrower by the root of n, so that 1/n of the samples
        # suffice.
        needed = self._needed[place] / self._times(place, worker, before, now_s)
        if self._wants(place, needed):
            self._begun[place] += 1
            return None
        if not self._decks or self._told[place]:
            return self._mean_s[place]
        return self._decks[place].draw_s(self._mean_s[place])

    def withdraw(self, task: int) -> None:
        """Note that *task* is not executed after all: the other end of a message decided so."""
        self._begun[self._of_task[task]] -= 1

    def mean_s(self, task: int) -> float:
        """Return the mean duration of such tasks; 0 if there are fewer than two samples."""
        return self._mean_s[self._of_task[task]]

    def _wants(self, place: int, needed: float) -> bool:
        """Return whether to execute a task whose signature needs *needed* samples."""
        if not self._spread or needed == inf:
            return self._begun[place] < self._least or needed > self._count[place]
        missing = max(needed - self._before[place], self._least)
        met = min(1.0, self._met[place] / self._occurs[place])
        return self._begun[place] < missing * min(BURSTS, floor(met * BURSTS - 0.5) + 1) / BURSTS

    def _times(self, place: int, worker: int, before: PathRecord, now_s: float) -> float:
        counts = self._policy.counts
        if counts == "own":
            return max(1, self._met_by[worker][place])
        if counts == "path":
            return before.counts[place] + 1
        if counts == "share":
            share = self._share(place, before, now_s)
            return 1.0 / (share**2 * len(self._signatures)) if share > 0 else 1.0
        return max(1, self._profile[place]) if counts == "profile" else 1

    def _share(self, place: int, before: PathRecord, now_s: float) -> float:
        """Return a kernel's share of the makespan: of all work, or of the path so far.

        If each kernel's relative error is the tolerance over its share and over the root of the
        number of kernels, the error of all kernels together is the tolerance.
        """
        if self._work_s <= 0:
            return 0.0
        mean_s = self._mean_s[place]
        on_path_s = (before.counts[place] + 1) * mean_s
        longest_s = max(now_s, self._work_s / self._workers)
        return max(self._occurs[place] * mean_s / self._work_s, on_path_s / longest_s)

    def measured(self, task: int, seconds: float) -> None:
        """Note the measured duration of *task*."""
        place = self._of_task[task]
        before_s = self._mean_s[place]
        self._statistics.add(self._signatures[place], seconds)
        self._look(place)
        self._work_s += self._occurs[place] * (self._mean_s[place] - before_s)

    def _look(self, place: int) -> None:
        """Update the samples needed by a signature: cheaper here than for every task."""
        if self._told[place]:
            return
        signature = self._signatures[place]
        half_width = self._statistics.half_width(signature)
        self._count[place] = self._statistics.count(signature)
        if self._tolerance > 0 and half_width < inf:
            self._needed[place] = self._count[place] * (half_width / self._tolerance) ** 2
            self._mean_s[place] = self._statistics.mean_s(signature)
