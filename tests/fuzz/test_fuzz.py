"""Readers of what users give: a value, or an error in a few words, whatever they are given.

The rules are in ``rules.py``. Here the inputs are the same in each run, so that the tests fail for
a change only; ``python -m tests.fuzz READER --minutes 10`` draws others, for as long as it is let.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from random import Random

import pytest
import tiers
from counter_files import PAPI
from fuzz.inputs import LARGEST, in_folder, put
from fuzz.mutations import NUMBER, mutated
from fuzz.rules import check
from fuzz.search import FINDS_FOLDER, search
from fuzz.smaller import smaller
from fuzz.targets import MODULES_BY_READER, TARGETS
from tiers import each_once, few

import tasksim

KEPT_FINDS = sorted(path for path in FINDS_FOLDER.glob("*/*") if path.is_dir())
INPUTS = few(100)
"""Inputs for each reader: a hundred take from half a second to five."""
LONG_WORD_BYTES = 100_000
"""The bytes of a word whose square, in nanoseconds, is the CPU time that an input may take."""


@pytest.mark.parametrize("reader", TARGETS)
def test_valid_inputs_are_read(reader, tmp_path):
    target = TARGETS[reader]
    for number, given in enumerate(target.seeds()):
        folder = tmp_path / str(number) / "input"
        put(given, folder)
        target.read(folder)


@pytest.mark.slow
@pytest.mark.parametrize("reader", TARGETS)
def test_any_input_is_read_or_refused(reader):
    result = search(reader, seed=0, inputs=INPUTS, nice=0)
    assert not result.finds, str(result)
    assert result.inputs >= INPUTS


@pytest.mark.parametrize("reader", TARGETS)
def test_long_words_take_as_long_as_they_are(reader, tmp_path):
    """A pattern that tries each part of a word on each other part takes the square of it."""
    words = (
        b"1" * LONG_WORD_BYTES + b"!",
        b"x" + b"1" * LONG_WORD_BYTES + b"!",
        b"_" * LONG_WORD_BYTES + b"!",
        b" " * LONG_WORD_BYTES + b"!",
    )
    given = TARGETS[reader].seeds()[0]
    texts = [name for name in given if not name.endswith((".npz", ".parquet"))]
    for name, (which, word) in product(texts, each_once((0, 1, -1), words)):
        places = [re.match(b"", given[name]), *NUMBER.finditer(given[name])]
        place = places[min(which, len(places) - 1)]
        content = given[name][: place.start()] + word + given[name][place.end() :]
        folder = tmp_path / f"{name.replace('/', '-')}-{which}-{words.index(word)}"
        put({**given, name: content}, folder)
        find = check(TARGETS[reader].read, folder)
        assert find is None, f"{name}: {word[:3]}...: {find}"


@pytest.mark.parametrize(
    ("reader", "name", "content"),
    [
        ("counters", "counted", PAPI.encode() + b"PAPI_" + b"L" * LARGEST + b"+: 1,"),
        ("counters", "counted", PAPI.encode() + b"real time" + b" " * LARGEST + b","),
        ("network-text", "text", b"torus:x=1,[" + b"," * 2 * LARGEST),
    ],
)
def test_long_lines_take_as_long_as_they_are(reader, name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    find = check(TARGETS[reader].read, tmp_path)
    assert find is None, str(find)


@pytest.mark.parametrize(
    "kept", KEPT_FINDS, ids=[f"{path.parent.name}-{path.name}" for path in KEPT_FINDS]
)
def test_what_was_found_is_mended(kept):
    find = check(TARGETS[kept.parent.name].read, kept)
    assert find is None, str(find)


def test_every_reader_has_files_whose_lines_count():
    package = Path(tasksim.__file__).parent
    assert set(MODULES_BY_READER) == set(TARGETS)
    for reader, modules in MODULES_BY_READER.items():
        assert [name for name in modules.split() if not (package / name).exists()] == [], reader


def test_every_find_is_of_a_reader():
    assert {path.parent.name for path in KEPT_FINDS} <= set(TARGETS)


# The search itself


SEARCHED_TWICE = ("platform", "parquet-samples", "graph", "run")
"""Readers of text, of tables, of arrays and of a folder."""


@pytest.mark.parametrize("reader", SEARCHED_TWICE if tiers.LONG else SEARCHED_TWICE[:1])
def test_the_same_seed_tries_the_same_inputs(reader):
    one, two, other = (search(reader, seed=seed, inputs=25, nice=0) for seed in (0, 0, 1))
    assert one.digest == two.digest != other.digest
    assert one.lines == two.lines


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
