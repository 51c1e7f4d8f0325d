"""Files: nothing half-written, nothing lost."""

from __future__ import annotations

import os
import socket
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest

from tasksim.base.errors import InputError, OutputError
from tasksim.base.files import (
    bare_name,
    new_folder,
    read_bytes,
    read_text,
    reading,
    refuse_existing,
    refuse_folder,
    write_bytes,
    write_text,
    writing,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_writes_and_makes_the_folders_above(tmp_path):
    write_text(tmp_path / "a" / "b.txt", "µ\n")
    assert (tmp_path / "a" / "b.txt").read_bytes() == "µ\n".encode()
    write_bytes(tmp_path / "a" / "b.txt", b"new")
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"new"
    assert names(tmp_path / "a") == ["b.txt"]


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with suppress(RuntimeError), writing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_the_temporary_file_keeps_the_suffix(tmp_path):
    with writing(tmp_path / "a.png") as temporary:
        assert temporary.suffix == ".png"
        temporary.write_bytes(b"")


def test_no_pipe_or_device_is_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(InputError, match="pipe: is a pipe, not a file; choose another name"):
            write_text(tmp_path / name, "", force=True)
    assert (tmp_path / "pipe").is_fifo()
    assert names(tmp_path) == ["link", "pipe"]


def test_where_writing_is_impossible(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot write .*/file/a\.txt: "):
        write_text(tmp_path / "file" / "a.txt", "")


def test_what_exists_is_refused_without_force(tmp_path):
    refuse_existing(tmp_path / "new", force=False)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for path in (tmp_path, tmp_path / "link"):
        with pytest.raises(InputError, match="exists; give force=True to replace it"):
            refuse_existing(path, force=False)
        refuse_existing(path, force=True)


def test_a_folder_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "runs" / "one"
    with new_folder(target) as folder:
        (folder / "run.json").write_text("{}")
        assert not target.exists()
    assert names(target) == ["run.json"]
    assert names(tmp_path / "runs") == ["one"]


def test_a_folder_that_fails_leaves_nothing(tmp_path):
    with suppress(RuntimeError), new_folder(tmp_path / "one") as folder:
        (folder / "run.json").write_text("{")
        raise RuntimeError
    assert names(tmp_path) == []


def test_a_folder_is_replaced_only_with_force_and_only_when_complete(tmp_path):
    target = tmp_path / "one"
    target.mkdir()
    (target / "old").write_text("")
    with pytest.raises(InputError, match="give force=True"), new_folder(target):
        pass
    with suppress(RuntimeError), new_folder(target, force=True):
        raise RuntimeError
    assert names(target) == ["old"]
    with new_folder(target, force=True) as folder:
        (folder / "new").write_text("")
    assert names(target) == ["new"]
    assert names(tmp_path) == ["one"]


def test_a_file_is_no_run_folder(tmp_path):
    (tmp_path / "one").write_text("precious")
    with pytest.raises(InputError, match="is a file"), new_folder(tmp_path / "one", force=True):
        pass
    assert (tmp_path / "one").read_text() == "precious"


def test_a_link_stays_one_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a.txt").symlink_to("elsewhere/b.txt")
    write_text(tmp_path / "a.txt", "new")
    (tmp_path / "one").symlink_to("elsewhere/two")
    for content in ("first", "second"):
        with new_folder(tmp_path / "one", force=True) as folder:
            (folder / content).write_text("")
    assert (tmp_path / "a.txt").is_symlink()
    assert (tmp_path / "one").is_symlink()
    assert names(tmp_path) == ["a.txt", "elsewhere", "one"]
    assert names(tmp_path / "elsewhere") == ["b.txt", "two"]
    assert names(tmp_path / "elsewhere" / "two") == ["second"]


def test_a_link_to_itself(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OutputError, match=r"cannot write .*/loop/a\.txt: "):
        write_text(tmp_path / "loop" / "a.txt", "")


@pytest.mark.parametrize("name", [".", "..", "../one"])
def test_the_current_folder_is_not_replaced(tmp_path, monkeypatch, name):
    (tmp_path / "one").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    with pytest.raises(InputError, match="holds the current folder"):
        refuse_folder(Path(name), force=True, what="a run folder", mark="run.json")
    with (
        pytest.raises(InputError, match="holds the current folder"),
        new_folder(Path(name), force=True),
    ):
        pass
    assert (tmp_path / "one").is_dir()


def test_only_folders_of_the_kind_are_replaced(tmp_path):
    def refuse(name, force=True):
        refuse_folder(tmp_path / name, force=force, what="a run folder", mark="run.json")

    for name in ("empty", "run", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "run" / "run.json").write_text("")
    (tmp_path / "home" / "thesis.tex").write_text("")
    (tmp_path / "file").write_text("")
    for name in ("new", "empty", "run"):
        refuse(name)
    with pytest.raises(
        InputError, match=r"not a run folder \(it holds 'thesis.tex' and no run.json"
    ):
        refuse("home")
    with pytest.raises(InputError, match="is a file, not a run folder"):
        refuse("file")
    with pytest.raises(InputError, match="give force=True"):
        refuse("run", force=False)


def test_a_folder_that_cannot_take_its_place_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "old").write_text("")
    rename = Path.rename

    def failing(self, target):
        if target.name == "one" and "old" not in names(self):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OutputError, match="Input/output"), new_folder(tmp_path / "one", force=True):
        pass
    assert names(tmp_path) == ["one"]
    assert names(tmp_path / "one") == ["old"]


