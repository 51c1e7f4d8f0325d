"""The experiment on irregular kernels: a whole one, as small as can be, and its figures."""

from __future__ import annotations

import json
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.irregular_kernels import drawing, exhibits
from experiments.irregular_kernels.__main__ import main
from experiments.irregular_kernels.experiment import IRREGULAR_KERNELS
from experiments.irregular_kernels.inputs import (
    FULL_INPUTS,
    QUICK_INPUTS,
    Input,
    inputs_of,
    is_coarse,
)
from experiments.irregular_kernels.modelling import DIRECT_TERMS, KERNELS, TERMS, naive_durations_s
from experiments.irregular_kernels.predicting import GENERAL, NAIVE, SPECIFIC, ks_distance
from experiments.irregular_kernels.trees import paper_positions
from tasksim import InputError, generate
from tasksim.models.terms.formulas import parse_terms
from tasksim.view.octree import read_octree

TINY_DESIGN = (
    "--fitted cube:900:4:12,cube:1500:4:30,ellipsoid:900:4:12,ellipsoid:1500:5:30"
    " --predicted cube:1000:4:15,ellipsoid:1000:5:200 --unseen sphere:900:4:16"
    " --rounds 1 --repetitions 2 --order 2 --workers 2 --patience-s 0"
    " --reports none"
)


