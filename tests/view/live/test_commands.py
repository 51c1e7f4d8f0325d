"""A live page asks the core exactly what the command that it offers asks, bit by bit."""

import base64
import json
import random
import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.core.library import status, wasm_status
from tasksim.engine.choice import as_data
from tasksim.engine.simulation import Settled
from tasksim.graph.taskgraph import Binding
from tasksim.scenario import solving
from tasksim.scenario.resolved import resolve
from tasksim.scenario.scenario import Scenario
from tasksim.view.live.page import explore
from tasksim.view.page import document
from tests.openmp_graphs import Program

SCRIPTS = Path(document.__file__).parent / "script"
pytestmark = [
    pytest.mark.skipif(not shutil.which("node"), reason="no Node here"),
    pytest.mark.skipif(
        not (status().available and wasm_status().available), reason="no core for browsers here"
    ),
]


def block(html, name):
    return re.search(rf'id="{name}">(.*?)</script>', html, re.DOTALL).group(1)


class Page:
    """The scripts of a live page, run in Node."""

    def __init__(self, html, folder):
        self.folder = folder
        self.data = {
            "header": json.loads(block(html, "header"))["live"],
            "blocks": dict(re.findall(r'id="((?:live|graph)[-\w]*)">(.*?)</script>', html)),
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

        def replay(resolved, **_):
            seen.append(resolved)
            raise InputError("seen")

        monkeypatch.setattr(solving, "replay", replay)
        with pytest.raises(InputError, match="seen"):
            cli.main(shlex.split(command)[1:], standalone_mode=False)
        return question_of(seen[0])

    return question


def question_of(resolved):
    """Return what the core is asked for a scenario."""
    simulation = resolved.simulation()
    if simulation.cluster is not None:
        return as_data(Settled().question_on_nodes(simulation), simulation.seed)
    return as_data(Settled().question(simulation), simulation.seed)


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


def test_a_plan_is_that_of_the_command_or_there_is_none(hybrid, tmp_path, of_command):
    page = Page(
        explore(hybrid.vary(scheduler="heft:order=ready"), over={"tiles": [4]}).html, tmp_path
    )
    lines = ["", "seed=3\noverhead.push=50", "count.cuda=1", "graph.tiles=4\ncount.cpu=3"]
    for found in page.run(lines=lines):
        assert not list(differences(found["question"], of_command(found["command"])))
        assert "--scheduler heft:order=ready" in found["command"]
    for line, of in (
        ("factor.speed.cuda=2", "speeds"),
        ("factor.kernel.gemm=2", "durations"),
        ("factor.bandwidth.*=2", "bandwidths"),
        ("factor.latency.up=2", "latencies"),
        ("factor.memory.gpu0=0.5", "sizes of memories"),
    ):
        (found,) = page.run(lines=[line])
        assert found["refused"] == (
            "heft:order=ready plans before the run begins, and this page has its plan for the "
            f"{of} of the scenario"
        )


def test_a_plan_from_a_file_does_not_depend_on_speeds(hybrid, tmp_path, of_command):
    run = hybrid.solve()
    names = [worker.name for worker in run.workers]
    order = np.argsort(run.tasks.start_s, kind="stable").tolist()
    rows = [f"{task},{names[run.tasks.worker[task]]},{turn}" for turn, task in enumerate(order)]
    (tmp_path / "plan.csv").write_text("\n".join(["task,worker,order", *rows]))
    planned = hybrid.vary(scheduler=f"static:file={tmp_path / 'plan.csv'}")
    (tmp_path / "scripts").mkdir()
    page = Page(explore(planned, over={}).html, tmp_path / "scripts")
    for found in page.run(lines=["", "factor.speed.cuda=2\nfactor.bandwidth.*=0.5", "seed=3"]):
        assert not list(differences(found["question"], of_command(found["command"])))
    (lacking,) = page.run(lines=["count.cpu=1"])
    assert "worker: got 'cpu1'" in lacking["refused"]
    (other,) = page.run(lines=["count.cpu=1\nscheduler=lws"])
    assert "refused" not in other


def test_kernels_that_a_graph_lacks_change_nothing(tmp_path, of_command):
    scenario = Scenario(
        "cholesky tiles=3",
        workers=2,
        durations={"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0},
    )
    page = Page(explore(scenario, over={"tiles": [2, 1]}).html, tmp_path)
    lines = ["graph.tiles=2\nfactor.kernel.gemm=2", "graph.tiles=2\nfactor.kernel.trsm=0.5"]
    for found in page.run(lines=lines):
        assert not list(differences(found["question"], of_command(found["command"])))


def test_start_up_of_cores(tmp_path, of_command):
    scenario = Scenario(
        "cholesky tiles=3", platform="xeon-2c", changes=["platform.overheads.start=20us"]
    )
    page = Page(explore(scenario, over={}).html, tmp_path)
    for found in page.run(lines=["", "overhead.start=50", "overhead.start=0"]):
        assert not list(differences(found["question"], of_command(found["command"])))


def test_creations_of_tasks_cost_what_the_platform_says(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(
        "version: 1\nworkers: {cpu: {count: 2}}\n"
        "overheads: {creation: 1 us, dependence: 0.5 us, start: 300 us}\n"
    )
    scenario = Scenario(one_thread(), platform=path, scheduler="libomp", durations="measured")
    page = Page(explore(scenario).html, tmp_path)
    for line, changes in (
        ("", []),
        ("overhead.creation=3", ["creation=3 us"]),
        ("overhead.creation=0\noverhead.dependence=7.5", ["creation=0 us", "dependence=7.5 us"]),
        ("overhead.start=20", ["start=20 us"]),
    ):
        asked = scenario.with_changes(f"platform.overheads.{change}" for change in changes)
        (found,) = page.run(lines=[line])
        assert not list(differences(found["question"], question_of(resolve(asked))))
    (alone,) = page.run(lines=["count.cpu=1\noverhead.creation=5"])
    one = scenario.with_changes(["platform.workers.cpu.count=1"])
    costs = question_of(resolve(one))["question"]["costs"]
    assert same(alone["question"]["question"]["costs"], costs.ravel())


def one_thread():
    """A recording of an OpenMP program on one thread, whose first task creates another."""
    program = Program()
    x, y = (program.builder.handle(name, 8) for name in "xy")
    first = program.piece(1.0, binding=Binding.HELD)
    program.builder.insert("first", tasksim.W(x), tasksim.R(y), duration_s=1.0, after=[first])
    program.continues.append(-1)
    program.creator.append(first)
    program.binding.append(int(Binding.TIED))
    program.seconds.append(1.0)
    program.piece(1.0, continues=first)
    graph = program.build()
    return replace(tasksim.simulate(graph, workers=1), kind="native", graph=graph)


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
