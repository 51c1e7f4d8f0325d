"""Search for the best choice, exhaustive or by successive halving."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tasksim.base.arguments import one_of, whole_number
from tasksim.base.errors import InputError, TasksimError, option
from tasksim.scenario.many import simulate_many
from tasksim.tuning.judging import CONFIDENCE_LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from tasksim.base.progress import CountProgress
    from tasksim.engine.pricing import Noise
    from tasksim.scenario.scenario import Scenario
    from tasksim.tuning.over import ValueCombination

__all__ = ["SEARCH_MODES", "Answers", "SearchMode", "Tried", "Tuned", "ordered", "search"]

if TYPE_CHECKING:
    Answers: TypeAlias = "Callable[[Sequence[ValueCombination], Sequence[Tried], int], list[Tried]]"
"""Function that runs choices: it takes candidates, their results so far and the number of runs that
each should have, and returns the new results."""

SearchMode = Literal["exhaustive", "halving"]
SEARCH_MODES: Final = ("exhaustive", "halving")
HALVING_FACTOR: Final = 3
"""Factor by which each round divides the choices and multiplies the seeds; between 2 and 4 it
hardly matters (Jamieson, Talwalkar, 2016)."""
RESAMPLES: Final = 1000
"""Number of bootstrap resamples of the seeds, for the interval of a ratio of makespans."""
CHOICES_AT_ONCE: Final = 16
"""Number of choices simulated together: shared data are prepared once, and all cores have work."""


@dataclass(frozen=True)
class Tried:
    """A choice and its results.

    Attributes
    ----------
    values : mapping
        Path of each axis -> value.
    makespans_s : tuple of float
        One per seed, the seeds from 0 on.
    error : str or None
        Why it failed.
    """

    values: Mapping[str, Any]
    makespans_s: tuple[float, ...] = ()
    error: str | None = None

    @property
    def mean_s(self) -> float:
        """The mean makespan; infinite for a failed choice."""
        return sum(self.makespans_s) / len(self.makespans_s) if self.makespans_s else math.inf


@dataclass(frozen=True)
class Tuned:
    """Result of a search.

    Attributes
    ----------
    tried : tuple of Tried
        All choices, the best first, failed ones last.
    simulations : int
        Number of simulated runs.
    """

    tried: tuple[Tried, ...]
    simulations: int

    @property
    def best(self) -> Tried:
        """The best choice."""
        return self.tried[0]

    def ratio(self, tried: Tried) -> float | None:
        """Return the ratio of a choice's makespan to the best one's, under the same seeds."""
        if not tried.makespans_s:
            return None
        count = len(tried.makespans_s)
        return sum(tried.makespans_s) / sum(self.best.makespans_s[:count])

    def interval(self, tried: Tried) -> tuple[float, float] | None:
        """Return the interval of the ratio over common seeds; None for a single seed."""
        count = len(tried.makespans_s)
        if count < 2:
            return None
        own, best = np.array(tried.makespans_s), np.array(self.best.makespans_s[:count])
        drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
        ratios = own[drawn].sum(axis=1) / best[drawn].sum(axis=1)
        low, high = np.quantile(ratios, [(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2])
        return float(low), float(high)

    @property
    def losses(self) -> list[float]:
        """The share of the best performance that each choice loses; 1 for a failed choice."""
        ratios = [self.ratio(tried) for tried in self.tried]
        return [1.0 if ratio is None else 1 - 1 / ratio for ratio in ratios]

    @property
    def expected_loss(self) -> float:
        """Expected loss of a random working choice."""
        losses = [x for x, tried in zip(self.losses, self.tried, strict=True) if tried.makespans_s]
        return sum(losses) / len(losses)

    def losses_along(self, path: str) -> dict[Any, float]:
        """Return value -> loss along an axis, with the best values of all other axes.

        Values with which everything fails are left out.
        """
        found: dict[Any, float] = {}
        for tried, loss in zip(self.tried, self.losses, strict=True):
            if tried.makespans_s:
                value = tried.values[path]
                found[value] = min(loss, found.get(value, 1.0))
        return found


def search(
    candidates: Sequence[ValueCombination],
    *,
    seeds: int = 1,
    noise: Noise = "none",
    how: SearchMode = "exhaustive",
    progress: CountProgress | None = None,
    answers: Answers | None = None,
) -> Tuned:
    """Simulate *candidates*, all under the same seeds, and return them in order.

    Parameters
    ----------
    candidates : sequence of ValueCombination
        The choices.
    seeds : int, default 1
        Number of runs of the best candidates; all candidates get the same seeds.
    noise : {"none", "model"}, default "none"
        As for a scenario.
    how : {"exhaustive", "halving"}
        Whether all candidates get all seeds, or the better third of each round three times as many.
    progress : callable, optional
        Called with the numbers of finished and of all simulations.
    answers : callable, optional
        Runs candidates instead of the simulator, a run per seed.

    Raises
    ------
    InputError
        If every candidate fails, with the error of the first; for halving with one seed.
    """
    one_of(how, SEARCH_MODES, "search")
    whole_number(seeds, "seeds", 1)
    if how == "halving" and seeds == 1:
        halving = option("search", "halving")
        raise InputError(f"{halving} needs several seeds; give {option('seeds')}")
    rounds = _rounds(len(candidates), seeds) if how == "halving" else [(len(candidates), seeds)]
    # A choice that stays in a round keeps the runs of the rounds before.
    steps = zip(rounds, [(0, 0), *rounds], strict=False)
    total, done = sum(kept * (count - before) for (kept, count), (_, before) in steps), 0
    answer = partial(_simulated, noise=noise) if answers is None else answers
    tried = [Tried(candidate.values, (), candidate.error) for candidate in candidates]
    going = [index for index, candidate in enumerate(candidates) if candidate.scenario is not None]
    for kept, count in rounds:
        going = sorted(going, key=lambda index: (tried[index].mean_s, index))[:kept]
        for begin in range(0, len(going), CHOICES_AT_ONCE):
            some = going[begin : begin + CHOICES_AT_ONCE]
            known = [tried[index] for index in some]
            tried_more = answer([candidates[index] for index in some], known, count)
            for index, one in zip(some, tried_more, strict=True):
                tried[index] = one
            done += sum(count - len(one.makespans_s) for one in known)
            if progress is not None:
                progress(done, max(total, done))
        going = [index for index in going if tried[index].error is None]
    return ordered(tried, done)


def _simulated(
    candidates: Sequence[ValueCombination], tried: Sequence[Tried], count: int, noise: Noise
) -> list[Tried]:
    """Return the results of choices after more runs, which share graphs and platforms."""
    runs: list[list[Scenario]] = []
    for candidate, one in zip(candidates, tried, strict=True):
        assert candidate.scenario is not None
        seeds = range(len(one.makespans_s), count)  # one run per seed
        runs.append([replace(candidate.scenario, seed=seed, noise=noise) for seed in seeds])
    try:
        together = simulate_many(scenario for some in runs for scenario in some)
    except TasksimError as error:
        if len(tried) == 1:
            return [Tried(tried[0].values, (), str(error))]
        pairs = zip(candidates, tried, strict=True)
        return [_simulated([candidate], [one], count, noise)[0] for candidate, one in pairs]
    makespans = iter(together.makespan_s.tolist())
    return [
        replace(one, makespans_s=(*one.makespans_s, *islice(makespans, len(some))))
        for one, some in zip(tried, runs, strict=True)
    ]


def _rounds(candidates: int, seeds: int) -> list[tuple[int, int]]:
    """Return the numbers of choices and seeds in each round.

    >>> _rounds(12, 18)
    [(12, 1), (4, 2), (2, 6), (1, 18)]
    """
    found = [(candidates, seeds)]
    kept = candidates
    while kept > 1:
        kept = math.ceil(kept / HALVING_FACTOR)
        found.append((kept, seeds))
    last = len(found) - 1
    return [
        (kept, max(1, math.ceil(seeds / HALVING_FACTOR ** (last - number))))
        for number, (kept, _) in enumerate(found)
    ]


def ordered(tried: Sequence[Tried], simulations: int) -> Tuned:
    """Return the choices sorted by more seeds, then by shorter makespans."""
    if not any(one.makespans_s for one in tried):
        raise InputError(f"all choices fail; the first one: {tried[0].error}")
    order = sorted(tried, key=lambda one: (-len(one.makespans_s), one.mean_s))
    return Tuned(tuple(order), simulations)
