"""Selective runs that are of no use: noticed, told, and executed in full instead."""

from __future__ import annotations

import pytest

from tasksim.scenario.scenario import Scenario
from tasksim.tuning.autotune import autotune
from tasksim.tuning.over import axes_of, candidates
from tasksim.tuning.selection import TuningRun
from tasksim.tuning.watch import Watch

SMALL_SCENARIO = Scenario("cholesky", ["n=96"], workers=2, clock="native")
FOUR_CANDIDATES = candidates(SMALL_SCENARIO, axes_of(["tile_size=8,16,24,32"]))
FULL_S = [4.0, 2.0, 3.0, 5.0]
"""Makespans of full runs, in which selective ones see half a second less."""


class Site:
    """Makes runs of tasks of *task_s*, by configuration; selective ones take *wall_s*.

    Others take *share* of each.
    """

    def __init__(self, task_s=(1e-3,) * 4, wall_s=0.1, share=0.0):
        self.task_s, self.wall_s, self.place, self.made = task_s, wall_s, -1, []
        self.share = share

    def prepare(self, place):
        self.place = place

    def selective(self):
        self.made.append(f"selective {self.place}")
        return TuningRun(
            FULL_S[self.place] - 0.5, self.wall_s, 3, 10,
            task_s=self.task_s[self.place], selective=True, others_share=self.share,
        )  # fmt: skip

    def full(self):
        self.made.append(f"full {self.place}")
        makespan_s = FULL_S[self.place]
        return TuningRun(makespan_s, makespan_s + 0.25, 10, 10, others_share=self.share)


def tuned(site, **how):
    told = []
    watch = Watch(tell=told.append, **how)
    return autotune(FOUR_CANDIDATES, site=site, watch=watch), told


def makespans(found):
    return {tried.values["graph.tile_size"]: tried.mean_s for tried in found.tuned.tried}


def test_where_nothing_is_wrong_nothing_is_told():
    found, told = tuned(site := Site())
    assert site.made == [f"selective {place}" for place in range(4)]
    assert makespans(found) == {8: 3.5, 16: 1.5, 24: 2.5, 32: 4.5}
    assert (found.notes, told) == ([], [])


def test_configurations_with_short_tasks_are_executed_in_full():
    found, told = tuned(site := Site(task_s=(31e-6, 120e-6, 2e-4, 1e-3)))
    assert site.made == ["selective 0", "full 0", "selective 1", "full 1", "selective 2",
                         "selective 3"]  # fmt: skip
    assert makespans(found) == {8: 4.0, 16: 2.0, 24: 2.5, 32: 4.5}
    assert told == [
        "1 configuration has short tasks (median 31 us), but selective runs need 200 us: it is "
        "executed in full"
    ]
    assert found.notes == [
        "2 configurations have short tasks (median 31 us), but selective runs need 200 us: these "
        "are executed in full"
    ]
    # What was spent in vain is part of what it took.
    assert found.wall_s == pytest.approx(4 * 0.1 + 4.25 + 2.25)


def test_selective_runs_that_take_longer_than_full_ones_end():
    found, _ = tuned(site := Site(wall_s=5.0))
    assert site.made[:5] == ["selective 0", "selective 1", "selective 2", "full 2", "full 3"]
    assert sorted(site.made[5:]) == ["full 0", "full 1"]  # predictions and runs do not compare
    assert makespans(found) == {8: 4.0, 16: 2.0, 24: 3.0, 32: 5.0}
    assert found.tuned.best.values == {"graph.tile_size": 16}
    assert found.notes == [
        "selective runs take 2 times as long as full runs would: all "
        "configurations are executed in full"
    ]
    assert not any(ran.selective for runs in found.runs.values() for ran in runs)


def test_beside_others_all_is_executed_in_full():
    found, told = tuned(site := Site(share=0.35))
    assert site.made == ["selective 0", "full 0", "full 1", "full 2", "full 3"]
    assert found.notes == told
    assert told == [
        "other programs had the cores for 35 % of the time: full runs are delayed, and selective"
        " runs predict too short times: all configurations are executed in full; tune again when"
        " the machine is calm, or with more repetitions"
    ]


def test_who_insists_is_told_all_the_same():
    found, _ = tuned(site := Site(task_s=(31e-6,) * 4, wall_s=5.0, share=0.35), fall_back=False)
    assert site.made == [f"selective {place}" for place in range(4)]
    assert len(found.notes) == 3
    assert all("predictions may be far off" in text for text in found.notes)


def test_full_runs_beside_others_are_told():
    found = autotune(FOUR_CANDIDATES, by="full", site=Site(share=0.35))
    assert found.notes[0].startswith("other programs had the cores for 35 % of the time")
    assert makespans(found) == {8: 4.0, 16: 2.0, 24: 3.0, 32: 5.0}


def test_a_few_percent_are_no_others():
    assert tuned(Site(share=0.04))[1] == []
    assert tuned(Site(share=None))[1] == []
