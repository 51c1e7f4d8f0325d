"""`tasksim export models`, and model files wherever a command takes models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasksim.models.files.store import Entry, Machine, Measured, ModelLibrary, save_kernel
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples

KERNELS = {"potrf": 1.0, "trsm": 2.0, "syrk": 3.0, "gemm": 4.0}
RUN = "simulate cholesky tiles=3 --workers 2 --json"


def save(kernel, model, machine="here", folder="models/here", **fingerprint):
    entry = Entry(model, Measured("2026-01-01", "by hand"))
    save_kernel(Path(folder), kernel, {"cpu": entry}, machine=Machine(machine, fingerprint))


@pytest.fixture
def exported(tasksim):
    """The command line, in a folder with models of a Cholesky factorisation, also in one file."""
    for kernel, seconds in KERNELS.items():
        save(kernel, ConstantModel(seconds))
    called = tasksim("export models here -o general.json")
    assert called.code == 0, called.err
    assert called.err == "Wrote general.json\n"
    assert called.out.splitlines()[0] == "gemm () of here: cpu constant, 0 samples"
    return tasksim


def test_what_is_exported(exported):
    called = exported("export models models/here -o other.json --json")
    assert called.json == {
        "schema_version": 1,
        "machine": "here",
        "kernels": {kernel: ["cpu"] for kernel in sorted(KERNELS)},
        "notes": [],
        "output": "other.json",
    }
    assert Path("other.json").read_bytes() == Path("general.json").read_bytes()
    alone = json.loads(Path("models/here/gemm.json").read_text())
    several = json.loads(Path("general.json").read_text())
    assert several["kernels"]["gemm"]["architectures"] == alone["architectures"]


def test_a_model_file_is_exported_as_it_is(exported):
    assert exported("export models general.json -o again.json").code == 0
    assert Path("again.json").read_bytes() == Path("general.json").read_bytes()


def test_simulations_with_a_file_are_those_with_the_folder(exported):
    results = [exported(f"{RUN} --models {models}") for models in ("here", "./general.json")]
    folder, file = (called.json for called in results)
    assert results[1].code == 0, results[1].err
    assert file["makespan_s"] == folder["makespan_s"]


def test_a_run_with_a_model_file_is_repeated(exported):
    assert exported("simulate cholesky tiles=3 --workers 2 --models general.json -o run").code == 0
    header = json.loads(Path("run/run.json").read_text())
    assert header["config"]["models"]["path"] == str(Path("general.json").resolve())
    assert list(header["config"]["sha256"]) == [str(Path("general.json").resolve())]
    assert exported("simulate --from run -o again").err == "Wrote again\n"
    assert Path("run/tasks.parquet").read_bytes() == Path("again/tasks.parquet").read_bytes()
    save("potrf", ConstantModel(7.0))
    exported("export models here -o general.json --force")
    changed = exported("simulate --from run -o third").err
    assert f"changed since: {Path('general.json').resolve()}\n" in changed


def test_native_runs_take_estimates_from_a_file(exported):
    called = exported(
        "run cholesky tiles=2 tile_size=8 --workers 1 --scheduler dm --models general.json"
    )
    assert called.code == 0, called.err


def test_a_coefficient_file_alone_is_enough_for_its_kernel(exported):
    called = exported(f"{RUN} --models models/here/gemm.json")
    assert called.code == 2
    assert called.errors[0].startswith(
        "Error: no model of kernels 'potrf', 'trsm', 'syrk' in models/here/gemm.json"
    )
    proposed = "(known: gemm); or give --durations potrf=SECONDS,trsm=SECONDS,syrk=SECONDS; or "
    assert proposed in called.errors[0]


def test_codelets_of_a_model_file(exported):
    called = exported("export starpu general.json --json -o sampling")
    assert called.code == 2  # constants are no models of StarPU
    size = Samples(("m", "n", "k"), [[8.0, 8.0, 8.0], [16.0, 8.0, 8.0]], [1e-3, 2e-3])
    save("gemm", HistoryModel().fit(size), folder="models/few")
    assert exported("export models few -o few.json").code == 0
    called = exported("export starpu few.json --json -o sampling")
    assert called.code == 0, called.err
    assert called.json["host"] == "few"
    assert [Path(name).name for name in called.json["files"]] == ["gemm.few"]


def test_model_files_are_validated(exported):
    called = exported("validate general.json models/here/gemm.json")
    assert called.out.splitlines() == [
        "general.json: ok, kernel models: gemm constant on cpu; potrf constant on cpu; "
        "syrk constant on cpu; trsm constant on cpu",
        "models/here/gemm.json: ok, kernel model gemm: constant on cpu",
    ]
    text = Path("general.json").read_text()
    Path("general.json").write_text(text.replace('"parameters"', '"parmeters"', 1))
    called = exported("validate general.json")
    assert called.code == 2
    assert called.errors == [
        "Error: general.json:5:13: kernels.gemm: 'parameters' is missing, did you mean "
        "'parmeters'? (keys: parmeters, architectures)"
    ]


def test_fingerprints_that_differ(tasksim):
    for kernel, numpy in (("gemm", "2.1"), ("trsm", "2.2")):
        save(kernel, ConstantModel(1.0), numpy=numpy, processor="Some CPU")
    save("syrk", ConstantModel(1.0), blas="openblas")
    called = tasksim("export models here -o out.json")
    assert "note: numpy is not in the fingerprint: the files differ in it\n" in called.out
    found = ModelLibrary(Path("out.json")).file("gemm").machine
    assert found == Machine("here", {"processor": "Some CPU", "blas": "openblas"})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("here -o general.json", "general.json exists; give --force to replace it"),
        ("heer -o out.json", "unknown model 'heer', did you mean 'here'?"),
        ("genral.json -o out.json", "genral.json: no such file, did you mean 'general.json'?"),
        ("here -o out", "out: kernel models are in .json files; got ''"),
        ("empty -o out.json", "empty: no coefficient files in this folder, nothing to export"),
        (
            "mixed -o out.json",
            "trsm was measured on there, gemm on here: one file has the models of one machine",
        ),
    ],
)
def test_exports_that_cannot_be_are_refused(exported, line, message):
    Path("empty").mkdir()
    save("gemm", ConstantModel(1.0), folder="mixed")
    save("trsm", ConstantModel(1.0), machine="there", folder="mixed")
    called = exported(f"export models {line}")
    assert called.code == 2
    assert message in called.err
    assert not list(Path().glob("out*"))


def test_force_replaces(exported):
    save("gemm", ConstantModel(9.0), folder="other")
    assert exported("export models other -o general.json --force").code == 0
    assert ModelLibrary(Path("general.json")).kernels() == ("gemm",)
