"""Both engines in each test: whatever it asks of one, the other is asked, too, and they agree.

A folder of tests takes part by a conftest.py that imports the fixture. What SimPy's engine replays
in a test, the compiled core replays again, with a copy of the scheduler: the same tables to the
last bit, or the same error. The test sees what SimPy's engine gave.
"""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from copy import deepcopy
from functools import wraps
from weakref import WeakKeyDictionary

import pytest
from equal import difference

from tasksim.core.library import status
from tasksim.engine import simulation
from tasksim.engine.compiled.replay import CompiledReplay
from tasksim.engine.question import Question
from tasksim.engine.replay import Replay
from tasksim.runtime.flat import Refused

BY_DESIGN = ("the core knows 64 ",)
"""Why the core may leave a question to SimPy's engine."""


class Longer(Question):
    """A question that the core answers with its longer replay, though the shorter would do."""

    needs_machine = True


@pytest.fixture(autouse=True)
def both_engines(request, monkeypatch):
    """Let the core answer whatever SimPy's engine is asked; where it is not there, SimPy's alone.

    A test marked ``one_engine(why)`` is left as it is.
    """
    if request.node.get_closest_marker("one_engine") or not status().available:
        return
    twins = WeakKeyDictionary()
    monkeypatch.setattr(Replay, "__init__", _keeping(Replay.__init__, twins))
    monkeypatch.setattr(Replay, "run", _compared(Replay.run))
    replayed = simulation.replayed
    monkeypatch.setattr(
        simulation,
        "replayed",
        lambda question, seed, engine, *progress: replayed(
            question,
            seed,
            "simpy" if engine == "auto" and _is_for_both(question) else engine,
            *progress,
        ),
    )


def _is_for_both(question):
    """Return whether SimPy's engine answers *question* here: threads are the core's alone."""
    return isinstance(question, Question) and not question.needs_threads


def _keeping(begin, twins):
    """Return the beginning of a replay that keeps what was asked, with a scheduler of its own.

    *twins*: per scheduler its copy, the same one where a scheduler is used again.
    """

    @wraps(begin)
    def kept(self, question):
        if question.scheduler not in twins:
            twins[question.scheduler] = deepcopy(question.scheduler)
        self.asked = asked = dataclasses.replace(question, scheduler=twins[question.scheduler])
        with _the_same_error(asked, 0):
            begin(self, question)

    return kept


def _compared(run):
    """Return a run that the core makes, too."""

    @wraps(run)
    def compared(self, seed, *progress):
        with _the_same_error(self.asked, seed):
            makespan_s = run(self, seed, *progress)
        for asked in _ways_to_ask(self.asked):
            found = _compiled(asked, seed)
            if isinstance(found, Exception):
                raise AssertionError("the core fails") from found
            if found is not None and (differs := difference(asked, self, found)):
                raise AssertionError(f"the engines differ in {differs}")
        return makespan_s

    return compared


def _ways_to_ask(asked):
    """Return *asked*, and, where the core has a shorter replay for it, the same for the longer."""
    if asked.needs_machine:
        return [asked]
    return [asked, Longer(**vars(asked) | {"scheduler": deepcopy(asked.scheduler)})]


@contextmanager
def _the_same_error(asked, seed):
    """Ask the core what ends here in an error: it may also refuse what SimPy's engine refuses."""
    try:
        yield
    except Exception as error:
        found = _compiled(asked, seed, may_refuse=True)
        if found is not None and repr(found) != repr(error):
            raise AssertionError(f"the core has ended in {found!r}") from error
        raise


def _compiled(asked, seed, *, may_refuse=False):
    """Return the core's replay, or the error in which it has ended; None: it leaves that to SimPy.

    *may_refuse*: for any reason.
    """
    try:
        replay = CompiledReplay(asked)
        replay.run(seed)
    except Refused as refusal:
        if may_refuse or any(reason in str(refusal) for reason in BY_DESIGN):
            return None
        raise
    except Exception as error:
        return error
    return replay
