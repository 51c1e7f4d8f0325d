"""A live page asks the core exactly what the command that it offers asks, bit by bit."""

import base64
import json
import random
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.core.library import status
from tasksim.engine.choice import as_data
from tasksim.engine.cluster import choice as cluster_choice
from tasksim.engine.simulation import Settled
from tasksim.scenario import solving
from tasksim.scenario.scenario import Scenario
from tasksim.schedulers.registry import create
from tasksim.view.live.page import explore
from tasksim.view.page import document

SCRIPTS = Path(document.__file__).parent / "script"
pytestmark = [
    pytest.mark.skipif(not shutil.which("node"), reason="no Node here"),
    pytest.mark.skipif(not status().available, reason="no compiled core here"),
]


def block(html, name):
    return re.search(rf'id="{name}">(.*?)</script>', html, re.DOTALL).group(1)


class Page:
    """The scripts of a live page, run in Node."""

    def __init__(self, html, folder):
        self.folder = folder
        self.data = {
            "header": json.loads(block(html, "header"))["live"],
            "live": block(html, "live"),
            "columns": block(html, "live-columns"),
        }
        for script in [*SCRIPTS.glob("*.js"), Path(__file__).parent / "questions.mjs"]:
            shutil.copy(script, folder)
        (folder / "package.json").write_text('{"type": "module"}')

    def run(self, **more):
        given = self.folder / "given.json"
        given.write_text(json.dumps({**self.data, **more}))
        done = subprocess.run(
            ["node", "questions.mjs", given],
            cwd=self.folder, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def page(hybrid_page, tmp_path_factory):
    return Page(hybrid_page.html, tmp_path_factory.mktemp("scripts"))


@pytest.fixture
def of_command(monkeypatch, capsys):
    """Return a function for the question that a command asks the core."""

    def question(command):
        seen = []

        def solve(resolved, **_):
            seen.append(resolved)
            raise InputError("seen")

        monkeypatch.setattr(solving, "solve", solve)
        with pytest.raises(InputError, match="seen"):
            cli.main(shlex.split(command)[1:], standalone_mode=False)
        simulation = seen[0].simulation()
        if simulation.cluster is not None:
            asked = Settled().question_on_nodes(simulation)
            return cluster_choice.as_data(asked, simulation.seed)
        policy = create(simulation.scheduler)
        return as_data(Settled().question(simulation, policy), simulation.seed)

    return question


def drawn(known, count, seed):
    """Return lines of settings: of each page some sliders, a scheduler, its options, a seed."""
    draw = random.Random(seed)
    axes = dict(known["axes"])
    found = []
    for _ in range(count):
        chosen = draw.sample(list(axes), draw.randint(0, 7))
        lines = [f"{key}={draw.choice(axes[key])}" for key in chosen]
        lines += [f"scheduler={draw.choice(known['schedulers'])}"] * draw.randint(0, 1)
        lines += [f"seed={draw.choice([1, 7, 2**63, 2**64 - 1])}"] * draw.randint(0, 1)
        found.append("\n".join(lines))
    return found


def differences(page, python, where=""):
    """Yield the fields in which two questions differ."""
    for name, value in python.items():
        other, here = page.get(name), f"{where}.{name}"
        if value is None:
            if other is not None:
                yield here
        elif isinstance(value, dict):
            yield from differences(other, value, here)
        elif isinstance(value, list):
            for number, (mine, theirs) in enumerate(zip(other, value, strict=True)):
                yield from differences(mine, theirs, f"{here}[{number}]")
        elif isinstance(value, np.ndarray):
            if other is None or not same(other, value.ravel()):
                yield here
        elif isinstance(other, dict):
            if int(other["whole"]) != value:
                yield here
        elif (other or 0) != value:
            yield f"{here}: {other} != {value}"


def same(column, values):
    if "whole" in column:
        return [int(text) for text in column["whole"]] == values.tolist()
    return base64.b64decode(column["real"]) == values.astype("<f8").tobytes()


def test_far_data_follow_the_speeds(tmp_path, of_command):
    scenario = Scenario("cholesky tiles=4", platform="xeon-2c", scheduler="dm")
    page = Page(explore(scenario).html, tmp_path)
    lines = ["", "factor.speed.cpu=0.3", "factor.speed.cpu=10\ncount.cpu=4", "scheduler=darts"]
    for found in page.run(lines=lines):
        python = of_command(found["command"])
        assert python["question"]["far"]["read_s_per_byte"].any()
        assert not list(differences(found["question"], python)), found["command"]


def test_durations_are_drawn_as_the_command_draws_them(tmp_path, of_command):
    scenario = Scenario("cholesky tiles=4", platform="xeon-2c", scheduler="dm", noise="model")
    page = Page(explore(scenario).html, tmp_path)
    lines = ["", "seed=7\nfactor.speed.cpu=2", "count.cpu=4\nseed=3", "noise=none", "seed=8"]
    *found, last = page.run(lines=lines)
    for one in found:
        assert not list(differences(one["question"], of_command(one["command"]))), one["command"]
    assert last["refused"] == "durations are drawn with seeds from 0 to 7"


def test_a_page_asks_what_its_command_asks(page, of_command):
    (known,) = page.run()
    lines = drawn(known, 60, seed=1)
    answered = 0
    for line, found in zip(lines, page.run(lines=lines), strict=True):
        if "refused" in found:
            with pytest.raises(InputError):
                of_command(found["command"])
            continue
        answered += 1
        assert not list(differences(found["question"], of_command(found["command"]))), (
            line,
            found["command"],
        )
    assert answered > 50
