"""Readers of what users give: a value, or an error in a few words, whatever they are given.

The rules are in ``rules.py``; ``python -m tests.fuzz READER --minutes 10`` searches for longer.
"""

from __future__ import annotations

import datetime
import os
from random import Random
from typing import TYPE_CHECKING

import pytest
from fuzz.inputs import LARGEST, in_folder, put
from fuzz.mutations import mutated
from fuzz.rules import check
from fuzz.search import FINDS, search
from fuzz.smaller import smaller
from fuzz.targets import TARGETS

if TYPE_CHECKING:
    from pathlib import Path

KEPT = sorted(path for path in FINDS.glob("*/*") if path.is_dir())
INPUTS = 60
"""For each reader in every run of the tests: from a tenth of a second to two."""
SECONDS = float(os.environ.get("TASKSIM_FUZZ_SECONDS", "8"))
"""For each reader in the slow tests."""


@pytest.mark.parametrize("reader", TARGETS)
def test_valid_inputs_are_read(reader, tmp_path):
    target = TARGETS[reader]
    for number, given in enumerate(target.seeds()):
        folder = tmp_path / str(number) / "input"
        put(given, folder)
        target.read(folder)


@pytest.mark.parametrize("reader", TARGETS)
def test_any_input_is_read_or_refused(reader):
    result = search(reader, seed=0, inputs=INPUTS, nice=0)
    assert not result.finds, str(result)
    assert result.inputs >= INPUTS


@pytest.mark.slow
@pytest.mark.parametrize("reader", TARGETS)
def test_many_inputs_are_read_or_refused(reader):
    seed = datetime.datetime.now(datetime.UTC).date().toordinal()
    result = search(reader, seed=seed, seconds=SECONDS)
    print(f"{reader}: seed {seed}: {result}")
    assert not result.finds, f"python -m tests.fuzz {reader} --seed {seed}: {result}"


@pytest.mark.parametrize("kept", KEPT, ids=[f"{path.parent.name}-{path.name}" for path in KEPT])
def test_what_was_found_is_mended(kept):
    find = check(TARGETS[kept.parent.name].read, kept)
    assert find is None, str(find)


def test_every_find_is_of_a_reader():
    assert {path.parent.name for path in KEPT} <= set(TARGETS)


# The search itself


def test_rules_that_are_broken_are_told(tmp_path):
    def fails(folder: Path) -> None:
        raise KeyError("x")

    def imports(folder: Path) -> None:
        from tasksim.base.errors import ModelError

        raise ModelError("what a reader never raises")

    assert check(lambda folder: 3, tmp_path) is None
    assert check(fails, tmp_path).what == "KeyError: 'x'"
    assert check(imports, tmp_path).rule == "message"


def test_trees_that_contain_themselves_are_mutated():
    content = b"a: &a {b: 1, c: [*a, *a]}\nd: &d [*d]\ne: {<<: *a}\n"
    for seed in range(200):
        found = mutated({"machine.yaml": content}, [{"machine.yaml": content}], Random(seed))
        assert len(found["machine.yaml"]) <= LARGEST


def test_finds_are_made_small():
    def key_of(given: dict[str, bytes]) -> bool:
        return b"b" in given.get("one", b"")

    given = {"one": b"aaa\nabc\nccc\n" * 50, "two": b"x"}
    assert smaller(given, True, key_of) == {"one": b"b"}


def test_inputs_are_folders(tmp_path):
    (tmp_path / "bus").mkdir()
    (tmp_path / "bus" / "config").write_bytes(b"1")
    assert in_folder(tmp_path) == {"bus/config": b"1"}
