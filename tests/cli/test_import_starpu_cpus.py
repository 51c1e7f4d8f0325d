"""Import of machines without accelerators, in the shapes that StarPU 1.3 and 1.4 write."""

from __future__ import annotations

import json

import pytest
from sampled_cpus import LU_13, LU_14, NAMES_13, NAMES_14, bus, example, lu, write

STARPU_13_NAMES = "potrf=chol_model_11,trsm=chol_model_21,syrk=chol_model_22,gemm=chol_model_22"
OLD_LU = "getrf=starpu_{0}lu_lu_model_11,trsm_ll=starpu_{0}lu_lu_model_12,"
OLD_LU += "trsm_ru=starpu_{0}lu_lu_model_21,gemm=starpu_{0}lu_lu_model_22"
SAMPLES_BY_TILE_SIZE = {128: 20, 320: 50, 256: 30}


@pytest.fixture
def sampling(tmp_path):
    """Return what writes a sampling directory."""
    return lambda files: write(tmp_path / "sampling", files)


@pytest.mark.parametrize("version", ["1.3", "1.4"])
def test_links_without_bandwidth_that_no_route_crosses_are_taken(tasksim, sampling, version):
    sampling(bus(version))
    found = tasksim("import starpu sampling -o lib --json")
    assert found.code == 0, found.err
    assert (found.json["workers"], found.json["links"], found.json["routes"]) == ({"cpu": 2}, 0, 0)
    assert found.json["notes"] == ["no performance models in codelets/45 or codelets/44"]


def test_numa_nodes_are_one_memory_and_that_is_said(tasksim, sampling):
    sampling(bus("1.4", numa=2))
    found = tasksim("import starpu sampling -o lib --json").json
    assert found["memories"] == {"ram": None}
    assert found["notes"][0] == "2 NUMA nodes: simulated as one main memory"


def test_devices_that_only_the_config_counts_are_told(tasksim, sampling):
    files = bus("1.4")
    files["bus/plain.config"] = files["bus/plain.config"].replace(
        "0 # Number of HIP", "3 # Number of HIP"
    )
    sampling(files)
    found = tasksim("import starpu sampling -o lib --json").json
    assert found["notes"][0] == "left out: 3 memory nodes of kind HIP in the .config"


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (
            example(NAMES_13, 4, SAMPLES_BY_TILE_SIZE),
            f"cholesky tiles=16 tile_size=320 dtype=float32 {{}} --model-names {STARPU_13_NAMES}",
        ),
        (
            example(NAMES_14, 4, SAMPLES_BY_TILE_SIZE),
            "cholesky tiles=16 tile_size=320 dtype=float32 {} "
            "--model-names 'chol_model_{{kernel}}'",
        ),
        (
            example(
                {k: f"{name}_openblas" for k, name in NAMES_14.items()}, 4, SAMPLES_BY_TILE_SIZE
            ),
            "cholesky tiles=16 tile_size=320 dtype=float32 {} "
            "--model-names 'chol_model_{{kernel}}_openblas'",
        ),
        (
            lu("d", LU_13, SAMPLES_BY_TILE_SIZE),
            f"lu tiles=16 tile_size=320 dtype=float64 {{}} --model-names {OLD_LU.format('d')}",
        ),
        (
            lu("s", LU_13, SAMPLES_BY_TILE_SIZE),
            f"lu tiles=16 tile_size=320 dtype=float32 {{}} --model-names {OLD_LU.format('s')}",
        ),
        (
            lu("s", LU_14, SAMPLES_BY_TILE_SIZE),
            "lu tiles=16 tile_size=320 dtype=float32 {} "
            "--model-names 'starpu_slu_lu_model_{{kernel}}'",
        ),
        (
            lu("d", LU_14, SAMPLES_BY_TILE_SIZE),
            "lu tiles=16 tile_size=320 dtype=float64 {} "
            "--model-names 'starpu_dlu_lu_model_{{kernel}}'",
        ),
    ],
)
def test_the_next_command_runs_with_either_naming(tasksim, sampling, files, command):
    sampling(bus("1.3") | files)
    imported = tasksim("import starpu sampling -o lib")
    line = imported.out.splitlines()[-1].strip()
    assert line == "tasksim simulate " + command.format("--library lib --platform plain")
    result = tasksim(line.removeprefix("tasksim "))
    assert result.code == 0, result.err
    assert result.err == ""  # nothing extrapolated


