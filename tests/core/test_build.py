"""The build of the core: what is compiled again, what is said when it cannot be."""

from __future__ import annotations

import ctypes
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tasksim.core import build as build_module
from tasksim.core.build import build, build_recorder, build_recorder_beside, main
from tasksim.core.compiler import Compiler, NotBuilt, find_compiler
from tasksim.core.library import BUILT_RECORDER, digest
from tasksim.core.wheeltag import needs_of

ANSWER = '#include "answer.h"\nextern "C" TASKSIM_API int tasksim_answer() { return ANSWER; }\n'


@pytest.fixture
def answering(sources):
    """The same core with a unit in a folder of its own, and a header that it alone includes."""
    (sources / "more").mkdir()
    (sources / "more" / "answer.h").write_text('#include "tasksim_core.h"\n#define ANSWER 42\n')
    (sources / "more" / "answer.cpp").write_text(ANSWER)
    return sources


@pytest.fixture
def compiled(monkeypatch):
    """The names of the units that were compiled since the list was cleared."""
    names: list[str] = []
    run = Compiler.run

    def noting(self, command, folder):
        if "-c" in command:
            names.append(command[command.index("-c") + 1])
        run(self, command, folder)

    monkeypatch.setattr(Compiler, "run", noting)
    return names


def answer_of(path):
    return ctypes.CDLL(str(path)).tasksim_answer()


@pytest.mark.usefixtures("compiler")
def test_only_what_has_changed_is_compiled_again(answering, compiled, tmp_path):
    def built(number):
        compiled.clear()
        return answer_of(build(tmp_path / f"{number}.so", folder=answering)), sorted(compiled)

    assert built(1) == (42, ["more/answer.cpp", "version.cpp"])
    assert built(2) == (42, [])
    (answering / "version.cpp").touch()
    assert built(3) == (42, [])
    header = answering / "more" / "answer.h"
    header.write_text(header.read_text().replace("42", "43"))
    # version.cpp is told of what all is made: a digest.
    assert built(4) == (43, ["more/answer.cpp", "version.cpp"])


@pytest.mark.usefixtures("compiler")
def test_a_header_concerns_those_that_include_it(answering, compiled, tmp_path):
    (answering / "other.cpp").write_text("int other() { return 1; }\n")
    build(tmp_path / "a.so", folder=answering)
    compiled.clear()
    (answering / "more" / "answer.h").write_text(
        '#include "tasksim_core.h"\n#define ANSWER 41 // of course\n'
    )
    build(tmp_path / "b.so", folder=answering)
    assert "other.cpp" not in compiled
    assert "more/answer.cpp" in compiled


@pytest.mark.usefixtures("compiler")
def test_with_sanitizers_a_folder_is_compiled_at_once(answering, compiled, tmp_path):
    def built():
        compiled.clear()
        try:
            build(tmp_path / "checked.so", folder=answering, sanitize=["undefined"])
        except NotBuilt as error:
            pytest.skip(str(error))
        return sorted("/".join(Path(name).parts[-2:]) for name in compiled)

    (answering / "more" / "beside.cpp").write_text("int beside() { return ANSWER; }\n")
    assert built() == ["more/all.cpp", "version.cpp"]
    assert built() == []
    (answering / "more" / "beside.cpp").unlink()
    assert built() == ["more/all.cpp", "version.cpp"]


@pytest.mark.usefixtures("compiler")
def test_a_source_that_goes_is_linked_no_more(answering, tmp_path):
    build(tmp_path / "a.so", folder=answering)
    (answering / "more" / "answer.cpp").unlink()
    without = build(tmp_path / "b.so", folder=answering)
    with pytest.raises(AttributeError):
        answer_of(without)


@pytest.mark.usefixtures("compiler")
def test_the_same_sources_give_the_same_bytes_wherever_they_lie(answering, tmp_path):
    elsewhere = tmp_path / "else where" / "tasksim" / "core"
    shutil.copytree(answering, elsewhere)
    one = build(tmp_path / "one.so", folder=answering)
    two = build(tmp_path / "two.so", folder=elsewhere)
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.usefixtures("compiler")
def test_a_library_that_is_loaded_goes_on_when_it_is_built_again(answering, tmp_path):
    made = build(tmp_path / "core.so", folder=answering)
    loaded = ctypes.CDLL(str(made))
    header = answering / "more" / "answer.h"
    header.write_text(header.read_text().replace("42", "43"))
    build(made, folder=answering)
    assert loaded.tasksim_answer() == 42


@pytest.mark.usefixtures("compiler")
def test_names_stay_inside_unless_they_are_offered(answering, tmp_path):
    """Templates of C++'s library too, which others in the process may have as well."""
    source = answering / "inner.cpp"
    source.write_text(
        "#include <vector>\n"
        "template class std::vector<int>;\n"
        'extern "C" int tasksim_inner() { return 1; }\n'
        'extern "C" __attribute__((visibility("default"))) int mistaken() { return 1; }\n'
    )
    made = ctypes.CDLL(str(build(tmp_path / "core.so", folder=answering)))
    assert made.tasksim_answer() == 42
    for name in ("tasksim_inner", "mistaken", "_ZNSt6vectorIiSaIiEE17_M_default_appendEm"):
        with pytest.raises(AttributeError):
            made[name]


