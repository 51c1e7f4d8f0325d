"""Import of StarPU's machines and export of models to StarPU; those that StarPU is shipped with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click
import pytest

from tasksim.cli.export import exporting
from tasksim.cli.importing import importing

SHIPPED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "starpu"
CONFIG = "4 # Number of CPUs\n0 # Number of CUDA devices\n"


@pytest.fixture
def shipped() -> Path:
    """The sampling directory that StarPU is shipped with."""
    if not SHIPPED.is_dir():
        pytest.skip("the machines that StarPU is shipped with are not beside the checkout")
    return SHIPPED / "sampling"


@pytest.fixture
def sampling(tmp_path) -> Path:
    """A sampling directory with two machines of four cores, without models."""
    folder = tmp_path / "sampling"
    (folder / "bus").mkdir(parents=True)
    for host in ("desktop", "laptop"):
        (folder / "bus" / f"{host}.config").write_text(CONFIG)
    return folder


SIMULATE = (
    "simulate cholesky tiles=4 tile_size=960 dtype=float32 --library lib --platform mirage "
    "--model-names 'chol_model_{kernel}' --json "
)


# What is printed


def test_what_was_imported_is_told_and_what_to_type_next(tasksim, sampling):
    result = tasksim("import starpu sampling --host laptop -o lib")
    assert result.code == 0, result.err
    assert "laptop: 4 CPUs" in result.out
    assert "no performance models in codelets/45 or codelets/44" in result.out
    assert result.out.endswith("Next:\n  tasksim list models --library lib\n")
    assert result.err == "Wrote lib/platforms/laptop.yaml and lib/models/laptop\n"


def test_the_platform_is_valid_and_listed(tasksim, sampling):
    tasksim("import starpu sampling --host laptop -o lib")
    assert tasksim("validate lib/platforms").out.startswith("lib/platforms/laptop.yaml: ok")
    assert "4 CPUs, calibrated by StarPU" in tasksim("list platforms --library lib").out


def test_json_has_what_was_imported(tasksim, sampling):
    found = tasksim("import starpu sampling --host laptop -o lib --json").json
    assert found["schema_version"] == 1
    assert found["host"] == "laptop"
    assert found["workers"] == {"cpu": 4}
    assert found["platform"] == "lib/platforms/laptop.yaml"
    assert found["kernels"] == {}


def test_without_output_the_current_folder_is_the_library(tasksim, sampling, tmp_path):
    result = tasksim("import starpu sampling --host laptop")
    assert (tmp_path / "platforms" / "laptop.yaml").is_file()
    assert "tasksim list models\n" in result.out


@pytest.mark.parametrize("group", [importing, exporting])
def test_examples_are_command_lines_that_parse(group):
    for name, command in group.commands.items():
        assert command.examples
        for example in command.examples:
            words = example.split()
            assert words[:3] == ["tasksim", group.name, name]
            context = click.Context(command, **command.context_settings)
            command.make_parser(context).parse_args(words[3:])


# What is refused


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sampling", "has 2 machines; choose one: desktop, laptop"),
        ("sampling --host labtop", "unknown machine 'labtop', did you mean 'laptop'? (known: "),
        ("nowhere --host laptop", "nowhere: no such folder"),
    ],
)
def test_wrong_places_and_names_are_told(tasksim, sampling, line, message):
    result = tasksim(f"import starpu {line} -o lib")
    assert result.code == 2
    assert message in result.errors[0]


def test_unknown_formats_are_told_with_the_nearest(tasksim):
    for command in ("import", "export"):
        result = tasksim(f"{command} starpo somewhere")
        assert result.code == 2
        assert "unknown format 'starpo', did you mean 'starpu'? (known: " in result.err


def test_bad_files_are_told_at_once_and_nothing_is_written(tasksim, sampling, tmp_path):
    (sampling / "bus/laptop.affinity").write_text("0\tx\n")
    (sampling / "bus/laptop.latency").write_text("1\t2\n")
    result = tasksim("import starpu sampling --host laptop -o lib")
    assert result.code == 2
    assert (
        "laptop.affinity:1:3: expected a number of a device or of a core, found 'x'" in result.err
    )
    assert "laptop.latency:1:1: expected as many lines as columns (2), found 1" in result.err
    assert not (tmp_path / "lib").exists()


def test_bad_files_are_passed_over_where_that_is_wanted(tasksim, sampling):
    (sampling / "bus/laptop.affinity").write_text("0\tx\n")
    result = tasksim("import starpu sampling --host laptop -o lib --skip-bad")
    assert result.code == 0
    assert result.err.startswith("Warning: skipped: ")


def test_nothing_is_replaced_without_force(tasksim, sampling):
    tasksim("import starpu sampling --host laptop -o lib")
    result = tasksim("import starpu sampling --host laptop -o lib")
    assert result.code == 2
    assert "lib/platforms/laptop.yaml exists; give --force to replace it" in result.errors[0]
    assert tasksim("import starpu sampling --host laptop -o lib --force").code == 0


# From one end to the other, with machines that StarPU is shipped with


def test_mirage_simulates_on_its_cores(tasksim, shipped):
    imported = tasksim(f"import starpu '{shipped}' --host mirage -o lib")
    assert imported.code == 0, imported.err
    result = tasksim(f"{SIMULATE} --set platform.workers.cuda.count=0 --scheduler eager")
    assert result.code == 0, result.err
    # Without GPUs their drivers leave three more cores. The chain potrf, trsm, syrk, ..., potrf
    # bounds it from below, all 20 tasks on one core from above.
    assert result.json["workers"] == 12
    kernels = result.json["kernels"]
    assert kernels["gemm"]["mean_s"] == pytest.approx(87780.20e-6, rel=1e-6)
    assert kernels["potrf"]["mean_s"] == pytest.approx(18849.69e-6, rel=1e-6)
    assert result.json["bounds"]["critical_path_s"] <= result.json["makespan_s"]
    assert result.json["makespan_s"] < result.json["work_s"]


@pytest.mark.parametrize(
    ("host", "scheduler", "gpus", "makespan_ms"),
    [
        ("mirage", "dmdas", 3, 201.88734),
        ("mirage", "dmda", 1, 367.71104),
        ("attila", "dmda", 1, 672.40326),
        ("attila", "dmdas", 3, 482.62566),
    ],
)
def test_gpus_take_as_long_as_in_starpu_simgrid(
    tasksim, shipped, host, scheduler, gpus, makespan_ms
):
    tasksim(f"import starpu '{shipped}' --host {host} -o lib")
    line = SIMULATE.replace("tiles=4", "tiles=8").replace("mirage", host)
    result = tasksim(f"{line} --set platform.workers.cuda.count={gpus} --scheduler {scheduler}")
    assert result.code == 0, result.err
    assert result.json["makespan_s"] == pytest.approx(makespan_ms / 1e3, rel=0.01)


def test_an_imported_machine_can_be_changed(tasksim, shipped):
    tasksim(f"import starpu '{shipped}' --host mirage -o lib")
    line = SIMULATE.replace("tiles=4", "tiles=12") + "--scheduler dmdas"
    as_it_is = tasksim(line).json
    wider = tasksim(f"{line} --set 'platform.links.*.bandwidth=x2'").json
    assert wider["makespan_s"] < as_it_is["makespan_s"]
    six = tasksim(f"{line} --set platform.workers.cuda.count=6").json
    assert [name for name in six["idle_s"] if name.startswith("cuda")][-1] == "cuda5"
    assert six["workers"] == as_it_is["workers"] == 12


def test_the_next_command_works_as_it_is_printed(tasksim, shipped):
    out = tasksim(f"import starpu '{shipped}' --host mirage -o lib").out
    line = out.splitlines()[-1].strip()
    assert line.startswith("tasksim simulate cholesky")
    result = tasksim(line.removeprefix("tasksim "))
    assert result.code == 0, result.err


def test_every_shipped_machine_is_imported(tasksim, shipped):
    for host in ("attila", "idgraf", "mirage", "sirocco"):
        result = tasksim(f"import starpu '{shipped}' --host {host} -o lib --json")
        assert result.code == 0, result.err
        assert result.json["workers"]["cuda0"] == 1
        assert tasksim(f"validate lib/platforms/{host}.yaml lib/models/{host}").code == 0


def test_a_broken_codelet_is_told_with_its_line(tasksim, shipped, tmp_path):
    folder = tmp_path / "sampling"
    shutil.copytree(shipped, folder)
    (bad,) = (SHIPPED / "malformed").iterdir()
    shutil.copy(bad, folder / "codelets" / "45")
    result = tasksim("import starpu sampling --host idgraf -o lib")
    assert result.code == 2
    assert f"codelets/45/{bad.name}:" in result.errors[0]
    assert not (tmp_path / "lib").exists()
    assert tasksim("import starpu sampling --host idgraf -o lib --skip-bad").code == 0


# Export


EXPORT = "export starpu xeon-2c --host laptop -o sampling2"


def test_models_are_exported_as_codelets(tasksim, tmp_path):
    result = tasksim(EXPORT)
    assert result.code == 0, result.err
    files = sorted(path.name for path in (tmp_path / "sampling2/codelets/45").iterdir())
    assert "gemm.laptop" in files
    assert set(files) <= {Path(line).name for line in result.out.splitlines()}
    assert "gemm: StarPU does not know what far data cost (cpu)" in result.out
    assert result.err == f"Wrote {len(files)} files of laptop\n"


def test_names_of_exported_models_can_be_given(tasksim, tmp_path):
    result = tasksim(f"{EXPORT} --model-names 'chol_model_{{kernel}}' --json")
    assert "sampling2/codelets/45/chol_model_gemm.laptop" in result.json["files"]
    assert result.json["host"] == "laptop"


def test_exported_models_are_imported_as_they_were(tasksim, shipped, tmp_path):
    tasksim(f"import starpu '{shipped}' --host mirage -o lib")
    tasksim("export starpu lib/models/mirage --host mirage -o back")
    shutil.copytree(shipped / "bus", tmp_path / "back" / "bus")
    assert tasksim("import starpu back --host mirage -o lib2").code == 0
    for name in ("chol_model_gemm", "starpu_dlu_lu_model_getrf", "log_arr"):
        first, second = (
            _models(tmp_path / lib / f"models/mirage/{name}.json") for lib in LIBRARIES
        )
        assert first == second


LIBRARIES = ("lib", "lib2")


def _models(path: Path) -> dict:
    return {name: a["model"] for name, a in json.loads(path.read_text())["architectures"].items()}


def test_exports_go_into_the_directory_that_is_there(tasksim, sampling, tmp_path):
    tasksim("export starpu xeon-2c --host laptop -o .")
    assert (sampling / "codelets" / "45" / "gemm.laptop").is_file()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("export starpu xeon-3c -o back", "unknown model 'xeon-3c', did you mean 'xeon-2c'?"),
        (
            "export starpu empty -o back",
            "empty: no coefficient files in this folder, nothing to export",
        ),
        ("export starpu xeon-2c --host a.b -o back", "host 'a.b': legal: names without dots"),
        ("export starpu xeon-2c --model-names x -o back", "legal: a text with {kernel} in it"),
    ],
)
def test_exports_that_cannot_be_are_refused(tasksim, tmp_path, line, message):
    (tmp_path / "models" / "empty").mkdir(parents=True)
    result = tasksim(line)
    assert result.code == 2
    assert message in result.errors[0]
    assert not (tmp_path / "back").exists()


def test_exports_replace_nothing_without_force(tasksim):
    assert tasksim(EXPORT).code == 0
    result = tasksim(EXPORT)
    assert result.code == 2
    assert ".laptop exists; give --force to replace it" in result.errors[0]
    assert tasksim(f"{EXPORT} --force").code == 0
