"""Batches of simulated scenarios, with their results in columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.arguments import all_of, one_of, whole_number
from tasksim.base.errors import InputError
from tasksim.base.extras import needed_for
from tasksim.engine.choice import ENGINES
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from tasksim.base.progress import CountProgress
    from tasksim.engine.choice import Engine
    from tasksim.engine.simulation import Simulation
    from tasksim.run.record import Run
    from tasksim.scenario.resolved import Resolved

__all__ = ["Replays", "simulate_many"]

_CHANCE: Final = {"seed", "noise"}
_SETTLED: Final = tuple(field.name for field in fields(Scenario) if field.name not in _CHANCE)
"""Fields of a scenario that determine its graph, platform and models."""


@dataclass(frozen=True, eq=False, repr=False)
class Replays:
    """Results of many replays, in columns with an entry per scenario.

    Parameters
    ----------
    scenarios : tuple of Scenario
        The replayed scenarios.
    makespan_s : ndarray of float64
        Makespans in seconds.
    busy_s : ndarray of float64
        Time in seconds in which workers executed tasks, summed over the workers.
    copied_bytes : ndarray of int64
        Bytes copied between memories.
    copies : ndarray of int64
        Number of copies.
    evictions : ndarray of int64
        Number of copies dropped to make room.
    engine : tuple of str
        Engine of each replay, ``compiled`` or ``simpy``.

    See Also
    --------
    simulate_many : Makes them.

    Examples
    --------
    >>> import tasksim
    >>> base = tasksim.Scenario("fork-join width=4 duration=1.0", workers=2)
    >>> many = tasksim.simulate_many(base.vary(workers=n) for n in (1, 2, 4))
    >>> many.makespan_s.tolist()
    [6.0, 4.0, 3.0]
    >>> many.run(1).makespan_s
    4.0
    """

    scenarios: tuple[Scenario, ...]
    makespan_s: NDArray[np.float64]
    busy_s: NDArray[np.float64]
    copied_bytes: NDArray[np.int64]
    copies: NDArray[np.int64]
    evictions: NDArray[np.int64]
    engine: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.scenarios)

    def __repr__(self) -> str:
        return f"<Replays: {len(self)} scenarios>"

    def run(self, index: int) -> Run:
        """Replay a scenario again, and return its run with all tables.

        Parameters
        ----------
        index : int
            Index of the scenario.
        """
        return self.scenarios[index].solve()

    def critical_counts(self) -> NDArray[np.int64]:
        """Return the number of runs in which each task was on the practical critical path.

        Each run is replayed again, for its tables. Raises :exc:`InputError` if the graphs of the
        scenarios differ in their number of tasks.
        """
        from tasksim.engine.batch import task_tables
        from tasksim.run.critical import tasks_on_path

        items = _simulations(self.scenarios, _resolved(self.scenarios))
        counts = np.zeros(len(items[0].graph) if items else 0, np.int64)
        for scenario, item in zip(self.scenarios, items, strict=True):
            if len(item.graph) != len(counts):
                raise InputError(
                    f"critical tasks are counted over runs of one graph: {scenario.label} has"
                    f" {len(item.graph)} tasks, the first scenario {len(counts)}"
                )
        for tasks in task_tables(items, threads=_cores()):
            counts[[task for task, _ in tasks_on_path(tasks)]] += 1
        return counts

    def to_frame(self) -> pd.DataFrame:
        """Return the columns as a pandas table, a row per scenario."""
        with needed_for("a pandas frame"):
            import pandas as pd

        columns: dict[str, Any] = {
            "scenario": [scenario.label for scenario in self.scenarios],
            "seed": [scenario.seed for scenario in self.scenarios],
        }
        names = ("makespan_s", "busy_s", "copied_bytes", "copies", "evictions", "engine")
        return pd.DataFrame(columns | {name: getattr(self, name) for name in names})


def simulate_many(
    scenarios: Iterable[Scenario],
    *,
    threads: int | None = None,
    engine: Engine = "auto",
    progress: CountProgress | None = None,
) -> Replays:
    """Simulate many scenarios, and make what they have in common once.

    The scenarios share graphs, platforms, models, estimates and, without noise, costs. The numbers
    are those of :func:`simulate`; a warning about several scenarios is issued once.

    Parameters
    ----------
    scenarios : iterable of Scenario
        Scenarios with the simulated clock; their schedulers are names or objects.
    threads : int, optional
        Number of simultaneous replays. Default: the number of usable cores.
    engine : {"auto", "simpy", "compiled"}, default "auto"
        Engine of the replays, as for :func:`simulate`.
    progress : callable, optional
        Called after each replay with the number of finished scenarios and that of all scenarios.

    Returns
    -------
    Replays

    Raises
    ------
    InputError
        If an argument is illegal, and as :func:`simulate` does.
    SchedulerError
        As :func:`simulate` does, for the first scenario that fails.

    See Also
    --------
    simulate : Simulate one scenario, with all its tables.
    Scenario.vary, Scenario.variants : Make scenarios from one.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> base = tasksim.Scenario("cholesky tiles=4", workers=2, durations=seconds)
    >>> many = simulate_many(base.vary(scheduler=name) for name in ("eager", "prio"))
    >>> many.makespan_s.tolist()
    [37.0, 38.0]
    """
    from tasksim.engine.batch import totals

    one_of(engine, ENGINES, "engine")
    if threads is not None:
        threads = whole_number(threads, "threads", low=1)
    asked = tuple(all_of(scenarios, Scenario, "scenarios"))
    for scenario in asked:
        if scenario.clock != "simulated":
            raise InputError(f"{scenario.label}: its clock is native; simulate_many only simulates")
    resolved = _resolved(asked)
    distinct = {id(one): one for one in resolved}.values()
    advice = [one.advice("clocked", "numa", "overfull", "unused_durations") for one in distinct]
    said = [line for told in advice for lines in told.values() for line in lines]
    for line in dict.fromkeys(said):
        warnings.warn(line, stacklevel=2)
    found = []
    for row in totals(_simulations(asked, resolved), threads=threads or _cores(), engine=engine):
        found.append(row)
        if progress is not None:
            progress(len(found), len(asked))
    kinds = {
        "makespan_s": np.float64, "busy_s": np.float64,
        "copied_bytes": np.int64, "copies": np.int64, "evictions": np.int64,
    }  # fmt: skip
    columns: dict[str, Any] = {
        name: np.array([getattr(row, name) for row in found], kind) for name, kind in kinds.items()
    }
    return Replays(asked, **columns, engine=tuple(row.engine for row in found))


def _resolved(scenarios: Sequence[Scenario]) -> list[Resolved]:
    """Return the resolved scenarios; those that differ only in seed or noise share one result."""
    resolver = Resolver()
    known: dict[Hashable, Resolved] = {}
    found = []
    for scenario in scenarios:
        values = (getattr(scenario, name) for name in _SETTLED)
        key = tuple(v if isinstance(v, str | int | tuple) else id(v) for v in values)
        if key not in known:
            known[key] = resolver.resolve(scenario)
        found.append(known[key])
    return found


def _simulations(scenarios: Sequence[Scenario], resolved: Sequence[Resolved]) -> list[Simulation]:
    return [found.simulation(asked) for asked, found in zip(scenarios, resolved, strict=True)]


def _cores() -> int:
    from tasksim.native.this_machine import usable_cores

    return len(usable_cores())
