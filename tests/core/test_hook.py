"""The hook of the build: wheels with the core, wheels without, editable installs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tasksim.core.library import BUILT_RECORDER, digest
from tasksim.core.wheeltag import wheel_tag

ROOT = Path(__file__).resolve().parents[2]
FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore")
CORE_FOLDER = "tasksim/core/"

pytest.importorskip("hatchling", reason="hatchling builds the wheel")


@pytest.fixture
def project(sources):
    """A checkout with nothing in it but what the build needs, and a small core."""
    root = sources.parents[1]
    for name in FILES:
        shutil.copy(ROOT / name, root)
    for folder in ("platforms", "models", "traces"):
        (root / folder).mkdir()
        (root / folder / "one.md").touch()
    shutil.copy(ROOT / "tasksim" / "__init__.py", root / "tasksim")
    shutil.copytree(ROOT / "tasksim" / "base", root / "tasksim" / "base")
    for path in (ROOT / "tasksim" / "core").glob("*.py"):
        shutil.copy(path, sources)
    return root


def made(project, kind="wheel", **variables):
    """Build a wheel (``editable``: one that points here); return its path and what was said."""
    if kind == "editable":
        pytest.importorskip("editables", reason="hatchling needs it for editable installs")
    folder = project / "out"
    code = f"from hatchling.build import *; build_{kind}({str(folder)!r})"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (path,) = folder.iterdir()
    return path, done.stdout + done.stderr


def inside(wheel):
    """Return what a wheel has of the core but Python, and whether it is for any machine."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(CORE_FOLDER)]
        (head,) = [name for name in archive.namelist() if name.endswith("/WHEEL")]
        pure = "Root-Is-Purelib: true" in archive.read(head).decode()
    return sorted(name[len(CORE_FOLDER) :] for name in names if not name.endswith(".py")), pure


@pytest.mark.usefixtures("compiler")
def test_a_wheel_has_the_library_and_its_tag(project, tmp_path):
    wheel, _ = made(project)
    assert inside(wheel) == (["libtasksim_core.so"], False)
    with zipfile.ZipFile(wheel) as archive:
        library = archive.extract(f"{CORE_FOLDER}libtasksim_core.so", tmp_path)
    assert wheel.name.endswith(f"-{wheel_tag(Path(library))}.whl")
    # The checkout has none: a wheel may be another machine's.
    assert not (project / CORE_FOLDER / "libtasksim_core.so").exists()


def test_without_a_compiler_a_wheel_is_pure_and_says_why(project):
    wheel, said = made(project, CXX="none")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert inside(wheel) == (["not-built.txt"], True)
    with zipfile.ZipFile(wheel) as archive:
        why = archive.read(f"{CORE_FOLDER}not-built.txt").decode()
    assert why == "no C++ compiler was found: CXX=none names no program\n"
    assert f"tasksim is installed without its compiled core: {why}" in said


@pytest.mark.usefixtures("compiler")
def test_sources_that_do_not_compile_make_a_pure_wheel(project):
    (project / CORE_FOLDER / "wrong.cpp").write_text("#error too old\n")
    wheel, said = made(project)
    assert inside(wheel) == (["not-built.txt"], True)
    assert "wrong.cpp:1:2: error: #error too old" in said


@pytest.mark.usefixtures("compiler")
def test_an_editable_install_has_the_library_beside_the_sources(project):
    wheel, _ = made(project, "editable")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert (project / CORE_FOLDER / "libtasksim_core.so").is_file()


def test_an_editable_install_without_a_compiler_keeps_why(project):
    _, said = made(project, "editable", CXX="none")
    assert "tasksim is installed without its compiled core" in said
    assert "CXX=none" in (project / CORE_FOLDER / "not-built.txt").read_text()


@pytest.mark.usefixtures("compiler")
def test_wheels_of_the_same_sources_have_the_same_bytes(project):
    first, _ = made(project)
    kept = first.rename(project / first.name)
    shutil.rmtree(project / "build")
    second, _ = made(project)
    assert kept.read_bytes() == second.read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("compiler")
def test_a_wheel_has_the_recorder_of_openmp_programs(project):
    folder = BUILT_RECORDER.parent.relative_to(ROOT)
    shutil.copytree(ROOT / folder, project / folder, ignore=shutil.ignore_patterns("*.so"))
    shared_with_core = "native/pulse.h", "native/core_watch.h", "tasksim_core.h"
    for header in shared_with_core:
        (project / CORE_FOLDER / header).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / CORE_FOLDER / header, project / CORE_FOLDER / header)
    wheel, _ = made(project)
    with zipfile.ZipFile(wheel) as archive:
        inside = [name for name in archive.namelist() if name.startswith(str(folder))]
    assert inside == [str(folder / BUILT_RECORDER.name)]
    (project / folder / "recorder.cpp").write_text("#error too old\n")
    (project / "out" / wheel.name).unlink()
    wheel, said = made(project)
    with zipfile.ZipFile(wheel) as archive:
        why = archive.read(f"{folder}/not-built.txt").decode()
    assert "too old" in why
    assert "tasksim cannot record OpenMP programs" in said


def test_the_source_distribution_builds_by_itself(project, tmp_path):
    path, _ = made(project, "sdist")
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from Python 3.11.4
    shutil.unpack_archive(path, tmp_path / "unpacked", **safely)
    (root,) = (tmp_path / "unpacked").iterdir()
    names = {"tasksim_core.h", "version.cpp", "build.py"}
    assert names <= {path.name for path in (root / CORE_FOLDER).iterdir()}
    wheel, _ = made(root, CXX="none")
    assert inside(wheel) == (["not-built.txt"], True)


@pytest.mark.parametrize("fresh", [True, False])
def test_a_wheel_has_the_core_for_browsers_if_it_is_made_of_its_sources(project, fresh):
    module = project / CORE_FOLDER / "libtasksim_core.wasm"
    module.write_bytes(b"\0asm" + digest(module.parent).encode() * fresh)
    wheel, said = made(project, CXX="none")
    assert inside(wheel)[0] == [module.name] * fresh + ["not-built.txt"]
    assert ("not made of the sources that are here" in said) == (not fresh)
