"""Live pages of several nodes in a real browser, and energy: what they show is what a run says."""

import pytest
from view.live.conftest import DURATIONS
from view.live.test_live_page import answered, asked, opened, pytestmark, simulated  # noqa: F401
from view.live.test_nodes import NETWORKS, scenario

import tasksim
from tasksim.run.energy import energy
from tasksim.scenario.resolved import resolve
from tasksim.view.live.page import explore, scenario_of_run

MESSAGES = """
(() => {
  const [run] = tasksimPage.runs, { messages, workers } = run;
  const { start, end, ready, source, target, bytes, handle, task } = messages;
  const rows = Array.from(start, (at, k) => [
    at, end[k], ready(k), source[k], target[k], bytes[k], handle[k], task[k]]);
  return { rows, workers: workers.map(({ name, node }) => [name, node]),
    released: Array.from(run.releasedBy) };
})()
"""
POWER = """{static: 30 W, arch: {cpu: {idle: 1.5 W, busy: 9 W, kernels: {gemm: 11 W}},
  cuda: {idle: 5 W, busy: 99 W}}}"""


BOUNDS = {"node_area_s": "nodeArea", "volume_s": "volume", "path_s": "path"}


def rows_of(messages):
    """Return the messages of a run in the form of the page's, in nanoseconds."""
    times = (messages.start_s, messages.end_s, messages.ready_s)
    whole = (messages.source, messages.target, messages.size_bytes, messages.handle, messages.task)
    rows = zip(*(c.tolist() for c in (*times, *whole)), strict=True)
    return sorted([*(round(at * 1e9) for at in row[:3]), *row[3:]] for row in rows)


@pytest.fixture(scope="module")
def powered(machine, tmp_path_factory):
    """The file of a machine whose power is known, also that of a link."""
    path = tmp_path_factory.mktemp("power") / "node.yaml"
    text = machine.read_text().replace("latency: 24 us,", "latency: 24 us, power: 40 W,")
    path.write_text(f"{text}power: {POWER}\n")
    return path


def test_messages_and_energy_of_nodes_are_those_of_the_command(
    opened,  # noqa: F811
    powered,
    tmp_path,
    capsys,
):
    base = scenario(
        NETWORKS["backbone"], workers=None, platform=powered, durations=DURATIONS, nodes=3,
        scheduler="dmda",
    )  # fmt: skip
    browser = opened(explore(base, over={}))
    answered(browser)
    for text in (
        "",
        "factor.network_bandwidth.*=0.1\nfactor.network_latency.backbone=10\nseed=3\nscheduler=lws",
        "nodes=4\ncount.cuda=1\nmessage.receive=100\nfactor.network_bandwidth.cable=0.5",
        "nodes=1\nfactor.bandwidth.*=0.25",
    ):
        found = asked(browser, text)
        run = simulated(found["command"], tmp_path / "run")
        assert found["makespan"] == run.makespan_s, found["command"]
        assert found["starts"] == run.tasks.start_s.tolist()
        assert found["workers"] == run.tasks.worker.tolist()
        numbers = browser.evaluate("tasksimPage.live.answer.numbers")
        assert numbers["energy"] == pytest.approx(energy(run).total_j, rel=1e-9)
        assert numbers["copies"] == len(run.transfers)
        assert numbers["bytes"] == run.transfers.size_bytes.sum()
        if text.startswith("nodes=1"):
            assert browser.evaluate("tasksimPage.runs[0].messages") is None
            continue
        shown = browser.evaluate(MESSAGES)
        rows = sorted([*(round(at * 1e9) for at in row[:3]), *row[3:]] for row in shown["rows"])
        assert rows == rows_of(run.messages)
        assert shown["workers"] == [[worker.name, worker.node] for worker in run.workers]
        assert shown["released"] == run.tasks.released_by.tolist()
        bounds = resolve(scenario_of_run(run)).bounds_on_nodes()
        assert {name: numbers[key] for name, key in BOUNDS.items()} == pytest.approx(bounds)
        assert numbers["messages"] == len(run.messages)
        assert numbers["sent"] == run.messages.size_bytes.sum()


def test_curves_and_ranks_are_of_makespan_or_energy(opened, powered):  # noqa: F811
    base = tasksim.Scenario(
        "cholesky tiles=4 tile_size=512", platform=powered, durations=DURATIONS, scheduler="dmda"
    )
    browser = opened(explore(base, over={}))
    answered(browser)
    browser.wait("!tasksimPage.live.jobs.length && !tasksimPage.live.asked")
    browser.evaluate(
        "(() => { const choice = document.querySelector('[aria-label^=\"Rank and draw\"]');"
        " choice.value = 'energy'; choice.dispatchEvent(new Event('change')); })()"
    )
    joules = browser.evaluate("Object.fromEntries(tasksimPage.live.rivals)")
    used = {name: energy(base.vary(scheduler=name).solve()).total_j for name in ("eager", "dmdas")}
    assert used == pytest.approx({name: joules[name] for name in used}, rel=1e-9)
    bars = browser.evaluate(
        "[...document.querySelectorAll('.bars .name')].map((n) => n.textContent)"
    )
    assert min(joules, key=joules.get) == bars[0]
    faster = browser.evaluate("tasksimPage.live.curves.get('factor.speed.cuda').get(24)")
    fast = energy(base.with_changes(["platform.arch.cuda.speed=x10"]).solve()).total_j
    assert faster == pytest.approx(fast, rel=1e-9)


def test_a_recorded_run_on_nodes_is_explored(opened, tmp_path, capsys):  # noqa: F811
    run = scenario(NETWORKS["tree"]).solve()
    browser = opened(run.explore(over={}))
    found = answered(browser)
    assert found["makespan"] == run.makespan_s
    assert simulated(found["command"], tmp_path / "run").messages == run.messages
