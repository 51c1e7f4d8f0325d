"""Question of an adversary's search, and what a run of it finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tasksim.base.errors import InputError
from tasksim.study.adversary.instance import CHANGES, Instance, Space
from tasksim.study.adversary.judge import Judge

__all__ = ["AdversaryQuestion", "WorstInstance"]

EXTREME_SHARE: Final = 0.3
"""Share of extreme values without a choice. On 14 pairs of algorithms, ratios that small changes
alone reach after 2,000 instances are reached after 500."""


@dataclass(frozen=True)
class AdversaryQuestion:
    """Question of a search for instances that are bad for a scheduler.

    Attributes
    ----------
    first, second
        The scheduler that should do badly, and the one that it is compared with; ``best``: the best
        static algorithm, instance by instance.
    tasks, workers, platform
        Number of tasks, number of processors, or the name of a platform.
    steps, seed
        Number of evaluations of a run; number of the random choices.
    slowest
        Least speed and bandwidth of a processor, the largest being 1.
    vary
        Names of the changes.
    duration_s, size_bytes
        Largest duration and size of data, where the platform is given.
    extremes
        Share of the changes of a value that make it the least or the largest; PISA has none.
    """

    first: str
    second: str
    tasks: int = 10
    workers: int = 4
    platform: str = ""
    steps: int = 1000
    seed: int = 0
    slowest: float = 0.1
    vary: tuple[str, ...] = tuple(CHANGES)
    duration_s: float = 1e-3
    size_bytes: float = 1e6
    extremes: float = EXTREME_SHARE

    def judge(self) -> Judge:
        """Return what computes makespans for this question.

        Raises
        ------
        InputError
            If the platform does not exist.
        """
        if not self.platform:
            space = Space(
                self.tasks, self.workers, ("weight",), self.slowest, self.vary, self.extremes
            )
            return Judge(space, None, seed=self.seed)
        from tasksim.formats.platforms import load_platform

        platform = load_platform(self.platform)
        names = tuple(dict.fromkeys(group.models for group in platform.classes))
        vary = tuple(name for name in self.vary if name not in ("speeds", "bandwidths"))
        if not vary:
            raise InputError(
                "vary: speeds and bandwidths are the platform's; legal: weights, volumes, edges"
            )
        space = Space(self.tasks, 0, names, self.slowest, vary, self.extremes)
        return Judge(space, platform, self.duration_s, self.size_bytes, self.seed)


class WorstInstance(NamedTuple):
    """The worst instance of a run.

    Attributes
    ----------
    run
        Number of the run.
    ratio
        Makespan of the first scheduler divided by that of the second.
    makespans_s
        The two makespans.
    instance
        The instance.
    """

    run: int
    ratio: float
    makespans_s: tuple[float, float]
    instance: Instance

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {
            "run": self.run,
            "ratio": self.ratio,
            "makespans_s": list(self.makespans_s),
            "instance": self.instance.to_json(),
        }
