"""Core: a worker that runs its tasks itself, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.clock import TICKS_PER_S
from tasksim.engine.machine.driver import RUN
from tasksim.engine.machine.intake import COMING

if TYPE_CHECKING:
    from tasksim.engine.clock import Steps
    from tasksim.engine.machine.driver import Driver
    from tasksim.engine.machine.node import Node
    from tasksim.engine.machine.ticks import OverheadTicks

__all__ = ["core"]


def core(node: Node, driver: Driver, overheads: OverheadTicks) -> Steps:
    """Ask for a task, wait for its data, run it, push its successors; for ever.

    The loop of StarPU's ``drivers/cpu/driver_cpu.c``, which sleeps where that polls.
    """
    routine, intake, worker = driver.routine, driver.intake, driver.worker
    clock, start_s, end_s = node.clock, node.ledger.start_s, node.ledger.end_s
    locked, started = node.memories.locks.until, node.started
    wakeup, progress, task_cost = overheads.wakeup, overheads.progress, overheads.task
    yield None
    if wakeup:
        yield wakeup
    while True:
        routine.woken = False
        routine.rank = driver.rank
        yield progress
        task = node.pop(driver)
        if task is None:
            if not routine.woken:
                yield None
                if wakeup:
                    yield wakeup
            continue
        routine.rank = RUN
        if locked:
            yield from node.unlocked(task)
        cost = intake.fetch(task) + task_cost
        if cost:
            yield cost
        while intake.state == COMING:
            routine.woken = False
            yield None
            if progress:
                yield progress
        start_s[task] = clock._now / TICKS_PER_S
        if started is not None:
            started(task, worker)
        yield node.charges.ticks(task, worker)
        end_s[task] = clock._now / TICKS_PER_S
        yield from node.finish(driver, task)
