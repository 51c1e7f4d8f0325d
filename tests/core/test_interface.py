"""Interface of the core: whatever arrays it is given, it refuses or answers, and never crashes.

Run under the address and undefined-behaviour sanitizers, too: tests/core/test_sanitizers.py.
"""

from __future__ import annotations

import copy
import gc
import random
import re
from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
import threaded
from questions import drawn_question
from tiers import LONG

from tasksim.base.errors import TasksimError
from tasksim.core.interface import CallStatus, address
from tasksim.core.library import FOLDER, status
from tasksim.engine.compiled import flat as engine_flat
from tasksim.engine.compiled.replay import CompiledReplay
from tasksim.engine.question import Question
from tasksim.runtime import flat

core = pytest.mark.skipif(not status().available, reason=f"the core is {status().why}")
SCHEDULERS = ("eager", "prio", "lws", "dmda", "dmdas", "heteroprio", "modular-heft", "heft")
WHOLE_NUMBERS = (
    -1,
    0,
    1,
    2,
    7,
    63,
    64,
    127,
    2**31 - 1,
    -(2**31),
    2**40,
    2**62,
    2**63 - 1,
    -(2**63),
)
NUMBERS = (nan, inf, -inf, -1.0, 0.0, 1e-300, 1e-9, 1.0, 1e18, 1e300)


def spoilt(draw, array):
    """Return *array* with some entries that are others, of its own type."""
    array = array.copy()
    for _ in range(draw.randint(1, 3)):
        if array.size:
            place = draw.randrange(array.size)
            if array.dtype.kind == "f":
                array.flat[place] = draw.choice(NUMBERS)
            else:
                limits = np.iinfo(array.dtype)
                legal = [n for n in WHOLE_NUMBERS if limits.min <= n <= limits.max]
                array.flat[place] = draw.choice(legal)
    return array


class OfMachines(Question):
    """A question that the core answers with its longer replay, without threads."""

    needs_machine = True
    needs_threads = False


class Spoiling(flat.Arrays):
    """Arrays, one in eight of which is spoilt."""

    draw = random.Random(0)

    def __call__(self, values, dtype):
        array = np.ascontiguousarray(
            values if isinstance(values, np.ndarray) else list(values), dtype
        )
        return super().__call__(
            spoilt(self.draw, array) if not self.draw.randrange(8) else array, dtype
        )


def answered(seed, monkeypatch):
    """Return whether the core has answered one spoilt question, or refused it."""
    question = drawn_question(seed, SCHEDULERS[seed % len(SCHEDULERS)])
    draw = random.Random(seed)
    return answered_when_spoilt(
        question, draw, monkeypatch,
        needs_machine=question.needs_machine or draw.random() < 0.5,
        pushes="blind" if draw.random() < 0.3 else "serial",
        needs_threads=draw.random() < 0.1,
    )  # fmt: skip


def answered_by_threads(seed, monkeypatch):
    """Return whether the core has answered one that was spoilt for threads, or refused it."""
    question = threaded.drawn_question(seed, threaded.SCHEDULERS[seed % 3])
    return answered_when_spoilt(
        question, random.Random(seed), monkeypatch, pushes="blind",
        needs_machine=True, needs_threads=True,
    )  # fmt: skip


def as_told(question, pushes="serial", **needs):
    """Return *question*, whose needs are those that it is told, not its own."""
    told = type("Told", (Question,), {"needs_threads": False, **needs})
    return told(**vars(replace(question, simultaneous_pushes=pushes)))


def answered_when_spoilt(question, draw, monkeypatch, **how):
    """Return whether the core has answered *question*, spoilt; *how* it is replayed."""
    Spoiling.draw = draw
    for module in (flat, engine_flat):
        monkeypatch.setattr(module, "Arrays", Spoiling)
    try:
        # Of copies, as those of the objects themselves are cached.
        flats = (
            flat.flat_graph(copy.copy(question.graph)),
            engine_flat.flat_platform(copy.copy(question.platform)),
        )
    except flat.Refused:
        return False
    finally:
        monkeypatch.undo()
    costs, estimates = (
        spoilt(draw, table) if draw.random() < 0.3 else table
        for table in (question.costs, question.estimates)
    )
    asked = as_told(replace(question, costs=costs, estimates=estimates), **how)
    replay = CompiledReplay(asked)
    replay._flat = flats
    try:
        replay.run(0)
    except (flat.Refused, TasksimError):
        return False
    replay.records()
    return True


@core
def test_nonsense_is_refused_or_answered(monkeypatch):
    found = [answered(seed, monkeypatch) for seed in range(300)]
    assert 0 < sum(found) < len(found)


@core
def test_nonsense_for_threads_is_refused_or_answered(monkeypatch):
    found = [answered_by_threads(seed, monkeypatch) for seed in range(200)]
    assert 0 < sum(found) < len(found)


@core
@pytest.mark.slow
def test_much_nonsense_is_refused_or_answered(monkeypatch):
    for seed in range(300, 20_000 if LONG else 1_000):
        answered(seed, monkeypatch)
        answered_by_threads(seed, monkeypatch)


@core
@pytest.mark.slow
def test_thousands_of_replays_leave_memory_flat():
    def resident():
        with open("/proc/self/statm") as file:  # noqa: PTH123
            return int(file.read().split()[1])

    def replays(count):
        for seed in range(count):
            question = drawn_question(seed % 50, SCHEDULERS[seed % len(SCHEDULERS)])
            replay = CompiledReplay(OfMachines(**vars(question)))
            try:
                replay.run(0)
            except TasksimError:
                continue
            replay.records()

    count = 10_000 if LONG else 1_500
    replays(1_000)
    before = resident()
    replays(count)
    assert (resident() - before) * 4096 < max(count * 1_400, 2 * 2**20)


@core
def test_what_was_noted_is_not_copied_and_outlives_the_replay():
    question = drawn_question(3, "dmdas")
    replay = CompiledReplay(question)
    replay.run(0)
    first, again = (replay.records() for _ in range(2))
    table, same = first["transfers"], again["transfers"]
    before = [column.copy() for column in table.columns()]
    assert len(table)
    assert np.shares_memory(table.start_s, same.start_s)
    del replay, again, same
    gc.collect()
    others = [CompiledReplay(question) for _ in range(20)]  # who would take memory that was freed
    for other in others:
        other.run(0)
    assert all(map(np.array_equal, table.columns(), before))


@pytest.mark.parametrize(
    ("values", "given"),
    [
        (np.zeros(4)[::2], "a strided array of float64"),
        (np.zeros(4, np.float32), "a contiguous array of float32"),
        (np.zeros(33, np.uint8)[1:].view(np.float64), "a misaligned array of float64"),
    ],
)
def test_an_array_that_the_core_would_misread_has_no_address(values, given):
    with pytest.raises(TypeError, match=f"got {given}; legal: a contiguous one of float64"):
        address(values, np.float64)


def test_each_status_has_the_number_that_the_header_gives_it():
    header = (FOLDER / "tasksim_core.h").read_text().partition("enum tasksim_status {")[2]
    stated = re.findall(r"TASKSIM_(\w+) = (\d+)", header.partition("}")[0])
    assert {name: int(number) for name, number in stated} == dict(CallStatus.__members__)
