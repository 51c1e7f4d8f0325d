"""Design pages: the files that they name exist, every room is on the map."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DESIGN = ROOT / "docs" / "design"
TABLE = (DESIGN / "where.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (`.+`) \|$", TABLE, re.MULTILINE)


def test_twenty_concepts_and_more_are_told():
    assert len(ROWS) >= 20


@pytest.mark.parametrize(("concept", "files"), ROWS)
def test_the_file_that_answers_exists(concept, files):
    named = re.findall(r"`([^`]+)`", files)
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", sorted(DESIGN.glob("*.md")), ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    """Full paths, and paths inside the package as pages shorten them: ``engine/clock.py``."""
    named = re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md|yaml|toml))`", page.read_text())
    places = (ROOT, ROOT / "tasksim", DESIGN, ROOT / "docs")
    given = [name for name in named if "NAME" not in name]
    assert [name for name in given if not any((p / name).is_file() for p in places)] == []


def test_every_room_is_on_the_map():
    rooms = {path.parent.name for path in (ROOT / "tasksim").glob("*/__init__.py")}
    index = (DESIGN / "index.md").read_text()
    assert {room for room in rooms if f"    {room}/" not in index} == set()


FILES_EVERYWHERE = {
    path.name
    for path in (*ROOT.glob("*.py"), *ROOT.glob("[!.]*/**/*.*"))
    if path.suffix in {".py", ".cpp", ".h"}
}


@pytest.mark.parametrize("page", sorted(DESIGN.glob("*.md")), ids=lambda page: page.name)
def test_files_that_a_page_names_without_their_folder_exist(page):
    """``topology.py``, beside the name of its folder; not those that the page writes itself."""
    text = page.read_text()
    named = set(re.findall(r"`([a-z_][\w-]*\.(?:py|cpp|h))`", text))
    assert named - FILES_EVERYWHERE - set(re.findall(r"<!-- file: (\S+) -->", text)) == set()


@pytest.mark.parametrize("room", ["machine", "data"])
def test_modules_without_a_twin_of_their_name_in_the_core_are_named(room):
    """If the page says that files have the same names, it lists those that do not."""
    page = (DESIGN / "compiled-core.md").read_text()
    (row,) = (line for line in page.splitlines() if f"| `engine/{room}/` |" in line)
    modules = {path.stem for path in (ROOT / "tasksim/engine" / room).glob("[!_]*.py")}
    twins = {path.stem for path in (ROOT / "tasksim/core/engine" / room).iterdir()}
    missing = {name for name in modules - twins if f"`{name}`" not in row.lower()}
    assert missing == set()


@pytest.mark.parametrize(
    "concept",
    [
        "contention",
        "noise",
        "MSOP",
        "coefficient",
        "blind",
        "pinning",
        "collective",
        "C++",
        "time of a copy",
        "seed",
        "outliers",
        "commute",
        "priorities",
        "default scheduler",
        "library of the compiled core",
        "Ctrl-C",
        "replications",
    ],
)
def test_concepts_that_newcomers_missed_are_told(concept):
    assert any(concept in told for told, _ in ROWS)


def test_every_group_of_entry_points_is_told():
    sources = "".join(path.read_text() for path in (ROOT / "tasksim").glob("**/registry.py"))
    groups = set(re.findall(r'^    "tasksim(\.[a-z_]+)",$', sources, re.MULTILINE))
    assert {".topologies", ".schedulers"} <= groups
    index = (DESIGN / "index.md").read_text()
    assert {group for group in groups if f"{group}`" not in index} == set()
