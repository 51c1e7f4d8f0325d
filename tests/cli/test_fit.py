"""`tasksim fit`: from samples to a coefficient file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tasksim.graph.builder import RW, GraphBuilder
from tasksim.graph.graph_file import save as save_graph
from tasksim.models.files.store import load_kernel

TERMS = "--terms 'm*n*k + m*n'"
KEYS = [
    "schema_version", "kind", "why", "terms", "formula", "coefficients", "rsquared",
    "rsquared_adj", "tensor", "learned", "notes", "counters", "alternatives",
    "mlogq_cv", "size_bytes", "fit_seconds", "samples", "configurations", "domain", "unused",
    "candidates", "outside", "worst", "worst_region", "warnings", "output", "report", "source",
]  # fmt: skip
TEST_KEYS = ["mlogq_test", "bias_test", "errors_test", "coverage"]


def lines_of(table, durations_s):
    rows = zip(table.tolist(), durations_s.tolist(), strict=True)
    return ["m,n,k,runtime_s", *(",".join(map(repr, [*row, t])) for row, t in rows)]


def measured(configurations, repetitions, seed=0):
    rng = np.random.default_rng(seed)
    table = np.exp(rng.uniform(np.log(32), np.log(1024), (configurations, 3))).round()
    table = np.repeat(table, repetitions, axis=0)
    mean_s = 2e-6 + 4e-11 * table.prod(axis=1) + 1e-9 * table[:, 0] * table[:, 1]
    return lines_of(table, mean_s * rng.lognormal(0.0, 0.05, len(table)))


@pytest.fixture
def files(tasksim, tmp_path):
    """Write gemm.csv and gemm-test.csv to the working directory."""
    (tmp_path / "gemm.csv").write_text("\n".join([*measured(60, 4), ""]))
    (tmp_path / "gemm-test.csv").write_text("\n".join([*measured(200, 2, seed=1), ""]))
    return tmp_path


def test_what_is_printed_for_programs(tasksim, files):
    called = tasksim(
        f"fit gemm.csv --duration runtime_s --parameters m,n,k {TERMS} --test gemm-test.csv"
        " -o models/here/gemm.json --json"
    )
    assert called.code == 0, called.err
    found = called.json
    assert sorted(found) == sorted(KEYS + TEST_KEYS)
    assert found["kind"] == "mlr"
    assert found["terms"] == ["1", "m*n*k", "m*n"]
    assert found["mlogq_cv"] < 0.03
    assert found["mlogq_test"] == found["errors_test"]["mlogq"] < 0.05
    assert abs(found["bias_test"]) < 0.01
    assert 0.85 <= found["coverage"] <= 0.95
    assert (found["samples"], found["configurations"]) == (240, 60)
    assert found["warnings"] == []
    assert [row["kind"] for row in found["candidates"]] == ["mlr"]
    without = tasksim(f"fit gemm.csv {TERMS} --json").json
    assert list(without) == KEYS
    assert without["output"] is None


def test_the_file_predicts_what_was_said(tasksim, files):
    found = tasksim(f"fit gemm.csv {TERMS} -o models/here/gemm.json --json").json
    file = load_kernel(files / "models/here/gemm.json")
    assert (file.kernel, file.machine.name, file.parameters) == ("gemm", "here", ("m", "n", "k"))
    assert file.architectures["cpu"].measured.how == "samples of gemm.csv"
    assert file.architectures["cpu"].model.formula() == found["formula"]
    asked = tasksim("predict models/here/gemm.json m=256 n=256 k=256 --json").json
    assert asked["low_s"] < asked["duration_s"] < asked["high_s"]
    assert asked["duration_s"] == pytest.approx(2e-6 + 4e-11 * 256**3 + 1e-9 * 256**2, rel=0.03)
    assert tasksim("validate models/here/gemm.json").code == 0


def test_the_same_seed_writes_the_same_bytes(tasksim, files):
    texts = []
    for name in ("a", "b"):
        called = tasksim(f"fit gemm.csv {TERMS} --seed 3 -o {name}/gemm.json")
        assert called.code == 0, called.err
        texts.append((files / name / "gemm.json").read_text().replace(f'"{name}"', '"x"'))
    assert texts[0] == texts[1]


def test_simulations_take_the_models(tasksim, files):
    (files / "size.csv").write_text(
        "\n".join(["m,duration_s", *(f"{m},{1e-9 * m**3 * f}" for m in (32, 64, 128, 256)
                                     for f in (0.98, 1.0, 1.02)), ""])
    )  # fmt: skip
    text = (files / "size.csv").read_text()
    for kernel, name in {"potrf": "n", "trsm": "m", "syrk": "n", "gemm": "m"}.items():
        (files / "one.csv").write_text(text.replace("m,", f"{name},", 1))
        line = f"fit one.csv --kind power -o models/here/{kernel}.json"
        assert tasksim(line).code == 0
    for noise in ("none", "model"):
        called = tasksim(
            "simulate cholesky tiles=4 tile_size=128 --workers 2 --models models/here"
            f" --noise {noise} --check --json"
        )
        assert called.code == 0, called.err
        work = 20 * 1e-9 * 128**3
        assert called.json["work_s"] == pytest.approx(work, rel=0.02)


def test_a_linear_model_is_written_as_a_function(tasksim, files):
    called = tasksim(f"fit gemm.csv --kind mlr {TERMS} --source gemm_s.py --json")
    assert called.code == 0, called.err
    assert called.json["source"] == "gemm_s.py"
    names: dict[str, object] = {}
    exec((files / "gemm_s.py").read_text(), names)
    model = eval(f"lambda m, n, k: {called.json['formula']}")
    assert names["gemm_s"](100, 200, 300) == pytest.approx(model(100, 200, 300), rel=1e-4)
    assert tasksim(f"fit gemm.csv --kind mlr {TERMS} --source gemm_s.c").code == 0
    assert "double gemm_s(double m, double n, double k)" in (files / "gemm_s.c").read_text()
    again = tasksim(f"fit gemm.csv --kind mlr {TERMS} --source gemm_s.c")
    assert again.errors == ["Error: gemm_s.c exists; give --force to replace it"]
    other = tasksim("fit gemm.csv --kind hybrid --source gemm.c")
    assert other.errors == [
        "Error: --source: models of kind hybrid cannot be written as source code; give --kind mlr "
        "(C, Python) or learned (C)"
    ]
    wrong = tasksim("fit gemm.csv --kind learned --source gemm.py")
    assert wrong.errors == ["Error: --source: models of kind learned are written in c only"]
    wrong = tasksim(f"fit gemm.csv --kind mlr {TERMS} --source gemm.f90")
    assert wrong.errors == ["Error: gemm.f90: sources are .c or .py files; got '.f90'"]


@pytest.mark.parametrize(("kind", "law"), [("cp", {}), ("hybrid", {"law": "products"})])
def test_a_tensor_as_it_is_asked_for(tasksim, files, kind, law):
    called = tasksim(
        f"fit gemm.csv --kind {kind} --rank 2 --cells m=4,n=3,k=5 --spacing m=uniform"
        " --regularization 1e-5 -o gemm.json --json"
    )
    assert called.code == 0, called.err
    found = called.json
    assert found["kind"] == kind
    assert [row["kind"] for row in found["candidates"]] == [kind]
    density = found["tensor"].pop("density")
    assert 0.3 < density <= 1
    assert found["tensor"] == {
        "rank": 2, "cells": {"m": 4, "n": 3, "k": 5}, "method": "alternating least squares",
        "regularization": 1e-5, **law,
    }  # fmt: skip
    edges = {axis["name"]: axis["edges"] for axis in stored_axes(files / "gemm.json")}
    assert np.diff(edges["m"]) == pytest.approx(np.diff(edges["m"]).mean())
    assert np.diff(np.log(edges["n"])) == pytest.approx(np.diff(np.log(edges["n"])).mean())


def stored_axes(path):
    return json.loads(path.read_text())["architectures"]["cpu"]["model"]["axes"]


def test_a_tensor_of_positive_factors(tasksim, files):
    options = "--kind cp --mode extrapolation --rank 1 --cells 4 --regularization 1e-5"
    called = tasksim(f"fit gemm.csv {options}")
    (line,) = [line for line in called.out.splitlines() if line.startswith("tensor")]
    assert line.startswith("tensor    rank 1, cells m=4 n=4 k=4, ")
    assert line.endswith(" % of them measured, positive Newton method, regularization 1e-05")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--rank 3", "--rank is for --kind cp or hybrid, got --kind auto"),
        ("--kind mlr --cells 4", "--cells is for --kind cp or hybrid, got --kind mlr"),
        ("--kind hybrid --mode extrapolation", "--mode is for --kind cp, got --kind hybrid"),
        ("--kind cp --cells m=4,m=5", "--cells: got 'm=5' in 'm=4,m=5'; legal: a whole number"),
        ("--kind cp --cells m=x", "--cells: got 'm=x' in 'm=x'; legal: a whole number"),
        ("--kind cp --cells m=4,6", "--cells: 'm=4,6' has a value for all parameters beside"),
        ("--kind cp --spacing =log", "--spacing: got '=log' in '=log'; legal: log, uniform"),
    ],
)
def test_options_of_tensors_that_make_no_sense(tasksim, files, options, message):
    called = tasksim(f"fit gemm.csv {options}")
    assert called.code == 2
    assert called.errors[0].startswith(f"Error: {message}")


def test_regularization_is_above_0(tasksim, files):
    called = tasksim("fit gemm.csv --kind cp --regularization 0")
    assert called.code == 2
    assert called.errors[-1] == (
        "Error: Invalid value for '--regularization': 0.0 is not in the range x>0."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--rank 0", "rank: got 0 (int); legal: a whole number from 1"),
        ("--cells 0", "cells: got 0 (int); legal: a whole number from 1 to 4096"),
        ("--cells q=4", "unknown parameter 'q' (known: m, n, k)"),
        ("--spacing lgo", "unknown spacing of parameter 'm' 'lgo', did you mean 'log'?"),
    ],
)
def test_values_that_a_tensor_refuses(tasksim, files, options, message):
    called = tasksim(f"fit gemm.csv --kind cp {options}")
    assert called.code == 2
    assert called.errors[0].startswith(f"Error: gemm.csv: cannot be fitted: {message}")


@pytest.mark.slow
def test_a_learned_model_says_what_it_is_made_of(tasksim, files):
    called = tasksim("fit gemm.csv --kind learned")
    (line,) = [line for line in called.out.splitlines() if line.startswith("learned   on")]
    assert "on a law (" in line
    assert "weights: " in line
    found = tasksim("fit gemm.csv --kind learned --json").json["learned"]
    assert set(found) == {"law", "centres", "trees", "weights"}
    assert tasksim(f"fit gemm.csv {TERMS} --json").json["learned"] is None


@pytest.mark.slow
def test_all_kinds_are_compared(tasksim, files):
    called = tasksim("fit gemm.csv --budget 20s --json")
    assert called.code == 0, called.err
    rows = {row["kind"]: row for row in called.json["candidates"]}
    assert list(rows) == ["history", "power", "mlr", "cp", "hybrid", "learned"]
    assert called.json["kind"] == "mlr"
    assert "need samples with 1 parameter(s), got 3" in rows["power"]["reason"]


@pytest.mark.slow
def test_extrapolation_is_judged_where_it_will_be_asked_for(tasksim, files):
    given = f"fit gemm.csv --parameters m,n,k {TERMS} --domain m=32..8192,n=32..1024"
    called = tasksim(f"{given} --json")
    assert called.code == 0, called.err
    found = called.json
    assert found["outside"]["left_out"] == ["the largest m"]
    share = found["outside"]["share"]
    assert 0.35 < share < 0.45
    assert found["outside"]["mlogq"] == found["candidates"][0]["mlogq_outside"] < 0.05
    text = tasksim(f"{given} --report gemm.md").out
    assert f"\noutside   {100 * share:.3g} % of the domain; judged by the largest m\n" in text
    assert "\nkind     mlogq      ± outside    bytes\n" in text
    assert "domain asked for is outside the samples" in (files / "gemm.md").read_text()


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ("m=32", "--domain: got 'm=32'; legal: NAME=LOW..HIGH,..., each once"),
        ("m=1..2,m=1..3", "--domain: got 'm=1..3' in 'm=1..2,m=1..3'"),
        ("mm=1..2", "gemm.csv: domain: unknown parameter 'mm', did you mean 'm'? (known: m, n, k)"),
        ("m=5..2", "gemm.csv: domain: m from 5 to 2; legal: numbers from 0, the lower first"),
    ],
)
def test_domains_that_make_no_sense(tasksim, files, domain, message):
    called = tasksim(f"fit gemm.csv --parameters m,n,k {TERMS} --domain {domain}")
    assert called.code == 2
    assert message in called.err


def test_the_domain_is_that_of_a_graph(tasksim, files):
    given = f"fit gemm.csv --parameters m,n,k {TERMS} --json"
    found = tasksim(f"{given} --for 'cholesky tiles=3 tile_size=4096'")
    assert found.code == 0, found.err
    assert found.json["outside"]["left_out"] == ["the largest m", "the largest n", "the largest k"]
    inside = tasksim(f"{given} --for 'cholesky tiles=3 tile_size=256'")
    assert inside.json["outside"] is None


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("'choleski tiles=3'", "--for: unknown task graph 'choleski', did you mean 'cholesky'?"),
        ("'lu tiles=3'", "--for: lu tiles=3: unknown kernel 'gemm', did you mean 'gemm_nn'?"),
        ("'chain length=3'", "--for: chain length=3: unknown kernel 'gemm' (known: task)"),
        ("'cholesky tiles=x'", "--for: cholesky: tiles: got 'x'; legal: an integer from 1"),
        ("''", "--for: got ''; legal: a graph and its settings, such as 'cholesky tiles=40'"),
        ("'cholesky tiles=3' --domain m=1..2", "leave --domain out"),
    ],
)
def test_graphs_that_say_no_sizes(tasksim, files, graph, message):
    called = tasksim(f"fit gemm.csv --parameters m,n,k {TERMS} --for {graph}")
    assert called.code == 2
    assert message in called.err


def test_what_is_printed_for_people(tasksim, files):
    called = tasksim(f"fit gemm.csv {TERMS} --test gemm-test.csv -o gemm.json")
    assert [line.split()[0] for line in called.out.splitlines() if line] == [
        "chosen", "formula", "fit", "samples", "test", "size", "kind", "mlr",
    ]  # fmt: skip
    assert called.err == "Wrote gemm.json\n"


@pytest.mark.slow
def test_what_samples_cannot_tell_is_said(tasksim, files):
    """If sizes hardly change, many powers of them fit alike."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(8, 12, 40), rng.integers(200, 280, 40), np.ones(40)])
    text = lines_of(table, 1e-9 * table[:, 0] * table[:, 1] ** 2 * rng.lognormal(0, 0.2, 40))
    (files / "few.csv").write_text("\n".join([*text, ""]))
    line = "fit few.csv --parameters m,n --kind mlr"
    found = tasksim(f"{line} --json").json
    (told,) = found["alternatives"]
    assert len(told["instead"]) > 6
    shown = [entry["term"] for entry in told["instead"][:6]]
    (said,) = [text for text in tasksim(line).out.splitlines() if text.startswith("or ")]
    assert said.split(maxsplit=1)[1] == (
        f"instead of {told['term']}: {', '.join(shown)} and {len(told['instead']) - 6} more "
        "(within one standard error)"
    )


