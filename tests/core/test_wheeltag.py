"""The tag of a wheel with the core: the processor and the C library, read from the library."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from numpy._core import _multiarray_umath

from tasksim.core.build import build
from tasksim.core.wheeltag import Requirements, needs_of, wheel_tag


@pytest.mark.parametrize(
    ("needs", "tag"),
    [
        (Requirements("x86_64", ("libc.so.6",), ("GLIBC_2.2.5",)), "manylinux_2_17_x86_64"),
        (
            Requirements("x86_64", ("libc.so.6", "libm.so.6"), ("GLIBC_2.34",)),
            "manylinux_2_34_x86_64",
        ),
        (
            Requirements(
                "aarch64", ("ld-linux-aarch64.so.1", "libc.so.6"), ("GLIBC_2.9", "GLIBC_2.28")
            ),
            "manylinux_2_28_aarch64",
        ),
        (Requirements("riscv64", (), ()), "manylinux_2_17_riscv64"),
        (Requirements("x86_64", ("libstdc++.so.6", "libc.so.6"), ("GLIBCXX_3.4",)), "linux_x86_64"),
        (Requirements("x86_64", ("libc.musl-x86_64.so.1",), ()), "linux_x86_64"),
        (Requirements("", ("libc.so.6",), ()), "linux_here"),
    ],
)
def test_a_tag_is_as_old_as_the_library_allows(needs, tag, monkeypatch):
    monkeypatch.setattr("tasksim.core.wheeltag.needs_of", lambda _: needs)
    monkeypatch.setattr("platform.machine", lambda: "here")
    assert wheel_tag(None) == f"py3-none-{tag}"


def test_private_versions_of_the_c_library_are_of_no_wheel(monkeypatch):
    needs = Requirements("x86_64", ("libc.so.6",), ("GLIBC_PRIVATE",))
    monkeypatch.setattr("tasksim.core.wheeltag.needs_of", lambda _: needs)
    monkeypatch.setattr("platform.machine", lambda: "here")
    assert wheel_tag(None) == "py3-none-linux_x86_64"


def test_what_is_no_library_has_no_tag(tmp_path):
    path = tmp_path / "text.so"
    path.write_text("text")
    with pytest.raises(ValueError, match=r"text\.so: is no shared library of 64 bits"):
        wheel_tag(path)


@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump")
def test_what_a_library_needs_is_what_objdump_says(tmp_path):
    path = _multiarray_umath.__file__
    said = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True)
    references = said.stdout.partition("Version References:")[2]
    needs = needs_of(type(tmp_path)(path))
    assert list(needs.libraries) == re.findall(r"NEEDED +(\S+)", said.stdout)
    assert sorted(needs.versions) == sorted(re.findall(r" 0x\w+ 0x\w+ \d+ (\S+)", references))


@pytest.mark.usefixtures("compiler")
def test_the_core_needs_the_c_library_alone(sources, tmp_path):
    more = "#include <string>\n#include <vector>\nstd::vector<std::string> f() { return {{}}; }\n"
    (sources / "more.cpp").write_text(more)
    needs = needs_of(build(tmp_path / "core.so", folder=sources))
    if "libstdc++.so.6" in needs.libraries:
        pytest.skip("no static library of C++ here")
    assert wheel_tag(tmp_path / "core.so").startswith("py3-none-manylinux_")
