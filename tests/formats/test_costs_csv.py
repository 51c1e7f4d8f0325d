"""Costs per processor in CSV: read, refused, simulated."""

from __future__ import annotations

import json
import random

import pytest
from classic import TOPCUOGLU
from click.testing import CliRunner
from scripted import replay_of

from tasksim.base.errors import CycleError, InputError
from tasksim.cli.main import cli
from tasksim.engine.durations import durations
from tasksim.formats.costs_csv import read_costs
from tasksim.models.kinds.given import GivenCosts, GivenModel
from tasksim.schedulers.registry import create
from tasksim.schedulers.static import Problem, plan

COSTS = "task,P0,P1,P2\n" + "".join(
    f"T{number},{','.join(map(str, row))}\n" for number, row in enumerate(TOPCUOGLU[0], 1)
)
EDGES = "from,to,volume\n" + "".join(f"T{a},T{b},{v}\n" for (a, b), v in TOPCUOGLU[1].items())
SMALL_COSTS = "task,P0,P1\na,1,2\nb,3,4\n"
THREE_TASKS = "task,P0\na,1\nb,1\nc,1\n"


@pytest.fixture
def files(tmp_path):
    """Write files into a folder; return the path of the costs."""

    def write(costs=SMALL_COSTS, edges="from,to,volume\na,b,5\n", links=None):
        (tmp_path / "costs.csv").write_text(costs)
        (tmp_path / "edges.csv").write_text(edges)
        if links is not None:
            (tmp_path / "links.csv").write_text(links)
        return tmp_path / "costs.csv"

    return write


def ends_s(found, scheduler="heft"):
    """The ends of a simulation, and those that the scheduler planned, in seconds."""
    graph, platform, models = found
    policy = create(scheduler)
    replay = replay_of(graph, platform, policy, durations(graph, platform, models).tolist())
    replay.run(0)
    return list(replay.ledger.end), policy.plan.end_s.tolist()


def test_the_example_of_the_heft_paper_takes_80(files):
    found = read_costs(files(COSTS, EDGES))
    real, planned = ends_s(found)
    assert max(planned) == 80
    assert real == pytest.approx(planned)
    graph, platform, models = found
    assert (len(graph), graph.edges, graph.label(1)) == (
        10, 15, "T2 #1 (P0_s=13, P1_s=19, P2_s=18)",
    )  # fmt: skip
    costs = durations(graph, platform, models)
    assert costs.T.tolist() == [list(map(float, row)) for row in TOPCUOGLU[0]]


def test_matrices_say_the_same_as_lists(files):
    listed = read_costs(files(COSTS, EDGES))
    names = [f"T{number}" for number in range(1, 11)]
    matrix = "T," + ",".join(names) + "\n"
    for a in range(1, 11):
        matrix += ",".join([f"T{a}", *(str(TOPCUOGLU[1].get((a, b), 0)) for b in range(1, 11))])
        matrix += "\n"
    links = "P,P0,P1,P2\nP0,0,1,1\nP1,1,0,1\nP2,1,1,0\n"
    same = read_costs(files(COSTS, matrix, links))
    assert same.graph.same_as(listed.graph)
    assert ends_s(same) == ends_s(listed)


def test_links_have_bandwidths_and_latencies_one_way_or_both(files):
    path = files(SMALL_COSTS, links="from,to,bandwidth,latency\nP0,P1,2,0.5\n")
    platform = read_costs(path).platform
    assert [(link.name, link.bandwidth_bytes_per_s, link.latency_s) for link in platform.links] == [
        ("P0-P1", 2.0, 0.5), ("P1-P0", 2.0, 0.5),
    ]  # fmt: skip
    path = files(SMALL_COSTS, links="from,to,bandwidth\nP0,P1,2\nP1,P0,4\n")
    bandwidths = [link.bandwidth_bytes_per_s for link in read_costs(path).platform.links]
    assert bandwidths == [2.0, 4.0]


def test_an_empty_cost_is_a_processor_that_cannot_run_the_task(files):
    graph, platform, models = read_costs(files("task,P0,P1\na,1,\nb,,4\n"))
    assert durations(graph, platform, models).tolist() == [[1, float("inf")], [float("inf"), 4]]
    real, _ = ends_s((graph, platform, models))
    assert real == pytest.approx([1, 1 + 5 + 4])
    with pytest.raises(InputError, match=r"task b: unknown processor 'P0', did you mean 'P1'\?"):
        models.model("b", "P0")


def test_volumes_may_be_fractions(files):
    found = read_costs(files("task,P0,P1\na,1,\nb,,4\n", "from,to,volume\na,b,0.125\n"))
    assert ends_s(found)[0] == pytest.approx([1, 5.125])


def test_a_volume_of_zero_is_a_dependency(files):
    found = read_costs(files("task,P0,P1\na,1,\nb,,4\n", "from,to,volume\na,b,0\n"))
    assert (found.graph.edges, found.graph.handles) == (1, 0)
    assert ends_s(found)[0] == pytest.approx([1, 5])


