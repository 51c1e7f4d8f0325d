"""Emulated runs of a tuning, on a platform that need not be this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.durations import durations
from tasksim.scenario.resolved import Resolver
from tasksim.selective.emulation import emulate_fully, emulate_selectively
from tasksim.tuning.one_node import busiest_s, kernels_on_path_s, ran_selectively, scheduler_name
from tasksim.tuning.selection import TuningRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats
    from tasksim.scenario.resolved import Resolved
    from tasksim.tuning.over import ValueCombination
    from tasksim.tuning.selection import SelectiveSettings

__all__ = ["Emulated"]


class Emulated:
    """Site of runs whose tasks take durations drawn from their models.

    The time of a run is the time that it would take for real.

    Parameters
    ----------
    candidates : sequence of ValueCombination
        Candidates with the simulated clock, on one node.
    selection : SelectiveSettings
    scatter : float, default 0
        Further standard deviation of the log-normal durations, relative to their mean, beside that
        of the models.
    """

    def __init__(
        self,
        candidates: Sequence[ValueCombination],
        selection: SelectiveSettings,
        scatter: float = 0.0,
    ) -> None:
        if not 0.0 <= scatter <= 1.0:
            raise InputError(f"scatter={scatter:g}; legal: from 0 to 1 (5% or 0.05)")
        self._candidates, self._selection, self._scatter = candidates, selection, scatter
        self._resolver = Resolver()
        self._statistics = selection.statistics()
        self._resolved: Resolved | None = None
        self._means: Floats | None = None
        self._rng: np.random.Generator | None = None

    def prepare(self, place: int) -> None:
        """Make the graph of a candidate."""
        scenario = self._candidates[place].scenario
        assert scenario is not None
        if scenario.network is not None or scenario.nodes is not None:
            raise InputError("--by emulation is for one node; leave --nodes and --network out")
        self._resolved = resolved = self._resolver.resolve(scenario)
        self._means = durations(resolved.graph, resolved.platform, resolved.known_models())
        if self._rng is None:
            self._rng = np.random.default_rng(scenario.seed)

    def selective(self) -> TuningRun:
        """Make a run that skips known kernels."""
        assert self._resolved is not None
        assert self._means is not None
        selection, resolved = self._selection, self._resolved
        if not selection.reuses:
            self._statistics.reset()
        done = emulate_selectively(
            resolved.graph,
            resolved.platform,
            scheduler_name(resolved.scenario),
            self._drawn(),
            policy=selection.policy,
            tolerance=selection.tolerance,
            statistics=self._statistics,
            sampling=selection.sampling,
            charge=selection.charge,
            estimates=self._means.tolist(),
            seed=resolved.scenario.seed,
        )
        return ran_selectively(done)

    def full(self) -> TuningRun:
        """Make a run that executes everything."""
        assert self._resolved is not None
        assert self._means is not None
        resolved = self._resolved
        done = emulate_fully(
            resolved.graph,
            resolved.platform,
            scheduler_name(resolved.scenario),
            self._drawn(),
            estimates=self._means.tolist(),
            seed=resolved.scenario.seed,
        )
        tasks = len(resolved.graph)
        return TuningRun(
            done.run.makespan_s, done.run.makespan_s, tasks, tasks,
            busiest_s=busiest_s(done.run), path_s=kernels_on_path_s(done.run),
        )  # fmt: skip

    def _drawn(self) -> Floats:
        """Return a duration of each task in each class of workers, drawn anew."""
        assert self._resolved is not None
        assert self._rng is not None
        resolved, rng = self._resolved, self._rng
        drawn = durations(resolved.graph, resolved.platform, resolved.known_models(), rng)
        if self._scatter:
            # The log-normal distribution with mean 1 and this relative deviation.
            deviation = np.sqrt(np.log1p(self._scatter**2))
            drawn = drawn * rng.lognormal(-(deviation**2) / 2, deviation, drawn.shape[1])
        return drawn