def test_a_test_beyond_what_a_history_knows(tasksim, files):
    called = tasksim("fit gemm.csv --kind history --test gemm-test.csv --json")
    assert called.code == 0
    assert called.json["mlogq_test"] is None
    assert called.json["warnings"] == [
        "history cannot predict 200 of 200 configurations of the test, which do not count"
    ]


def test_weights_are_those_of_linear_models(tasksim, files):
    found = {
        weights: tasksim(f"fit gemm.csv {TERMS} --weights {weights} --json").json["formula"]
        for weights in ("relative", "none", "huber")
    }
    assert len(set(found.values())) == 3
    called = tasksim("fit gemm.csv --kind power --weights none")
    assert called.errors == ["Error: --weights is for linear models, got --kind power"]


@pytest.mark.slow
def test_a_report(tasksim, files):
    called = tasksim(f"fit gemm.csv {TERMS} --test gemm-test.csv --report gemm.html")
    assert "<title>Kernel model of gemm on cpu: mlr</title>" in (files / "gemm.html").read_text()
    assert called.code == 0, called.err
    assert (files / "gemm.html").read_text().lstrip().lower().startswith("<!doctype html")
    assert called.err.endswith("Wrote gemm.html\n")


def test_nothing_is_replaced_unless_told_and_other_architectures_are_kept(tasksim, files):
    line = f"fit gemm.csv {TERMS} -o gemm.json"
    assert tasksim(f"{line} --architecture cuda").code == 0
    called = tasksim(line)
    assert called.errors == ["Error: gemm.json exists; give --force to replace it"]
    assert tasksim(f"{line} --force").code == 0
    assert list(load_kernel(files / "gemm.json").architectures) == ["cpu", "cuda"]
    (files / "gemm.html").write_text("mine")
    assert tasksim(f"fit gemm.csv {TERMS} --report gemm.html").code == 2
    assert (files / "gemm.html").read_text() == "mine"


