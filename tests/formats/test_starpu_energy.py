"""Energy models of StarPU: joules by kernel, architecture and size, there and back, and in runs."""

import pytest
from sampled_laptop import FILES

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.starpu.codelet_file import (
    Codelet,
    Combination,
    HistoryEntry,
    Implementation,
    ModelledDevice,
    write_codelet,
)
from tasksim.formats.starpu.machine_import import import_machine
from tasksim.formats.starpu.sampling import export_models
from tasksim.models.files.store import ModelLibrary
from tasksim.platform.load import load
from tasksim.run.energy import energy

CPU, GPU = ModelledDevice(0, 0, 1), ModelledDevice(1, 0, 1)
SMALL, LARGE = 3 * 32 * 32 * 8, 3 * 64 * 64 * 8


def codelet(name, **by_device):
    """A codelet with what was measured: device -> {size: value}."""
    devices = {"cpu": CPU, "cuda": GPU}
    combinations = tuple(
        Combination(
            (devices[where],),
            (Implementation(tuple(entry(size, v) for size, v in values.items())),),
        )
        for where, values in by_device.items()
    )
    return Codelet(name, "laptop", combinations)


def entry(size, value, count=20):
    total, squares = (float(f"{v:e}") for v in (value * count, value * value * count))
    return HistoryEntry(size, size, 0.0, value, 0.0, total, squares, count)


@pytest.fixture
def sampling(tmp_path):
    """The machine of other tests, with a kernel of known durations and energies."""
    folder = tmp_path / "sampling"
    for name, text in FILES.items():
        if not name.startswith("codelets"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    codelets = folder / "codelets" / "45"
    codelets.mkdir(parents=True)
    times = {"cpu": {SMALL: 100.0, LARGE: 800.0}, "cuda": {SMALL: 50.0, LARGE: 100.0}}
    joules = {"cpu": {SMALL: 0.002, LARGE: 0.02}, "cuda": {SMALL: 0.01}}
    write_codelet(codelet("gemm", **times), codelets / "gemm.laptop")
    write_codelet(codelet("gemm_energy", **joules), codelets / "gemm_energy.laptop")
    return folder


def imported(sampling, tmp_path):
    found = import_machine(sampling, "laptop", tmp_path / "lib")
    return found, ModelLibrary(found.models_folder)


def test_joules_are_known_by_kernel_architecture_and_size(sampling, tmp_path):
    found, library = imported(sampling, tmp_path)
    assert library.kernels() == ("gemm",)
    joules = library.energy("gemm", "cpu").predict([[SMALL], [LARGE]])
    assert joules == pytest.approx([0.002, 0.02], rel=1e-12)
    assert library.energy("gemm", "cuda0").predict([[SMALL]]) == pytest.approx([0.01])
    assert library.model("gemm", "cpu").predict([[LARGE]]) == pytest.approx([800e-6])
    assert any("the energy of 1 of 1 kernels" in note for note in found.notes)


def test_runs_use_the_joules_of_their_tasks(sampling, tmp_path):
    found, _ = imported(sampling, tmp_path)
    graph = tasksim.GraphBuilder("three")
    for size in (SMALL, LARGE, LARGE):
        graph.insert("gemm", tasksim.RW(graph.handle(f"x{size}", size_bytes=size)))
    changes = ["platform.workers.cuda.count=0", "platform.power.static=30W"]
    run = tasksim.simulate(graph.build(), load(found.platform_path, settings=changes))
    used = energy(run)
    assert used.tasks_j.sum() == pytest.approx(0.042, rel=1e-9)
    assert used.static_j == pytest.approx(30 * run.makespan_s)
    assert used.idle_j.sum() == 0.0


def test_what_is_exported_is_what_was_imported(sampling, tmp_path):
    found, _ = imported(sampling, tmp_path)
    made = export_models(found.models_folder, "laptop", tmp_path / "back")
    assert [path.name for path in made.paths] == ["gemm.laptop", "gemm_energy.laptop"]
    for path in made.paths:
        assert path.read_text() == (sampling / "codelets" / "45" / path.name).read_text()


def test_impossible_joules_are_refused(sampling, tmp_path):
    bad = sampling / "codelets" / "45" / "gemm_energy.laptop"
    write_codelet(codelet("gemm_energy", cpu={SMALL: -3.0}), bad)
    with pytest.raises(
        InputError, match=r"gemm_energy.laptop:[0-9]+:[0-9]+: .*expected a mean .*not negative"
    ):
        imported(sampling, tmp_path)
    bad.write_text("45\nmany\n")
    with pytest.raises(InputError, match=r"gemm_energy.laptop:2:1: expected"):
        imported(sampling, tmp_path)


def test_energy_of_what_nobody_timed_is_said(sampling, tmp_path):
    folder = sampling / "codelets" / "45"
    write_codelet(codelet("gemm", cpu={SMALL: 100.0}), folder / "gemm.laptop")
    write_codelet(codelet("kinetic_energy", cpu={SMALL: 9.0}), folder / "kinetic_energy.laptop")
    found, library = imported(sampling, tmp_path)
    assert any("energy on cuda0 is left out" in note for note in found.notes)
    assert any("kinetic_energy: read as durations" in note for note in found.notes)
    assert library.model("kinetic_energy", "cpu").predict([[SMALL]]) == pytest.approx([9e-6])
