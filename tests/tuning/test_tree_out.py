"""Trees as C, Python, text, pictures and JSON: all say the same."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.tuning.table import PerformanceTable
from tasksim.tuning.tree import DecisionTree, Leaf, Split, StoppingCriteria, grow
from tasksim.tuning.tree_code import c_header, python_function, readable_text
from tasksim.tuning.tree_file import ChoosingTree, tree_from_json
from tasksim.tuning.tree_picture import picture

COMPILER = shutil.which("cc") or shutil.which("gcc")
SMALL_TREE = ChoosingTree(
    "graph.tile_size",
    DecisionTree(
        ("graph.n", "platform=a-b", "for"),
        ("256", "512"),
        Split(0, 3000.0, Leaf(0, 1.0, 2), Split(1, 0.5, Leaf(1, 0.98, 3), Leaf(0, 1.0, 1))),
    ),
    0.99,
    6,
)


def grown(choices, seed=0):
    rng = np.random.default_rng(seed)
    features = {f"x{i}": rng.choice([rng.random(80), rng.integers(0, 9, 80)]) for i in range(3)}
    performance = {choice: rng.random(80) + 0.1 for choice in choices}
    table = PerformanceTable.of(features, performance)
    return ChoosingTree("it", grow(table, StoppingCriteria(threshold=1.0)), 1.0, 80), table.values


def test_the_python_function_says_what_the_tree_says():
    for choices in (["1", "2", "4"], ["0.5", "1"], ["lws", "dmda:alpha=2,beta=1"]):
        found, values = grown(choices)
        names = {}
        exec(python_function(found), names)
        said = [names["choose_it"](*row) for row in values]
        meant = [choices[i] for i in found.tree.choose(values)]
        assert [type(said[0])(choice) for choice in meant] == said


@pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
@pytest.mark.parametrize(
    ("choices", "kind", "read"),
    [
        (["1", "-2", "4"], ctypes.c_long, int),
        (["0.5", "1"], ctypes.c_double, float),
        (["lws", 'a"b\\?é'], ctypes.c_char_p, str.encode),
    ],
)
def test_the_header_compiled_says_what_the_tree_says(tmp_path, choices, kind, read):
    found, values = grown(choices)
    (tmp_path / "choose.h").write_text(c_header(found))
    returned = {ctypes.c_long: "long", ctypes.c_double: "double"}.get(kind, "const char *")
    (tmp_path / "lib.c").write_text(
        '#include "choose.h"\n#include "choose.h"\n'
        f"{returned} call(double a, double b, double c) {{ return choose_it(a, b, c); }}\n"
    )
    compile_c(tmp_path, "-shared", "-fPIC", "-o", "lib.so", "lib.c")
    call = ctypes.CDLL(str(tmp_path / "lib.so")).call
    call.restype, call.argtypes = kind, [ctypes.c_double] * 3
    # Also exactly at the thresholds, where <= and < differ.
    thresholds = [n.threshold for n in found.tree.nodes() if isinstance(n, Split)]
    rows = np.vstack([values, np.repeat(thresholds, 3).reshape(-1, 3)])
    meant = [read(choices[i]) for i in found.tree.choose(rows)]
    assert [call(*row) for row in rows] == meant


def compile_c(folder, *words):
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run([COMPILER, *strict, *words], check=True, cwd=folder)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
def test_a_tree_that_asks_nothing_is_c_too(tmp_path):
    alone = ChoosingTree("it", DecisionTree((), ("7",), Leaf(0, 1.0, 1)), 1.0, 1)
    (tmp_path / "choose.h").write_text(c_header(alone))
    (tmp_path / "main.c").write_text('#include "choose.h"\nint main(void) { return choose_it(); }')
    compile_c(tmp_path, "-o", "main", "main.c")
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 7


def test_the_header_reads_well():
    assert c_header(SMALL_TREE) == Path(__file__).with_name("choose_tile_size.h").read_text()


def test_the_text_reads_well():
    assert readable_text(SMALL_TREE) == (
        "Which graph.tile_size: a tree of 5 nodes, trained on 6 examples, for which it reaches"
        " 99.00 % of the best performance.\n\ngraph.n <= 3000:\n  256    (2 examples, 100.00 % of"
        " the best)\ngraph.n > 3000:\n  platform=a-b <= 0.5:\n    512    (3 examples, 98.00 % of"
        " the best)\n  platform=a-b > 0.5:\n    256    (1 examples, 100.00 % of the best)\n"
    )


def test_names_that_are_no_names_of_c_become_some():
    odd = DecisionTree(("a.b", "a-b", "for", "2x", "*/ evil"), ("1",), Leaf(0, 1.0, 1))
    text = python_function(ChoosingTree("x y", odd, 1.0, 1))
    assert text.startswith("def choose_x_y(a_b, a_b_2, for_, x_2x, evil):")
    assert "*/ evil" not in c_header(ChoosingTree("x y", odd, 1.0, 1))


def test_a_tree_is_read_back():
    for found in (SMALL_TREE, grown(["1", "2"])[0]):
        assert tree_from_json(json.loads(found.text()), Path("t.json")) == found


def test_a_deep_tree_is_compiled_by_python():
    node = Leaf(0, 1.0, 1)
    for level in range(60):
        node = Split(0, float(level), Leaf(1, 1.0, 1), node)
    names = {}
    deep = ChoosingTree("it", DecisionTree(("x",), ("a", "b"), node), 1.0, 61)
    exec(python_function(deep), names)
    assert names["choose_it"](1e9) == "a"
    assert tree_from_json(json.loads(deep.text()), Path("t")) == deep


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "x"}, "is not a decision tree"),
        ({"version": 2}, "version 2 is newer than 1"),
        ({"features": "n"}, "a list of names"),
        ({"tree": {"choice": "9", "msop": 1, "examples": 1}}, "got '9'; legal: "),
        ({"tree": 3}, "a node"),
        ({"tree": {"feature": "m", "threshold": 1.0}}, "got 'm'; legal: graph.n"),
        ({"tree": {"feature": "graph.n", "threshold": "1"}}, "a number"),
        ({"tree": {"feature": "graph.n", "threshold": 1.0}}, "'low' is missing"),
        ({"msop": None}, "a number"),
    ],
)
def test_what_is_no_tree_is_refused(change, said):
    with pytest.raises(InputError, match=said):
        tree_from_json({**SMALL_TREE.to_json(), **change}, Path("t.json"))


def test_a_picture_has_all_questions_and_choices():
    texts = [text.get_text() for text in picture(SMALL_TREE).axes[0].texts]
    assert "n\n≤ 3000" in texts
    assert "512\n3 examples\n98.0 %" in texts
    assert len([text for text in texts if text in ("yes", "no")]) == 4
