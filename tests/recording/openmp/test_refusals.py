"""Programs that cannot be recorded, and wrong arguments: what is said, and what is legal."""

from __future__ import annotations

import shutil
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tasksim
from tasksim.base.errors import InputError
from tasksim.recording.openmp import runtime
from tasksim.recording.openmp.elf import is_elf, read_elf, read_symbols
from tasksim.recording.openmp.names import renaming
from tasksim.recording.openmp.runtime import find_program, find_runtime
from tests.openmp_programs import EXAMPLES

LIBRARY = '#include <stdio.h>\nvoid f(void) { puts(""); }\n'
PLAIN_PROGRAM = "int main(void) { return 0; }\n"


@pytest.fixture
def fib(compiled):
    return compiled(EXAMPLES / "fib.c")


def test_facts_about_a_program(fib):
    elf = read_elf(fib)
    assert elf.needed == ("libgomp.so.1", "libc.so.6")
    assert {"GOMP_task", "GOMP_taskwait", "GOMP_parallel"} <= elf.wanted
    assert elf.interpreter.startswith("/lib")
    symbols = read_symbols(fib)
    start = symbols.starts[symbols.names.index("main")]
    assert symbols.around(start + 3) == ("main", 3)
    assert symbols.around(0) is None


def test_a_static_program_is_refused(compiled):
    with pytest.raises(InputError, match=r"linked statically.*link it without -static"):
        find_program(compiled(PLAIN_PROGRAM, "gcc", "-static"))


def test_a_library_is_refused(compiled):
    with pytest.raises(InputError, match=r"a library, not a program: give a program that uses it"):
        find_program(compiled(LIBRARY, "gcc", "-shared", "-fPIC"))


def test_a_program_without_openmp_is_refused(compiled):
    program = compiled(PLAIN_PROGRAM, "gcc", "-fno-openmp")
    with pytest.raises(InputError, match=r"uses no OpenMP.*-fopenmp"):
        find_program(program)


def test_a_program_for_musl_is_refused(fib, tmp_path):
    data = fib.read_bytes()
    interpreter = read_elf(fib).interpreter.encode()
    musl = b"/lib/ld-musl-x.so.1"[: len(interpreter)].ljust(len(interpreter), b"\0")
    changed = tmp_path / "musl"
    changed.write_bytes(data.replace(interpreter, musl))
    changed.chmod(0o755)
    with pytest.raises(InputError, match=r"linked with musl.*glibc"):
        find_program(changed)


def test_a_program_that_must_not_be_executed_is_refused(fib, tmp_path):
    copy = tmp_path / "copy"
    shutil.copyfile(fib, copy)
    with pytest.raises(InputError, match=rf"not executable; 'chmod \+x {copy}'"):
        find_program(copy)


def test_a_runtime_that_a_path_in_the_program_leads_to_is_refused(compiled, tmp_path):
    (tmp_path / "libgomp.so.1").touch()
    program = compiled(
        (EXAMPLES / "fib.c").read_text(), "gcc", f"-Wl,-rpath,{tmp_path}", "-Wl,--disable-new-dtags"
    )
    with pytest.raises(InputError, match=r"DT_RPATH leads to .*patchelf"):
        find_program(program)


def test_functions_that_the_runtime_lacks_are_named(compiled):
    source = """
int main(int count, char **values)
{
#pragma omp target
    count += 1;
    return count == 0;
}
"""
    program = compiled(source)
    needs = r"needs GOMP_target_ext of GCC's OpenMP runtime, which .* lacks: compile it with Clang"
    with pytest.raises(InputError, match=needs):
        find_program(program)


def test_detached_tasks_of_gcc_are_refused(compiled):
    source = """
#include <omp.h>
int main(void)
{
    omp_event_handle_t event;
#pragma omp task detach(event)
    omp_fulfill_event(event);
    return 0;
}
"""
    with pytest.raises(InputError, match=r"has tasks with 'detach'.*programs of Clang only"):
        find_program(compiled(source))


def test_without_a_runtime_packages_are_named(fib, monkeypatch, tmp_path):
    monkeypatch.setattr(runtime, "_candidates", lambda: iter([tmp_path / "libomp.so", fib]))
    with pytest.raises(InputError, match=r"was found .*no OpenMP runtime of LLVM.*apt-get install"):
        find_program(fib)


@pytest.mark.parametrize("name", ["missing", "text.so"])
def test_a_runtime_that_is_none_is_refused(name, tmp_path):
    (tmp_path / "text.so").write_text("nothing")
    with pytest.raises(InputError, match=r"libomp: .* is no shared library"):
        find_runtime(tmp_path / name)


def test_a_runtime_of_another_machine_is_refused(fib):
    with pytest.raises(InputError, match=r"is for .*, the program for aarch64"):
        find_runtime(find_runtime(), "aarch64")


