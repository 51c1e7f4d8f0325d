"""The library: where data are found by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasksim.base.errors import InputError
from tasksim.base.library import find, libraries, names, package_library, user_library


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory, a user's data directory and a library that was given, all empty."""
    for name in ("work", "data/tasksim", "given"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    return path


def test_search_order(here):
    assert libraries(here / "given") == [
        here / "given",
        here / "work",
        here / "data/tasksim",
        package_library(),
    ]
    assert libraries(here / "work") == [here / "work", here / "data/tasksim", package_library()]


def test_user_library_without_xdg(monkeypatch):
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    assert user_library() == Path("/home/ada/.local/share/tasksim")


def test_the_package_brings_platforms(here):
    assert find("platforms", "identical-8", ".yaml").parent == package_library() / "platforms"


def test_the_nearest_library_wins(here):
    user = put(here / "data/tasksim/platforms/mine.yaml")
    assert find("platforms", "mine", ".yaml") == user
    working = put(here / "work/platforms/mine.yaml")
    assert find("platforms", "mine", ".yaml") == working
    given = put(here / "given/platforms/mine.yaml")
    assert find("platforms", "mine", ".yaml", here / "given") == given


def test_names_are_of_one_kind_and_visible(here):
    put(here / "work/platforms/a.yaml")
    put(here / "work/platforms/.a.yaml.1.tmp.yaml")
    put(here / "work/platforms/notes.txt")
    found = names("platforms", ".yaml")
    assert found["a"] == here / "work/platforms/a.yaml"
    assert not [name for name in found if name.startswith(".") or "notes" in name]


def test_a_path_is_itself(here):
    path = put(here / "elsewhere/b.yaml")
    assert find("platforms", str(path), ".yaml") == path


def test_unknown_names_name_the_nearest(here):
    with pytest.raises(
        InputError, match="unknown platform 'identical', did you mean 'identical-8'"
    ):
        find("platforms", "identical", ".yaml")


def test_a_path_that_leads_nowhere_is_no_unknown_name(here):
    with pytest.raises(InputError, match=r"^elsewhere/b: no such folder$"):
        find("models", "elsewhere/b")


@pytest.mark.parametrize("name", ["general.json", "general"])
def test_models_may_be_a_file(here, name):
    put(here / "work" / name)
    put(here / "work/models/other/gemm.json")
    assert find("models", name) == Path(name)


def test_platforms_are_not_found_in_files_of_the_same_name(here):
    put(here / "work/identical-8")
    assert find("platforms", "identical-8", ".yaml").name == "identical-8.yaml"


@pytest.mark.parametrize("folder", ["", "sets/"])
def test_a_model_file_that_is_not_there_names_the_nearest(here, folder):
    put(here / "work" / folder / "general.json")
    with pytest.raises(InputError) as caught:
        find("models", f"{folder}genral.json")
    assert str(caught.value) == (
        f"{folder}genral.json: no such file, did you mean '{folder}general.json'?"
    )
    with pytest.raises(InputError, match=r"^none/x\.json: no such file$"):
        find("models", "none/x.json")
