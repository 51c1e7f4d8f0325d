"""Panels by name: of other packages, and a user's own."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tasksim.base.errors import InputError
from tasksim.view.figure import figure
from tasksim.view.registry import PANELS, Panel

MAKESPANS = Panel(
    summary="Makespans.",
    place="below",
    draw=lambda runs, axes, look: axes.bar(range(len(runs)), [run.makespan_s for run in runs]),
    height_inches=lambda run: 2.0,
)


@pytest.fixture
def theirs(monkeypatch, package):
    monkeypatch.setitem(sys.modules, "theirs", SimpleNamespace(makespans=MAKESPANS, other=3))
    package("theirs", {"tasksim.panels": {"makespans": "theirs:makespans"}})


@pytest.mark.usefixtures("theirs")
@pytest.mark.parametrize("name", ["makespans", "theirs:makespans"])
def test_a_panel_of_another_package_is_drawn_with_the_others(make, name):
    ready, bars = figure([make.run(), make.run()], [name, "ready"]).axes
    assert ready.get_ylabel() == "ready tasks"
    assert len(bars.patches) == 2


@pytest.mark.usefixtures("theirs")
def test_what_is_no_panel_is_refused(make):
    with pytest.raises(InputError, match=r"panel 'theirs:other': 3 is not a tasksim.view"):
        figure(make.run(), ["theirs:other"])


def test_the_command_lines_names_are_pythons(make):
    assert list(PANELS)[:15] == [
        "gantt", "iterations", "utilisation", "lackready", "memory", "bandwidth", "ready",
        "submitted", "gflops", "power", "others", "kernels", "distributions", "path", "scatter",
    ]  # fmt: skip
    (kernels,) = figure(make.run(), ["kernels"]).axes
    (earlier,) = figure(make.run(), ["kernel-totals"]).axes
    assert kernels.get_ylabel() == earlier.get_ylabel()


def test_names_are_known_without_matplotlib():
    script = (
        "import sys; from tasksim.view.registry import PANELS; PANELS.names(); "
        "print('matplotlib' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.strip() == "False", result.stderr
