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
