"""Selective runs, which execute some tasks of a graph to predict the makespan of all."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tasksim.base.arguments import one_of
from tasksim.base.errors import InputError
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.execute import refuse_other_than_threads, refuse_without_estimates
from tasksim.native.processor_time import waited_share
from tasksim.native.pulse import idle_cores
from tasksim.native.runtimes import RUNTIMES
from tasksim.native.this_machine import usable_cores
from tasksim.run.record import Run, WorkerInfo
from tasksim.runtime.pathrecords import PathRecords
from tasksim.runtime.view import Facts
from tasksim.schedulers.registry import create
from tasksim.selective.compiled import CompiledAccount, in_core
from tasksim.selective.execution import Effort, SelectiveExecution
from tasksim.selective.policies import Chooser, Rules, checked_policy
from tasksim.selective.statistics import Statistics, signatures
from tasksim.selective.timedtasks import TimedTasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program
    from tasksim.native.runtimes import Runtime
    from tasksim.platform.description import Platform
    from tasksim.runtime.pathrecords import PathRecord
    from tasksim.selective.charges import Charge
    from tasksim.selective.policies import SamplingOrder

__all__ = ["Selective", "execute_selectively", "selective_run"]


@dataclass(frozen=True)
class Selective:
    """A selective run.

    Attributes
    ----------
    run : Run
        The run, with times of the account: its makespan is the prediction of a full run.
    effort : Effort
        Numbers of executed and skipped tasks.
    wall_s : float
        Wall time, with the full run before it if the policy needs one.
    path : PathRecord
        Practical critical path, per signature.
    others_share : float or None
        Share of the time in which the workers wanted a core but had none; None: unknown. Over
        ranks, communication threads without a core of their own count among the others.
    messages : Effort
        Over ranks, the numbers of sent and skipped messages.
    """

    run: Run
    effort: Effort
    wall_s: float
    path: PathRecord
    others_share: float | None = None
    messages: Effort = field(default_factory=Effort)


def execute_selectively(
    program: Program,
    platform: Platform,
    scheduler: str = "lws",
    *,
    policy: str = "online",
    tolerance: float = 0.05,
    statistics: Statistics | None = None,
    sampling: SamplingOrder = "spread",
    charge: Charge = "drawn",
    estimates: Sequence[Sequence[float]] | None = None,
    seed: int = 0,
    pin: bool = True,
    runtime: Runtime = "auto",
) -> Selective:
    """Run the graph of *program*, and skip tasks whose kernels are known well enough.

    Parameters
    ----------
    program : Program
        The graph bound to its data. Its data are reset first, and meaningless afterwards.
    platform : Platform
        Platform whose workers become threads.
    scheduler : str, optional
    policy : {"conditional", "local", "online", "apriori", "eager"}
        Rule for when a kernel is known well enough:
        :data:`tasksim.selective.policies.POLICIES`.
    tolerance : float
        Half-width of a known kernel's interval relative to its mean: above 0, at most 1.
    statistics : Statistics, optional
        Measurements from earlier runs; new ones are added.
    sampling : {"spread", "apart", "first"}
        Tasks of a kernel to execute: spread over the run; spread, with first touches of
        data measured apart from other tasks; or the first ones, as in the paper.
    charge : {"drawn", "mean"}
        Charge of a skipped task: a duration drawn from the measured ones of its kernel, by the
        seed, or their mean, as in the paper.
    estimates : sequence of sequences of float, optional
        Estimated durations for the scheduler in seconds, ``[class][task]``; some schedulers
        need them.
    seed, pin
        As in :func:`tasksim.native.execute.execute`.
    runtime : {"auto", "python", "compiled"}, optional
        Runtime that keeps the account; ``"auto"`` takes the compiled core where it can.

    Raises
    ------
    InputError
        If the tolerance is out of range, the policy is unknown, or a worker is a device.
    TaskFailed
        If a kernel fails, possibly on data that skipped tasks did not compute.

    See Also
    --------
    tasksim.native.execute.execute : Executes all tasks.
    """
    chosen = checked_policy(policy, tolerance, sampling, charge)
    known = Statistics() if statistics is None else statistics
    # The account does not tell apart the tasks that end at a time of the clock.
    by_clock = getattr(program, "kernels_by_clock", None)
    idle = idle_cores(len(platform.workers)) if pin and not by_clock else None
    begun = perf_counter()
    one_of(runtime, RUNTIMES, "runtime")
    refuse_other_than_threads(platform)
    graph, workers = program.graph, len(platform.workers)
    if estimates is None:
        refuse_without_estimates(create(scheduler))
    compiled = runtime != "python" and in_core(program, create(scheduler))
    if runtime == "compiled" and not compiled:
        raise InputError("runtime=compiled: the core cannot keep this account; legal: auto")

    def run(rules: Rules) -> Selective:
        """Return one run, after a reset of the data."""
        run_begun = perf_counter()
        facts = Facts.on_any_worker(graph, platform, create(scheduler), estimates)
        rng = random.Random(seed)
        execution: CompiledAccount | SelectiveExecution
        with single_threaded_blas():
            program.reset()
            if compiled:
                execution = CompiledAccount(facts, program, rules, idle)
                execution.run(rng, pin=pin)
                path = execution.path
            else:
                of_cores = None if idle is None else dict(zip(usable_cores(), idle, strict=False))
                tasks, chooser = TimedTasks(program, workers, idle=of_cores), Chooser(rules)
                paths = PathRecords(rules.of_task, workers)
                execution = SelectiveExecution(facts, tasks, chooser, paths)
                execution.run(rng, program, pin=pin)
                path = paths.longest
        wall_s = perf_counter() - run_begun
        found = selective_run(
            graph, platform, scheduler, seed, tasks=execution.table(), wall_s=wall_s,
            engine="compiled" if compiled else "python",
        )  # fmt: skip
        return Selective(found, execution.effort, wall_s, path, waited_share(execution.accounts))

    signed = (*signatures(graph, apart=sampling == "apart"), workers)
    profile: Sequence[int] = ()
    if chosen.counts == "profile":  # of a run in which all tasks are executed
        profile = run(Rules(chosen, Statistics(), 0.0, *signed)).path.counts
    made = run(Rules(chosen, known, tolerance, *signed, profile, sampling, charge, seed))
    return replace(made, wall_s=perf_counter() - begun)


def selective_run(
    graph: TaskGraph, platform: Platform, scheduler: str, seed: int, **found: Any
) -> Run:
    """Return the run of a selective execution, with the fields that it *found*."""
    workers = tuple(WorkerInfo(w.name, w.architecture, w.node) for w in platform.workers)
    return Run(
        kind="simulated",
        graph_name=graph.name,
        graph_arguments=dict(graph.arguments),
        kernel_names=graph.kernels,
        platform=platform.name,
        scheduler=scheduler,
        seed=seed,
        **{"workers": workers, **found},
    )
