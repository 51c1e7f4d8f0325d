"""Core: a worker that runs its tasks itself, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.machine.driver import RUN
from tasksim.engine.machine.intake import COMING

if TYPE_CHECKING:
    from tasksim.engine.clock import Routine, Steps
    from tasksim.engine.machine.driver import Driver
    from tasksim.engine.machine.intake import Intake
    from tasksim.engine.machine.node import Node
    from tasksim.engine.ticks import OverheadTicks

__all__ = ["core"]


def core(node: Node, driver: Driver, overheads: OverheadTicks) -> Steps:
    """Ask for a task, wait for its data, run it, push its successors; for ever.

    The loop of StarPU's ``drivers/cpu/driver_cpu.c``, which sleeps where that polls.
    """
    routine, intake, worker = driver.routine, driver.intake, driver.worker
    clock, start, end = node.clock, node.ledger.start, node.ledger.end
    locked, started, cost = node.memories.locks.until, node.started, node.charges.ticks
    shared = node.shared_cores
    pop, fetch, finish = node.pop, intake.fetch, node.finish
    wakeup, progress, task_cost = overheads.wakeup, overheads.progress, overheads.task
    landing = node.landing
    stepwise, needs, keep_order = node.instant.stepwise, node.needs, clock.keep_order
    rate = node.rate
    yield None
    if wakeup:
        yield wakeup
    while True:
        routine.woken = False
        routine.rank = driver.rank
        yield progress
        pinned = landing is not None and (yield from landing.serve())
        task = pop(driver)
        if task is None:
            if not (routine.woken or pinned):
                yield None
                if wakeup:
                    yield wakeup
            continue
        routine.rank = RUN
        if locked:
            yield from node.unlocked(task)
        overhead = fetch(task) + task_cost
        if overhead:
            if stepwise and not len(needs[task]) % 2:
                keep_order()  # a wait for each datum: the second turns the first around
            yield overhead
        if intake.state == COMING:
            yield from _coming(routine, intake, progress)
        start[task] = clock._now
        if started is not None:
            started(task, worker)
        ticks = cost(task, worker)
        if rate is not None and rate.begin(task, worker, ticks, routine):
            yield from rate.until_over(worker)
        else:
            keep_order()
            yield from (ticks,) if shared is None else shared.run(ticks, routine)
        end[task] = clock._now
        yield from finish(driver, task)


def _coming(routine: Routine, intake: Intake, progress: int) -> Steps:
    """Wait for the data of a task, looking again whenever something has come."""
    while intake.state == COMING:
        routine.woken = False
        yield None
        if progress:
            yield progress
