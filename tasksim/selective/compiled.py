"""Compiled account of a selective run, kept in the core on threads that stay there.

It takes the same steps as :mod:`tasksim.selective.execution`, without Python between two
tasks: Python would take time and evict the tasks' data from the caches. Each task is executed on
the thread of its own worker, as in a full run.
"""

from __future__ import annotations

import ctypes
import random
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import TaskFailed
from tasksim.core import interface
from tasksim.core.interface import COUNTS, CallStatus, Selection
from tasksim.core.library import status
from tasksim.native.cache_state import cache_state
from tasksim.native.called_back import CalledProgram
from tasksim.native.compiled import (
    COLUMNS,
    broken_rule,
    calls_of,
    kernel_failure,
    program_structure,
    record_of,
)
from tasksim.native.this_machine import usable_cores
from tasksim.native.threads import conduct
from tasksim.run.crowding import (
    BEAT_EXPONENTS,
    BUSY_PULSE,
    MAX_BEAT,
    MAX_PULSE,
    MAX_TWIN_PULSE,
    UNKNOWN_CACHES,
    crowding_weights,
)
from tasksim.run.recordtables import task_table
from tasksim.runtime.blame import blaming
from tasksim.runtime.flat import flat_graph, flat_memory, policy_structure, ported
from tasksim.selective.execution import SKIPPED_BEFORE, AccountView, Effort
from tasksim.selective.statistics import estimate_from_sizes, quantiles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.base.interruption import Interrupts
    from tasksim.kernels.calls import RestoringCopies
    from tasksim.kernels.program import Program
    from tasksim.native.processor_time import ThreadAccount
    from tasksim.native.pulse import Idle
    from tasksim.run.record import TaskTable
    from tasksim.runtime.pathrecords import PathRecord
    from tasksim.runtime.view import Facts
    from tasksim.schedulers.base import Scheduler
    from tasksim.selective.policies import Rules

__all__ = ["CompiledAccount", "in_core"]


def in_core(program: Program, scheduler: Scheduler) -> bool:
    """Return whether the core can keep the account of runs of *program* under *scheduler*.

    It can if it is available, all tasks (and the code that makes their data safe) have addresses,
    and the scheduler is one of the core's.
    """
    if not status().available or ported(scheduler) is None:
        return False
    if hasattr(program, "make_safe") and not hasattr(program, "safe_copies"):
        return False
    return bool((calls_of(program).function >= 0).all())


