"""``fit --over``: a fit with each combination of values of options, the best one taken."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.cli.fit import combinations
from tasksim.cli.main import cli
from tasksim.models.optionsweep import Trial, best_trial, sweep
from tasksim.models.samples import Samples


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Samples of a sum of two products, which has rank 2, and others to judge by."""
    path, rng = tmp_path_factory.mktemp("over"), np.random.default_rng(0)
    for name, count in (("gemm", 400), ("test", 100)):
        m, n = np.floor(np.exp(rng.uniform(np.log(32), np.log(1024), (2, count))))
        lines = [
            f"{a:.0f},{b:.0f},{1e-9 * a * b + 2e-8 * a:.15g}" for a, b in zip(m, n, strict=True)
        ]
        (path / f"{name}.csv").write_text("\n".join(["m,n,duration_s", *lines, ""]))
    return path


def fit(folder, *words):
    done = CliRunner().invoke(cli, ["fit", str(folder / "gemm.csv"), *map(str, words)])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.slow
def test_all_combinations_are_judged_and_the_best_is_taken(folder, tmp_path):
    code, out, err = fit(
        folder, "--kind", "cp", "--over", "rank=1,3", "--over", "cells=4,8", "--regularization",
        "1e-6", "--test", folder / "test.csv", "-o", tmp_path / "gemm.json", "--report",
        tmp_path / "gemm.html", "--json",
    )  # fmt: skip
    assert code == 0, err
    said = json.loads(out)
    rows = said["over"]
    assert [(row["rank"], row["cells"]) for row in rows] == [(1, 4), (1, 8), (3, 4), (3, 8)]
    best = min(rows, key=lambda row: row["mlogq_cv"])
    assert best["rank"] == 3
    assert said["tensor"]["rank"] == 3
    assert said["tensor"]["cells"] == {"m": best["cells"], "n": best["cells"]}
    assert (said["mlogq_cv"], said["mlogq_test"]) == (best["mlogq_cv"], best["mlogq_test"])
    assert rows[2]["mlogq_test"] < rows[0]["mlogq_test"] / 4
    assert rows[0]["density"] == 1.0
    page = (tmp_path / "gemm.html").read_text()
    assert "Errors over rank and cells" in page
    assert page.index("Errors over rank") < page.index("Kinds of models")
    # What a fit without --over gives that has these options.
    again = fit(
        folder, "--kind", "cp", "--rank", 3, "--cells", best["cells"], "--regularization", "1e-6",
        "--json",
    )  # fmt: skip
    assert json.loads(again[1])["mlogq_cv"] == best["mlogq_cv"]


@pytest.mark.slow
def test_the_table_stands_below_what_was_chosen(folder):
    code, out, _ = fit(folder, "--kind", "cp", "--over", "rank=1,2", "--cells", "4")
    assert code == 0
    table = out.partition("\n\nrank")[2].splitlines()
    assert [line.split()[0] for line in table[1:]] == ["1", "2"]
    assert "over" not in json.loads(fit(folder, "--kind", "cp", "--rank", "2", "--json")[1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--over", "ran=1"], "unknown option of --over 'ran', did you mean 'rank'?"),
        (["--over", "rank=1,x"], "--over rank=1,x: got 'x'; legal: whole numbers above 0"),
        (["--over", "cells=0"], "got '0'; legal: whole numbers above 0"),
        (["--over", "regularization=nan"], "got 'nan'; legal: numbers above 0"),
        (["--over", "rank"], "--over rank: legal: rank=VALUE,..., each value once"),
        (["--over", "rank=2,2"], "each value once"),
        (["--over", "rank=1", "--over", "rank=2"], "rank is given twice"),
        (["--rank", "3", "--over", "rank=1"], "rank is given twice"),
        (["--over", f"rank={','.join(map(str, range(1, 402)))}"], "401 combinations; legal: 400"),
        (["--over", "cells=5000"], "legal: a whole number from 1 to 4096"),
    ],
)
def test_wrong_values_are_refused(folder, words, said):
    code, out, err = fit(folder, "--kind", "cp", *words)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("kind", ["auto", "mlr"])
def test_other_kinds_have_no_such_options(folder, kind):
    code, _, err = fit(folder, "--kind", kind, "--over", "rank=1")
    assert code == 2
    assert f"--rank is for --kind cp or hybrid, got --kind {kind}" in err


@given(
    ranks=st.lists(st.integers(1, 99), min_size=1, max_size=6, unique=True),
    cells=st.lists(st.integers(1, 99), min_size=1, max_size=6, unique=True),
)
def test_combinations_are_the_product_in_the_order_given(ranks, cells):
    texts = [f"rank={','.join(map(str, ranks))}", f"cells={', '.join(map(str, cells))}"]
    found = combinations(texts, {"rank": None, "cells": None})
    assert found == [{"rank": r, "cells": c} for r in ranks for c in cells]


def test_without_errors_the_first_is_taken():
    def trial(cells, error):
        return Trial({"cells": cells}, SimpleNamespace(chosen=SimpleNamespace(mlogq_cv=error)))

    unjudged = [trial(2, None), trial(1, None)]
    assert best_trial(unjudged) is unjudged[0]
    judged = trial(3, 9.0)
    assert best_trial([*unjudged, judged]) is judged


def test_nothing_to_sweep_over_is_refused():
    with pytest.raises(InputError, match="no values to sweep over"):
        sweep(Samples(("n",), [[1.0], [2.0]], [1e-3, 2e-3]), "cp", [])
