"""Axes of tuning, parsed from texts, and a candidate for every combination of values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError, option, unknown
from tasksim.base.numerals import values_of, whole_number
from tasksim.schedulers import registry as schedulers
from tasksim.study.sweep.axes import number_or_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tasksim.graph.distribution.owners import NodeGrid
    from tasksim.scenario.scenario import Scenario

__all__ = [
    "MAX_COMBINATIONS", "SIZE", "TILES", "TILE_SIZE", "ValueCombination", "axes_of", "candidates",
    "in_tiles", "takes_size",
]  # fmt: skip

MAX_COMBINATIONS: Final = 100_000
"""Maximum number of combinations: at a millisecond each they take minutes, and cannot be resumed as
a study can."""
_ON_NODES: Final = ("grid", "owner")
"""Axes of the distribution over nodes, whose number mpiexec fixes for real runs."""
_SCENARIO_AXES: Final = ("scheduler", "models", "seed", "nodes", *_ON_NODES)
"""Axes that are fields of the scenario."""
_PREFIXES: Final = ("graph.", "platform.", "network.", "engine.")
SIZE, TILES, TILE_SIZE = "n", "tiles", "tile_size"
"""Rows of the matrix, number and size of its tiles. Generators of factorisations take the last two,
but a search for the best tile size needs a matrix of a fixed size."""
DEFAULT_TILE_SIZE: Final = 256
"""Default tile size of generators."""


@dataclass(frozen=True)
class ValueCombination:
    """One combination of values.

    Attributes
    ----------
    values : mapping
        Path of each axis -> value.
    scenario : Scenario or None
        The scenario; None if it is illegal.
    error : str or None
        Why it is illegal, such as a tile size that does not divide the matrix.
    grid : NodeGrid or None
        Grid of the ranks of a real run, if that is an axis.
    owner : str or None
        Distribution over these ranks, if that is an axis.
    """

    values: Mapping[str, Any]
    scenario: Scenario | None
    error: str | None = None
    grid: NodeGrid | None = None
    owner: str | None = None


def axes_of(texts: Iterable[str]) -> dict[str, Sequence[Any]]:
    """Return path -> values for texts such as ``tile_size=128..1024:log``, ``scheduler=lws,prio``.

    A bare name is a setting of the graph, but for ``scheduler``, ``models``, ``seed``, ``nodes``,
    ``grid`` and ``owner``.

    Raises
    ------
    InputError
        If a text is malformed, or an axis or a value is given twice.

    Examples
    --------
    >>> axes_of(["tile_size=128..512:log", "scheduler=lws,dmda:alpha=2"])
    {'graph.tile_size': (128, 256, 512), 'scheduler': ('lws', 'dmda:alpha=2')}
    """
    found: dict[str, Sequence[Any]] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not (name and equals and values):
            raise InputError(
                f"{option('over')}: got '{text}'; legal: NAME=VALUE,VALUE or NAME=128..1024:log"
            )
        path = name if name in _SCENARIO_AXES or name.startswith(_PREFIXES) else f"graph.{name}"
        if path in found:
            raise InputError(f"{option('over')}: {name} is given twice")
        found[path] = _values(name, values)
    return found


def _values(name: str, text: str) -> Sequence[Any]:
    try:
        several = values_of(text)
    except ValueError as error:
        raise InputError(f"{option('over')}: {name}={text}: {error}") from None
    if several is not None:
        return several
    parts = [part.strip() for part in text.split(",")]
    if not all(parts) or len(set(parts)) < len(parts):
        raise InputError(
            f"{option('over')}: {name}: got '{text}'; legal: different values, none empty"
        )
    return tuple(number_or_text(part) for part in parts)


def candidates(base: Scenario, axes: Mapping[str, Sequence[Any]]) -> list[ValueCombination]:
    """Return a candidate for every combination of values, the last axis changing fastest.

    For a factorisation ``n``, the rows of the matrix, may replace the number of tiles.

    Raises
    ------
    InputError
        If there are too many, an axis is unknown, or a scheduler has no such name or option: that
        is bad input, not a failed choice.
    """
    count = 1
    for values in axes.values():
        count *= len(values)
    if not axes or count > MAX_COMBINATIONS:
        raise InputError(
            f"{option('over')}: {count if axes else 0} combinations; legal: from 1 to "
            f"{MAX_COMBINATIONS}; 'tasksim study run' takes more, and can be resumed"
        )
    for named in axes.get("scheduler", ()):
        if isinstance(named, str):
            schedulers.create(named)
    sized = isinstance(base.graph, str) and takes_size(base.graph)
    _refuse_unknown_parameters(base.graph, axes, sized)
    return [
        _candidate(base, dict(zip(axes, values, strict=True)), sized)
        for values in product(*axes.values())
    ]


def _refuse_unknown_parameters(graph: Any, axes: Mapping[str, Any], sized: bool) -> None:
    """Refuse axes that are no parameters of a generator; *sized*: ``n`` is one."""
    from tasksim.graph.apps.registry import GENERATORS, find

    if not isinstance(graph, str) or graph not in GENERATORS:
        return
    known = [parameter.name for parameter in find(graph).parameters] + [SIZE] * sized
    for path in axes:
        name = path.removeprefix("graph.")
        if name != path and name not in known:
            raise unknown("parameter", name, known, graph)


def _candidate(base: Scenario, values: dict[str, Any], sized: bool) -> ValueCombination:
    placed: dict[str, Any] = {}
    if base.clock == "native":
        # They are checked as for a simulation.
        asked = {path: values[path] for path in _ON_NODES if path in values}
        simulated = base.vary(clock="simulated", **asked)
        placed = {"owner": simulated.owner} if "owner" in asked else {}
        placed |= {"grid": simulated.node_grid} if "grid" in asked else {}
        changed = base.vary({path: v for path, v in values.items() if path not in asked})
    else:
        changed = base.vary(values)
    if not sized:
        return ValueCombination(values, changed, **placed)
    settings = {key: value for key, _, value in (t.partition("=") for t in changed.settings)}
    try:
        tiled = in_tiles(settings)
    except InputError as error:
        return ValueCombination(values, None, str(error))
    texts = tuple(f"{key}={value}" for key, value in tiled.items())
    return ValueCombination(values, replace(changed, settings=texts), **placed)


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
    tile = whole_number(str(settings.get(TILE_SIZE, DEFAULT_TILE_SIZE)))
    if size is None or tile is None or tile < 1 or size < 1 or size % tile:
        raise InputError(
            f"{SIZE}={settings[SIZE]}: not a multiple of"
            f" {TILE_SIZE}={settings.get(TILE_SIZE, DEFAULT_TILE_SIZE)}; legal: whole tiles"
        )
    others = {key: value for key, value in settings.items() if key != SIZE}
    return {**others, TILES: size // tile}