def run_main(monkeypatch, *words):
    """Run the command; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["experiments.irregular_kernels", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.slow
@pytest.mark.usefixtures("commands_here")
def test_a_small_experiment_shows_every_exhibit(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    code = run_main(monkeypatch, *TINY_DESIGN.split(), "--json")
    out, err = capsys.readouterr()
    assert code == 0, err
    found = json.loads(out)
    assert [e["name"] for e in found["exhibits"]] == [
        "figure-1", "figure-1-3d", *(f"figure-{n}" for n in range(2, 12)),
        "beyond-1", "beyond-2", "beyond-3",
    ]  # fmt: skip
    folder = tmp_path / "irregular-kernels"
    drawn = {path.stem for path in (folder / "figures").iterdir()}
    assert {f"figure-{n}" for n in (1, 2, 3, 5, 6, 7, 8, 9, 10, 11)} <= drawn
    steps = found["found"]
    # The seeds are those of the parts, and spheres were predicted before they were run.
    for part, seed in (("fitted", 0), ("predicted", 1), ("unseen", 2)):
        for measured in steps[part]:
            for number in (0, 1):
                run = folder / "work" / part / measured["input"] / f"0-{number}" / "run.json"
                about = json.loads(run.read_text())
                assert f'"seed": {seed}' in json.dumps(about)
    said = (folder / "work" / "promises" / "predictions.json").stat().st_mtime
    first = folder / "work" / "unseen" / steps["unseen"][0]["input"] / "0-0" / "run.json"
    assert said < first.stat().st_mtime
    (sphere,) = (row for row in steps["simulated"]["rows"] if row["part"] == "unseen")
    assert sphere["predicted_s"] == {GENERAL: steps["promises"][sphere["input"]]}
    models = folder / "work" / "models"
    assert {path.name for path in models.glob("*.json")} >= {"general.json", "cube.json"}
    assert not (models / "reports").exists()
    assert (models / "naive-cube-M2L_in.csv").exists()
    assert not (models / "naive-cube-M2L_in.json").exists()
    assert len(steps["models"]["fits"]) == 4 * len(KERNELS)
    assert all(one["counting_s"] > 0 for one in steps["costs"])
    page = (folder / "index.html").read_text()
    assert "tasksim report parameters" in page
    assert "tasksim view octree" in page
    # The report is made again without the runs, but for their charts.
    assert run_main(monkeypatch, "--again", "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert again["exhibits"] == found["exhibits"]


def test_a_wrong_input_is_told_before_anything_is_measured(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_main(monkeypatch, "--unseen", "sphere:900:4") == 2
    assert "--unseen: got 'sphere:900:4'; legal: DISTRIBUTION:PARTICLES" in capsys.readouterr().err
    assert not list((tmp_path / "irregular-kernels").glob("steps/*"))
    with pytest.raises(InputError, match="got 'cub:9:3:4'; legal distributions: cube, ball"):
        inputs_of({"fitted": ["cub:9:3:4"]}, "fitted")
    with pytest.raises(InputError, match="got 'cube:0:3:4'; legal: DISTRIBUTION:PARTICLES"):
        inputs_of({"fitted": ["cube:0:3:4"]}, "fitted")
    with pytest.raises(InputError, match="'cube:9:3:4' is given twice"):
        inputs_of({"fitted": ["cube:9:3:4", "cube:9:3:4"]}, "fitted")


def test_the_paper_has_twelve_inputs_of_each_part_and_none_twice():
    for part in ("fitted", "predicted", "unseen"):
        assert len(inputs_of(FULL_INPUTS, part)) == 12
        assert inputs_of(QUICK_INPUTS, part)
    fitted, predicted = (set(inputs_of(FULL_INPUTS, part)) for part in ("fitted", "predicted"))
    assert not fitted & predicted
    assert Input("cube", 60_000, 4, 32).name == "cube-60k-h4-g32"
    assert is_coarse(5, 2)
    assert not is_coarse(6, 2)


def test_terms_are_parameters_that_the_kernels_have():
    graph = generate("fmm", particles=2000, height=4, group_size=16)
    known = dict(zip(graph.kernels, graph.parameter_names, strict=True))
    assert set(TERMS) == set(DIRECT_TERMS) == set(KERNELS) == set(known)
    counted = {"NbInteractions", "OutsideInteractionsSize", "NbDiff", "NbDiff0", "NbDiff1",
               "NbChildParent"}  # fmt: skip
    for kernel in KERNELS:
        parse_terms(TERMS[kernel], known[kernel])
        assert (
            not counted
            & set(parse_terms(DIRECT_TERMS[kernel], known[kernel]).names)
            & set(DIRECT_TERMS[kernel].replace("*", " ").split())
        )


def test_a_naive_model_is_a_line_with_a_floor():
    line = {"parameter": "particles", "constant_s": -1.0, "slope_s": 0.5, "least_s": 0.1}
    asked = {"particles": 4, "group_size": 9}
    assert naive_durations_s({"P2M": line}, asked) == {"P2M": 1.0}
    assert naive_durations_s({"P2M": line}, {**asked, "particles": 1}) == {"P2M": 0.1}


def test_the_tree_is_that_of_the_paper():
    octree = read_octree(paper_positions(), 4, 8, cell=26)
    assert len(octree.leaves) == 56
    assert len(octree.partners) == 27


TIMES = st.lists(st.integers(1, 12), min_size=1, max_size=12)


@given(TIMES, TIMES)
@settings(deadline=None, max_examples=60)
def test_distances_are_the_largest_differences_of_shares(a, b):
    def share(times, until):
        return Fraction(sum(time <= until for time in times), len(times))

    largest = max(abs(share(a, until) - share(b, until)) for until in (*a, *b))
    assert ks_distance(np.array(a, float), np.array(b, float)) == pytest.approx(float(largest))


def row(name, native_s, predicted_s, *, coarse=False):
    """A row of step ``simulated``."""
    distribution = name.split("-")[0]
    middle = sorted(native_s)[len(native_s) // 2]
    return {
        "input": name, "distribution": distribution, "part": "predicted", "tasks": 10,
        "coarse": coarse, "native_s": sorted(native_s), "median_s": middle, "alone_s": None,
        "predicted_s": predicted_s,
    }  # fmt: skip


ROWS = [
    row("cube-1k-h4-g9", [0.9, 1.0, 1.2], {NAIVE: 3.0, SPECIFIC: 1.01, GENERAL: 0.98}),
    row(
        "ellipsoid-1k-h5-g9",
        [2.0, 2.0, 2.0],
        {NAIVE: 1.0, SPECIFIC: 2.0, GENERAL: 2.1},
        coarse=True,
    ),
]


def heights(axes):
    return [
        [bar.get_height() for bar in bars] for bars in axes.containers if hasattr(bars, "patches")
    ]


def test_makespans_are_drawn_and_bars_of_the_naive_model_are_cut():
    figure = drawing.draw_makespans(ROWS)
    upper = figure.axes[:2]
    assert heights(upper[0]) == [[1000.0], [3000.0], [1010.0], [980.0]]
    lower = figure.axes[2:]
    errors = heights(lower[1])
    assert errors[1:] == [[pytest.approx(0.0)], [pytest.approx(5.0)]]
    limit = lower[0].get_ylim()[1]
    assert heights(lower[0])[0] == [limit]  # +200 %, beyond the axis
    said = [text.get_text() for text in lower[0].texts]
    assert said == ["+200↑"]
    assert [text.get_text() for text in lower[1].texts] == ["-50↓"]


def found(rows, disturbed=0):
    """Make up the results of the steps that the pages on makespans read."""
    measured = {"rounds": [{"makespans_s": [1.0], "repeated": 2, "disturbed": disturbed}]}
    return {"simulated": {"rows": rows}, "fitted": [measured], "predicted": [measured]}


def test_makespans_are_judged_by_the_median_error():
    shown = exhibits.makespans(found(ROWS), {})
    assert shown.agrees
    assert "specific regressions are 0.5 % off, general ones 3.5 % (at most 5.0 %)" in shown.said
    assert "Of 2 runs 4 were repeated" in shown.said
    assert shown.table["input"].tolist()[1].endswith("(badly chosen group size)")
    worse = [{**one, "predicted_s": {**one["predicted_s"], GENERAL: 1.5}} for one in ROWS]
    assert exhibits.makespans(found(worse), {}).agrees is False
    # On a busy machine errors are not the models' alone.
    assert exhibits.makespans(found(worse, disturbed=1), {}).agrees is None
    alone = [{**one, "alone_s": one["predicted_s"][GENERAL]} for one in ROWS]
    said = exhibits.makespans(found(alone), {}).said
    assert "without what other programs took, general ones are 0.0 % off" in said
    assert exhibits.median_error(found(ROWS)) == pytest.approx(0.035)


def test_every_exhibit_says_what_the_paper_reports():
    for exhibit in IRREGULAR_KERNELS.exhibits:
        assert exhibit.reported == exhibits.REPORTED[exhibit.name]
    assert set(exhibits.REPORTED) == {exhibit.name for exhibit in IRREGULAR_KERNELS.exhibits}
