"""Output of a calibration: a line per configuration, or per kernel if there are many."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tasksim.calibration.kernel_samples import MeasuredConfiguration
from tasksim.calibration.report import CalibrationReport, KernelSummary

SUMMARY = KernelSummary(
    kernel="P2P_in",
    samples=1230,
    configurations=41,
    within_tolerance=3,
    total_s=4.25,
    half_width=0.0123,
    stopped="tolerance",
    model="mlr",
    terms=("1", "NbInteractions"),
    rsquared_adj=0.9876,
    mlogq=0.02,
    cv_mlogq=0.0314,
)
HISTORY = KernelSummary(
    "gemm", 20, 2, 2, 1e-3, 0.5, "limit", "history", None, None, mlogq=0.0, cv_mlogq=None
)


def report(configurations, *summaries):
    rows = [
        MeasuredConfiguration("P2P_in", {"n": float(n)}, 10, 1, 1e-3, 0.05, "limit")
        for n in range(configurations)
    ]
    return CalibrationReport("here", Path("p.yaml"), Path("models"), rows, list(summaries))


def test_few_configurations_have_a_line_each():
    lines = report(40, SUMMARY).table().splitlines()
    assert len(lines) == 41
    assert lines[1].split() == ["P2P_in", "(n=0)", "10", "1", "1", "ms", "5.00", "%", "limit"]


def test_of_many_the_kernels_have():
    header, line, history = report(41, SUMMARY, HISTORY).table().splitlines()
    assert line.split() == [
        "P2P_in", "1230", "41", "3", "4.25", "s", "1.23", "%", "tolerance", "0.988", "0.031",
        "1", "+", "NbInteractions",
    ]  # fmt: skip
    assert history.split()[-4:] == ["limit", "-", "-", "history"]
    for name in ("samples", "configurations", "known", "total", "stopped by", "R2 adj.", "MLogQ"):
        end = header.index(name) + len(name)
        assert header[end : end + 1] in (" ", "")
        assert line[end : end + 1] == " "  # columns end where their names do


def test_names_that_are_too_long_lose_their_middles_and_stay_apart():
    long = ["update<" + "double, " * 20 + f"{end}>(Tile)" for end in ("float", "int")]
    few, many = report(0), report(41)
    for name in long:
        few.rows.append(MeasuredConfiguration(name, {"n": 1.0}, 10, 1, 1e-3, 0.05, "limit"))
        many.by_kernel.append(dataclasses.replace(SUMMARY, kernel=name))
    for made, last in ((few, "outliers"), (many, "known")):
        header, *lines = made.table().splitlines()
        names = [line.split("  ")[0] for line in lines]
        assert len(set(names)) == len(long)
        assert max(map(len, names)) < 80
        assert {line[header.index(last) + len(last)] for line in lines} == {" "}


def test_the_data_have_all_configurations_and_all_kernels():
    made = report(41, SUMMARY, HISTORY)
    made.notes.append("look")
    data = json.loads(json.dumps(made.to_json()))
    assert len(data["kernels"]) == 41
    assert data["kernels"][0].keys() == {
        "kernel", "parameters", "count", "dropped", "mean_s", "half_width", "stopped",
    }  # fmt: skip
    assert [one["kernel"] for one in data["by_kernel"]] == ["P2P_in", "gemm"]
    assert data["by_kernel"][0]["terms"] == ["1", "NbInteractions"]
    assert data["by_kernel"][1]["terms"] is None
    assert data["by_kernel"][0]["cv_mlogq"] == pytest.approx(0.0314)
    assert data["notes"] == ["look"]
