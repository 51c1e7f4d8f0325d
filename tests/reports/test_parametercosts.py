"""Cost of counting indirect parameters: only marked code, beside the run."""

import json
import time

import pytest
from click.testing import CliRunner

import tasksim
from tasksim import GraphBuilder, InputError
from tasksim.cli.report import reporting
from tasksim.graph.counting import counted_times, counting

FMM = "fmm particles=900 height=4 group_size=16 order=2"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a simulated run."""
    folder = tmp_path_factory.mktemp("runs") / "fmm"
    name, *settings = FMM.split()
    kernels = tasksim.load_graph(name, settings).kernels
    found = tasksim.simulate(FMM, workers=2, durations=dict.fromkeys(kernels, 1e-3))
    tasksim.save_run(found, folder)
    return folder


def test_only_marked_code_counts_and_only_where_it_is_observed():
    with counting("n", kernels=["a"]):
        time.sleep(0.01)
    with counted_times() as times:
        time.sleep(0.02)
        assert times == {}
        for _ in range(2):
            with counting("n", "m", kernels=["a"]):
                time.sleep(0.01)
        with pytest.raises(ZeroDivisionError), counting("n", kernels=("b",)):
            raise ZeroDivisionError("not counted")
    assert list(times) == [(("a",), ("n", "m")), (("b",), ("n",))]
    assert times[("a",), ("n", "m")] >= 0.02


@pytest.mark.parametrize(
    ("parameters", "kernels"), [((), ["a"]), (("n",), []), (("n",), "a"), ((3,), ["a"])]
)
def test_nameless_counts_are_refused(parameters, kernels):
    with (
        pytest.raises(InputError, match="legal: a list of names"),
        counting(*parameters, kernels=kernels),
    ):
        pass


def test_the_parts_of_the_fmm(run):
    costs = tasksim.parameter_costs(run, 2)
    graph = tasksim.generate(*FMM.split()[:1], **dict(s.split("=") for s in FMM.split()[1:]))
    assert costs.tasks == len(graph)
    assert {part.kernels for part in costs.parts} == {
        ("P2P_in", "P2P_out"), ("M2M", "L2L"), ("M2L_in", "M2L_out"),
    }  # fmt: skip
    names = dict(zip(graph.kernels, graph.parameter_names, strict=True))
    for part in costs.parts:
        known = {name for kernel in part.kernels for name in names[kernel]}
        assert set(part.parameters) <= known
        assert part.busy_s == pytest.approx(1e-3 * part.tasks)
    assert costs.counting_s == sum(part.counting_s for part in costs.parts)
    assert 0 < costs.counting_s < costs.graph_s


def test_counting_changes_no_graph():
    plain = tasksim.load_graph("fmm", FMM.split()[1:])
    with counted_times():
        observed = tasksim.load_graph("fmm", FMM.split()[1:])
    assert all((a == b).all() for a, b in zip(plain.parameters, observed.parameters, strict=True))


def test_the_command(run):
    done = CliRunner().invoke(reporting, ["parameters", str(run), "--repetitions", "1"])
    assert "NbDiff, NbChildParent" in done.stdout
    assert "% of the makespan" in done.stdout
    told = json.loads(CliRunner().invoke(reporting, ["parameters", str(run), "--json"]).stdout)
    assert told["repetitions"] == 5
    assert told["share_of_makespan"] == pytest.approx(told["counting_s"] / told["makespan_s"])


def test_runs_without_counted_parameters_are_refused():
    seconds = {"potrf": 1.0, "trsm": 1.0, "syrk": 1.0, "gemm": 1.0}
    run = tasksim.simulate("cholesky tiles=2", workers=1, durations=seconds)
    with pytest.raises(InputError, match="'cholesky' marks no parameter as counted"):
        tasksim.parameter_costs(run)
    g = GraphBuilder("own")
    g.insert("potrf")
    own = tasksim.simulate(g.build(), workers=1, durations={"potrf": 1.0})
    with pytest.raises(InputError):
        tasksim.parameter_costs(own)
    with pytest.raises(InputError, match="repetitions: got 0"):
        tasksim.parameter_costs(run, 0)
