"""`tasksim tune table`: methods judged on a table; bad tables and words."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from tasksim.base.extras import missing
from tasksim.tuning import learners
from tasksim.tuning.methods import TreeChoice
from tasksim.tuning.table import PerformanceTable

TUNE_COMMAND = "tune table blaze.csv --features Nthr,Ms --choices 1,2,4 --limit Nite --splits 20"
ROWS = [
    "# measured on a Tuesday",
    "loop,Nthr,Ms,Nite,1,2,4",
    *(
        f"{loop},{threads},{size},{iterations},{4 * size},{size * threads},{size * iterations / 2}"
        for loop in ("add", "dot", "gemm")
        for threads in (1, 2, 4)
        for size in (10, 20, 30)
        for iterations in (2, 8)
    ),
]


@pytest.fixture
def blaze(tasksim, tmp_path):
    (tmp_path / "blaze.csv").write_text("\n".join([*ROWS, ""]))
    return tmp_path / "blaze.csv"


def test_each_method_has_its_score(tasksim, blaze):
    done = tasksim(f"{TUNE_COMMAND} --json")
    assert done.code == 0
    assert "Warning" not in done.err
    assert done.json["examples"] == 54
    methods = done.json["methods"]
    learned = ["preto", "posto"] if learners.available() else []
    assert list(methods) == ["tree", *learned, "equal-share", "constant", "random"]
    for score in methods.values():
        assert 0 < score["low"] <= score["msop"] <= score["high"] <= 1
    assert methods["tree"]["nodes"] >= 1
    assert methods["random"]["nodes"] is None
    assert tasksim(f"{TUNE_COMMAND} --json").json == done.json
    assert tasksim(f"{TUNE_COMMAND} --json --seed 1").json["methods"] != methods


def test_text_has_a_line_per_method(tasksim, blaze):
    done = tasksim(f"{TUNE_COMMAND} --threads workers")
    assert done.code == 0
    assert "54, 3 choices" in done.out
    assert "20 shuffled splits, 0.333 of the rows judge" in done.out
    assert (
        "equal-share  left out: no column 'workers' of numbers; name it with --threads or "
        "--iterations" in done.out
    )


def test_an_application_is_left_out(tasksim, blaze):
    done = tasksim(f"{TUNE_COMMAND} --leave-one-out loop --json")
    assert (done.json["splits"], done.json["leave_one_out"]) == (3, "loop")
    # All loops are alike here, so the others tell all.
    assert done.json["methods"]["tree"]["msop"] > 0.8


def test_times_are_better_when_lower(tasksim, tmp_path):
    (tmp_path / "times.csv").write_text("n,a,b\n" + "1,1,2\n" * 6)
    words = "tune table times.csv --features n --choices a,b --splits 3 --json"
    assert tasksim(f"{words} --better lower").json["methods"]["constant"]["msop"] == 1
    assert tasksim(f"{words} --better lower").json["methods"]["random"]["msop"] == 0.75
    assert tasksim(words).json["methods"]["random"]["msop"] == 0.75


def test_what_a_limit_forbids_need_not_be_measured(tasksim, tmp_path):
    (tmp_path / "gaps.csv").write_text("n,1,2\n1,5,\n2,1,3\n1,5,\n2,1,3\n")
    words = "tune table gaps.csv --features n --choices 1,2"
    assert tasksim(f"{words} --limit n").code == 0
    done = tasksim(words)
    assert done.code == 2
    assert done.errors == ["Error: gaps.csv:2:5: 2: got ''; legal: a number larger than 0"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--features nn --choices a", "t.csv:1: no column 'nn', did you mean 'n'"),
        ("--features n --choices a,a", "column 'a' is named twice"),
        ("--features n --choices n", "column 'n' is named twice"),
        ("--features n, --choices a", "got 'n,'; legal: names of columns with commas"),
        ("--features n --choices a --limit n", "choice 'a' is not a number"),
        ("--features n --choices a --test 3/2", "'3/2' is not a part of a whole"),
        ("--features n --choices a --test 1/0", "'1/0' is not a part of a whole"),
        ("--features n --choices a --test 1%", "0.01 of 3 rows are 0"),
        ("--features n --choices a --threshold 2", "threshold: got 2.0; legal: a number from 0 to"),
        ("--features n --choices a --leave-one-out b", "all rows have the same b, '2'"),
    ],
)
def test_words_that_make_no_sense(tasksim, tmp_path, words, said):
    (tmp_path / "t.csv").write_text("n,a,b\n1,1,2\n1,1,2\n1,1,2\n")
    done = tasksim(f"tune table t.csv {words}")
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t.csv: is empty"),
        ("n,a\n", "t.csv: has no rows below its header"),
        ("n,a,a\n1,1,1\n", "t.csv:1:5: column 'a' occurs twice"),
        ("n,a\n1,nan\n", "t.csv:2:3: a: got 'nan'; legal: a number larger than 0"),
        ("n,a\n1,2\n1,0\n", "t.csv:3:3: a: got '0'; legal: a number larger than 0"),
        ("n,a\n1,-1\n", "t.csv:2:3: a: got '-1'; legal: a number larger than 0"),
        ('"n", a\nx, 1\n2, 1\n', "t.csv:2:1: n: got 'x'; legal: a finite number"),
        ('a,"b,c",n\n1,2,  inf\n', "t.csv:2:7: n: got 'inf'; legal: a finite number"),
        ("n,a\n1\n", "t.csv:2: got 1 field"),
    ],
)
def test_tables_that_make_no_sense(tasksim, tmp_path, text, said):
    (tmp_path / "t.csv").write_text(text)
    done = tasksim("tune table t.csv --features n --choices a")
    assert done.code == 2
    assert len(done.errors) == 1
    assert said in done.err


def test_a_limit_below_all_choices(tasksim, tmp_path):
    (tmp_path / "t.csv").write_text("n,2,4\n2,1,1\n1,1,1\n")
    done = tasksim("tune table t.csv --features n --choices 2,4 --limit n")
    assert done.errors == [
        "Error: t.csv:3:1: n: got '1'; legal: a number from 2, the smallest choice"
    ]


def test_without_scikit_learn_its_methods_are_left_out(tasksim, blaze, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    done = tasksim(f"{TUNE_COMMAND} --json")
    assert done.json["left_out"]["preto"] == str(missing("sklearn", "learning"))
    assert "tree" in done.json["methods"]
    asked = tasksim(f"{TUNE_COMMAND} --preto neural")
    assert asked.code == 2
    assert asked.errors == [f"Error: {missing('sklearn', 'this method')}"]


def test_texts_are_features(tasksim, blaze):
    """The best chunk depends on the loop alone: a tree that knows its name is always right."""
    best = {"add": (9, 2, 1), "dot": (1, 9, 3), "gemm": (2, 1, 9)}
    rows = [f"{loop},{','.join(map(str, best[loop]))}" for loop in list(best) * 6]
    blaze.write_text("\n".join(["loop,1,2,4", *rows, ""]))
    words = "tune table blaze.csv --features loop --choices 1,2,4 --splits 5"
    done = tasksim(f"{words} --json")
    assert done.json["features"] == ["loop=add", "loop=dot", "loop=gemm"]
    assert done.json["methods"]["tree"]["msop"] == 1
    blaze.write_text(blaze.read_text().replace("dot,1", "7,1", 1))
    failed = tasksim(words)
    assert failed.code == 2
    assert "blaze.csv:2:1: loop: got 'add'; legal: a finite number" in failed.err


@pytest.mark.parametrize("which", ["tree", "preto"])
def test_a_tree_of_all_rows_is_written(tasksim, blaze, tmp_path, which):
    if which == "preto" and not learners.available():
        pytest.skip("scikit-learn is not installed")
    words = f"{TUNE_COMMAND} --choose chunk_size --tree-of {which}"
    done = tasksim(f"{words} -o chunk.h -o chunk.json -o chunk.py --json")
    assert done.code == 0, done.err
    assert "choose_chunk_size(double Nthr, double Ms)" in (tmp_path / "chunk.h").read_text()
    written = json.loads((tmp_path / "chunk.json").read_text())
    assert (written["choose"], written["examples"]) == ("chunk_size", 54)
    assert done.json["methods"][which]["msop"] - 0.1 < written["msop"] <= 1
    scope = {}
    exec((tmp_path / "chunk.py").read_text(), scope)
    assert scope["choose_chunk_size"](4, 30) in (1, 2, 4)
    asked = tasksim("predict chunk.json Nthr=4 Ms=30 --json").json
    assert asked["choice"] == str(scope["choose_chunk_size"](4, 30))
    assert tasksim("predict chunk.json Nthr=4 Ms=30").out.startswith(
        f"chunk_size={asked['choice']}\nit reaches "
    )
    assert tasksim(f"{words} -o chunk.h").code == 2
    assert tasksim(f"{words} -o chunk.h --force").code == 0
    assert "end in .h, .py" in tasksim(f"{words} -o chunk.exe").err


def test_a_tree_is_asked_with_numbers_and_texts(tasksim, blaze):
    best = {"add": (9, 1), "dot": (1, 9)}
    rows = [
        f"{loop},{misses},{one},{two}" for loop, (one, two) in best.items() for misses in (1, 5)
    ]
    blaze.write_text("\n".join(["loop,misses,1,2", *rows * 3, ""]))
    tasksim("tune table blaze.csv --features loop,misses --choices 1,2 --splits 2 -o best.json")
    for loop, choice in (("add", "1"), ("dot", "2")):
        asked = tasksim(f"predict best.json misses=3 loop={loop} --json").json
        assert (asked["choose"], asked["choice"], asked["msop"]) == ("choice", choice, 1)
        assert asked["features"] == {"misses": "3", "loop": loop}
    for words, said in (
        ("loop=add", "best.json: misses missing; give misses=VALUE as well"),
        ("loop=add misses=few", "misses: got 'few'; legal: a finite number"),
        ("loop=add misses=1 mises=2", "did you mean 'misses'?"),
        ("loop=add misses=1 --kernel gemm", "--kernel is for kernel models"),
    ):
        failed = tasksim(f"predict best.json {words}")
        assert failed.code == 2
        assert said in failed.err


def test_the_tree_of_preto_says_what_its_classifier_says():
    if not learners.available():
        pytest.skip("scikit-learn is not installed")
    rng = np.random.default_rng(0)
    sizes, threads = rng.integers(1, 50, 200), rng.integers(1, 9, 200)
    noisy = {str(c): rng.random(200) + (sizes > 10 * c) for c in (1, 2, 3)}
    found = PerformanceTable.of({"n": sizes, "threads": threads}, noisy)
    tree = learners.preto_tree(found, seed=0)
    method = learners.preto("tree", 0)(found)
    assert method.nodes == len(tree)
    assert np.array_equal(method.shares(found), TreeChoice(tree).shares(found))


def test_the_time_of_a_prediction_is_told(tasksim, blaze):
    done = tasksim(f"{TUNE_COMMAND} --timed --json")
    for name, score in done.json["methods"].items():
        assert 0 <= score["prediction_s"] < 1, name
    assert "prediction" in tasksim(f"{TUNE_COMMAND} --timed").out