def test_tasks_may_be_in_any_order(files):
    found = read_costs(files("task,P0\nc,1\nb,2\na,3\n", "from,to,volume\na,b,1\nb,c,1\n"))
    assert found.graph.kernels == ("a", "b", "c")


def test_the_name_of_the_files(tmp_path):
    (tmp_path / "paper.costs.csv").write_text("task,P0\na,1\n")
    (tmp_path / "paper.edges.csv").write_text("from,to,volume\n")
    assert read_costs(tmp_path / "paper.costs.csv").graph.name == "paper"
    (tmp_path / "paper.csv").write_text("task,P0\na,1\n")
    with pytest.raises(InputError, match=r"does not contain 'costs', so that the file of edges"):
        read_costs(tmp_path / "paper.csv")
    (tmp_path / "fast.csv").write_text("from,to,bandwidth\n")
    files = [tmp_path / name for name in ("paper.csv", "paper.edges.csv", "fast.csv")]
    assert len(read_costs(*files).graph) == 1


@pytest.mark.parametrize(
    ("costs", "edges", "links", "message"),
    [
        ("tasks,P0\n", None, None, r"costs.csv:1: header: got 'tasks,P0'; legal: task,PROCESSOR"),
        (
            "task,P0,P0\n",
            None,
            None,
            r"costs.csv:1: processor 'P0': legal: a name of its own",
        ),
        ("task,P0\na,1\na,2\n", None, None, r"costs.csv:3: task: got 'a'; legal: a name of its o"),
        ("task,P0\na,x\n", None, None, r"costs.csv:2: cost on P0: got 'x'; legal: a number from 0"),
        ("task,P0\na,-1\n", None, None, r"costs.csv:2: cost on P0: got '-1'; legal: a number"),
        ("task,P0\na,1,2\n", None, None, r"costs.csv:2: got 3 fields, 'a,1,2'; legal: 2"),
        ("task,P0\na,1\nb,\n", None, None, r"costs.csv:3: task 'b' has no cost; legal: a cost on"),
        (
            SMALL_COSTS,
            "from,to,volume\na,bb,1\n",
            None,
            r"edges.csv:2: unknown task 'bb', did you .*'b'",
        ),
        (
            SMALL_COSTS,
            "from,to,size\n",
            None,
            r"edges.csv:1: header: got 'from,to,size'; legal: 'from",
        ),
        (
            SMALL_COSTS,
            "from,to,volume\na,b,1\na,b,2\n",
            None,
            r"edges.csv:3: a to b is already in line 2",
        ),
        (
            SMALL_COSTS,
            "from,to,volume\na,a,1\n",
            None,
            r"edges.csv:2: task 'a' to itself; legal: two",
        ),
        (
            SMALL_COSTS,
            "from,to,volume\na,b,much\n",
            None,
            r"edges.csv:2: volume: got 'much'; legal: a",
        ),
        (
            SMALL_COSTS,
            "from,to,volume\na,b,1e30\n",
            None,
            r"edges.csv:2: volume: got '1e30'; legal: ",
        ),
        (
            THREE_TASKS,
            "from,to,volume\na,b,1e308\na,c,.2\n",
            None,
            r"edges.csv:2: volume: got '1e308'",
        ),
        (SMALL_COSTS, "x,a\na,1\n", None, r"edges.csv:1: got 'x,a' and 1 rows; legal: a list with"),
        (
            SMALL_COSTS,
            None,
            "from,to,bandwidth\n",
            r"links.csv:1: no link between P0 and P1; legal:",
        ),
        (
            SMALL_COSTS,
            None,
            "from,to,bandwidth\nP0,P1,0\n",
            r"links.csv:2: bandwidth: got '0'; legal: a",
        ),
        (
            SMALL_COSTS,
            None,
            "from,to,bandwidth\nP0,P2,1\n",
            r"links.csv:2: unknown processor 'P2', did",
        ),
    ],
)
def test_mistakes_are_told_with_file_and_line(costs, edges, links, message, files):
    path = files(costs, edges or "from,to,volume\n", links)
    with pytest.raises(InputError, match=message):
        read_costs(path)


def test_a_circle_is_told_by_the_names_of_its_tasks(files):
    with pytest.raises(CycleError, match=r"depend on each other in a cycle: a -> b -> a"):
        read_costs(files(edges="from,to,volume\na,b,1\nb,a,1\n"))


def test_a_missing_file_of_edges(tmp_path):
    (tmp_path / "costs.csv").write_text(SMALL_COSTS)
    with pytest.raises(InputError, match=r"edges.csv: no such file"):
        read_costs(tmp_path / "costs.csv")


def test_the_model_of_a_processor():
    assert GivenModel("P0_s").predict([[2.0]]).tolist() == [2.0]
    assert GivenModel("P0_s").to_json()["options"] == {"seconds": "P0_s"}


