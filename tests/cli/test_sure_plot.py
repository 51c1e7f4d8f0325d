"""simulate --plot: a figure of how sure the answer is."""

from __future__ import annotations


def test_the_command_writes_the_figure(tasksim, tmp_path):
    line = "simulate cholesky tiles=4 --platform xeon-2c --uncertainty both --replications 30"
    assert tasksim(f"{line} --plot sure.png").code == 0
    assert (tmp_path / "sure.png").stat().st_size > 10_000
    again = tasksim(f"{line} --plot sure.png")
    assert (again.code, again.errors) == (2, ["Error: sure.png exists; give --force to replace it"])
    alone = tasksim("simulate cholesky tiles=4 --platform xeon-2c --plot other.png")
    assert alone.code == 2
    assert not (tmp_path / "other.png").exists()
