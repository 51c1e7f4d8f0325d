"""Matrix size ``n`` in tiles, constant while the tile size varies.

Generators of factorisations take the number and the size of tiles, but a search for the best tile
size needs a matrix of a fixed size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError
from tasksim.base.numerals import whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SIZE", "TILES", "TILE_SIZE", "in_tiles", "takes_size"]

SIZE, TILES, TILE_SIZE = "n", "tiles", "tile_size"
"""Names of the settings; the last two are the generator's."""
DEFAULT: Final = 256
"""Default tile size of generators."""


def takes_size(generator: str) -> bool:
    """Return whether graphs of this *generator* have tiles of settable size, and no ``n``."""
    from tasksim.graph.apps.registry import GENERATORS, find

    if generator not in GENERATORS:
        return False
    known = {parameter.name for parameter in find(generator).parameters}
    return {TILES, TILE_SIZE} <= known and SIZE not in known


def in_tiles(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return *settings* with the number of tiles instead of ``n``, if that is among them.

    Raises
    ------
    InputError
        If the tile size does not divide the matrix, or the number of tiles is given, too.

    Examples
    --------
    >>> in_tiles({"n": "1024", "tile_size": 256})
    {'tile_size': 256, 'tiles': 4}
    >>> in_tiles({"tiles": 8})
    {'tiles': 8}
    """
    if SIZE not in settings:
        return dict(settings)
    if TILES in settings:
        raise InputError(
            f"{SIZE} and {TILES} are both given; give one, as {TILES} = {SIZE} / {TILE_SIZE}"
        )
    size = whole_number(str(settings[SIZE]))
    tile = whole_number(str(settings.get(TILE_SIZE, DEFAULT)))
    if size is None or tile is None or tile < 1 or size < 1 or size % tile:
        raise InputError(
            f"{SIZE}={settings[SIZE]}: not a multiple of"
            f" {TILE_SIZE}={settings.get(TILE_SIZE, DEFAULT)}; legal: whole tiles"
        )
    others = {key: value for key, value in settings.items() if key != SIZE}
    return {**others, TILES: size // tile}
