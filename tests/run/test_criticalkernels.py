"""Critical kernels: those that are constructed to be; the rest as a kernel of its own."""

import json
from pathlib import Path

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.reports.aggregated import GRAPH_FILE, MODELS_FILE, write_aggregated
from tasksim.run.criticalkernels import AGGREGATED_NAME, critical_kernels
from tasksim.run.samples import RecordedRun

DURATIONS = {"work": 1.0, "small": 0.02, "tiny": 0.01, "serial": 0.3}
"""Of 48, 40, 24 and 1 tasks: 48, .8, .24 and .3 s of 49.3 in all."""


def graph():
    g = tasksim.GraphBuilder("built")
    first = g.insert("serial")
    for kernel, count in (("work", 48), ("small", 40), ("tiny", 24)):
        for _ in range(count):
            g.insert(kernel, after=[first])
    return g.build()


def recorded(workers, durations=DURATIONS):
    run = tasksim.simulate(graph(), workers=workers, durations=durations, scheduler="eager")
    return RecordedRun(Path(f"run{workers}"), run, graph())


def test_those_constructed_to_be_critical_are():
    found = critical_kernels([recorded(4), recorded(1), recorded(2)])
    assert found.workers == (1, 2, 4)
    by_name = {kernel.name: kernel for kernel in found.kernels}
    assert found.critical == ("work", "serial")
    assert sorted(found.rest) == ["small", "tiny"]
    assert by_name["work"].reason == "takes 97.3 % of the time"
    assert by_name["work"].exponent == pytest.approx(-1, abs=0.02)
    assert by_name["serial"].reason == "its time does not fall with the workers"
    assert by_name["serial"].exponent == pytest.approx(0, abs=1e-9)
    assert found.covered == pytest.approx((48 + 0.3) / (48 + 0.8 + 0.24 + 0.3), rel=1e-9)


def test_the_threshold_decides():
    runs = [recorded(1), recorded(2), recorded(4)]
    assert "small" in critical_kernels(runs, 0.015).critical
    assert "tiny" in critical_kernels(runs, 0.001).critical
    for wrong in (0.0, 1.0, -0.1):
        with pytest.raises(InputError, match="must be a share between 0 and 1"):
            critical_kernels(runs, wrong)


@pytest.mark.parametrize("workers", [[], [1], [1, 2], [2, 2, 2], [1, 2, 2]])
def test_too_few_runs(workers):
    with pytest.raises(InputError, match="at least 3 different numbers of workers, got"):
        critical_kernels([recorded(count) for count in workers])


def test_the_rest_is_a_kernel_of_its_own_in_predictions(tmp_path):
    runs = [recorded(1), recorded(2), recorded(4)]
    found = critical_kernels(runs)
    write_aggregated(tmp_path / "few", found, runs)
    kept = tasksim.load_graph(str(tmp_path / "few" / GRAPH_FILE))
    assert set(kept.model_names) == {"work", "serial", AGGREGATED_NAME}
    models = tasksim.ModelLibrary(tmp_path / "few" / MODELS_FILE)
    assert set(models.kernels()) == {"work", "serial", AGGREGATED_NAME}
    mean = (0.8 + 0.24) / 64
    assert models.model(AGGREGATED_NAME, "cpu").predict([[]])[0] == pytest.approx(mean)
    for workers in (1, 4, 8):
        run = tasksim.simulate(kept, workers=workers, models=tmp_path / "few" / MODELS_FILE)
        real = recorded(workers).run
        assert run.makespan_s == pytest.approx(real.makespan_s, rel=0.02)


def test_from_the_command_line(tmp_path):
    from click.testing import CliRunner

    from tasksim.cli.main import cli

    folders = []
    for workers in (1, 2, 4):
        one = recorded(workers)
        folders.append(str(tmp_path / f"r{workers}"))
        tasksim.save_run(one.run, folders[-1])
        tasksim.save_graph(one.graph, tmp_path / "g.npz", force=True)
    line = ["report", "kernels", "--critical", *folders]
    done = CliRunner().invoke(cli, line)
    if done.exit_code:
        pytest.fail(done.output)
    assert "2 of 4 kernels are critical; they take 97.9 %" in done.output
    done = CliRunner().invoke(cli, [*line, "--json"])
    assert json.loads(done.stdout)["critical"] == ["work", "serial"]
    done = CliRunner().invoke(cli, line[:-1])
    assert done.exit_code == 2
    assert "got 1, 2: two cannot show" in done.output
