"""The panel of blame: a bar per run, whose parts end at the makespan."""

from __future__ import annotations

import pytest
from matplotlib.colors import to_hex

import tasksim
from tasksim.base.errors import InputError
from tasksim.run.metrics import IDLE_NAMES
from tasksim.view.blamepanel import BLAME, panel_blame
from tasksim.view.colours import IDLE_COLOURS

REPEATABLE_SCENARIO = tasksim.Scenario(
    "cholesky tiles=5", workers=3, durations="potrf=1,trsm=3,syrk=3,gemm=6"
)


def test_the_parts_of_a_bar_end_at_the_makespan():
    runs = [REPEATABLE_SCENARIO.vary(scheduler=name).solve() for name in ("eager", "heft")]
    axes = panel_blame(runs)
    for place, run in enumerate(runs):
        bars = [bar for bar in axes.patches if bar.get_y() == pytest.approx(place - 0.3)]
        assert max(bar.get_x() + bar.get_width() for bar in bars) == pytest.approx(run.makespan_s)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["eager", "heft"]


def test_idle_time_has_the_names_and_colours_of_gantt_charts():
    run = REPEATABLE_SCENARIO.vary(scheduler="eager", workers=5).solve()
    bars, names = panel_blame(run).get_legend_handles_labels()
    drawn = (to_hex(bar.patches[0].get_facecolor()) for bar in bars)
    colours = dict(zip(names, drawn, strict=True))
    name, colour = IDLE_COLOURS["dependency"]
    assert colours[name] == colour
    idle = {name for name in colours if name.startswith("idle")}
    assert idle <= {"idle at the start", *IDLE_NAMES.values()}


def test_it_is_for_runs_whose_models_are_known():
    run = REPEATABLE_SCENARIO.solve()
    assert BLAME.shows(run)
    assert BLAME.shows(tasksim.execute("chain length=2", workers=1))
    with pytest.raises(InputError, match="the run has no scenario to repeat"):
        panel_blame(tasksim.simulate("chain length=2", workers=1, config={}))
