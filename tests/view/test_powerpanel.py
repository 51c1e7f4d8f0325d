"""Power panel: its parts add up to the energy of the run; nothing is drawn where none is known."""

from dataclasses import replace

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.platform.description import Platform
from tasksim.platform.power import ArchitecturePower, Power
from tasksim.run.energy import energy
from tasksim.view.figure import figure
from tasksim.view.slicepanels import panel_power

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
FOUR_CORES = replace(
    Platform.identical(4), power=Power(10.0, {"cpu": ArchitecturePower(1.0, 5.0, {"gemm": 9.0})})
)


def test_what_is_drawn_is_the_energy_of_the_run():
    run = tasksim.simulate("cholesky tiles=6", FOUR_CORES, durations=DURATIONS_S)
    axes = panel_power(run)
    edges = axes.patches[0].get_data().edges
    area = sum(
        (patch.get_data().values - patch.get_data().baseline) @ np.diff(edges)
        for patch in axes.patches
    )
    assert area == pytest.approx(energy(run).total_j)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "static",
        "idle",
        "tasks",
    ]


def test_figures_have_it_where_power_is_known():
    run = tasksim.simulate("cholesky tiles=6", FOUR_CORES, durations=DURATIONS_S)
    labels = [axes.get_ylabel() for axes in figure([run], ["gantt", "power"]).axes]
    assert "power (W)" in labels
    unknown = tasksim.simulate("cholesky tiles=6", workers=4, durations=DURATIONS_S)
    with pytest.raises(InputError, match="a platform with a section `power:`"):
        figure([unknown], ["power"])
