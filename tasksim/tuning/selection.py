"""Settings and results of selective execution in a tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tasksim.base.arguments import one_of
from tasksim.selective.charges import CHARGES
from tasksim.selective.policies import checked_tolerance, policy_of
from tasksim.selective.statistics import CONFIDENCE_LEVEL, Statistics

if TYPE_CHECKING:
    from tasksim.selective.charges import Charge
    from tasksim.selective.policies import Sampling
    from tasksim.selective.ranks.choosing import MessageRule
    from tasksim.selective.statistics import Intervals

__all__ = ["Ran", "Selection"]


@dataclass(frozen=True)
class Selection:
    """Settings of selective execution.

    Attributes
    ----------
    policy : str
    tolerance : float
    intervals : {"student", "normal"}
    confidence : float
    reuse : bool or None
        Whether statistics are kept between configurations; None: as the policy does.
    cells : bool
        Whether other sizes of a kernel may make one known; then statistics are kept.
    sampling : {"spread", "apart", "first"}
        Which tasks of a kernel are executed.
    messages : {"all", "any"}
        Over ranks: which ends of a message have to know it well enough.
    charge : {"drawn", "mean"}
        Charge of a skipped task: drawn from the measured durations of its kernel, or their mean.
    """

    policy: str = "online"
    tolerance: float = 0.05
    intervals: Intervals = "student"
    confidence: float = CONFIDENCE_LEVEL
    reuse: bool | None = None
    sampling: Sampling = "spread"
    cells: bool = False
    messages: MessageRule = "all"
    charge: Charge = "drawn"

    def statistics(self) -> Statistics:
        """Return statistics that know nothing yet; raises :exc:`InputError` for what is no such."""
        policy_of(self.policy)
        checked_tolerance(self.tolerance)
        one_of(self.charge, CHARGES, "charge")
        return Statistics(self.intervals, self.confidence, cells=self.cells)

    @property
    def reuses(self) -> bool:
        """Whether statistics are kept between configurations."""
        if self.cells or self.reuse is not None:
            return self.cells or bool(self.reuse)
        return policy_of(self.policy).reuses


@dataclass(frozen=True)
class Ran:
    """A run that a tuning made.

    Attributes
    ----------
    makespan_s : float
        What it says of the configuration.
    wall_s : float
        How long it took, the reset of the data included.
    executed, tasks : int
        How many tasks were measured, of how many.
    sent, messages : int
        Over ranks: how many messages were sent, of how many.
    full_s : tuple of float
        Makespans of full runs beside it.
    full_wall_s : tuple of float
        How long these took.
    task_s : float
        The median duration of its tasks.
    selective : bool
        Whether it skipped what is known: its makespan is a prediction.
    others_share : float or None
        The share of its workers' time that others took; None: the system does not tell.
    busiest_s : float
        Longest total time that one worker executed measured tasks, in seconds; what others took is
        left out.
    path_s : float or None
        Time of the kernels on the practical critical path, in the same way; None: unknown.
    alone_s : float or None
        Makespan of a full run without what others took: of its replay; None: unknown.
    full_busiest_s, full_path_s, full_alone_s : tuple of float
        The same for the full runs beside it.
    """

    makespan_s: float
    wall_s: float
    executed: int
    tasks: int
    full_s: tuple[float, ...] = ()
    full_wall_s: tuple[float, ...] = ()
    sent: int = 0
    messages: int = 0
    task_s: float = 0.0
    selective: bool = False
    others_share: float | None = None
    busiest_s: float = 0.0
    path_s: float | None = None
    alone_s: float | None = None
    full_busiest_s: tuple[float, ...] = ()
    full_path_s: tuple[float, ...] = ()
    full_alone_s: tuple[float, ...] = ()