def test_given_costs_are_a_library_of_models(files):
    graph, _, models = read_costs(files())
    assert isinstance(models, GivenCosts)
    assert models.kernels() == ("a", "b")
    assert models.locality("a", "P0") is None
    assert models.predict("b", "P1", graph.parameter_names[1], graph.parameters[1]).tolist() == [4]
    with pytest.raises(InputError, match=r"unknown kernel 'c'"):
        models.require(["c"])
    with pytest.raises(InputError, match=r"task a: unknown processor 'P7'"):
        models.require(["a"], ["P7"])


# On the command line


def called(*words):
    result = CliRunner().invoke(cli, [str(word) for word in words])
    return result.exit_code, result.output


def test_simulate_takes_the_file_as_a_graph(files):
    path = files(COSTS, EDGES)
    code, output = called("simulate", path, "--scheduler", "heft", "--json")
    assert code == 0
    assert json.loads(output)["makespan_s"] == pytest.approx(80)


def test_a_recorded_simulation_of_the_file_can_be_repeated(files, tmp_path):
    path = files(COSTS, EDGES)
    assert called("simulate", path, "--scheduler", "cpop", "-o", tmp_path / "run")[0] == 0
    code, output = called("simulate", "--from", tmp_path / "run", "--json")
    assert code == 0
    assert json.loads(output)["makespan_s"] == pytest.approx(86)
    assert "warning" not in output.lower()
    files(COSTS, EDGES.replace("T1,T4,9", "T1,T4,30"))
    _, output = called("simulate", "--from", tmp_path / "run")
    assert "edges.csv" in output


def test_processors_are_architectures_of_other_platforms(files, tmp_path):
    platform = tmp_path / "four.yaml"
    platform.write_text("version: 1\nworkers: {P0: {count: 3}, P1: {count: 1}}\n")
    code, output = called(
        "simulate", files(), "--platform", platform, "--scheduler", "heft", "--json"
    )
    assert code == 0
    assert json.loads(output)["makespan_s"] == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tiles=3"], "costs.csv: a file takes no settings, got tiles=3"),
        (["--workers", "2"], "task a: unknown processor 'cpu'"),
        (["--model-names", "x{kernel}"], "--model-names is for models"),
    ],
)
def test_options_that_do_not_fit(words, message, files):
    code, output = called("simulate", files(), *words)
    assert code == 2
    assert message in output


def test_costs_cannot_be_executed(files):
    code, output = called("run", files(), "--workers", "2")
    assert code == 2
    assert "no kernels to execute" in output


def test_validate_knows_costs_and_schedules(files, tmp_path):
    assert called("validate", files()) == (
        0, f"{tmp_path}/costs.csv: ok, costs of 2 tasks, 1 edges, on 2 processors\n",
    )  # fmt: skip
    (tmp_path / "plan.csv").write_text("task,worker\na,P0\nb,P0\n")
    assert called("validate", tmp_path / "plan.csv") == (
        0, f"{tmp_path}/plan.csv: ok, schedule of 2 tasks on 1 workers\n",
    )  # fmt: skip
    assert called("validate", files(edges="from,to,volume\na,c,1\n"))[0] == 2


def test_a_plan_of_the_files_is_made_without_simulating(files):
    graph, platform, models = read_costs(files(COSTS, EDGES))
    problem = Problem.of(graph, platform, durations(graph, platform, models))
    assert plan("peft", problem).makespan_s == 85


@pytest.mark.parametrize("scheduler", ["heft", "cpop", "peft", "min-min", "max-min"])
def test_a_simulation_is_the_plan_whatever_the_links(scheduler, files):
    """Fractions everywhere, a bandwidth and a latency of its own for every two processors."""
    rng = random.Random(5)
    tasks, processors = range(60), [f"P{k}" for k in range(5)]
    costs = ["task," + ",".join(processors)]
    costs += [f"T{t}," + ",".join(f"{rng.uniform(1, 90):.3f}" for _ in processors) for t in tasks]
    edges = ["from,to,volume"]
    for t in tasks[1:]:
        before = rng.sample(range(max(0, t - 9), t), min(t, 3))
        edges += [f"T{s},T{t},{rng.uniform(0, 80):.2f}" for s in before]
    links = ["from,to,bandwidth,latency"]
    links += [
        f"{a},{b},{rng.uniform(0.5, 4):.2f},{rng.uniform(0, 5):.2f}"
        for a in processors
        for b in processors
        if a != b
    ]
    real, planned = ends_s(read_costs(files(*map("\n".join, (costs, edges, links)))), scheduler)
    assert real == pytest.approx(planned, abs=1e-6)


def test_bandwidths_that_cannot_be_shared_are_refused(files):
    """Of numbers that small, half of one and half of one are not one: simulations did not end."""
    path = files(SMALL_COSTS, "from,to,volume\na,b,1\n", "from,to,bandwidth\nP0,P1,1e-310\n")
    with pytest.raises(InputError, match=r"link P0-P1 has bandwidth 1e-310, must be 2.2e-308 or"):
        read_costs(path)
