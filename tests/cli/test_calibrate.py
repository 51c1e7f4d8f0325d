"""`tasksim calibrate`: what is measured, and a small calibration from end to end."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.cli.calibrate import parse_items
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.graph_file import save
from tasksim.models.files.store import load_kernel


def texts(line):
    return [
        f"{item.name} {item.arguments['tiles']} {item.arguments['tile_size']}"
        if hasattr(item, "arguments")
        else f"{item.name} {dict(item.parameters)}"
        for item in parse_items(line.split())
    ]


def test_tokens_without_equals_start_an_item():
    assert texts("cholesky tiles=2 potrf n=8 lu tiles=3 tile_size=16") == [
        "cholesky 2 256",
        "potrf {'n': 8.0}",
        "lu 3 16",
    ]


def test_commas_make_an_item_for_each_combination():
    assert texts("cholesky tiles=2,3 tile_size=16,32") == [
        "cholesky 2 16",
        "cholesky 2 32",
        "cholesky 3 16",
        "cholesky 3 32",
    ]


def test_unknown_items_and_sizes():
    with pytest.raises(InputError, match="unknown graph or kernel 'gemmm', did you mean 'gemm'"):
        parse_items(["gemmm"])
    with pytest.raises(InputError, match="kernel gemm has parameters m, n, k, got m"):
        parse_items(["gemm", "m=4"])
    with pytest.raises(InputError, match="tiles: got '0'"):
        parse_items(["cholesky", "tiles=2,0"])


def test_calibrate_then_predict_then_run(tasksim):
    called = tasksim(
        "calibrate cholesky tiles=4 tile_size=32 --library lib --name here --workers 1"
        " --max-time 0.5s --tolerance 50% --json"
    )
    assert called.code == 0, called.err
    assert called.json["machine"] == "here"
    assert {row["kernel"] for row in called.json["kernels"]} == {"potrf", "trsm", "syrk", "gemm"}
    where = "cholesky tiles=6 tile_size=32 --library lib"
    predicted = tasksim(f"simulate {where} --platform here --noise model --check --json -o p")
    assert predicted.code == 0, predicted.err
    assert predicted.json["platform"] == "here"
    assert predicted.json["extrapolated"] == []
    assert tasksim("simulate --from p -o q --json").err == "Wrote q\n"
    ran = tasksim(f"run {where} --models here --scheduler dm --workers 1 --json")
    assert ran.code == 0, ran.err
    assert tasksim("validate lib").code == 0
    bounds = tasksim(f"bounds {where} --platform here --json").json["bounds"]
    without_noise = tasksim(f"simulate {where} --platform here --json").json
    assert without_noise["bounds"] == bounds


def test_missing_models_are_named(tasksim):
    tasksim("calibrate potrf n=32 --library lib --name here --workers 1 --max-time 0.3s")
    called = tasksim("simulate cholesky tiles=3 tile_size=32 --library lib --platform here")
    assert called.code == 2
    assert "no model of kernel" in called.errors[0]
    assert "(known: potrf)" in called.errors[0]
    called = tasksim(
        "simulate cholesky tiles=1 --library lib --platform here --model-names a_{kernel}"
    )
    assert "'a_potrf'" in called.errors[0]


def test_linear_models_extrapolate_and_say_so(tasksim):
    line = "calibrate potrf n=16,32,48 --library lib --name here --workers 1 --max-time 0.6s"
    assert tasksim(f"{line} --terms potrf=n**3").code == 0
    called = tasksim("simulate cholesky tiles=1 tile_size=64 --library lib --platform here --json")
    assert called.code == 0
    message = "potrf on cpu: extrapolated to n 64 (measured 16 to 48)"
    assert called.err == f"Warning: {message}\n"
    assert called.json["extrapolated"] == [message]


@pytest.mark.slow
def test_terms_are_found_for_all_kernels(tasksim, tmp_path):
    sizes = "n=8,16,24,32,48,64"
    line = f"calibrate potrf {sizes} syrk {sizes} k=16 --workers 1 --tolerance 50%"
    called = tasksim(f"{line} --max-time 1s --name here --terms auto --terms syrk=n^2*k")
    assert called.code == 0, called.err
    models = [load_kernel(tmp_path / f"models/here/{k}.json") for k in ("potrf", "syrk")]
    texts = [file.architectures["cpu"].model.terms for file in models]
    assert texts == ["auto", "n^2*k"]


def save_waits(path, least_ms, most_ms):
    """Write a graph of 50 tasks that wait, each for another time."""
    builder = GraphBuilder("waits")
    for duration_s in np.linspace(least_ms, most_ms, 50) / 1e3:
        builder.insert("task", duration_s=duration_s)
    save(builder.build(), path)


def test_an_irregular_graph_has_a_line_per_kernel_and_predicts_another(tasksim, tmp_path):
    save_waits(tmp_path / "one.npz", 0.1, 2.0)
    save_waits(tmp_path / "other.npz", 0.3, 1.9)
    line = "calibrate one.npz --library lib --name here --workers 2 --max-time 1s --tolerance 50%"
    called = tasksim(line)
    assert called.code == 0, called.err
    header, *lines = called.out.splitlines()
    assert header.split()[:3] == ["kernel", "samples", "configurations"]
    assert [line.split()[0] for line in lines] == ["task", "runtime:"]
    # Which terms are found depends on the noise of this moment; that there are some, does not.
    assert re.search(r"(1|duration_s)(\^\S+|\*\S+)?( \+ \S+)*$", lines[0])
    assert "Note: task: linear models with searched terms" in called.err
    ran = tasksim("run other.npz --models here --library lib --scheduler dm --workers 2 --json")
    assert ran.code == 0, ran.err


def test_histories_of_an_irregular_graph(tasksim, tmp_path):
    save_waits(tmp_path / "one.npz", 0.1, 2.0)
    line = "calibrate one.npz --name here --workers 2 --max-time 0.5s --terms history --json"
    called = tasksim(line)
    assert called.code == 0, called.err
    (kernel,) = called.json["by_kernel"]
    assert (kernel["model"], kernel["terms"]) == ("history", None)
    assert kernel["configurations"] == len(called.json["kernels"]) == 50
    # How well the mean is known depends on the machine.
    told = ("after 0.5 s ", "others used the cores: ", "task: predictions have no interval")
    assert all(text.startswith(told) for text in called.json["notes"])


def test_one_cannot_have_both(tasksim):
    called = tasksim("calibrate potrf n=8 --terms history --terms auto")
    assert called.code == 2
    assert called.errors == ["Error: --terms: got both 'auto' and 'history'; legal: one of them"]


def test_terms_must_name_a_kernel(tasksim):
    called = tasksim("calibrate potrf n=8 --terms n**3")
    assert called.errors == [
        "Error: --terms: got 'n**3'; legal: KERNEL=TERMS, e.g. 'gemm=m*n*k + m*n', "
        "or 'auto', or 'history'"
    ]


def test_interrupted_calibrations_keep_what_they_have(tasksim, monkeypatch):
    from tasksim.calibration import calibrate as module
    from tasksim.calibration.calibrate import CalibrationReport

    def stopped(items, library, **_):
        return CalibrationReport("here", library / "p.yaml", library / "models", interrupted=True)

    monkeypatch.setattr(module, "calibrate", stopped)
    called = tasksim("calibrate potrf n=8 --json")
    assert called.code == 130
    assert called.json["interrupted"] is True
    assert called.err == "Interrupted: the samples so far are kept.\n"


def test_an_unwritable_library_is_refused_before_the_measuring(tasksim, tmp_path, monkeypatch):
    from tasksim.calibration import calibrate

    monkeypatch.setattr(calibrate, "calibrate", lambda *_, **__: pytest.fail("it measured"))
    (tmp_path / "file").write_text("")
    called = tasksim("calibrate cholesky tiles=2 --library file/lib")
    assert called.code == 2
    assert called.err.startswith("Error: cannot write file/lib/models: ")
    assert called.err.endswith("file is not a folder\n")


@pytest.mark.slow
def test_a_graph_of_other_sizes_gets_models_that_extrapolate(tasksim):
    line = (
        "calibrate gemm m=16,24,32,48,64,96 n=32 k=32 potrf n=32 --library lib --name here"
        " --workers 1 --max-time 0.5s --tolerance 50%"
    )
    larger = "--for 'cholesky tiles=3 tile_size=128'"
    called = tasksim(f"{line} {larger}")
    assert called.code == 0, called.err
    notes = called.err.replace("\n", " ")
    assert "Note: gemm: linear models with searched terms, as tasks to be predicted" in notes
    assert "Note: gemm: 100 % of the sizes to be predicted are outside the samples;" in notes
    assert "Note: syrk, trsm: to be predicted, and not measured: calibrate them, too" in notes
    assert "potrf: a history, which predicts no other configurations" in notes
    assert load_kernel(Path("lib/models/here/gemm.json")).architectures["cpu"].model.kind == "mlr"
    again = tasksim(f"{line} --replace --for 'cholesky tiles=3 tile_size=32' --json")
    assert (
        load_kernel(Path("lib/models/here/gemm.json")).architectures["cpu"].model.kind == "history"
    )
    assert not [note for note in again.json["notes"] if "outside" in note]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cholesky tiles=2 --for choleski", "--for: unknown task graph 'choleski', did you mean"),
        ("cholesky tiles=2 --for ''", "--for: got ''; legal: a graph and its settings"),
        ("memory --for 'cholesky tiles=2'", "--for is not for 'memory'; legal: --library, --name"),
    ],
)
def test_graphs_to_be_predicted_that_are_none(tasksim, line, message):
    called = tasksim(f"calibrate {line} --library lib")
    assert called.code == 2
    assert message in called.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("memory --terms gemm=auto", "--terms is not for 'memory'; legal: --library, --name, --wo"),
        ("network --workers 2", "--workers is not for 'network'"),
        ("power gemm m=8 n=8 k=8 --quick", "--quick is not for 'power'"),
        ("openmp --workers 2", "--workers is not for 'openmp'; legal: --library, --name, --json"),
        ("memory cholesky", "'memory' stands alone, got 'cholesky', too"),
    ],
)
def test_options_that_a_measurement_of_the_machine_would_ignore_are_refused(tasksim, line, message):
    called = tasksim(f"calibrate {line} --library lib")
    assert called.code == 2
    assert message in called.err
    assert not Path("lib").exists()
