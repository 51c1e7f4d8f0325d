"""Executors by name: another package's generator runs natively with its own executor."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

import tasksim
from tasksim.base.errors import InputError
from tasksim.base.registry import PluginWarning
from tasksim.cli.main import cli
from tasksim.graph.apps import registry
from tasksim.kernels.program import EXECUTORS

PACKAGE = '''
from tasksim.graph.apps.parameters import Count
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.taskgraph import TaskGraph

def wavefront(tiles: Count) -> TaskGraph:
    """A chain of steps."""
    g = GraphBuilder("wavefront")
    A = g.handle("A", size_bytes=8)
    for _ in range(tiles):
        g.insert("step", tasksim_rw(A))
    return g.build()

from tasksim import RW as tasksim_rw
ran = []

class Steps:
    """Counts."""
    def __init__(self, graph, workers, seed):
        self.graph = graph
    def run(self, task, worker):
        ran.append(task)
    def reset(self):
        ran.clear()
    def check(self):
        return None
'''


@pytest.fixture
def theirs(package, tmp_path, monkeypatch):
    package(
        "theirs",
        {
            "tasksim.generators": {"wavefront": "their_graphs:wavefront", "ghost": "nowhere:f"},
            "tasksim.programs": {"wavefront": "their_graphs:Steps", "ghost": "math:pi"},
        },
    )
    (tmp_path / "site-theirs" / "their_graphs.py").write_text(PACKAGE)
    yield
    sys.modules.pop("their_graphs", None)


@pytest.mark.usefixtures("theirs")
def test_a_generator_of_another_package_is_simulated_and_executed():
    graph = tasksim.load_graph("wavefront", ["tiles=3"])
    assert (graph.name, graph.arguments) == ("wavefront", {"tiles": 3, "priorities": "app"})
    run = tasksim.execute(graph, tasksim.Platform.identical(1), pin=False)
    assert len(run) == 3
    assert sys.modules["their_graphs"].ran == [0, 1, 2]


@pytest.mark.usefixtures("theirs")
def test_broken_ones_are_left_out_of_lists():
    with pytest.warns(PluginWarning, match=r"generator 'ghost' of package 'theirs'.*ModuleNot"):
        assert [each.name for each in registry.generators()][-1] == "wavefront"
    with pytest.warns(PluginWarning, match=r"executor 'ghost' of package 'theirs'.*cannot be ca"):
        assert EXECUTORS.summaries()["wavefront"] == "Counts."
    assert list(EXECUTORS)[:4] == ["cholesky", "lu", "qr", "fmm"]


@pytest.mark.usefixtures("theirs")
def test_a_generator_of_ones_own_is_called_by_module_and_function():
    graph = tasksim.load_graph("their_graphs:wavefront", ["tiles=3"])
    assert graph.name == "their_graphs:wavefront"
    assert tasksim.generate(graph.name, **graph.arguments).same_as(graph)


APPLICATION = '''
import tasksim
from tasksim import RW

@tasksim.kernel
def twice(x: RW):
    x *= 2

@tasksim.application("doubling-inside")
def doubling(g, times=3):
    """Doubles a number."""
    x = g.array("x", initial=1.0)
    for _ in range(times):
        g.insert(twice, x)
    g.check(lambda results: abs(results[x] - 2**times), tolerance=0)
'''


@pytest.fixture
def applied(package, tmp_path, monkeypatch):
    monkeypatch.setattr(registry.GENERATORS, "_found", dict(registry.GENERATORS._found))
    package("applied", {"tasksim.applications": {"doubling": "their_apps:doubling"}})
    (tmp_path / "site-applied" / "their_apps.py").write_text(APPLICATION)
    yield
    sys.modules.pop("their_apps", None)


@pytest.mark.usefixtures("applied")
def test_an_application_of_another_package_is_simulated_and_executed():
    assert len(tasksim.simulate("doubling times=5", workers=1, durations={"twice": 1.0})) == 5
    run = tasksim.execute("doubling times=4", workers=1, check=True)
    assert (len(run), run.graph_name) == (4, "doubling")


@pytest.mark.usefixtures("applied")
def test_applications_are_listed():
    result = CliRunner().invoke(cli, ["list", "--json"])
    found = json.loads(result.stdout)
    assert found["generators"]["doubling"].splitlines() == [
        "Doubles a number.", "[times=3] [priorities=app]", "executes: tasksim run",
    ]  # fmt: skip
    assert found["executors"]["doubling"] == "Doubles a number."


@pytest.mark.usefixtures("applied")
def test_an_application_that_is_broken_is_left_out_of_lists(package):
    package("haunted", {"tasksim.applications": {"spook": "nowhere:f"}})
    with pytest.warns(PluginWarning, match=r"generator 'spook' of package 'haunted'.*ModuleNot"):
        assert [each.name for each in registry.generators()][-1] == "doubling"


@pytest.mark.usefixtures("applied")
def test_nothing_is_imported_to_know_the_names_of_applications():
    assert "doubling" in registry.names()
    assert "their_apps" not in sys.modules


@pytest.mark.usefixtures("applied")
def test_a_run_may_name_an_application_that_a_package_declares():
    registry.GENERATORS.refuse_foreign("doubling", "run.json")
    with pytest.raises(InputError, match=r"it names the generator 'their_apps:doubling'"):
        registry.GENERATORS.refuse_foreign("their_apps:doubling", "run.json")
    assert "their_apps" not in sys.modules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("os:system", r"'os:system': <built-in function system> is not a function that returns"),
        ("shutil:rmtree", r"'shutil:rmtree': .*"),
        ("os:path.join", r"'os:path.join': legal: a name, MODULE:NAME or FILE.py"),
        ("base64:main", r"'base64:main': .*is not annotated to return a graph"),
    ],
)
def test_only_functions_that_say_they_return_a_graph_are_called(text, message):
    with pytest.raises(InputError, match=message):
        tasksim.load_graph(text, ["command=touch X"])