def test_new_folders_have_the_permissions_of_others(tmp_path):
    (tmp_path / "other").mkdir()
    with new_folder(tmp_path / "one"):
        pass
    assert (tmp_path / "one").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_text_is_read_or_it_is_said_why_not(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffµ\n".encode())
    (tmp_path / "b.txt").write_bytes(b"a\xff")
    assert read_text(tmp_path / "a.txt") == "µ\n"
    for name, message in (
        ("b.txt", r"b\.txt: is not UTF-8 text \(byte 1\)"),
        ("c.txt", r"c\.txt: no such file"),
        (".", r": is a folder, not a file"),
        ("a.txt/x", r"x: cannot be read: Not a directory"),
    ):
        with pytest.raises(InputError, match=message):
            read_text(tmp_path / name)


def test_what_has_no_end_or_no_content_is_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        for name, what in (
            ("/dev/zero", "is a device, not a file"),
            ("pipe", "is a pipe, not a file"),
            ("socket", "is a socket, not a file"),
            (".", "is a folder, not a file"),
            ("none", "no such file"),
            ("a\0b", "no such file"),
        ):
            for read in (read_text, read_bytes):
                with pytest.raises(InputError, match=what) as caught:
                    read(Path(name))
                assert "\n" not in str(caught.value)


def test_what_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("12345")
    assert read_text(path, 5) == "12345"
    with pytest.raises(InputError, match=r"a.txt: is too large: got 5 B; legal: at most 4 B"):
        read_text(path, 4)
    with path.open("r+b") as file:
        file.truncate(2**40)  # a hole, which takes no room
    with pytest.raises(InputError, match="is too large: got 1 TiB; legal: at most 256 MiB"):
        read_text(path)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_what_does_not_tell_its_size_is_read_up_to_the_limit():
    assert read_text(Path("/proc/self/status")).startswith("Name:")
    with pytest.raises(InputError, match="got more than 4 bytes"):
        read_bytes(Path("/proc/self/status"), 4)


def test_reading_closes_the_file_and_keeps_the_errors_of_the_block(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    with pytest.raises(ValueError, match="mine"), reading(path) as file:
        raise ValueError("mine")
    assert file.closed


def test_what_another_one_wrote_meanwhile_is_not_replaced(tmp_path):
    path, folder = tmp_path / "a.txt", tmp_path / "run"

    def write_file(*, force):
        with writing(path, force=force) as temporary:
            temporary.write_text("mine")
            path.write_text("theirs")

    def write_folder(text, *, force, meanwhile=lambda: None):
        with new_folder(folder, force=force) as temporary:
            (temporary / "run.json").write_text(text)
            meanwhile()

    def both():
        return path.read_text(), (folder / "run.json").read_text()

    def theirs():
        write_folder("theirs", force=True)

    with pytest.raises(InputError, match=r"a\.txt exists"):
        write_file(force=False)
    with pytest.raises(InputError, match="run exists"):
        write_folder("mine", force=False, meanwhile=theirs)
    assert both() == ("theirs", "theirs")
    write_file(force=True)
    write_folder("mine", force=True, meanwhile=theirs)
    assert both() == ("mine", "mine")
    assert names(tmp_path) == ["a.txt", "run"]


def test_a_small_file_takes_little_memory_whatever_the_limit(tmp_path):
    (tmp_path / "small").write_bytes(b"text")
    tracemalloc.start()
    try:
        assert read_bytes(tmp_path / "small") == b"text"
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("making", [writing, new_folder])
def test_who_fails_leaves_no_folders(tmp_path, making):
    with pytest.raises(ZeroDivisionError), making(tmp_path / "deep" / "down" / "x"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("xhpl-2.3", "xhpl-2.3"),
        ("lu-2.3.csv.gz", "lu-2.3"),
        ("a.out", "a"),
        (".ninja_log", ".ninja_log"),
    ],
)
def test_the_number_of_a_version_is_no_suffix(name, bare):
    assert bare_name(Path("some.d", name)) == bare
