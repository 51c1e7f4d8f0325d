"""Writers of data, which hints and prefetches ask for, however often a datum is written."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
from growth import nearly_linear
from scripted import machine, tasks

from tasksim.core.library import status
from tasksim.engine.compiled.replay import CompiledReplay
from tasksim.engine.data.accesses import ordered_accesses
from tasksim.engine.machine.hints import Writing
from tasksim.engine.question import Question
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.runtime.rules import DONE, READY, TAKEN, WAITING
from tasksim.schedulers.registry import create


def in_a_chain(count):
    """Return tasks that write a datum one after the other, a hint about it behind each."""
    chain = GraphBuilder("chain")
    datum = chain.handle("x", size_bytes=3)
    for _ in range(count):
        chain.insert("task", RW(datum), duration_s=1.0)
        chain.wont_use(datum)
    return chain.build()


class Counted(list):
    """A list that counts how often it is looked at."""

    looks = 0

    def __getitem__(self, place):
        self.looks += 1
        return super().__getitem__(place)


def test_a_datum_is_written_while_one_of_its_writers_is_taken():
    draw = random.Random(0)
    modes = [R, RW]
    for _ in range(200):
        accesses = [
            [(draw.choice(modes), handle) for handle in draw.sample(range(4), draw.randint(1, 3))]
            for _ in range(draw.randint(1, 12))
        ]
        graph = tasks(*((1, each) for each in accesses))
        state = [draw.choice([WAITING, READY, TAKEN, DONE]) for _ in accesses]
        ledger = SimpleNamespace(
            state=state, taken={task for task, each in enumerate(state) if each == TAKEN}
        )
        writing = Writing(graph, ordered_accesses(graph)[0], ledger)
        for handle in range(graph.handles):
            expected = any((RW, handle) in accesses[task] for task in ledger.taken)
            assert writing.is_written(handle) == expected


@pytest.mark.parametrize("writers", [100, 1_000])
def test_however_many_write_a_datum_those_that_are_taken_are_looked_at(writers):
    graph = in_a_chain(writers)
    state = Counted([DONE] * (writers - 1) + [TAKEN])
    needs = Counted(ordered_accesses(graph)[0])
    ledger = SimpleNamespace(state=state, taken={writers - 1})
    assert Writing(graph, needs, ledger).is_written(0)
    assert state.looks + needs.looks == 1


@pytest.mark.skipif(not status().available, reason=f"the core is {status().why}")
@pytest.mark.one_engine("it is the core whose time is measured")
def test_hints_about_one_datum_take_the_core_no_longer_the_more_there_are():
    graphs = {count: in_a_chain(count) for count in (5_000, 40_000)}
    platform = machine(1, 1)

    def replay(count):
        costs = np.ones((len(platform.classes), count))
        question = Question(graphs[count], platform, create("eager"), costs, costs)
        CompiledReplay(question).run(0)

    assert nearly_linear(replay, *graphs)
