"""Short texts of objects: one line each, and what notebooks show."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import tasksim
from tasksim.run.facts import _busy_share


@pytest.fixture(scope="module")
def objects():
    graph = tasksim.generate("cholesky", tiles=6)
    platform = tasksim.load_platform("xeon-2c")
    models = tasksim.ModelLibrary(Path("models/xeon-2c").absolute())
    run = tasksim.simulate(graph, platform, models, "lws")
    return {
        "graph": graph,
        "platform": platform,
        "models": models,
        "model": models.model("gemm", "cpu"),
        "unfitted": type(models.model("gemm", "cpu"))(),
        "run": run,
        "tasks": run.tasks,
        "comparison": tasksim.compare(run, run),
        "bounds": tasksim.bounds(graph, [[1.0] * len(graph)], [2]),
        "path": tasksim.practical_critical_path(run),
    }


class Tags(HTMLParser):
    """Return the tags that are open at the end."""

    def __init__(self):
        super().__init__()
        self.open, self.data = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.data.append(data)


def test_reprs_are_one_short_line(objects):
    for name, found in objects.items():
        assert len(repr(found)) < 200, name
        assert "\n" not in repr(found), name


def test_reprs_say_what_it_is(objects):
    assert repr(objects["run"]).startswith("<Run simulated cholesky tiles=6 ")
    assert repr(objects["run"]).endswith(" ms>")
    assert repr(objects["tasks"]) == "<TaskTable: 56 tasks>"
    assert repr(objects["platform"]).startswith("<Platform xeon-2c: 2 cpu")
    assert repr(objects["comparison"]).endswith(", +0.00 %>")
    assert repr(objects["path"]).endswith(" waiting>")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run", ["makespan", "efficiency", "gemm", "20", "busy workers over time"]),
        ("graph", ["tasks", "56", "dependencies", "gemm"]),
        ("platform", ["workers", "2 cpu", "memories"]),
        ("comparison", ["b against a", "+0.00 %", "mean in a"]),
        ("bounds", ["critical path", "area bound", "28 s"]),
        ("path", ["in gemm", "waiting: dependency"]),
        ("model", ["kind", "history", "HistoryModel()"]),
        ("unfitted", ["not yet"]),
    ],
)
def test_notebooks_show(objects, name, said):
    read = Tags()
    read.feed(objects[name]._repr_html_())
    assert not read.open
    for text in said:
        assert any(text in data for data in read.data), text


def test_what_a_file_names_is_escaped(objects):
    import dataclasses

    bad = dataclasses.replace(objects["run"], graph_name="<script>alert(1)</script>")
    assert "<script>" not in bad._repr_html_()


def test_busy_share_is_that_of_the_records(objects):
    run = objects["run"]
    share = _busy_share(run)
    assert share.mean() == pytest.approx(run.tasks.duration_s.sum() / (2 * run.makespan_s))
    at = (np.arange(len(share)) + 0.5) * run.makespan_s / len(share)
    half = 0.5 * run.makespan_s / len(share)
    t = run.tasks
    inside = np.minimum(t.end_s, at[40] + half) - np.maximum(t.start_s, at[40] - half)
    assert share[40] == pytest.approx(np.maximum(inside, 0).sum() / (4 * half))


def test_an_empty_run_has_no_picture(make):
    assert "<svg" not in make.run([])._repr_html_()
