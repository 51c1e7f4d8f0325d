"""What holds for every platform, however it was made."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.platform.checks import check_platform
from tasksim.platform.description import Link, Memory, Overheads, Platform, Worker

GOOD = Platform.identical(2)
SECOND = Memory(1, "gpu")


@given(st.integers(1, 300))
def test_identical_workers_are_consistent(n):
    check_platform(Platform.identical(n))


def with_worker(**changes) -> Platform:
    return replace(GOOD, workers=(GOOD.workers[0], replace(GOOD.workers[1], **changes)))


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: replace(GOOD, workers=()), "has no workers"),
        (lambda: with_worker(id=2), "worker cpu1 has number 2, must be 1"),
        (lambda: with_worker(name="cpu0"), "two of its worker names are 'cpu0'"),
        (lambda: with_worker(memory=3), "worker cpu1 uses memory 3, which does not exist"),
        (lambda: with_worker(memory=-1), "worker cpu1 uses memory -1, which does not exist"),
        (lambda: with_worker(node=1), "worker cpu1 uses a memory of another node"),
        (lambda: with_worker(core=-1), "worker cpu1 is bound to core -1, must be 0 or more"),
        (
            lambda: replace(GOOD, workers=tuple(replace(w, core=3) for w in GOOD.workers)),
            "worker cpu1 is bound to core 3, as is cpu0",
        ),
        (
            lambda: replace(GOOD, memories=(Memory(0, "ram"), Memory(1, "other", 2))),
            "the nodes of its memories are [0, 2], must be consecutive from 0",
        ),
        (
            lambda: replace(GOOD, speeds={"cpu": 0.0}),
            "architecture cpu has speed 0.0, must be positive",
        ),
        (
            lambda: replace(GOOD, overheads=Overheads(task_s=-1.0)),
            "task costs -1.0 s, must be 0 or more",
        ),
        (
            lambda: replace(GOOD, memories=(Memory(0, "ram", 0, 0.0),)),
            "memory ram has size 0.0, must be positive",
        ),
        (
            lambda: replace(GOOD, links=(Link(0, "bus", (0, 1), 1e9),)),
            "link bus must be between two memories (got (0, 1))",
        ),
        (
            lambda: replace(
                GOOD, memories=(*GOOD.memories, SECOND), links=(Link(0, "bus", (0, 1), 0.0),)
            ),
            "link bus has bandwidth 0.0, must be positive",
        ),
    ],
)
def test_what_is_refused(make, what):
    with pytest.raises(InputError) as refused:
        make()
    assert str(refused.value) == f"platform identical-2: {what}"


def test_all_at_once():
    with pytest.raises(InputError) as refused:
        Platform("p", (Worker(1, "a", "cpu", 4),), (Memory(0, "ram"),))
    assert str(refused.value).splitlines() == [
        "platform p: worker a has number 1, must be 0",
        "platform p: worker a uses memory 4, which does not exist",
    ]
