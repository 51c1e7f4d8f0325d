"""The log of a command: what it reads, decides and writes."""

from __future__ import annotations

import logging
import re

import tasksim as ts

LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} (?P<level>[A-Z]+) +tasksim\.(?P<room>\w+): (?P<text>.+)"
)
SIMULATE_LINE = "simulate cholesky tiles=3 --workers 2 --durations potrf=1,trsm=3,syrk=3,gemm=6"


def lines(text):
    """Return the level, the room and the text of each line."""
    return [LINE.fullmatch(line).groups() for line in text.splitlines()]


def test_a_file_gets_all_lines(tasksim, tmp_path):
    tasksim(f"{SIMULATE_LINE} -o run --log run.log")
    found = lines((tmp_path / "run.log").read_text())
    assert found[0][:2] == ("INFO", "cli")
    assert found[0][2].endswith(f"tasksim {SIMULATE_LINE} -o run --log run.log")
    texts = [text for _, _, text in found]
    assert any("10 tasks simulated by engine" in text for text in texts)
    assert "wrote the folder run" in texts
    assert texts[-1].startswith("done, after ")
    tasksim("view run --log run.log")
    longer = lines((tmp_path / "run.log").read_text())
    assert longer[: len(found)] == found
    assert ("DEBUG", "base") in {line[:2] for line in longer}


def test_a_level_is_for_stderr(tasksim):
    said = tasksim("list kernels --log info")
    assert {level for level, _, _ in lines(said.err)} == {"INFO"}
    assert said.out == tasksim("list kernels").out


def test_warnings_and_errors_are_in_it(tasksim, tmp_path):
    assert tasksim("simulate choleski --log run.log").code == 2
    assert "InputError: unknown task graph 'choleski'" in (tmp_path / "run.log").read_text()


def test_a_misspelt_level_is_no_file(tasksim, tmp_path):
    said = tasksim("list kernels --log inof")
    assert said.code == 2
    assert said.errors == [
        "Error: --log: unknown level 'inof', did you mean 'info'?"
        " (known: debug, info, warning, a file such as run.log)"
    ]
    assert not list(tmp_path.iterdir())


def test_a_log_that_cannot_be_written_stops_the_command(tasksim):
    said = tasksim(f"{SIMULATE_LINE} --log none/run.log")
    assert said.code == 2
    assert said.err == "Error: --log none/run.log: cannot be written: No such file or directory\n"


def test_the_log_ends_with_its_command(tasksim):
    assert tasksim(f"{SIMULATE_LINE} --log debug").err
    assert logging.getLogger("tasksim").handlers == []
    assert tasksim(SIMULATE_LINE).err == ""


def test_a_repeated_run_takes_it_too(tasksim):
    tasksim(f"{SIMULATE_LINE} -o run")
    assert tasksim("simulate --from run --log warning --debug").code == 0


def test_a_program_listens_by_its_own_handlers(caplog):
    caplog.set_level(logging.INFO, "tasksim.scenario")
    ts.simulate("chain length=3", workers=2)
    assert [record.name for record in caplog.records] == ["tasksim.scenario"]
