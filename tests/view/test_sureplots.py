"""Figures of how sure a makespan is: what is drawn is what was predicted."""

from __future__ import annotations

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.run.replicated import position
from tasksim.view.sureplots import figure_inside, share_inside

SCENARIO = tasksim.Scenario("cholesky tiles=6", platform="xeon-2c")


@pytest.fixture(scope="module")
def sure():
    return tasksim.how_sure(SCENARIO, replications=60)


def test_a_tornado_has_a_bar_to_each_side_per_kernel(sure):
    _, tornado = tasksim.figure_sure(sure).axes
    widths = sorted(abs(bar.get_width()) for bar in tornado.patches)
    assert len(widths) == 2 * len(sure.kernels)
    assert widths[-1] == widths[-2] > 0


def test_fans_of_several_schedulers_are_below_one_another(sure):
    other = tasksim.how_sure(SCENARIO.vary(scheduler="prio"), replications=60)
    fan, _ = tasksim.figure_sure({"lws": sure, "prio": other}).axes
    assert [label.get_text().split("\n")[0] for label in fan.get_yticklabels()] == ["lws", "prio"]


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError):
        tasksim.figure_sure({})
    with pytest.raises(InputError, match="nothing to draw"):
        figure_inside({})
    with pytest.raises(InputError, match="from 0 to 1"):
        figure_inside({"a": [0.5, 1.5]})


def test_shares_inside_are_counted():
    positions = [position(np.array([1.0, 2.0, 3.0]), at) for at in (0.5, 2.0, 9.0)]
    assert positions == [0.0, 0.5, 1.0]
    assert share_inside(positions, 0.95) == pytest.approx(1 / 3)
    drawn = figure_inside({"here": positions}).axes[0]
    curve = drawn.lines[-1]
    assert curve.get_ydata()[0] == pytest.approx(1 / 3)
    assert curve.get_ydata()[-1] == 1
