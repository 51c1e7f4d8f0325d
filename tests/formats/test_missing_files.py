"""Errors for names of files that do not exist, whatever they should be."""

from __future__ import annotations

import pytest

import tasksim
from tasksim import InputError, Scenario
from tasksim.formats.registry import looks_like_file

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}


@pytest.mark.parametrize("name", ["nosuch.json", "nosuch.npz", "nosuch.csv", "folder/nosuch"])
@pytest.mark.parametrize("workers", [None, 2])
def test_of_a_graph(name, workers):
    with pytest.raises(InputError, match=rf"^{name}: no such (task graph )?file$"):
        Scenario(name, workers=workers).solve()


@pytest.mark.parametrize("name", ["nosuch.json", "nosuch.yaml", "folder/nosuch"])
def test_of_a_platform(name):
    with pytest.raises(InputError, match=f"^{name}: no such file$"):
        tasksim.load_platform(name)


@pytest.mark.parametrize("name", ["plan.csv", "runs/dm"])
def test_a_file_is_no_scheduler(name):
    asked = Scenario("cholesky tiles=2", workers=1, durations=DURATIONS_S, scheduler=name)
    with pytest.raises(InputError, match=f"'{name}' is a file, not a name; .* static:file={name}"):
        asked.solve()


@pytest.mark.parametrize("name", ["choleski", "v1.2", "cholesky 2"])
def test_words_are_no_files(name):
    assert not looks_like_file(name)
    with pytest.raises(InputError, match="unknown task graph"):
        tasksim.load_graph(name)


def test_a_file_in_no_format_of_platforms_says_which_there_are(tmp_path):
    (tmp_path / "machine.dat").write_bytes(b"\x00\x01")
    with pytest.raises(tasksim.InputError, match=r"machine.dat: not in a format of platforms; leg"):
        tasksim.load_platform(tmp_path / "machine.dat")
