"""Submission at given times, as a recorded program submitted: both replays, both engines."""

import random
from dataclasses import replace

import numpy as np
import pytest
from questions import drawn_question

import tasksim
from tasksim.base.errors import InputError
from tasksim.engine.choice import replayed
from tasksim.engine.simulation import Simulation
from tasksim.models.kinds.given import GivenDurations
from tasksim.platform.costs import Overheads
from tasksim.platform.description import Platform
from tasksim.run.runchecks import check_run


def three(after=()):
    """Three tasks of a second each; the last one after those given."""
    builder = tasksim.GraphBuilder("three")
    for before in ((), (), after):
        builder.insert("task", after=before, duration_s=1.0)
    return builder.build()


def simulated(graph, submitted_s, platform=None, **options):
    platform = platform or Platform.identical(2)
    times = np.array(submitted_s)
    return Simulation(
        graph, platform, GivenDurations(graph), "eager", submitted_s=times, **options
    ).run(check=True)


@pytest.mark.parametrize("pushes", ["serial", "blind"])
def test_no_task_starts_before_it_is_submitted(pushes):
    run = simulated(three(), [0.5, 0.75, 4.0], simultaneous_pushes=pushes)
    assert run.tasks.submitted_s.tolist() == [0.5, 0.75, 4.0]
    assert run.tasks.start_s.tolist() == [0.5, 0.75, 4.0]
    assert run.makespan_s == 5.0


@pytest.mark.parametrize("pushes", ["serial", "blind"])
def test_a_task_that_waits_for_others_is_ready_when_they_have_ended(pushes):
    run = simulated(three(after=[0, 1]), [0.0, 0.25, 0.5], simultaneous_pushes=pushes)
    assert run.tasks.ready_s.tolist() == [0.0, 0.25, 1.25]
    assert run.tasks.released_by.tolist() == [-1, -1, 1]


def test_a_task_is_submitted_no_earlier_than_those_before_it():
    assert simulated(three(), [2.0, 1.0, 0.0]).tasks.submitted_s.tolist() == [2.0, 2.0, 2.0]


def test_what_submitting_costs_does_not_count_besides():
    platform = replace(Platform.identical(2), overheads=Overheads(submission_s=0.5))
    assert simulated(three(), [0.0, 0.0, 0.0], platform).makespan_s == 2.0


@pytest.mark.parametrize(
    "times", [[0.0, 1.0], [0.0, 1.0, -1.0], [0.0, np.nan, 1.0], [0.0, 1.0, np.inf]]
)
def test_times_that_are_none(times):
    with pytest.raises(InputError, match=r"a time from 0 to .* for each of 3 tasks"):
        simulated(three(), times)


@pytest.mark.parametrize("scheduler", ["eager", "prio", "ws", "lws", "dmda", "heteroprio", "heft"])
@pytest.mark.parametrize("seed", range(25))
def test_drawn_questions(scheduler, seed):
    """The fixture asks the core, too: the same tables to the last bit, or the same error."""
    question = drawn_question(seed, scheduler)
    rng = random.Random(seed)
    count = len(question.graph)
    # Multiples of what tasks take, so that submissions and ends coincide, also with each other.
    times = np.cumsum([rng.choice((0.0, 0.0, 1e-5, 1e-4, 3.3e-4)) for _ in range(count)])
    asked = replace(question, submitted_s=times)
    try:
        found = replayed(asked, seed, "simpy").replay
    except tasksim.TasksimError:
        return
    assert (np.asarray(found.ledger.submitted) >= np.rint(times * 1e9) / 1e9 - 1e-12).all()


def test_a_recorded_run_is_submitted_again_as_it_was():
    graph = three()
    run = replace(simulated(graph, [0.5, 0.75, 4.0]), graph=graph)
    again = tasksim.simulate(run, durations="measured", changes=["engine.submission=recorded"])
    assert again.makespan_s == 5.0
    check_run(again, graph)
    at_once = tasksim.simulate(run, durations="measured")
    assert at_once.makespan_s == 2.0
    (many,) = tasksim.simulate_many(
        [tasksim.Scenario(run, durations="measured", changes=["engine.submission=recorded"])]
    ).makespan_s
    assert many == 5.0


def test_times_of_what_was_not_recorded():
    with pytest.raises(InputError, match=r"submission=recorded: got .*; legal: a simulation of a"):
        tasksim.simulate(
            "chain length=3", workers=1, durations={"task": 1.0},
            changes=["engine.submission=recorded"],
        )  # fmt: skip
