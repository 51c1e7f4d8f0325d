"""Programs of applications: what a reset makes anew, and what it leaves bound."""

from __future__ import annotations

import tasksim
from tasksim import RW
from tasksim.applications.program import FlowProgram


@tasksim.kernel
def bump(x: RW):
    x += 1


@tasksim.kernel
def push(bag: RW):
    bag.append(len(bag))


@tasksim.application("bags")
def bags(g, tasks=5):
    """Count in an array and in a list."""
    x, bag = g.array("x", 1), g.opaque("bag", lambda _: [], 8)
    for _ in range(tasks):
        g.insert(bump, x)
    g.insert(push, bag)
    g.check(
        lambda results: abs(results[x][0] - tasks) + abs(len(results[bag]) - 1),
        tolerance=0,
        what="counts",
    )


def test_a_reset_binds_only_tasks_on_objects_again(monkeypatch):
    program = bags.program(bags(), workers=1, seed=0)
    bound, bind_one = [], FlowProgram._of

    def noted(self, call, addresses):
        bound.append(call.kernel.name)
        return bind_one(self, call, addresses)

    monkeypatch.setattr(FlowProgram, "_of", noted)
    for _ in range(2):
        program.reset()
        for task in range(len(program.graph)):
            program.run(task, 0)
        assert program.check().value == 0
    assert bound == ["push", "push"]
