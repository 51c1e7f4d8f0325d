"""``tasksim record`` of an OpenMP program: what is printed and kept, and how it ends."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from click.testing import CliRunner

from tasksim.cli.main import cli
from tests.openmp_programs import EXAMPLES


@pytest.fixture
def tasksim(tmp_path, monkeypatch):
    """Return a function that runs a command line in a folder of its own, on two threads."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    return lambda line: CliRunner().invoke(cli, shlex.split(line), prog_name="tasksim")


@pytest.fixture
def fib(compiled):
    return compiled(EXAMPLES / "fib.c")


def test_a_recording_is_kept_and_simulated_like_any_run(tasksim, fib, capfd):
    done = tasksim(f"record -o kept {fib} 12 6")
    assert done.exit_code == 0, done.output
    assert capfd.readouterr().out == "144\n"
    assert "fib uses libgomp.so.1, which cannot be recorded: it runs on /" in done.stderr
    assert "time of 2 threads: busy " in done.stdout
    assert tasksim("validate kept").exit_code == 0
    for line in (
        "simulate kept --workers 16 --json",
        "simulate kept --durations measured --set platform.workers.cpu.count=3 --json",
        "simulate kept --durations alone --scheduler eager --json",
    ):
        again = tasksim(line)
        assert again.exit_code == 0, again.output
        kernels = json.loads(again.stdout)["kernels"]
        assert sum(k["tasks"] for name, k in kernels.items() if name.startswith("fib:")) > 40
    assert tasksim("compare kept kept").exit_code == 0
    assert tasksim("view kept").exit_code == 0
    assert tasksim("report account kept").exit_code == 0


def test_nothing_but_the_json_is_on_the_standard_output(tasksim, fib, capfd):
    done = tasksim(f"record --json {fib} 10 6")
    found = json.loads(done.stdout)
    assert capfd.readouterr() == ("", "55\n")
    account = found["account"]
    parts = [account[f"{part}_s"] for part in ("busy", "creation", "runtime", "waiting", "idle")]
    assert sum(parts) == pytest.approx(account["threads"] * account["makespan_s"])
    assert min(parts) >= 0
    assert found["workers"] == account["threads"] <= 2


@pytest.mark.parametrize("code", [0, 3, 77])
def test_the_exit_code_is_the_programs(code, tasksim, compiled):
    source = f"""
int main(void)
{{
#pragma omp parallel
#pragma omp single
    {{
#pragma omp task
        {{ }}
    }}
    return {code};
}}
"""
    assert tasksim(f"record {compiled(source)}").exit_code == code


def test_a_failure_without_a_recording_is_the_programs_own(tasksim, compiled):
    program = compiled("#include <omp.h>\nint main(int n, char **v) "
                       "{ return n > 9 ? omp_get_num_procs() : 5; }\n")  # fmt: skip
    done = tasksim(f"record -o kept {program}")
    assert done.exit_code == 5
    assert "nothing was recorded" in done.stderr
    assert tasksim("validate kept").exit_code == 2


def test_kernels_get_other_names(tasksim, fib, tmp_path):
    names = json.loads(tasksim(f"record --json {fib} 10 6").stdout)["kernels"]
    (one, other) = sorted(n for n in names if n.startswith("fib:") and not n.endswith(")"))
    (tmp_path / "names.yaml").write_text(f'"{one}": first\n"{other}": second\nfibb: third\n')
    done = tasksim(f"record --json --kernels names.yaml {fib} 10 6")
    assert {"first", "second"} <= set(json.loads(done.stdout)["kernels"])
    assert "no kernel is called 'fibb', did you mean 'fib" in done.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("record missing", r"missing: no such program \(legal: "),
        ("record --libomp libomp.so nowhere", "nowhere: no such program"),
        ("record --kernels names.yaml {script}", "--kernels is for OpenMP programs"),
        ("record --libomp {script} {fib}", "--libomp: .* is no shared library"),
        ("record --kernels {script} {fib}", "script.py:1:1"),
        ("record -o {script} {fib}", "script.py"),
    ],
)
def test_wrong_input_is_refused_before_anything_runs(line, message, tasksim, fib, tmp_path, capfd):
    script = tmp_path / "script.py"
    script.write_text("[1, 2]\n")
    done = tasksim(line.format(script=script, fib=fib))
    assert done.exit_code == 2
    assert capfd.readouterr().out == ""
    assert re.search(message, done.stderr), done.stderr


def test_no_trace_of_the_recording_is_left(tasksim, fib, tmp_path):
    assert tasksim(f"record -o kept {fib} 10 6").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
