"""Answers of live pages, in both browsers, are those of their commands: in drawn settings.

With TASKSIM_LONG_TESTS=1, each browser answers a hundred, of sliders of all kinds.
"""

import random

import pytest
from tiers import LONG
from view.live.conftest import MACHINE
from view.live.test_live_page import pytestmark, simulated  # noqa: F401
from view.live.test_nodes import NETWORKS, scenario

from tasksim.scenario.scenario import Scenario
from tasksim.view.live.page import explore

KNOWN_SCRIPT = """
(() => {
  const { scales, live } = tasksimPage.live;
  const noisy = live.machines[""].draws.length;
  return { axes: [...scales.values()].map(({ key, texts }) => [key, texts]), noisy,
    schedulers: live.schedulers.map(({ text }) => text) };
})()
"""
ANSWER_SCRIPT = """
(async () => {
  const { live } = tasksimPage;
  live.panel.status.classList.remove("wrong");
  live.follow(%r);
  const isRefused = () => live.panel.status.classList.contains("wrong");
  while (live.shown !== live.settings && !isRefused()) {
    await new Promise((done) => setTimeout(done));
  }
  if (isRefused()) return { refused: live.panel.status.textContent, command: live.command };
  const [run] = tasksimPage.runs, tasks = Array.from({ length: run.count }, (_, task) => task);
  return { command: live.command, makespan: live.answer.numbers.makespan,
    workers: Array.from(run.worker),
    starts: tasks.map((task) => run.start(task)), ends: tasks.map((task) => run.end(task)) };
})()
"""
COUNTS = {"devices": 40, "noise": 30, "nodes": 30} if LONG else dict.fromkeys(
    ("devices", "noise", "nodes"), 3
)  # fmt: skip
"""Number of answers that are compared, by page: those of both browsers are the same."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Live pages with sliders of all kinds, in files."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "node.yaml").write_text(MACHINE)
    found = {
        "devices": Scenario(
            "cholesky tiles=5 tile_size=512",
            platform=folder / "node.yaml",
            durations="potrf=9ms,cuda:potrf=17ms,trsm=11ms,cuda:trsm=3ms,syrk=10ms,"
            "cuda:syrk=2.1ms,gemm=21ms,cuda:gemm=1.7ms",
            scheduler="dmda",
        ),
        "noise": Scenario("lu tiles=3", platform="xeon-2c", scheduler="dm", noise="model"),
        "nodes": scenario(NETWORKS["switch"]),
    }
    over = {"tiles": [4, 6]}
    return {
        name: explore(asked, folder / f"{name}.html", over=over).html and folder / f"{name}.html"
        for name, asked in found.items()
    }


def kind_of(key):
    """Return the kind of a slider: the name without that of what it changes."""
    words = key.split(".")
    return ".".join(words[: 2 if words[0] == "factor" else 1])


def drawn(known, seed):
    """Yield settings without end: in turn a slider of each kind, and some others."""
    draw = random.Random(seed)
    axes = dict(known["axes"])
    kinds = sorted({kind_of(key) for key in axes})
    for number in range(1000):
        kind = kinds[number % len(kinds)]
        chosen = draw.choice([key for key in axes if kind_of(key) == kind])
        keys = {chosen, *draw.sample(list(axes), draw.randint(0, 4))}
        lines = [f"{key}={draw.choice(axes[key])}" for key in sorted(keys)]
        if kind == "option":
            lines.append(f"scheduler={chosen.split('.')[1]}")
        elif number % 2:
            lines.append(f"scheduler={draw.choice(known['schedulers'])}")
        if known["noisy"]:
            changed = any("kernel" in key for key in keys)  # such durations cannot be drawn
            noise = "none" if changed else draw.choice(["none", "model"])
            lines += [f"noise={noise}", f"seed={draw.randrange(known['noisy'])}"]
        elif number % 3 == 2:
            lines.append(f"seed={draw.choice([1, 7, 2**40])}")
        yield "\n".join(lines)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("driver", ["browser", "firefox_browser"])
def test_answers_are_those_of_the_commands(request, pages, driver, name, tmp_path, capsys):
    browser = request.getfixturevalue(driver)
    browser.forget()
    browser.open(pages[name].as_uri())
    browser.wait("tasksimPage.live.shown === tasksimPage.live.settings")
    browser.evaluate("tasksimPage.live.panel.showIdle = () => { tasksimPage.live.jobs = []; }")
    answered = refused = 0
    for text in drawn(browser.evaluate(KNOWN_SCRIPT), f"{name}{driver}" if LONG else driver):
        found = browser.evaluate(ANSWER_SCRIPT % text)
        if "refused" in found:
            refused += 1
            continue
        run = simulated(found["command"], tmp_path / "run")
        assert found["makespan"] == run.makespan_s, found["command"]
        assert found["starts"] == run.tasks.start_s.tolist(), found["command"]
        assert found["ends"] == run.tasks.end_s.tolist(), found["command"]
        assert found["workers"] == run.tasks.worker.tolist(), found["command"]
        answered += 1
        if answered == COUNTS[name]:
            break
    print(f"{name} in {driver}: {answered} answers are those of their commands; {refused} refusals")  # noqa: T201
    assert answered == COUNTS[name]
    assert browser.problems == []
