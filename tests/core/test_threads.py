"""Threads of StarPU-SimGrid on the core: the same bytes as under SimPy's engine."""

from __future__ import annotations

import pytest
from equal import LONG, disagreement
from threaded import SCHEDULERS, drawn_question

from tasksim.base.errors import InputError
from tasksim.core.library import status
from tasksim.engine.choice import replayed

core = pytest.mark.skipif(not status().available, reason=f"the core is {status().why}")


def checked(seeds, scheduler):
    for seed in seeds:
        question = drawn_question(seed, scheduler)
        assert question.needs_threads
        assert disagreement(question) is None, f"seed {seed}"


@core
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_both_engines_give_the_same_bytes(scheduler):
    checked(range(25), scheduler)


@core
@pytest.mark.slow
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_both_engines_give_the_same_bytes_on_many_cases(scheduler):
    checked(range(25, 3000 if LONG else 150), scheduler)


@core
def test_a_changed_scheduler_is_left_to_simpy():
    """SimPy's threads call what was changed; those of the core have their own."""
    question = drawn_question(0, "eager")
    question.scheduler.note = "changed"
    assert replayed(question, 0).engine == "compiled"
    question = drawn_question(0, "eager")
    question.scheduler.pop = question.scheduler.pop
    assert replayed(question, 0).engine == "simpy"
    with pytest.raises(InputError, match="eager was changed"):
        replayed(question, 0, "compiled")