def changed(line, text):
    def change(lines):
        return [*lines[:line], text, *lines[line + 1 :]]

    return change


MISTAKES = {
    "a column of durations missing": (
        lambda lines: ["m,n,k,runtim_s", *lines[1:]], "--duration runtime_s",
        "unknown column 'runtime_s', did you mean 'runtim_s'",
    ),
    "a column of parameters missing": (
        lambda lines: lines, "--parameters m,n,kk", "unknown column 'kk', did you mean 'k'",
    ),
    "text for a parameter": (changed(3, "x,2,3,0.1"), "", "gemm.csv:4:1: m: got 'x'"),
    "text for a duration": (changed(3, "1,2,3,fast"), "", "gemm.csv:4:7: runtime_s: got 'fast'"),
    "no time at all": (changed(3, "1,2,3,0"), "", "gemm.csv:4:7: runtime_s: got '0'"),
    "a negative duration": (changed(3, "1,2,3,-1"), "", "gemm.csv:4:7: runtime_s: got '-1'"),
    "infinity": (changed(3, "1,2,3,inf"), "", "gemm.csv:4:7: runtime_s: got 'inf'"),
    "two tables": (changed(3, "a,b,c,time_s"), "", "gemm.csv:4:1: got a line without numbers"),
    "no duration": (
        lambda lines: ["m,n,k,l", *lines[1:]], "", "gemm.csv:1: no column has the name of a"
            " duration",
    ),
    "fewer configurations than terms": (
        lambda lines: lines[:1] + lines[1::4][:4], "--terms 'm*n*k + m*n + m + n'",
        "5 terms (1 + m*n*k + m*n + m + n) need samples of at least 5 configurations",
    ),
    "a constant parameter": (
        lambda lines: [lines[0], *(f"64,{line.partition(',')[2]}" for line in lines[1:])],
        "--terms m*n*k", "parameter m is 64 in all 240 samples",
    ),
    "constant parameters": (
        lambda lines: [lines[0], *(f"64,64,64,{line.split(',')[3]}" for line in lines[1:])], "",
        "parameter m is 64 in all 240 samples",
    ),
    "collinear parameters": (
        lambda lines: [lines[0], *(f"{line.split(',')[1]},{line.partition(',')[2]}"
                                   for line in lines[1:])], "",
        "parameter n is a linear combination of m in all samples",
    ),
    "one sample": (lambda lines: lines[:2], "", "1 sample: it says nothing about other durations"),
    "no samples": (lambda lines: lines[:1], "", "legal: samples"),
    "unknown terms": (lambda lines: lines, "--terms m*q", "unknown parameter 'q'"),
    "terms of something else": (
        lambda lines: lines, "--terms m --kind history", "--terms is for linear models",
    ),
    "another suffix": (lambda lines: lines, "-o model.txt", "kernel models are in .json files"),
    "another suffix of reports": (lambda lines: lines, "--report x.txt", ".html or .md"),
    "an unknown kind": (
        lambda lines: lines, "--kind hystory", "unknown kind of model 'hystory', did you mean",
    ),
    "a kind without fit": (lambda lines: lines, "--kind constant", "are not fitted to samples"),
    "a budget of nothing": (lambda lines: lines, "--budget 0s", "must be more than 0"),
    "no test": (lambda lines: lines, "--terms m*n*k --test none.csv", "none.csv: no such file"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_said_and_nothing_is_written(tasksim, files, case):
    change, options, message = MISTAKES[case]
    lines = (files / "gemm.csv").read_text().splitlines()
    (files / "gemm.csv").write_text("\n".join([*change(lines), ""]))
    before = sorted(path.name for path in files.iterdir())
    output = "" if "-o" in options else "-o gemm.json"
    called = tasksim(f"fit gemm.csv {options} {output}")
    assert called.code == 2, called.err
    assert message in called.err
    assert called.out == ""
    assert sorted(path.name for path in files.iterdir()) == before


def test_json_is_one_object(tasksim, files):
    called = tasksim(f"fit gemm.csv {TERMS} --json")
    assert json.loads(called.out)["schema_version"] == 1
    assert "Warning" not in called.err  # a slow machine may say how far it is


def kripke(rows):
    """Return samples with two columns of text, ``layout`` and ``solver``."""
    lines = ["layout,solver,groups,order,time_ms"]
    for i in range(rows):
        groups = 8 << (i % 4)
        lines.append(f"{('dgz', 'zgd')[i % 2]},{('sweep', 'bj')[i // 2 % 2]},{groups},4,{groups}")
    return "\n".join([*lines, ""])


def test_no_column_vanishes_without_a_word(tasksim, tmp_path):
    """Texts are categories, and what is no parameter is told, with the way to take it."""
    text = kripke(40).splitlines()
    rows = [f"{i},{line},{i % 7}" for i, line in enumerate(text[1:])]
    (tmp_path / "kripke.csv").write_text("\n".join([f"id,{text[0]},std", *rows, ""]))
    called = tasksim("fit kripke.csv --kind mlr --terms groups")
    assert (
        "Warning: kripke.csv: not used: id (row numbers); std (the spread of durations); "
        "--parameters takes the columns that it names\n"
    ) in called.err
    notes = [line for line in called.out.splitlines() if line.startswith("note")]
    assert notes == [
        "note      layout has categories: dgz, zgd",
        "note      solver has categories: bj, sweep",
    ]
    found = tasksim("fit kripke.csv --kind mlr --terms groups --json").json
    assert found["warnings"][0].startswith("kripke.csv: not used: id (row")
    assert found["notes"] == [line.removeprefix("note      ") for line in notes]
    assert found["unused"] == [
        {"name": "id", "why": "row numbers", "chosen": False},
        {"name": "std", "why": "the spread of durations", "chosen": False},
        {"name": "order", "why": "4 in all 40 samples", "chosen": False},
    ]
    named = tasksim("fit kripke.csv --kind mlr --terms groups --parameters groups")
    line = "note      not used: id, layout, solver, order, std (not among the parameters named)"
    assert line in named.out.splitlines()


def test_categories_of_texts_and_of_numbers(tasksim, tmp_path):
    """They are in the file, in the formula and in the test's samples."""
    rng = np.random.default_rng(0)
    rows = [
        f"{layout},{nodes},{n},{1e-3 * n * (2 if layout == 'row' else 1) / nodes}"
        for n in rng.integers(10, 500, 30).tolist()
        for layout in ("row", "col")
        for nodes in (1, 2, 8)
    ]
    (tmp_path / "runs.csv").write_text("\n".join(["layout,nodes,n,runtime_ms", *rows, ""]))
    test = ["n,layout,nodes,runtime_ms", "50,row,2,.05", "60,col,2,.03", "60,tile,2,.03"]
    (tmp_path / "test.csv").write_text("\n".join([*test, ""]))
    terms = " + ".join(
        f"n*is(layout, {a})*is(nodes, {b})" for a in ("row", "col") for b in (1, 2, 8)
    )
    line = f"fit runs.csv --categorical nodes --terms '0 + {terms}' --test test.csv"
    called = tasksim(f"{line} -o mine/runs.json --json")
    assert called.code == 0, called.err
    model = load_kernel(tmp_path / "mine/runs.json").architectures["cpu"].model
    assert model.categories_ == {"layout": ("col", "row"), "nodes": ("1", "2", "8")}
    assert "is(layout, row)*is(nodes, 8)*n" in called.json["formula"]
    assert called.json["mlogq_test"] < 1e-9
    assert called.json["warnings"][-1].startswith("mlr cannot predict 1 of 3 configurations")
    wrong = tasksim("fit runs.csv --categorical layuot")
    assert wrong.code == 2
    assert "runs.csv:1: categorical: unknown column 'layuot', did you mean 'layout'" in wrong.err
    power = tasksim("fit runs.csv --kind power --parameters layout")
    assert "need numbers: 'layout' has categories (col, row); leave it out" in power.err


def test_a_constant_column_is_left_out_and_its_value_is_known(tasksim, tmp_path):
    rows = [f"0,cpu,{n},5,{1e-6 * n}" for n in range(100, 1000, 20) for _ in range(2)]
    text = "\n".join(["run,architecture,NbInteractions,Order,duration_s", *rows, ""])
    (tmp_path / "M2L_in.samples.csv").write_text(text)
    called = tasksim("fit M2L_in.samples.csv --kind mlr -o mine/M2L_in.json")
    assert called.code == 0
    assert (
        "Warning: Order is 5 in all 90 samples: left out, since its effect is unknown; "
        "predictions for other values are extrapolated\n"
    ) in called.err
    line = "predict mine/M2L_in.json NbInteractions=500"
    assert tasksim(line).out.splitlines()[2].startswith("domain    inside")
    assert tasksim(f"{line} Order=5 --json").json["inside"] is True
    other = tasksim(f"{line} Order=7")
    assert "domain    outside: Order=7 is above the largest measured, 5" in other.out
    assert tasksim(f"{line} Order=7 --json").json["inside"] is False


def test_the_report_repeats_what_the_fit_said(tasksim, tmp_path):
    (tmp_path / "kripke.csv").write_text(kripke(40))
    tasksim("fit kripke.csv --kind mlr --terms groups --report kripke.md")
    page = (tmp_path / "kripke.md").read_text()
    assert "No warnings." not in page
    for said in ("errs by", "the only kind tried", "layout has categ", "Order is 4", "order is 4"):
        assert (said in page) is (said != "Order is 4")


@pytest.fixture
def two_clocks(tmp_path):
    """Write two.csv: samples at 2 and 3 GHz, half a cycle per instruction."""
    rng = np.random.default_rng(0)
    rows = ["run,n,instructions,l1_hits,memory_accesses,frequency_hz,duration_s"]
    for n in range(64, 512, 32):
        for run in range(3):
            for hz in (2e9, 3e9):
                seconds = (0.5 * n**3 / hz + 0.25 * 90e-9 * n**2) * rng.lognormal(0, 0.01)
                rows.append(f"{run},{n},{n**3},0,{n**2},{hz:g},{seconds:.9g}")
    (tmp_path / "two.csv").write_text("\n".join([*rows, ""]))
    return tmp_path


@pytest.mark.slow
def test_a_model_of_two_clocks_predicts_for_a_measured_one(tasksim, two_clocks):
    levels = "{l1: {latency: 1 ns}, memory: {latency: 90 ns}}"
    (two_clocks / "mine.yaml").write_text(
        f"version: 1\nworkers: {{cpu: {{count: 1}}}}\nmemory_hierarchy: {levels}\n"
    )
    line = "fit two.csv --kind counters --memory mine.yaml -o mine/gemm.json"
    found = tasksim(f"{line} --report two.md --json").json
    assert found["mlogq_cv"] < 0.01
    assert "/frequency_hz" in found["formula"]
    (said,) = [note for note in found["notes"] if "GHz" in note]
    assert said.startswith("measured at 2, 3 GHz: predictions are for 3 GHz, unless frequency_hz")
    page = (two_clocks / "two.md").read_text().replace("\\", "")
    assert said in page
    assert "cross-validated (5 folds)" in page
    assert "No cross-validation" not in page
    assert "few-values" not in page
    asked = "predict mine/gemm.json n=256"
    for given, hz in (("", 3e9), ("frequency_hz=3e9", 3e9), ("frequency_hz=2e9", 2e9)):
        told = tasksim(f"{asked} {given} --json").json
        expected = 0.5 * 256**3 / hz + 0.25 * 90e-9 * 256**2
        assert told["duration_s"] == pytest.approx(expected, rel=0.01)
        assert told["inside"]
    assert "clock     3 GHz" in tasksim(asked).out


def test_a_platform_names_the_clock_that_models_are_asked_for(tasksim, two_clocks):
    """A graph has no clock: its platform has one, or else the highest that was measured is."""
    tasksim("fit two.csv --kind counters -o mine/gemm.json")
    with_clock = (
        "version: 1\nmodels: mine\narch: {cpu: {frequency: 2 GHz}}\nworkers: {cpu: {count: 1}}\n"
    )
    (two_clocks / "slow.yaml").write_text(with_clock)
    (two_clocks / "any.yaml").write_text("version: 1\nmodels: mine\nworkers: {cpu: {count: 1}}\n")
    builder = GraphBuilder("one")
    builder.insert("gemm", RW(builder.handle("A", 8)), n=256)
    save_graph(builder.build(), two_clocks / "one.npz")
    for platform, hz in (("slow", 2e9), ("any", 3e9)):
        run = tasksim(f"simulate one.npz --platform {platform}.yaml --json").json
        told = tasksim(f"predict mine/gemm.json n=256 frequency_hz={hz:g} --json").json
        assert run["makespan_s"] == pytest.approx(told["duration_s"])
        assert run["extrapolated"] == []


def test_where_a_model_errs_most_is_said(tasksim, tmp_path):
    rng = np.random.default_rng(0)
    n = np.geomspace(16, 4096, 120).round()
    noise = np.where(n >= 1024, 0.5, 0.02)
    lines = [f"{a},{1e-9 * a**2 * b}" for a, b in zip(n, rng.lognormal(0, noise), strict=True)]
    (tmp_path / "x.csv").write_text("\n".join(["n,duration_s", *lines, ""]))
    called = tasksim("fit x.csv --kind power")
    (line,) = [line for line in called.out.splitlines() if line.startswith("worst")]
    assert line.startswith("worst     n from 1060 to 4096: errs by ")
    found = tasksim("fit x.csv --kind power --json").json
    assert line == f"worst     {found['worst_region']['why']}"
    assert found["worst_region"]["configurations"] == sum(n >= 1060)
    assert len(found["worst"]) == 10
    assert all(one["parameters"]["n"] >= 1024 for one in found["worst"])
    assert found["worst"][0]["factor"] == pytest.approx(
        found["worst"][0]["predicted_s"] / found["worst"][0]["measured_s"]
    )


@pytest.mark.slow
def test_the_report_has_the_fit(tasksim, files):
    called = tasksim(f"fit gemm.csv {TERMS} --report gemm.md")
    assert called.code == 0, called.err
    text = (files / "gemm.md").read_text()
    for part in ("## Kinds of models", "## Largest errors", "## More samples", "gemm-kinds.png"):
        assert part in text
    assert (files / "gemm-dependence.png").exists()
