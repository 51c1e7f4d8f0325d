"""Whole commands of a given number of tasks."""

import pytest

import tasksim
from benchmarks import scale


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cores", "overheads", "qr", "gpus", "cluster", "cluster-cg"])
def test_cases_have_about_as_many_tasks_as_asked(name, tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "NODES", 4)
    tasks = 20_000
    arguments = scale.cases(tasks, tmp_path)[name]
    wall_s, cpu_s, peak_gb = scale.measure(["simulate", *arguments, "-o", str(tmp_path / "run")])
    assert wall_s > 0 < cpu_s
    assert 0.01 < peak_gb < 2
    assert len(tasksim.load_run(tmp_path / "run")) == pytest.approx(tasks, rel=0.25)