def test_a_size_that_not_all_kernels_were_measured_with_is_not_proposed(tasksim, sampling):
    files = example(NAMES_13, 4, SAMPLES_BY_TILE_SIZE) | example(
        {"potrf": "chol_model_11"}, 4, {256: 1, 128: 1}
    )
    sampling(bus("1.3") | files)
    assert "tile_size=256 " in tasksim("import starpu sampling -o lib").out.splitlines()[-1]


def test_an_example_of_which_a_kernel_is_missing_is_not_proposed(tasksim, sampling):
    files = example({"potrf": "chol_model_11", "gemm": "chol_model_22"}, 4, SAMPLES_BY_TILE_SIZE)
    sampling(bus("1.3") | files)
    out = tasksim("import starpu sampling -o lib").out
    assert out.endswith("Next:\n  tasksim list models --library lib\n")


# Names of models


@pytest.fixture
def laptop(tasksim, sampling):
    """Import a machine that ran StarPU 1.3's Cholesky."""
    sampling(bus("1.3") | example(NAMES_13, 4, {256: 50}))
    assert tasksim("import starpu sampling -o lib").code == 0


SIMULATE_COMMAND = (
    "simulate cholesky tiles=4 tile_size=256 dtype=float32 --library lib --platform plain "
)


def test_syrk_takes_as_long_as_the_gemm_that_does_it(tasksim, laptop):
    found = tasksim(f"{SIMULATE_COMMAND} --model-names {STARPU_13_NAMES} --json")
    assert found.code == 0, found.err
    assert found.json["kernels"]["syrk"]["mean_s"] == pytest.approx(1e-3)
    assert found.json["extrapolated"] == []
    alone = tasksim(
        f"{SIMULATE_COMMAND} --model-names {STARPU_13_NAMES} --engine simpy --json"
    ).json
    assert alone["makespan_s"] == found.json["makespan_s"]


def test_names_come_from_a_file_alike(tasksim, laptop, tmp_path):
    pairs = dict(pair.split("=") for pair in STARPU_13_NAMES.split(","))
    (tmp_path / "names.yaml").write_text("".join(f"{k}: {name}\n" for k, name in pairs.items()))
    (tmp_path / "names.json").write_text(json.dumps(pairs))
    results = [
        tasksim(f"{SIMULATE_COMMAND} --model-names {given} --json").json["makespan_s"]
        for given in (STARPU_13_NAMES, "names.yaml", "names.json", "./names.json")
    ]
    assert len(set(results)) == 1


def test_runs_keep_the_names_that_a_file_had(tasksim, laptop, tmp_path):
    (tmp_path / "names.yaml").write_text(STARPU_13_NAMES.replace("=", ": ").replace(",", "\n"))
    first = tasksim(f"{SIMULATE_COMMAND} --model-names names.yaml -o run --json")
    assert first.code == 0, first.err
    (tmp_path / "names.yaml").unlink()
    again = tasksim("simulate --from run --json")
    assert again.code == 0, again.err
    assert again.json["makespan_s"] == first.json["makespan_s"]


