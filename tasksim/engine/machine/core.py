"""Core: a worker that runs its tasks itself, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.engine.clock import END_RANK
from tasksim.engine.machine.driver import COMING

if TYPE_CHECKING:
    from tasksim.engine.clock import Steps
    from tasksim.engine.machine.driver import Driver
    from tasksim.engine.machine.node import Node
    from tasksim.engine.ticks import OverheadTicks

__all__ = ["core"]


def core(node: Node, driver: Driver, overheads: OverheadTicks) -> Steps:
    """Ask for a task, wait for its data, run it, push its successors; for ever.

    The loop of StarPU's ``drivers/cpu/driver_cpu.c``, which sleeps where that polls.
    """
    routine, intake = driver.routine, driver.intake
    routine.rank = driver.rank
    yield from _sleep(driver, overheads.wakeup)
    while True:
        routine.woken = False
        routine.rank = driver.rank
        yield routine.wait(overheads.progress)
        pinned = node.landing is not None and (yield from node.landing.serve(routine))
        task = node.pop(driver)
        if task is None:
            if not (routine.woken or pinned):
                yield from _sleep(driver, overheads.wakeup)
            continue
        routine.rank = END_RANK
        yield from node.unlocked(task, routine)
        overhead = intake.fetch(task) + overheads.task
        if overhead:
            if node.instant.stepwise and not len(node.needs[task]) % 2:
                node.clock.keep_order()  # a wait for each datum: the second turns the first around
            yield routine.wait(overhead)
        while intake.state == COMING:
            routine.woken = False
            yield from _sleep(driver, overheads.progress)
        yield from _run(node, driver, task)
        yield from node.finish(driver, task)


def _sleep(driver: Driver, wakeup: int) -> Steps:
    """Sleep until something wakes the worker, which takes *wakeup* ticks."""
    yield driver.routine.sleep()
    if wakeup:
        yield driver.routine.wait(wakeup)


def _run(node: Node, driver: Driver, task: int) -> Steps:
    """Run *task*: alone, beside others that slow it down, or on cores that workers share."""
    worker, routine = driver.worker, driver.routine
    node.ledger.start[task] = node.clock.now
    if node.started is not None:
        node.started(task, worker)
    ticks = node.charges.ticks(task, worker)
    if node.rate is not None and node.rate.begin(task, worker, ticks, routine):
        yield from node.rate.until_over(worker, routine)
    else:
        node.clock.keep_order()
        if node.shared_cores is None:
            yield routine.wait(ticks)
        else:
            yield from node.shared_cores.run(ticks, routine)
    node.ledger.end[task] = node.clock.now
