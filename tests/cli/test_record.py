"""``tasksim record``: a program of the user's, run and recorded."""

import json

import pytest

PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor

from beside import square

if __name__ == "__main__":
    with ThreadPoolExecutor(2) as pool:
        print("the sum is", sum(pool.map(square, range(int(sys.argv[1])))))
    assert sys.argv[0] == "program.py"
    sys.exit(0 if len(sys.argv) < 3 else int(sys.argv[2]))
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "beside.py").write_text("def square(x):\n    return x * x\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def test_a_program_is_run_and_its_tasks_are_kept(tasksim, program):
    done = tasksim("record -o kept program.py 4")
    assert done.code == 0, done.err
    assert "the sum is 14\n" in done.out
    assert "graph          program (4 tasks)" in done.out
    assert "replayed: " in done.out
    assert "Wrote kept" in done.err
    assert tasksim("validate kept").code == 0
    assert (program / "kept" / "graph.npz").exists()


def test_it_is_simulated_with_more_workers(tasksim, program):
    assert tasksim("record -o kept program.py 40").code == 0
    line = "simulate kept --durations measured --json"
    more = tasksim(f"{line} --set platform.workers.cpu.count=8")
    assert more.code == 0, more.err
    assert more.json["kernels"]["square"]["tasks"] == 40
    assert more.json["makespan_s"] <= tasksim(line).json["makespan_s"]


def test_what_the_program_prints_is_not_in_the_json(tasksim, program):
    done = tasksim("record --json program.py 3")
    assert done.json["kernels"]["square"]["tasks"] == 3
    assert "the sum is 5\n" in done.err
    assert {"task_s", "submission_s", "replayed_s", "notes"} <= set(done.json)


def test_options_after_the_program_are_its_own(tasksim, program):
    (program / "program.py").write_text("import sys; print(sys.argv[1:]); raise SystemExit(0)")
    done = tasksim("record program.py --json -o x --force")
    assert done.out == "['--json', '-o', 'x', '--force']\n"
    assert done.code == 2
    assert done.errors[0].startswith("Error: no task was recorded: submit to an executor")


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("record nothing.py", 2, "nothing.py: no such program (legal: the path of a Python script"),
        ("record progam.py", 2, "progam.py: no such program, did you mean 'program.py'? (legal: "),
        ("record program.py four", 1, "program.py:9: ValueError: invalid literal for int()"),
        ("record program.py 2 7", 1, "program.py ended with exit code 7"),
        ("record broken.py", 1, "broken.py: SyntaxError: "),
        ("record -o . program.py 2", 2, "."),
    ],
)
def test_programs_that_end_badly(tasksim, program, line, code, message):
    (program / "broken.py").write_text("def f(:\n")
    done = tasksim(line)
    assert done.code == code
    assert len(done.errors) == 1
    assert message in done.errors[0]
    assert not (program / "kept").exists()


def test_what_is_left_out_is_said_once(tasksim, program):
    (program / "program.py").write_text(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "import time\n"
        "with ThreadPoolExecutor(1) as pool:\n"
        "    pool.submit(time.sleep, 0.05)\n"
        "    pool.submit(abs, 1).cancel()\n"
    )
    done = tasksim("record --json program.py")
    assert done.err.count("1 task had not ended") == 1
    assert json.loads(done.out)["notes"][0].startswith("1 task had not ended")
