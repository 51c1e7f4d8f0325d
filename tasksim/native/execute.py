"""Native runs of a task graph on this machine's cores."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import CheckFailed, InputError
from tasksim.kernels.program import bind
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.cache_state import cache_state
from tasksim.native.detour import detour_s
from tasksim.native.energymeter import EnergyMeter
from tasksim.native.machine_account import MachineAccount, disturbance_of
from tasksim.native.runtimes import choose_runtime
from tasksim.run.crowding import UNKNOWN_CACHES
from tasksim.run.power import power_info
from tasksim.run.record import Run, WorkerInfo
from tasksim.runtime.view import Facts
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.progress import CountProgress
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program
    from tasksim.native.runtimes import Runtime
    from tasksim.platform.description import Platform
    from tasksim.run.recordtables import TaskTable
    from tasksim.runtime.pathrecords import PathRecords
    from tasksim.schedulers.base import Scheduler

__all__ = ["execute", "refuse_other_than_threads", "refuse_without_estimates"]

MAX_THREADS: Final = 10_000
"""Largest number of workers of a native run: Linux has 32,768 threads by default, of all processes
together, and fails to start more only after a minute."""


def execute(
    graph: TaskGraph,
    platform: Platform,
    scheduler: str | Scheduler = "lws",
    *,
    program: Program | None = None,
    estimates: Sequence[Sequence[float]] | None = None,
    seed: int = 0,
    pin: bool = True,
    check: bool = False,
    progress: CountProgress | None = None,
    config: Mapping[str, Any] | None = None,
    runtime: Runtime = "auto",
    paths: PathRecords | None = None,
    processor_time: bool = True,
) -> Run:
    """Run *graph* for real with one thread per worker of *platform*, and return the run.

    Parameters
    ----------
    graph : TaskGraph
        Graph with executable kernels: cholesky, lu, qr, fmm, chain, fork-join, random-layered.
    platform : Platform
        Platform whose workers become threads; all of them are cores of this machine.
    scheduler : str or Scheduler, optional
        Scheduler, the same as in a simulation.
    program : Program, optional
        The graph bound to its data [default: bound here]. Its data are reset first.
    estimates : sequence of sequences of float, optional
        Estimated durations for the scheduler in seconds, ``[class][task]``; some schedulers
        need them.
    pin : bool, optional
        Whether to pin each thread to a core, if there are enough and the system allows it.
    check : bool, optional
        Whether to verify the run and the residual of its result; raises :exc:`CheckFailed`.
    progress : callable, optional
        Called a few times per second with the number of finished tasks and of all tasks.
    runtime : {"auto", "python", "compiled"}, optional
        Runtime between two tasks: Python, or the compiled core, which is faster; ``"auto"`` takes
        the core if it is available.
    paths : PathRecords, optional
        Updated while tasks end; the core only fills in the longest path at the end.
    processor_time : bool, default True
        Whether to record the processor time of each task and the time that others took from the
        workers, where the system reports it.

    Raises
    ------
    InputError
        If a worker is a device (devices can only be simulated), if there are more than 10,000
        workers, or if ``runtime="compiled"`` and there is no compiled core.
    TaskFailed
        If a kernel fails; with the names of the task and the kernel.
    SchedulerError
        If the scheduler breaks a rule.
    """
    refuse_other_than_threads(platform)
    policy = create(scheduler) if isinstance(scheduler, str) else scheduler
    if estimates is None:
        refuse_without_estimates(policy)
    facts = Facts.on_any_worker(graph, platform, policy, estimates)
    # Bind and check with one BLAS thread, too: OpenBLAS's threads spin for some 20 ms after their
    # work, on the cores of the workers.
    with single_threaded_blas():
        bound = bind(graph, len(platform.workers), seed) if program is None else program
        bound.reset()
        chosen = choose_runtime(runtime, platform)
        execution = chosen.execution(facts, bound, paths=paths, processor_time=processor_time)
        meter = EnergyMeter.found()
        before = MachineAccount.now()
        wall_s = execution.run(random.Random(seed), pin=pin, progress=progress)
        machine = MachineAccount.now().since(before)
        tasks = _without_slowing(execution.table(), bound)
        has_pulses = np.isfinite(tasks.pulse).any()
        caches = cache_state() if has_pulses else UNKNOWN_CACHES
        detour = detour_s(len(platform.workers)) if has_pulses else None
        run = Run(
            kind="native",
            graph_name=graph.name,
            graph_arguments=dict(graph.arguments),
            kernel_names=graph.kernels,
            workers=tuple(WorkerInfo(w.name, w.architecture, w.node) for w in platform.workers),
            platform=platform.name,
            scheduler=scheduler if isinstance(scheduler, str) else policy.name,
            seed=seed,
            tasks=tasks,
            config=dict(config or {}),
            wall_s=wall_s,
            engine=chosen.name,
            engine_why=chosen.why,
            power=power_info([platform]),
            counted_j=None if meter is None else meter.used_j(),
            disturbance=(
                disturbance_of(execution.accounts, machine, caches, detour)
                if processor_time
                else None
            ),
        )
        if check:
            _verify(run, graph, bound)
    return run


def _without_slowing(tasks: TaskTable, program: Program) -> TaskTable:
    """Return *tasks* without the pulses of those that end at a time of the clock.

    Others on the same processor slow their cores, but do not make them longer.
    """
    names: frozenset[str] = getattr(program, "kernels_by_clock", frozenset())
    if not names:
        return tasks
    by_clock = np.array([name in names for name in program.graph.kernels])[tasks.kernel]
    return replace(
        tasks,
        pulse=np.where(by_clock, np.nan, tasks.pulse),
        beat=np.where(by_clock, np.nan, tasks.beat),
    )


def refuse_without_estimates(scheduler: Scheduler) -> None:
    """Raise :exc:`InputError` if *scheduler* needs estimates."""
    if getattr(scheduler, "needs_estimates", False):
        raise InputError(f"scheduler {scheduler.name} needs kernel models for its estimates")


def refuse_other_than_threads(platform: Platform) -> None:
    """Raise :exc:`InputError` if a worker of *platform* cannot be a thread of this machine."""
    workers = len(platform.workers)
    if workers > MAX_THREADS:
        raise InputError(
            f"platform {platform.name}: has {workers} workers; legal: at most {MAX_THREADS} to run "
            "graphs for real, each on a thread; simulate it, or give fewer workers"
        )
    devices = [name for name in platform.architectures if platform.device(name).pipeline]
    if devices:
        raise InputError(
            f"platform {platform.name}: its workers of {', '.join(devices)} are devices, and only "
            "cores run graphs for real; simulate it, or leave the devices out with "
            + " and ".join(f"platform.workers.{name}.count=0" for name in devices)
        )


def _verify(run: Run, graph: TaskGraph, program: Program) -> None:
    from tasksim.run.runchecks import check_run

    check_run(run, graph)
    residual = program.check()
    if residual is not None and not residual.ok:
        raise CheckFailed(
            f"{graph.name}: {residual.what} is {residual.value:.3g},"
            f" more than {residual.tolerance:.3g}"
        )
