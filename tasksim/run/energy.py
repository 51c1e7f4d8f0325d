"""Energy of a run's workers, kernels and copies, in joules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.run.metrics import idle_s
from tasksim.run.slices import mean_sum

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.run.power import PowerInfo
    from tasksim.run.record import Run
    from tasksim.run.recordtables import TransferTable

__all__ = ["Energy", "energy", "power_curve"]


@dataclass(frozen=True, eq=False)
class Energy:
    """Energy used by a run, in joules.

    Parameters
    ----------
    static_j : float
        Static energy of the machine over the makespan.
    idle_j : ndarray, float64 [workers]
        Energy of each worker while it ran nothing.
    tasks_j : ndarray, float64 [workers]
        Energy of each worker while it ran tasks.
    kernels_j : dict[str, float]
        The latter by kernel.
    copies_j : float
        Energy of links while copies crossed them.

    See Also
    --------
    energy : Computes it.
    power_curve : Power over time.

    Examples
    --------
    >>> used = Energy(30.0, np.array([1.0]), np.array([9.0]), {"gemm": 9.0}, 0.0)
    >>> used.total_j
    40.0
    """

    static_j: float
    idle_j: Floats
    tasks_j: Floats
    kernels_j: dict[str, float]
    copies_j: float

    @property
    def total_j(self) -> float:
        """Total energy."""
        return self.static_j + float(self.idle_j.sum() + self.tasks_j.sum()) + self.copies_j

    def to_json(self, run: Run) -> dict[str, Any]:
        """Return the energy as plain JSON data; *run* names its workers."""
        workers = (self.idle_j + self.tasks_j).tolist()
        return {
            "total_j": self.total_j,
            "static_j": self.static_j,
            "idle_j": float(self.idle_j.sum()),
            "tasks_j": float(self.tasks_j.sum()),
            "copies_j": self.copies_j,
            "mean_w": self.total_j / run.makespan_s if run.makespan_s else 0.0,
            "workers_j": dict(zip((w.name for w in run.workers), workers, strict=True)),
            "kernels_j": self.kernels_j,
        }


def energy(run: Run) -> Energy:
    """Return the energy used by *run*.

    A worker draws one power while it is idle and one, by kernel, while it runs a task; the machine
    and its links draw theirs in addition. Energy is the integral over the makespan. The power of
    switches between nodes is not included.

    Parameters
    ----------
    run : Run
        Run on a platform with a section ``power:``.

    Raises
    ------
    InputError
        If the power of its machine is unknown.

    See Also
    --------
    power_curve : Power over time.

    Examples
    --------
    >>> import tasksim
    >>> from tasksim.platform.description import Platform
    >>> from tasksim.platform.power import ArchitecturePower, Power
    >>> from dataclasses import replace
    >>> two = replace(
    ...     Platform.identical(2), power=Power(10.0, {"cpu": ArchitecturePower(1.0, 5.0)})
    ... )
    >>> run = tasksim.simulate("chain length=3 duration=2", two)
    >>> used = energy(run)
    >>> used.static_j, used.tasks_j.tolist(), used.idle_j.tolist(), used.total_j
    (60.0, [20.0, 10.0], [2.0, 4.0], 96.0)
    """
    power = _power(run)
    joules = _task_w(run, power) * run.tasks.duration_s
    tasks_j = np.bincount(run.tasks.worker, joules, minlength=len(run.workers))
    kernels_j = np.bincount(run.tasks.kernel, joules, minlength=len(run.kernel_names))
    copies_j = 0.0
    if run.transfers is not None and power.copies:
        copies_j = float(_copy_w(run.transfers, power) @ run.transfers.duration_s)
    return Energy(
        power.static_w * run.makespan_s,
        _idle_w(power) * idle_s(run),
        tasks_j.astype(np.float64),
        dict(zip(run.kernel_names, kernels_j.tolist(), strict=True)),
        copies_j,
    )


def power_curve(run: Run, edges_s: Floats) -> dict[str, Floats]:
    """Return the mean power in each slice of time, in watts, by consumer.

    Consumers are ``static``, ``idle``, ``tasks`` and ``copies``. The slices lie between the
    ascending *edges_s*.
    """
    power = _power(run)
    tasks = run.tasks
    drawn = mean_sum(tasks.start_s, tasks.end_s, edges_s, _task_w(run, power))
    idle_w = _idle_w(power)
    not_idle = mean_sum(tasks.start_s, tasks.end_s, edges_s, idle_w[tasks.worker])
    slices = len(edges_s) - 1
    curve = {
        "static": np.full(slices, power.static_w),
        "idle": np.maximum(idle_w.sum() - not_idle, 0.0),
        "tasks": np.maximum(drawn, 0.0),
        "copies": np.zeros(slices),
    }
    copies = run.transfers
    if copies is not None and power.copies:
        weights = _copy_w(copies, power)
        curve["copies"] = np.maximum(mean_sum(copies.start_s, copies.end_s, edges_s, weights), 0.0)
    return curve


def _power(run: Run) -> PowerInfo:
    if run.power is None:
        raise InputError(
            f"run of {run.graph_label}: the power of platform {run.platform} is unknown: give it a "
            "section `power:`, e.g. power: {static: 30 W, arch: {cpu: {idle: 1.5 W, busy: 9 W}}}"
        )
    return run.power


def _idle_w(power: PowerInfo) -> Floats:
    """Return the idle power of each worker."""
    return np.array([power.kinds[kind].idle_w for kind in power.kind_of], dtype=np.float64)


def _task_w(run: Run, power: PowerInfo) -> Floats:
    """Return the power of each task, including its worker's idle power."""
    names = run.kernel_names
    table = np.array([[kind.of(name) for name in names] for kind in power.kinds])
    kind_of = np.array(power.kind_of, dtype=np.int64)
    watts: Floats = table[kind_of[run.tasks.worker], run.tasks.kernel]
    return watts


def _copy_w(copies: TransferTable, power: PowerInfo) -> Floats:
    """Return the power of the links that each copy crosses."""
    ends = zip(copies.source.tolist(), copies.target.tolist(), strict=True)
    return np.array([power.copies.get(way, 0.0) for way in ends], dtype=np.float64)
