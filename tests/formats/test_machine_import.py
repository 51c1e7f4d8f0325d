"""Machines that StarPU calibrated; those that it is shipped with, where they are at hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampled_laptop import BANDWIDTH, CONFIG, FILES, LATENCY, XML

from tasksim.base.errors import InputError
from tasksim.formats.starpu.machine_import import import_machine
from tasksim.formats.starpu.sampling import Sampling
from tasksim.models.files.store import ModelLibrary
from tasksim.platform.load import load

SHIPPED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "starpu"


@pytest.fixture
def sampling(tmp_path) -> Path:
    """A sampling directory with the machine ``laptop``: four cores, two GPUs."""
    folder = tmp_path / ".starpu" / "sampling"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def shipped() -> Path:
    """The sampling directory that StarPU is shipped with."""
    if not SHIPPED.is_dir():
        pytest.skip("the machines that StarPU is shipped with are not beside the checkout")
    return SHIPPED / "sampling"


def error_of(*arguments, **options) -> str:
    with pytest.raises(InputError) as error:
        import_machine(*arguments, **options)
    return str(error.value)


# What is imported


def test_gpus_come_first_and_their_drivers_take_cores(sampling, tmp_path):
    platform = import_machine(sampling, "laptop", tmp_path / "lib").platform
    assert [worker.name for worker in platform.workers] == ["cuda0", "cuda1", "cpu0", "cpu1"]
    assert [worker.models for worker in platform.workers[:2]] == ["cuda0", "cuda1"]
    assert [memory.name for memory in platform.memories] == ["ram", "gpu0", "gpu1"]
    assert [memory.size_bytes for memory in platform.memories] == [None, 3 * 2**30, 3 * 2**30]
    assert [worker.memory for worker in platform.workers] == [1, 2, 0, 0]


def test_links_have_what_the_xml_says_and_what_was_measured(sampling, tmp_path):
    platform = import_machine(sampling, "laptop", tmp_path / "lib").platform
    links = {link.name: link for link in platform.links}
    link = links["ram-gpu0"]
    assert (link.bandwidth_bytes_per_s, link.latency_s) == (5.9e9, 10e-6)
    assert (link.measured_bandwidth_bytes_per_s, link.measured_latency_s) == (6e9, 10.5e-6)
    assert links["gpu0-gpu1"].measured_bandwidth_bytes_per_s == 3e9
    assert links["host"].measured_bandwidth_bytes_per_s is None


def test_links_of_the_same_plain_name_stay_apart(sampling, tmp_path):
    platform = import_machine(sampling, "laptop", tmp_path / "lib").platform
    bandwidths = {link.name: link.bandwidth_bytes_per_s for link in platform.links}
    assert bandwidths["pci-06-00-0-up"] == 7e9
    assert bandwidths["pci-06-00-0-up-2"] == 7.1e9


def test_routes_cross_the_same_links_as_in_the_xml(sampling, tmp_path):
    platform = import_machine(sampling, "laptop", tmp_path / "lib").platform

    def names(source, target):
        found = platform.route(source, target)
        return None if found is None else [platform.links[i].name for i in found]

    assert names(0, 1) == ["ram-gpu0", "host"]
    assert names(1, 2) == [
        "gpu0-gpu1", "pci-06-00-0-up", "pci-06-00-0-up-2", "host", "host"
    ]  # fmt: skip
    assert names(2, 1) is None


def test_the_runtime_costs_what_it_does_in_starpu_simgrid(sampling, tmp_path):
    platform = import_machine(sampling, "laptop", tmp_path / "lib").platform
    costs = platform.overheads
    assert (costs.submission_s, costs.push_s, costs.fetch_s, costs.progress_s) == (1e-6,) * 4
    assert (costs.kernel_s, costs.copy_s, costs.task_s, costs.wakeup_s) == (1e-5, 1e-5, 0, 0)
    memory, copying = platform.allocation, platform.copying
    assert (memory.allocate_s, memory.free_s, memory.usable) == (175e-6, 750e-6, 0.9)
    assert (memory.chunk_bytes, memory.unit_bytes) == (32 * 2**20, 16 * 2**10)
    assert memory.largest_bytes == 4 * 2**20
    assert (copying.fetches, copying.prefetches, copying.idle) == (5, 2, 1)
    assert (copying.serialised, copying.contention) == (True, 2)


def test_what_starpu_runs_synchronously_is_told_in_the_file(sampling, tmp_path):
    found = import_machine(sampling, "laptop", tmp_path / "lib")
    device = found.platform.device("cuda")
    assert (device.pipeline, device.synchronous) == (2, ("chol_model_potrf",))
    assert "asynchronous GPU implementation" in found.platform_path.read_text()


def test_what_starpu_1_3_runs_synchronously_is_known_by_its_names(sampling, tmp_path):
    codelets = sampling / "codelets" / "45"
    for name in ("chol_model_11", "chol_model_22", "starpu_slu_lu_model_11_goto"):
        shutil.copy(codelets / "chol_model_potrf.laptop", codelets / f"{name}.laptop")
    device = import_machine(sampling, "laptop", tmp_path / "lib").platform.device("cuda")
    assert device.synchronous == (
        "chol_model_11", "chol_model_potrf", "starpu_slu_lu_model_11_goto",
    )  # fmt: skip


def test_durations_are_those_of_starpu(sampling, tmp_path):
    found = import_machine(sampling, "laptop", tmp_path / "lib")
    assert found.kernels["chol_model_potrf"] == ("cpu", "cuda0", "cuda1")
    library = ModelLibrary(found.models_folder)
    assert library.kernels() == ("chol_model_potrf", "work")
    names, table = ("size_bytes",), np.array([[3686400.0]])
    means = {a: library.predict("chol_model_potrf", a, names, table)[0] for a in ("cpu", "cuda1")}
    assert means == {"cpu": pytest.approx(900e-6), "cuda1": pytest.approx(250e-6)}


def test_the_platform_finds_its_models_by_name(sampling, tmp_path):
    found = import_machine(sampling, "laptop", tmp_path / "lib")
    for platform in (found.platform, load("laptop", tmp_path / "lib")):
        assert platform.models_folder().samefile(tmp_path / "lib" / "models" / "laptop")


def test_what_is_left_out_is_noted(sampling, tmp_path):
    notes = import_machine(sampling, "laptop", tmp_path / "lib").notes
    assert "left out: OpenCL0, DISK0" in notes
    assert any(note.startswith("no direct way from gpu1 to gpu0") for note in notes)


@pytest.mark.parametrize("inside", ["..", ".", "bus", "codelets/45", "../.."])
def test_folders_around_and_inside_will_do(sampling, tmp_path, inside):
    assert Sampling.find(sampling / inside).folder.samefile(sampling)


def test_the_only_machine_needs_no_name(sampling, tmp_path):
    assert import_machine(sampling, None, tmp_path / "lib").host == "laptop"


# Machines that lack something


def test_without_xml_the_matrices_alone_make_the_platform(sampling, tmp_path):
    (sampling / "bus/laptop.platform.v4.xml").unlink()
    found = import_machine(sampling, "laptop", tmp_path / "lib")
    links = {link.name: link for link in found.platform.links}
    assert links["host"].bandwidth_bytes_per_s == 6.5e9
    assert links["gpu1-gpu0"].bandwidth_bytes_per_s == 3.5e9
    assert links["gpu1-gpu0"].latency_s == 21e-6
    assert len(found.platform.routes) == 6
    assert any(note.startswith("no .platform.v4.xml") for note in found.notes)


def test_an_xml_of_version_3_will_do(sampling, tmp_path):
    new = sampling / "bus/laptop.platform.v4.xml"
    text = XML.replace('version="4"', 'version="3"').replace("Bps", "").replace('s"', '"')
    (sampling / "bus/laptop.platform.xml").write_text(text.replace('speed="1f"', 'power="1"'))
    newer = import_machine(sampling, "laptop", tmp_path / "new").platform
    new.unlink()
    older = import_machine(sampling, "laptop", tmp_path / "old").platform
    assert (older.links, older.routes, older.memories) == (
        newer.links, newer.routes, newer.memories
    )  # fmt: skip


def test_other_counts_in_the_config_are_noted(sampling, tmp_path):
    (sampling / "bus/laptop.config").write_text("8 # Number of CPUs\n2 # Number of CUDA devices\n")
    notes = import_machine(sampling, "laptop", tmp_path / "lib").notes
    assert "the .config counts 8 CPUs and 2 CUDA devices, the XML 4 and 2: the XML counts" in notes


def test_routes_without_measurements_are_noted(sampling, tmp_path):
    (sampling / "bus/laptop.bandwidth").unlink()
    found = import_machine(sampling, "laptop", tmp_path / "lib")
    assert "no measured bandwidth for 5 of 5 routes" in found.notes
    assert found.platform.links[1].measured_bandwidth_bytes_per_s is None


def test_a_machine_without_gpus_has_cores_only(sampling, tmp_path):
    for path in (sampling / "bus").iterdir():
        path.unlink()
    (sampling / "bus/laptop.config").write_text("4 # Number of CPUs\n0 # Number of CUDA devices\n")
    platform = import_machine(sampling, "laptop", tmp_path / "lib").platform
    assert [worker.name for worker in platform.workers] == ["cpu0", "cpu1", "cpu2", "cpu3"]
    assert [memory.name for memory in platform.memories] == ["ram"]
    assert platform.links == ()


def test_one_gpu_is_enough(sampling, tmp_path):
    (sampling / "bus/laptop.platform.v4.xml").unlink()
    (sampling / "bus/laptop.config").write_text("4 # Number of CPUs\n1 # Number of CUDA devices\n")
    platform = import_machine(sampling, "laptop", tmp_path / "lib").platform
    assert [worker.name for worker in platform.workers] == ["cuda0", "cpu0", "cpu1", "cpu2"]


def test_of_several_numa_nodes_the_best_placed_counts(sampling, tmp_path):
    (sampling / "bus/laptop.platform.v4.xml").unlink()
    (sampling / "bus/laptop.config").write_text(
        "4 # Number of CPUs\n2 # Number of NUMA nodes\n1 # Number of CUDA nodes\n"
    )
    platform = import_machine(sampling, "laptop", tmp_path / "lib").platform
    links = {link.name: link for link in platform.links}
    assert links["ram-gpu0"].bandwidth_bytes_per_s == 5e9
    assert links["gpu0-ram"].latency_s == 13e-6


def test_without_performance_models_there_is_a_note(sampling, tmp_path):
    shutil.rmtree(sampling / "codelets")
    found = import_machine(sampling, "laptop", tmp_path / "lib")
    assert found.kernels == {}
    assert "no performance models in codelets/45 or codelets/44" in found.notes


def test_models_of_starpu_1_2_are_read_where_there_are_no_newer_ones(sampling, tmp_path):
    codelets = sampling / "codelets"
    new = codelets / "45" / "chol_model_potrf.laptop"
    for version, name in (("44", "only_old"), ("44", "chol_model_potrf"), ("42", "ancient")):
        (codelets / version).mkdir(exist_ok=True)
        text = new.read_text().replace("45\n", f"{version}\n", 1)
        text = text.replace("# not multiple-regression-base\n0\n", "")
        (codelets / version / f"{name}.laptop").write_text(text)
    (sampling / "bus" / "laptop.strange").write_text("")
    found = import_machine(sampling, "laptop", tmp_path / "lib")
    library = ModelLibrary(tmp_path / "lib" / "models" / "laptop")
    both = [library.file(name).to_json() for name in ("only_old", "chol_model_potrf")]
    models = [one["architectures"]["cuda0"]["model"] for one in both]
    assert models[0] == models[1]
    how = [one["architectures"]["cuda0"]["measured"]["how"] for one in both]
    assert how[0].startswith("by StarPU, codelets/44/only_old.laptop;")
    assert how[1].startswith("by StarPU, codelets/45/chol_model_potrf.laptop;")
    assert found.notes[-3:] == (
        "codelets/42 is not read, only versions 45 and 44 are: ancient",
        "codelets/44 is older, and not read where a newer one exists: chol_model_potrf",
        "not read in bus/: laptop.strange",
    )


# What is refused


def test_unknown_machines_are_told_with_those_there(sampling, tmp_path):
    text = error_of(sampling, "labtop", tmp_path / "lib")
    assert "unknown machine 'labtop', did you mean 'laptop'? (known: laptop)" in text


def test_among_several_machines_one_must_be_named(sampling, tmp_path):
    (sampling / "bus/desktop.config").write_text("4")
    assert "has 2 machines; choose one: desktop, laptop" in error_of(sampling, None, tmp_path / "l")


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "a" / "b" / "c" / "d").mkdir(parents=True)
    text = error_of(tmp_path / "a" / "b" / "c" / "d", None, tmp_path / "lib")
    assert "no sampling directory of StarPU: expected a folder with bus/ and codelets/" in text


def test_all_malformed_files_are_told_and_nothing_is_written(sampling, tmp_path):
    (sampling / "bus/laptop.latency").write_text("0\tsoon\n1\t0\n")
    (sampling / "codelets/45/work.laptop").write_text("42\n")
    lines = error_of(sampling, "laptop", tmp_path / "lib").splitlines()
    assert len(lines) == 3
    assert lines[2] == "skip_bad=True imports the machine without malformed files"
    assert f"{sampling}/bus/laptop.latency:1:3: expected a latency in us, found 'soon'" in lines
    assert any(f"{sampling}/codelets/45/work.laptop:1:1: " in line for line in lines)
    assert not (tmp_path / "lib").exists()


def test_malformed_files_can_be_passed_over(sampling, tmp_path):
    (sampling / "codelets/45/work.laptop").write_text("42\n")
    found = import_machine(sampling, "laptop", tmp_path / "lib", skip_bad=True)
    assert list(found.kernels) == ["chol_model_potrf"]
    assert len(found.skipped) == 1
    assert not (found.models_folder / "work.json").exists()


def test_what_cannot_be_passed_over_is_told(sampling, tmp_path):
    for suffix in ("config", "platform.v4.xml"):
        (sampling / f"bus/laptop.{suffix}").write_text("?")
    text = error_of(sampling, "laptop", tmp_path / "lib", skip_bad=True)
    assert "expected a .platform.v4.xml or a .config, found neither" in text


def test_bandwidths_that_lack_a_device_are_refused(sampling, tmp_path):
    (sampling / "bus/laptop.platform.v4.xml").unlink()
    (sampling / "bus/laptop.config").write_text("9 # Number of CPUs\n3 # Number of CUDA devices\n")
    assert "expected the bandwidths of 3 CUDA devices" in error_of(sampling, None, tmp_path / "lib")


def test_a_gpu_that_no_route_reaches_is_refused(sampling, tmp_path):
    path = sampling / "bus/laptop.platform.v4.xml"
    path.write_text(XML.replace('<route src="CUDA1" dst="RAM"', '<route src="CUDA1" dst="DISK0"'))
    text = error_of(sampling, "laptop", tmp_path / "lib")
    assert "expected routes from RAM to each GPU and back, found none for CUDA1" in text


def test_more_gpus_than_cores_leave_no_core(sampling, tmp_path):
    (sampling / "bus/laptop.platform.v4.xml").unlink()
    (sampling / "bus/laptop.config").write_text("1 # Number of CPUs\n2 # Number of CUDA devices\n")
    found = import_machine(sampling, "laptop", tmp_path / "lib")
    assert [worker.name for worker in found.platform.workers] == ["cuda0", "cuda1"]
    assert any(note.startswith("there are more GPUs than CPUs") for note in found.notes)


@settings(max_examples=60, deadline=None)
@given(
    suffix=st.sampled_from([".config", ".bandwidth", ".latency", ".platform.v4.xml"]),
    place=st.floats(0, 1, exclude_max=True),
    cut=st.integers(0, 12),
    noise=st.text(max_size=5),
)
def test_damaged_files_are_imported_or_refused(tmp_path_factory, suffix, place, cut, noise):
    folder = tmp_path_factory.mktemp("damaged")
    texts = {
        ".config": CONFIG, ".bandwidth": BANDWIDTH, ".latency": LATENCY, ".platform.v4.xml": XML
    }  # fmt: skip
    (folder / "bus").mkdir()
    for other, text in texts.items():
        (folder / "bus" / f"laptop{other}").write_text(text)
    at = int(place * len(texts[suffix]))
    damaged = texts[suffix][:at] + noise + texts[suffix][at + cut :]
    (folder / "bus" / f"laptop{suffix}").write_text(damaged, encoding="utf-8", errors="replace")
    told = ""
    try:
        import_machine(folder, "laptop", folder / "lib")
    except InputError as error:
        told = str(error)
    assert bool(told) != (folder / "lib").exists()
    assert str(folder) in told or not told


def test_what_exists_is_replaced_by_force_only(sampling, tmp_path):
    import_machine(sampling, "laptop", tmp_path / "lib")
    assert "exists; give force=True to replace it" in error_of(sampling, "laptop", tmp_path / "lib")
    (sampling / "codelets/45/work.laptop").unlink()
    found = import_machine(sampling, "laptop", tmp_path / "lib", force=True)
    assert ModelLibrary(found.models_folder).kernels() == ("chol_model_potrf",)


def test_a_folder_that_is_not_of_models_is_never_replaced(sampling, tmp_path):
    precious = tmp_path / "lib" / "models" / "laptop" / "thesis.tex"
    precious.parent.mkdir(parents=True)
    precious.write_text("")
    text = error_of(sampling, "laptop", tmp_path / "lib", force=True)
    assert "is not a folder of coefficient files (it holds 'thesis.tex'" in text


def test_the_same_files_give_the_same_bytes(sampling, tmp_path):
    for library in ("one", "two"):
        import_machine(sampling, "laptop", tmp_path / library)
    for path in sorted((tmp_path / "one").rglob("*.*")):
        other = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == other.read_bytes()


# The machines that StarPU is shipped with


@pytest.mark.parametrize(
    ("host", "workers", "size_bytes"),
    [
        ("attila", {"cuda": 3, "cpu": 9}, 3220897792),
        ("idgraf", {"cuda": 8, "cpu": 4}, 2817982464),
        ("mirage", {"cuda": 3, "cpu": 9}, 5636554752),
        ("sirocco", {"cuda": 4, "cpu": 20}, 12079136768),
    ],
)
def test_shipped_machines_are_imported(shipped, tmp_path, host, workers, size_bytes):
    found = import_machine(shipped, host, tmp_path)
    counts = {g.architecture: 0 for g in found.platform.classes}
    for group in found.platform.classes:
        counts[group.architecture] += len(group.workers)
    assert counts == workers
    assert found.platform.memories[1].size_bytes == size_bytes
    assert len(found.platform.routes) == workers["cuda"] * (workers["cuda"] + 1)
    assert {"chol_model_gemm", "chol_model_potrf"} <= set(found.kernels)
    assert load(host, tmp_path).summary() == found.platform.summary()


def test_mirage_crosses_the_host_bus_twice_between_its_sockets(shipped, tmp_path):
    platform = import_machine(shipped, "mirage", tmp_path).platform
    names = [platform.links[i].name for i in platform.route(1, 2)]
    assert names.count("host") == 2
    assert names[0] == "gpu0-gpu1"
    assert names[-1] == "pci-06-00-0-up"
    assert len(names) == 13


def test_a_broken_codelet_of_idgraf_is_told_by_line(shipped, tmp_path):
    folder = tmp_path / "sampling"
    shutil.copytree(shipped, folder)
    (bad,) = (SHIPPED / "malformed").iterdir()
    shutil.copy(bad, folder / "codelets/45")
    text = error_of(folder, "idgraf", tmp_path / "lib")
    assert text.startswith(f"{folder}/codelets/45/{bad.name}:")
    assert "expected" in text
    found = import_machine(folder, "idgraf", tmp_path / "lib", skip_bad=True)
    assert bad.stem not in found.kernels