def test_scripts_are_no_openmp_programs(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert find_program(script) is None
    assert not is_elf(tmp_path / "missing")
    with pytest.raises(InputError, match=r"no compiled program"):
        tasksim.record_openmp(script)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3,), "program: got 3"),
        (("missing",), "missing: no such program"),
        ((__file__, "text"), "arguments: got 'text'"),
        ((__file__, [1]), "arguments: got"),
    ],
)
def test_wrong_arguments_in_python(arguments, message):
    with pytest.raises(InputError, match=message):
        tasksim.record_openmp(*arguments)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "kernels: got list"),
        ({"fib:3": ""}, "legal: names of kernels"),
        ({"fib:3": 3}, "legal: names of kernels"),
        ("missing.yaml", "missing.yaml"),
    ],
)
def test_wrong_names_of_kernels(given, message):
    with pytest.raises(InputError, match=message):
        renaming(given)


def test_a_wrong_name_in_a_file_has_its_place(tmp_path):
    path = tmp_path / "names.yaml"
    path.write_text("fib:3: potrf\nfib:4: [1]\n")
    with pytest.raises(InputError, match=r"names.yaml:2:\d+: .*must be a name"):
        renaming(path)
    path.write_text('"fib:3": " potrf "\n')
    assert renaming(path) == {"fib:3": "potrf"}


def _damaged(data, places, values):
    changed = bytearray(data)
    for place, value in zip(places, values, strict=True):
        changed[place % len(changed)] = value
    return bytes(changed)


@given(
    st.lists(st.tuples(st.integers(0, 1200), st.integers(0, 255)), min_size=1, max_size=6),
    st.integers(0, 3000),
)
def test_damaged_files_are_refused_in_words(tmp_path_factory, changes, cut):
    """Whatever is in a file: facts, or an InputError."""
    path = tmp_path_factory.getbasetemp() / "damaged"
    data = SMALL_ELF if cut > 2500 else SMALL_ELF[:cut]
    if data:
        data = _damaged(data, *zip(*changes, strict=True))
    path.write_bytes(data)
    with suppress(InputError):  # any other error fails the test
        read_elf(path)
    read_symbols(path)


def _small():
    """An ELF file by hand: a program with an interpreter, a needed library and two symbols."""
    strings = b"\0libgomp.so.1\0GOMP_task\0offered\0"
    header, segment = 64, 56
    at = header + 3 * segment
    interpreter = b"/lib/ld.so\0"
    symbols_at = at + len(interpreter) + 5
    symbols = bytes(24)
    symbols += struct.pack("<IBBHQQ", strings.index(b"GOMP_task"), 0x12, 0, 0, 0, 0)
    symbols += struct.pack("<IBBHQQ", strings.index(b"offered"), 0x12, 0, 1, 0x400000, 8)
    strings_at = symbols_at + len(symbols)
    dynamic_at = strings_at + len(strings)
    dynamic = b"".join(
        struct.pack("<QQ", *entry)
        for entry in ((5, 0x400000 + strings_at), (6, 0x400000 + symbols_at), (1, 1), (0, 0))
    )
    size = dynamic_at + len(dynamic)
    segments = b"".join(
        struct.pack("<IIQQQQQQ", kind, 5, offset, 0x400000 + offset, 0, length, length, 1)
        for kind, offset, length in (
            (1, 0, size), (2, dynamic_at, len(dynamic)), (3, at, len(interpreter))
        )
    )  # fmt: skip
    start = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    start += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, header, 0, 0, 64, segment, 3, 64, 0, 0)
    return start + segments + interpreter + bytes(5) + symbols + strings + dynamic


SMALL_ELF = _small()


def test_a_program_by_hand(tmp_path):
    path = tmp_path / "small"
    path.write_bytes(SMALL_ELF)
    elf = read_elf(path)
    assert (elf.machine, elf.interpreter, elf.needed) == ("x86_64", "/lib/ld.so", ("libgomp.so.1",))
    assert (elf.wanted, elf.offered) == ({"GOMP_task"}, {"offered"})
    assert elf.first_address == 0x400000


def test_a_recorder_of_other_sources_is_refused(monkeypatch, tmp_path):
    (tmp_path / "recorder.cpp").write_text("// changed\n")
    library = tmp_path / "libtasksim_ompt.so"
    library.write_bytes(b"\x7fELF")
    monkeypatch.setattr(runtime, "BUILT_RECORDER", library)
    with pytest.raises(InputError, match=r"not made of the sources"):
        runtime.find_recorder()
    library.unlink()
    monkeypatch.setattr(runtime, "RECORDER_WHY_NOT", tmp_path / "not-built.txt")
    with pytest.raises(InputError, match=r"python -m tasksim"):
        runtime.find_recorder()
    (tmp_path / "not-built.txt").write_text("no compiler was found\n")
    with pytest.raises(InputError, match=r"no compiler was found"):
        runtime.find_recorder()
