"""The picture of the rooms, docs/design/house.svg, shows the rooms and imports of the code."""

import importlib.util

import pytest
from executed_pages import ROOT

spec = importlib.util.spec_from_file_location("house", ROOT / "docs" / "design" / "house.py")
house = importlib.util.module_from_spec(spec)
spec.loader.exec_module(house)

STALE_MESSAGE = (
    "docs/design/house.svg is not what the code is now; run: python docs/design/house.py"
)


@pytest.fixture(scope="module")
def drawn():
    return house.description_in(house.PICTURE)


@pytest.fixture(scope="module")
def described():
    return house.described(house.layers_of_contract(), house.imports_between_rooms())


def test_the_picture_shows_the_layers_of_the_contract(drawn, described):
    assert drawn["layers"] == described["layers"], STALE_MESSAGE


def test_the_picture_shows_the_imports_between_rooms(drawn, described):
    assert drawn["imports"] == described["imports"], STALE_MESSAGE


def test_every_room_is_in_the_picture(drawn):
    rooms = {path.parent.name for path in (ROOT / "tasksim").glob("*/__init__.py")}
    assert set(drawn["imports"]) == rooms


def test_every_room_has_a_colour(drawn):
    coloured = [room for _, _, rooms in house.ROOM_COLOURS for room in rooms]
    assert sorted(coloured) == sorted(drawn["imports"])


def test_the_picture_has_a_box_and_an_arrow_for_each_room_and_import(drawn):
    """The drawing agrees with the description beside it."""
    text = house.PICTURE.read_text()
    for room in drawn["imports"]:
        assert f">{room}</text>" in text
    arrows = sum(map(len, drawn["imports"].values()))
    assert text.count('id="import-') == arrows