@pytest.mark.slow
def test_the_core_compiles_without_warnings(strict, tmp_path):
    """With sanitizers: another test needs these objects, and nothing is compiled twice."""
    build(tmp_path / "core.so", compiler=strict, sanitize=["address", "undefined"])


@pytest.mark.usefixtures("compiler")
def test_what_the_compiler_says_is_told(answering, tmp_path):
    (answering / "more" / "answer.cpp").write_text("int tasksim_answer() { return 6 * ; }\n")
    with pytest.raises(NotBuilt, match=r" failed: more/answer\.cpp:1:.*error: expected"):
        build(tmp_path / "core.so", folder=answering)
    assert not (tmp_path / "core.so").exists()


@pytest.mark.usefixtures("compiler")
def test_a_function_that_is_nowhere_is_an_error_of_the_build(answering, tmp_path):
    """Not of the first call."""
    text = 'int nowhere();\nextern "C" TASKSIM_API int tasksim_answer() { return nowhere(); }\n'
    (answering / "more" / "answer.cpp").write_text('#include "tasksim_core.h"\n' + text)
    with pytest.raises(NotBuilt, match="nowhere"):
        build(tmp_path / "core.so", folder=answering)


def test_no_sources_are_nothing_to_build(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", shlex.quote(sys.executable))
    with pytest.raises(NotBuilt, match="there are no sources in"):
        build(tmp_path / "core.so", folder=tmp_path)


def test_a_compiler_that_is_named_and_not_there_is_not_replaced(monkeypatch):
    monkeypatch.setenv("CXX", "none -O9")
    with pytest.raises(NotBuilt, match=r"no C\+\+ compiler was found: CXX=none -O9 names no"):
        find_compiler()


def test_a_machine_without_a_compiler_says_what_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotBuilt, match=r"no C\+\+ compiler was found \(tried c\+\+, g\+\+,"):
        find_compiler()


def test_what_is_no_compiler_is_told(monkeypatch):
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(NotBuilt, match="false is not a compiler: it does not answer --version"):
        find_compiler()


def test_without_a_compiler_the_command_fails(installed, monkeypatch, capsys):
    monkeypatch.setenv("CXX", "none")
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("Error: the compiled core is not built: no C++")


def test_where_it_is_optional_the_reason_is_kept(installed, monkeypatch, capsys):
    monkeypatch.setenv("CXX", "none")
    build_module.BUILT_LIBRARY.write_text("one of before")
    assert main(["--optional"]) == 0
    assert "tasksim works without, but slower." in capsys.readouterr().err
    assert [path.name for path in installed.iterdir()] == ["not-built.txt"]


def test_the_reason_goes_when_there_is_one(installed, monkeypatch):
    build_module.WHY_NOT.write_text("no compiler")
    monkeypatch.setattr(build_module, "build", lambda **_: None)
    assert main(["--optional"]) == 0
    assert list(installed.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--sanitize adress -o x", "--sanitize: got adress; legal: address, undefined, thread"),
        ("--sanitize address", "--sanitize needs --output"),
    ],
)
def test_wrong_options_are_refused(line, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(line.split())
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("compiler")
def test_the_recorder_of_openmp_programs_needs_only_the_c_library(tmp_path, strict):
    made = build_recorder(tmp_path / "recorder.so", compiler=strict)
    library = ctypes.CDLL(str(made))
    library.tasksim_ompt_sources.restype = ctypes.c_char_p
    assert library.tasksim_ompt_sources().decode() == digest(BUILT_RECORDER.parent)
    names = [name.split(".so")[0] for name in needs_of(made).libraries]
    assert set(names) <= {"libc", "ld-linux-x86-64", "ld-linux-aarch64", "libpthread", "libdl"}
    # What was not asked for says no: it is loaded by every process with that environment.
    assert library.ompt_start_tool(201611, b"nothing") == 0


@pytest.mark.usefixtures("compiler")
def test_a_recorder_that_cannot_be_built_is_no_failure_of_the_core(installed, monkeypatch):
    folder = installed / "recorder"
    folder.mkdir()
    (folder / "wrong.cpp").write_text("#error too old\n")
    monkeypatch.setattr(build_module, "BUILT_RECORDER", folder / BUILT_RECORDER.name)
    monkeypatch.setattr(build_module, "RECORDER_WHY_NOT", folder / "not-built.txt")
    assert "too old" in (build_recorder_beside() or "")
    assert "too old" in (folder / "not-built.txt").read_text()
    (folder / "wrong.cpp").unlink()
    assert build_recorder_beside() is None