class CompiledAccount:
    """One selective run whose account is kept in the core.

    The neighbours of a measured task execute too. The task that its worker skipped just before is
    executed first, so that the data which it would have touched are in the caches.

    Parameters
    ----------
    facts : Facts
    program : Program
    rules : Rules
        The parameters of its choices.
    idle : sequence of Idle, optional
        Idle state of each worker's core; by default no pulses are taken.

    Attributes
    ----------
    effort : Effort
    path : PathRecord
        Path record of the task that ended last, by signatures.
    accounts : list of ThreadAccount or None
        System account of each worker's thread.
    """

    effort: Effort
    path: PathRecord
    accounts: list[ThreadAccount | None]

    def __init__(
        self, facts: Facts, program: Program, rules: Rules, idle: Sequence[Idle] | None = None
    ) -> None:
        core = interface.functions()
        assert core is not None  # the caller has checked that there is a core
        self._core = core
        self._facts, self._program, self._rules = facts, program, rules
        self._idle = idle
        self._estimates = np.ascontiguousarray(np.array(facts.estimates, dtype=np.float64))
        self._flat = flat_graph(facts.graph), flat_memory(facts.platform)
        self._calls = calls_of(program)
        self._run: int | None = None
        self._columns: dict[str, NDArray[Any]] = {}

    def run(self, rng: random.Random, *, pin: bool = True) -> float:
        """Run the graph; return the makespan on the account in seconds."""
        with blaming(self._facts.scheduler, self._facts.graph):
            self._make(rng)
        self.accounts = conduct(self, self._facts.platform, self._program, pin=pin)
        self._read()
        rules, (measured, tasks, seconds) = self._rules, self._measured
        columns = (column[: measured[0]].tolist() for column in (tasks, seconds))
        for task, taken_s in zip(*columns, strict=True):
            rules.statistics.add(rules.found[rules.of_task[task]], taken_s)
        if (error := self._error()) is not None:
            raise error
        return float(self._columns["end_s"].max(initial=0.0))

    def table(self) -> TaskTable:
        """Return the task table, with times on the account."""
        return task_table(self._facts.graph, self._columns)

    # Called by the threads of the run

    def begin(self) -> None:
        """Do nothing: the account begins at 0."""

    def work(self, worker: int) -> None:
        """Keep the account and execute the tasks of *worker* until the run is over."""
        self._core.tasksim_selective_work(self._run, worker)

    def submit(self, interrupts: Interrupts) -> None:
        """Submit all tasks at time 0 of the account."""
        interrupts.check()
        self._core.tasksim_selective_submit(self._run)

    def wait(self, timeout_s: float) -> bool:
        """Wait up to *timeout_s* for the end of the run; return whether it is over."""
        status: int = self._core.tasksim_selective_wait(self._run, timeout_s)
        return status != CallStatus.MORE

    @property
    def left(self) -> int:
        """Number of tasks that have not ended."""
        left: int = self._core.tasksim_selective_left(self._run)
        return left

    def give_up(self) -> None:
        """Keep workers from starting another task."""
        self._core.tasksim_selective_stop(self._run)

    def stop(self) -> bool:
        """End the run."""
        self._core.tasksim_selective_stop(self._run)
        return True

    # Set-up and results

    def _make(self, rng: random.Random) -> None:
        facts, kept = self._facts, list[Any]()
        given = program_structure(self._calls, CalledProgram(self._program))
        policy = ported(facts.scheduler)
        assert policy is not None
        named = policy_structure(policy, AccountView(facts), rng, kept)
        selection = self._selection(kept)
        graph, platform = self._flat
        told = ctypes.c_int32()
        self._run = self._core.tasksim_selective_new(
            graph.handle,
            platform.handle,
            ctypes.byref(given),
            interface.address(self._estimates, np.float64),
            ctypes.byref(named),
            ctypes.byref(selection),
            len(facts.platform.workers) <= len(usable_cores()),
            ctypes.byref(told),
        )
        if self._run is None:
            raise RuntimeError(f"the core does not take this run: status {told.value}")
        self._kept = [given, named, selection, *kept]
        # Not at the end of the process: threads that were left behind may still run in the core.
        weakref.finalize(self, self._core.tasksim_selective_free, self._run).atexit = False
        answer = self._core.tasksim_selective_attach(self._run)
        if answer != CallStatus.DONE:
            raise RuntimeError(f"the core does not take this scheduler: status {answer}")

    def _selection(self, kept: list[Any]) -> Selection:
        """Return the parameters of the core's choices; append their arrays to *kept*."""
        rules, policy = self._rules, self._rules.policy

        def column(values: Any, dtype: Any) -> int | None:
            array = np.ascontiguousarray(values, dtype)
            kept.append(array)
            return interface.address(array, dtype)

        samples = [rules.statistics.samples_s(signature) for signature in rules.found]
        tasks = len(rules.of_task)
        self._measured = np.zeros(1, np.int64), np.zeros(tasks, np.int32), np.zeros(tasks)
        table = quantiles(rules.statistics)
        caches = UNKNOWN_CACHES if self._idle is None else cache_state()
        return Selection(
            kernels=len(rules.found),
            quantile_count=len(table),
            least=int(policy.every_configuration),
            counts=COUNTS[policy.counts],
            spread=int(rules.sampling != "first"),
            tolerance=rules.tolerance,
            of_task=column(rules.of_task, np.int32),
            quantiles=column(table, np.float64),
            draws=int(rules.charge == "drawn"),
            twister=column(random.Random(rules.seed).getstate()[1], np.uint32),
            sample_ptr=column(np.cumsum([0, *map(len, samples)]), np.int64),
            sample_s=column([seconds for of_one in samples for seconds in of_one], np.float64),
            measured=interface.address(self._measured[0], np.int64),
            measured_task=interface.address(self._measured[1], np.int32),
            measured_s=interface.address(self._measured[2], np.float64),
            told_s=column(self._told_s(), np.float64),
            profile=column(rules.profile or [0] * len(rules.found), np.int64),
            company=1,
            rehearse=1,
            idle=None if self._idle is None else column(self._idle, np.float64),
            crowding_weights=column(
                crowding_weights([found.kernel for found in rules.found], caches), np.float64
            ),
            max_pulse=MAX_PULSE,
            max_twin_pulse=MAX_TWIN_PULSE,
            max_beat=MAX_BEAT,
            busy_pulse=BUSY_PULSE,
            idle_beat_exponent=BEAT_EXPONENTS[0],
            busy_beat_exponent=BEAT_EXPONENTS[1],
            **self._copies(column),
        )

    def _told_s(self) -> list[float]:
        """Return the estimate per signature from other sizes; 0 if it is not precise enough."""
        rules = self._rules
        if not rules.statistics.cells:
            return [0.0] * len(rules.found)
        told = [estimate_from_sizes(rules.statistics, signature) for signature in rules.found]
        return [t.mean_s if t.half_width <= rules.tolerance else 0.0 for t in told]

    def _copies(self, column: Callable[[Any, Any], int | None]) -> dict[str, int | None]:
        """Return the copies that restore safe data before tasks that may fail on other data."""
        make = getattr(self._program, "safe_copies", None)
        if make is None:
            return {}
        copies: RestoringCopies = make()
        return {
            "safe_ptr": column(copies.pointer, np.int64),
            "safe_target": column(copies.target, np.int64),
            "safe_source": column(copies.source, np.int64),
            "safe_bytes": column(copies.size_bytes, np.int64),
        }

    def _read(self) -> None:
        graph, run, core = self._facts.graph, self._run, self._core
        self._columns = {name: np.empty(len(graph), dtype) for name, dtype in COLUMNS.items()}
        places = {name: column.ctypes.data for name, column in self._columns.items()}
        core.tasksim_selective_tasks(run, ctypes.byref(interface.Tasks(**places)))
        found = interface.Effort()
        core.tasksim_selective_effort(run, ctypes.byref(found))
        self.effort = Effort(
            found.executed, found.accompanied, found.skipped, found.executed_s, found.rehearsed,
            found.busiest_s,
        )  # fmt: skip
        self.path = record_of(core.tasksim_selective_path, run, len(self._rules.found))

    def _error(self) -> BaseException | None:
        """Return the error of the run, the same as that of the reference, or None."""
        outcome, facts = interface.Outcome(), self._facts
        told = self._core.tasksim_selective_outcome(self._run, ctypes.byref(outcome))
        if told == CallStatus.DONE:
            return None
        if told != CallStatus.KERNEL:
            return broken_rule(facts, self._columns["state"].tolist(), told, outcome)
        error = kernel_failure(self._program, outcome.task, outcome.number)
        name, label = facts.platform.workers[outcome.worker].name, facts.graph.label(outcome.task)
        effort = self.effort
        why = SKIPPED_BEFORE if effort.skipped + effort.accompanied else ""
        failed = TaskFailed(f"{label} failed on worker {name}: {error}{why}")
        failed.__cause__ = error
        return failed
