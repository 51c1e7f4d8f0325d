"""Choosing trees made of PosTO's regression tree."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.tuning import learners
from tasksim.tuning.methods import chosen_shares
from tasksim.tuning.table import PerformanceTable
from tasksim.tuning.tree_file import tree_from_json

pytestmark = pytest.mark.skipif(not learners.available(), reason="scikit-learn is not installed")


def drawn(rng, examples, choices, features=2):
    """Return a table whose best choice depends on the features, with noise."""
    values = rng.integers(0, 12, (examples, features)).astype(float)
    best = values.sum(axis=1) % len(choices)
    performance = 10.0 - np.abs(np.arange(len(choices)) - best[:, None])
    performance = performance + rng.normal(0.0, 1.0, performance.shape)
    return PerformanceTable.of(
        {f"f{k}": values[:, k].tolist() for k in range(features)},
        {name: np.maximum(performance[:, k], 0.1).tolist() for k, name in enumerate(choices)},
    )


@pytest.mark.parametrize("choices", [("1", "2", "4", "8"), ("eager", "lws", "prio")])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), examples=st.integers(1, 30))
def test_it_chooses_as_the_regression_does_wherever_it_is_asked(choices, seed, examples):
    rng = np.random.default_rng(seed)
    table = drawn(rng, examples, choices)
    tree = learners.posto_tree(table, seed)
    asked = drawn(rng, 60, choices)
    predicted = learners.posto("tree", seed)(table).shares(asked)
    assert chosen_shares(asked, tree.choose(asked.values)).tolist() == predicted.tolist()
    leaves = [node for node in tree.nodes() if hasattr(node, "choice")]
    assert sum(leaf.examples for leaf in leaves) == examples


def test_a_tree_that_grows_too_large_is_refused(monkeypatch):
    table = drawn(np.random.default_rng(0), 30, ("1", "2", "4"))
    monkeypatch.setattr(learners, "MAX_LEAVES", 3)
    with pytest.raises(InputError, match=r"more than 3 leaves; legal: .*--tree-of"):
        learners.posto_tree(table, 0)


def test_the_command_writes_it_for_c_and_for_auto(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["n,128,256", *(f"{n},{10 - n},{n}" for n in range(1, 10))]
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    done = CliRunner().invoke(cli, [
        "tune", "table", "table.csv", "--features", "n", "--choices", "128,256", "--splits", "2",
        "--tree-of", "posto", "--choose", "graph.tile_size", "-o", "tile.h", "-o", "tile.json",
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    path = tmp_path / "tile.json"
    tree = tree_from_json(json.loads(path.read_text()), path).tree
    chosen = tree.choose(np.arange(1.0, 10.0)[:, None])
    assert [tree.choices[choice] for choice in chosen] == ["128"] * 5 + ["256"] * 4
    assert "choose_tile_size" in (tmp_path / "tile.h").read_text()
