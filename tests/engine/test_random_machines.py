"""Random graphs on random machines with little memory: every run is possible.

A case is drawn from one number, its seed, which the message of a failure names: ``broken(seed)``
draws and simulates it again. What may happen when data come and go is drawn far more often than in
real graphs: memories of a few data, data that are only written, hints, data shared by commuting
tasks, devices that share a memory, kernels that block their driver.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from compiled_core import needs_core
from scripted import GPU0, GPU1, RAM, machine, play, tasks
from strategies import OVERHEADS
from tiers import LONG, few

from tasksim import (
    RW,
    Allocation,
    Commute,
    Copying,
    Device,
    GraphBuilder,
    InputError,
    Link,
    Memory,
    Platform,
    R,
    Reduce,
    Route,
    Scheduler,
    Scratch,
    TasksimError,
    W,
    Worker,
    check_run,
    simulate,
)
from tasksim.core.library import status
from tasksim.models.kinds.given import GivenDurations
from tasksim.schedulers.registry import names

SCHEDULERS = names(bare=True)
ACCESSES = (R, R, W, W, RW, RW, Commute, Reduce, Scratch)
ALLOCATIONS = (
    Allocation(chunk_bytes=16.0, unit_bytes=1.0, largest_bytes=0.0),
    Allocation(chunk_bytes=16.0, unit_bytes=4.0, largest_bytes=8.0),
    Allocation(2e-5, 7e-5, chunk_bytes=8.0, unit_bytes=8.0, largest_bytes=8.0, usable=0.9),
)
"""All blocks large, some of them, none; the last with costs."""


def drawn_graph(draw):
    """Some tasks on a few data of 1 to 16 bytes; a third of the graphs has hints."""
    builder = GraphBuilder("random")
    sizes = [draw.choice((1, 8, 8, 8, 9, 16)) for _ in range(draw.randint(1, 7))]
    data = [builder.handle(f"x{i}", size_bytes=size) for i, size in enumerate(sizes)]
    hints = draw.choice((0.0, 0.2, 0.5))
    for _ in range(draw.randint(1, 40)):
        chosen = draw.sample(data, draw.randint(0, min(3, len(data))))
        builder.insert(
            draw.choice(("potrf", "gemm")),
            *(draw.choice(ACCESSES)(handle) for handle in chosen),
            priority=draw.randint(-2, 2),
            duration_s=draw.choice((1e-5, 1e-4, 1e-4, 2e-4)),
        )
        if draw.random() < hints:
            builder.wont_use(draw.choice(data))
    return builder.build()


def drawn_machine(draw):
    """One to three devices, of which each memory holds a few of the data, and up to two cores."""
    devices, cores = draw.randint(1, 3), draw.randint(0, 2)
    owners = [device for device in range(devices) for _ in range(draw.choice((1, 1, 1, 2)))]
    workers = [Worker(i, f"gpu{i}", "cuda", owner + 1) for i, owner in enumerate(owners)]
    workers += [Worker(len(owners) + i, f"cpu{i}", "cpu", 0) for i in range(cores)]
    sizes = [draw.choice((None, 64.0, 56.0, 48.0, 33.0, 24.0)) for _ in range(devices)]
    links, routes = drawn_ways(draw, devices)
    return Platform(
        name="machine",
        workers=tuple(workers),
        memories=(
            Memory(0, "ram"),
            *(Memory(i + 1, f"m{i}", 0, size) for i, size in enumerate(sizes)),
        ),
        overheads=draw.choice(OVERHEADS),
        links=links,
        routes=routes,
        devices={"cuda": Device(draw.randint(1, 4), ("potrf",) if draw.random() < 0.5 else ())},
        allocation=draw.choice(ALLOCATIONS),
        copying=Copying(
            fetches=draw.randint(1, 5),
            prefetches=draw.randint(1, 2),
            serialised=draw.random() < 0.5,
            contention=draw.choice((0.0, 2.0)),
        ),
    )


def drawn_ways(draw, devices):
    """Links and routes between main memory and the devices, perhaps also among these."""
    ends = [(0, i + 1) for i in range(devices)]
    if draw.random() < 0.5:
        ends += [(i + 1, j + 1) for i in range(devices) for j in range(i)]
    latency_s, bus = draw.choice((0.0, 1e-5)), draw.random() < 0.5
    links = [
        Link(i, f"link{i}", None, draw.choice((1e5, 3e5)), latency_s) for i in range(len(ends))
    ]
    links.append(Link(len(links), "bus", None, 2e5))
    routes = []
    for i, (one, other) in enumerate(ends):
        shared = (links[-1].id,) * (2 if one else 1) if bus else ()
        routes += [Route(one, other, (i, *shared)), Route(other, one, (i, *shared))]
    return tuple(links), tuple(routes)


def drawn_case(seed):
    """Return graph, platform, scheduler and the kind of pushes that *seed* stands for."""
    draw = random.Random(seed)
    graph, platform = drawn_graph(draw), drawn_machine(draw)
    return graph, platform, draw.choice(SCHEDULERS), draw.choice(("serial", "blind"))


def broken(seed):
    """Return what is wrong with the run of the case *seed*: nothing, as a rule."""
    return broken_case(seed, *drawn_case(seed))


def broken_case(seed, graph, platform, scheduler, pushes):
    """Return what is wrong with a run."""
    try:
        run = simulate(
            graph, platform, GivenDurations(graph), scheduler,
            seed=seed % 4, simultaneous_pushes=pushes,
        )  # fmt: skip
        check_run(run, graph, platform)
    except InputError as error:
        if "bytes at once" in str(error):  # a task that fits in no memory
            return None
        if "only the compiled core replays" in str(error) and not status().available:
            return None
        return f"seed {seed} ({scheduler}, {pushes}): {error}"
    except TasksimError as error:
        return f"seed {seed} ({scheduler}, {pushes}): {error}"
    return None


def test_every_run_is_possible():
    assert [found for seed in range(few(300)) if (found := broken(seed))] == []


@pytest.mark.parametrize("scheduler", [needs_core(name) for name in ("eager", "prio", "ws")])
def test_so_is_every_run_of_threads(scheduler):
    """With all costs of StarPU-SimGrid, blind pushes of these schedulers are those of threads."""
    found = []
    for seed in range(few(150)):
        graph, platform, _, _ = drawn_case(seed)
        platform = replace(platform, overheads=OVERHEADS[-1])
        found.append(broken_case(seed, graph, platform, scheduler, "blind"))
    assert [one for one in found if one] == []


@pytest.mark.slow
def test_every_run_is_possible_with_cases_of_today():
    """Others each day; the seeds are printed and, of a failure, in its message."""
    first = 1_000_000 * datetime.now(UTC).date().toordinal()
    last = first + (10_000 if LONG else 500)
    found = [found for seed in range(first, last) if (found := broken(seed))]
    assert found == []


# What such cases have found, by hand


def test_a_place_for_what_a_task_will_write_is_no_copy_of_it():
    """x1 has to leave one device when a task on the other is about to overwrite it.

    That task waits for the copy home, which is of the old value: nothing is written yet.
    """
    graph = tasks(
        (2, [(W, 0), (W, 1)]), (1, [(R, 2), (R, 3)]), (1, [(W, 1)])
    )  # fmt: skip
    played = play(
        graph, machine(devices=2, size=6, copying=Copying(fetches=1)), {0: [0, 1], 1: [2]}
    )
    assert played.copies[:2] == [(0, GPU0, RAM, 2, 5), (1, GPU0, RAM, 5, 8)]
    assert played.start[2] == 8
    assert not [copy for copy in played.copies if copy[1] == GPU1]


def test_a_request_that_becomes_urgent_while_another_is_begun_is_begun_once():
    """Data of two tasks are brought ahead, in one go; the second is popped during that.

    There is no room for its datum then, so its request goes back to where it was taken from.
    """
    g = GraphBuilder("by hand")
    data = [g.handle(f"x{i}", size_bytes=3) for i in range(2)]
    first, second = (g.insert("task", duration_s=s) for s in (0.5, 2.5))
    g.insert("task", R(data[1]), after=[first], duration_s=1.0)
    g.insert("task", R(data[0]), after=[second], duration_s=1.0)
    apart = machine(devices=2, cores=2, size=3, copy_s=1.0)
    together = tuple(replace(w, memory=min(w.memory, GPU0)) for w in apart.workers)
    played = play(
        g.build(),
        replace(apart, workers=together),
        {0: [3], 1: [2], 2: [0], 3: [1]},
        ahead={0: [(3, GPU0), (2, GPU0)]},
    )
    assert [copy[0] for copy in played.copies] == [0, 1, 0]
    assert played.start[2:] == [8, 13]


class SendsBeforeItIsWritten(Scheduler):
    """Asks for a copy of x0 when the task that writes it has been taken."""

    def push(self, task):
        self.task = task
        self.view.wake(0)

    def pop(self, worker):
        task, self.task = self.task, None
        return task

    def started(self, task, worker):
        self.view.prefetch_handle(0, GPU1)


def test_a_datum_is_not_sent_while_it_is_written():
    graph = tasks((2, [(W, 0)]))
    run = simulate(
        graph, machine(devices=2), GivenDurations(graph), SendsBeforeItIsWritten(), check=True
    )
    assert len(run.transfers) == 0