def test_the_error_proposes_the_names(tasksim, laptop):
    (error,) = tasksim(SIMULATE_COMMAND).errors
    assert error.endswith(f"; its models have other names: give --model-names '{STARPU_13_NAMES}'")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "potf=chol_model_11",
            "--model-names: unknown kernel 'potf', did you mean 'potrf'? (known",
        ),
        (STARPU_13_NAMES.replace("_11", "_12"), "no model of kernel 'chol_model_12' in"),
        (STARPU_13_NAMES.replace("_11", "_111"), "did you mean 'chol_model_11'?"),
        ("potrf", "--model-names: got 'potrf'; legal: a text with {kernel} in it, such as"),
        ("potrf=", "--model-names: got 'potrf='; legal: a text with {kernel} in it, such as"),
        ("potrf=a,potrf=b", "--model-names: potrf is given twice"),
        ("none.yaml", "none.yaml: no such file"),
        ("bad.yaml", "bad.yaml:2:7: trsm: must be the name of a model (got 21)"),
        ("twice.yaml", "twice.yaml:2:1: potrf: given twice (first in line 1)"),
        ("list.yaml", "list.yaml:1:1: must be a mapping, KERNEL: MODEL (got a list)"),
    ],
)
def test_wrong_names_are_told(tasksim, laptop, tmp_path, given, message):
    (tmp_path / "bad.yaml").write_text("potrf: chol_model_11\ntrsm: 21\n")
    (tmp_path / "twice.yaml").write_text("potrf: a\npotrf: b\n")
    (tmp_path / "list.yaml").write_text("- potrf\n")
    result = tasksim(f"{SIMULATE_COMMAND} --model-names {given}")
    assert result.code == 2
    assert message in result.errors[0]


def test_a_study_has_names_as_text_mapping_or_file(tasksim, laptop, tmp_path):
    pairs = STARPU_13_NAMES.replace("=", ": ").replace(",", ", ")
    (tmp_path / "names.yaml").write_text(f"{{{pairs}}}")
    cells = []
    for number, given in enumerate((STARPU_13_NAMES, f"{{{pairs}}}", "names.yaml")):
        (tmp_path / f"study{number}.yaml").write_text(
            "version: 1\ngraphs: [cholesky tiles=4 tile_size=256 dtype=float32]\n"
            f"platforms: [plain]\nlibrary: ./lib\nmodel_names: {given}\n"
        )
        done = tasksim(f"study run study{number}.yaml -o out{number}")
        assert done.code == 0, done.err
        (cell,) = tasksim(f"study table out{number} --json").json["rows"]
        assert cell["status"] == "done"
        cells.append((cell["cell"], cell["makespan_s"]))
    assert len(set(cells)) == 1


def test_wrong_names_in_a_study_are_told_with_their_place(tasksim, laptop, tmp_path):
    study = "version: 1\ngraphs: [cholesky tiles=4]\nplatforms: [plain]\nmodel_names: {potrf: 11}\n"
    (tmp_path / "study.yaml").write_text(study)
    (error,) = tasksim("study run study.yaml -o out").errors
    assert error.startswith("Error: study.yaml:4:14: model_names: ")


# Export


def test_models_are_exported_under_names_of_starpus(tasksim, laptop, tmp_path):
    names = "chol_model_11=chol_model_potrf,chol_model_21=chol_model_trsm"
    done = tasksim(f"export starpu lib/models/plain --host plain -o back --model-names {names}")
    assert done.code == 0, done.err
    files = sorted(path.name for path in (tmp_path / "back/codelets/45").iterdir())
    assert files == ["chol_model_22.plain", "chol_model_potrf.plain", "chol_model_trsm.plain"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("chol_model_1=x", "--model-names: unknown kernel 'chol_model_1', did you mean"),
        ("chol_model_11=a.b", "got 'a.b' for chol_model_11; legal: names without dots or '/'"),
        (
            "chol_model_11=chol_model_21",
            "chol_model_11 and chol_model_21 are both called 'chol_model_21', but StarPU has",
        ),
    ],
)
def test_names_that_starpu_cannot_have_are_refused(tasksim, laptop, tmp_path, names, message):
    done = tasksim(f"export starpu lib/models/plain --host plain -o back --model-names {names}")
    assert done.code == 2
    assert message in done.errors[0]
    assert not (tmp_path / "back").exists()
