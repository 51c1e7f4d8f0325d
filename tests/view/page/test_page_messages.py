"""The messages between nodes on a page: what it holds of them, arrows, details."""

import numpy as np
import pytest

import tasksim
from tests.view.page.conftest import DURATIONS_S
from tests.view.page.onpage import details, place, state
from tests.view.page.test_document import read, saved

NETWORK = "switch:bandwidth=1MB/s,latency=1ms"


@pytest.fixture(scope="module")
def messages_run():
    """A run on four nodes, each message of which takes about as long as a task."""
    return tasksim.simulate(
        tasksim.generate("cholesky", tiles=6, tile_size=512), workers=2, durations=DURATIONS_S,
        nodes=4, network=NETWORK,
    )  # fmt: skip


def test_a_page_holds_the_messages_by_start(tmp_path, messages_run):
    header, [columns] = read(saved(tmp_path, messages_run))
    messages = messages_run.messages
    order = np.argsort(messages.start_s, kind="stable")
    assert header["runs"][0]["messages"] == len(messages)
    scale = 10.0 ** -header["tick_exponent"]
    assert np.array_equal(columns["message_start"], np.rint(messages.start_s[order] * scale))
    assert columns["message_task"].tolist() == messages.task[order].tolist()
    assert columns["message_bytes"].sum() == messages.size_bytes.sum()


def test_messages_have_arrows_and_a_task_says_what_it_received(show, messages_run):
    browser = show(messages_run)
    pixels = "chart.over.getContext('2d').getImageData(0, 0, 4000, 4000).data.some((v) => v > 0)"
    assert state(browser, "state.messages")
    assert state(browser, pixels)
    browser.evaluate("tasksimPage.toggleMessages()")
    browser.settle()
    assert not state(browser, pixels)
    task = int(messages_run.messages.task[0])
    browser.click(*place(browser, task))
    source = int(messages_run.messages.source[0])
    assert f"from node {source}, 2 MiB in " in details(browser)["received"]


def test_of_many_messages_only_some_have_arrows(show):
    graph = tasksim.generate("cholesky", tiles=14, tile_size=512)
    run = tasksim.simulate(graph, workers=2, durations=DURATIONS_S, nodes=4, network=NETWORK)
    browser = show(run)
    assert len(run.messages) > 150
    assert 30 < state(browser, "state.messageArrows[0]") <= 80
    browser.evaluate("tasksimPage.viewport.set(0, tasksimPage.runs[0].makespan / 20)")
    browser.evaluate("tasksimPage.draw()")
    browser.settle()
    late = run.makespan_s / 20
    near = ((run.messages.start_s < late) & (run.messages.end_s > 0)).sum()
    assert abs(state(browser, "state.messageArrows[0]") - near) <= 1
