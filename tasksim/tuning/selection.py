"""Settings and results of selective execution in a tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasksim.selective.policies import checked_policy, policy_of
from tasksim.selective.statistics import CONFIDENCE_LEVEL, Statistics

if TYPE_CHECKING:
    from tasksim.selective.charges import Charge
    from tasksim.selective.policies import SamplingOrder
    from tasksim.selective.ranks.choosing import MessageRule
    from tasksim.selective.statistics import Intervals

__all__ = ["SelectiveSettings", "TuningRun"]


@dataclass(frozen=True)
class SelectiveSettings:
    """Settings of selective execution.

    Attributes
    ----------
    policy : str
    tolerance : float
    intervals : {"student", "normal"}
    confidence : float
    reuse : bool or None
        Whether statistics are kept between configurations; None for the policy's default.
    cells : bool
        Whether other sizes of a kernel may make one known; then statistics are kept.
    sampling : {"spread", "apart", "first"}
        Tasks of a kernel that are executed.
    messages : {"all", "any"}
        Over ranks: the ends of a message that must know it well enough.
    charge : {"drawn", "mean"}
        Charge of a skipped task: drawn from the measured durations of its kernel, or their mean.
    """

    policy: str = "online"
    tolerance: float = 0.05
    intervals: Intervals = "student"
    confidence: float = CONFIDENCE_LEVEL
    reuse: bool | None = None
    sampling: SamplingOrder = "spread"
    cells: bool = False
    messages: MessageRule = "all"
    charge: Charge = "drawn"

    def statistics(self) -> Statistics:
        """Return empty statistics; raise :exc:`InputError` for illegal settings."""
        checked_policy(self.policy, self.tolerance, self.sampling, self.charge)
        return Statistics(self.intervals, self.confidence, cells=self.cells)

    @property
    def reuses(self) -> bool:
        """Whether statistics are kept between configurations."""
        if self.cells or self.reuse is not None:
            return self.cells or bool(self.reuse)
        return policy_of(self.policy).reuses


@dataclass(frozen=True)
class TuningRun:
    """A run of a tuning.

    Attributes
    ----------
    makespan_s : float
        Makespan of the configuration, perhaps predicted.
    wall_s : float
        Wall time, with the reset of the data.
    executed, tasks : int
        Numbers of measured and of all tasks.
    sent, messages : int
        Over ranks: numbers of sent and of all messages.
    full : tuple of TuningRun
        Full runs beside it.
    task_s : float
        The median duration of its tasks.
    selective : bool
        Whether it skipped known kernels, so that its makespan is a prediction.
    others_share : float or None
        The share of its workers' time that other programs took; None if unknown.
    busiest_s : float or None
        Total time of measured tasks on the busiest worker in seconds, without the time that others
        took; None if unknown.
    path_s : float or None
        Time of the kernels on the practical critical path, likewise; None if unknown.
    alone_s : float or None
        Makespan of a full run alone on the machine, by a replay; None if unknown.
    """

    makespan_s: float
    wall_s: float
    executed: int
    tasks: int
    full: tuple[TuningRun, ...] = ()
    sent: int = 0
    messages: int = 0
    task_s: float = 0.0
    selective: bool = False
    others_share: float | None = None
    busiest_s: float | None = None
    path_s: float | None = None
    alone_s: float | None = None
