"""Sliders for the parameters of a graph's generator: their values, asked for or usual ones.

A live page holds one graph per combination of values: Python makes the graphs when the page is
written, so that every generator has sliders, also one of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError, short, unknown
from tasksim.base.numerals import values_of
from tasksim.graph.apps.registry import find, names_generator, parse_settings
from tasksim.view.live.axes import LiveAxis, thin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.graph.apps.parameters import Parameter, Value
    from tasksim.scenario.setup import Setup

    Over = Mapping[str, str | Sequence[Any]]

__all__ = [
    "MAX_GRAPHS",
    "MAX_GRAPH_TASKS",
    "NOT_SET",
    "asked_axes",
    "one_graph",
    "usual_axes",
]

MAX_GRAPHS: Final = 640
"""Maximum number of graphs in a page, one per combination of values: each takes some 20 ms."""
MAX_GRAPH_TASKS: Final = 2_000_000
"""Maximum number of tasks of all graphs that the user asks for: a page of some 50 MB."""
_MAX_USUAL_GRAPHS: Final = 32
"""Maximum number of graphs of a page whose user asks for none: they take less than a second."""
_MAX_USUAL_GRAPHS_ON_NODES: Final = 12
"""The same on several nodes, among which each graph is cut once per number of nodes."""
_MAX_USUAL_TASKS: Final = 40_000
"""Maximum number of tasks of these graphs: some 500 kB of the page."""
NOT_SET: Final = "not set"
"""Text of a slider for a parameter that the scenario leaves to the generator."""
_SHARES: Final = (1 / 2, 2 / 3, 3 / 4, 1, 5 / 4, 3 / 2, 2)
"""Usual values of a parameter as shares of its present one."""
_DOUBLED: Final = (1 / 4, 1 / 2, 1, 2, 4)
"""The same for a power of two, such as the size of a tile."""
_MIN_DOUBLED: Final = 32
"""Least power of two that is taken for such a size."""
_DRAWS: Final = ("seed",)
"""Names of parameters that draw another graph of the same kind; they have no usual values."""


def one_graph(scenario: Setup) -> tuple[Setup, dict[str, str]]:
    """Return *scenario* with one value per parameter, and the settings that have several.

    A setting with several values, ``tiles=4..24`` or ``tile_size=128,256,512``, is written as in a
    study. The scenario gets the generator's default if it is among them, else the middle one.

    Raises
    ------
    InputError
        If a range or a value is illegal.
    """
    graph = scenario.graph
    if not isinstance(graph, str) or not names_generator(graph):
        return scenario, {}
    known = {parameter.name: parameter for parameter in find(graph).parameters}
    texts: list[str] = []
    several: dict[str, str] = {}
    for setting in scenario.settings:
        name, _, text = setting.partition("=")
        parameter = known.get(name)
        # A free text may contain commas and dots of its own.
        free = parameter is None or (parameter.kind is str and not parameter.choices)
        if parameter is None or free or not ("," in text or ".." in text):
            texts.append(setting)
            continue
        values = _values(parameter, text, graph)
        middle = values[(len(values) - 1) // 2]
        base = parameter.default if parameter.default in values else middle
        texts.append(f"{name}={base}")
        several[name] = text
    return (replace(scenario, settings=tuple(texts)) if several else scenario), several


def asked_axes(scenario: Setup, over: Over) -> list[LiveAxis]:
    """Return the axes of the parameters *over* which the user wants sliders.

    Raises
    ------
    InputError
        If the graph has no such parameter, a value is illegal, or the combinations are too many.
    """
    if not isinstance(over, Mapping):
        raise InputError(f"over: got {short(over)}; legal: a mapping, parameter to values")
    if not over:
        return []
    graph = scenario.graph
    if not isinstance(graph, str) or not names_generator(graph):
        raise InputError(
            f"over: graph {scenario.graph_label} has no parameters; legal: graphs of a generator"
        )
    known = {parameter.name: parameter for parameter in find(graph).parameters}
    present = parse_settings(graph, scenario.settings)
    found = []
    for name, given in over.items():
        if name not in known:
            raise unknown("parameter", str(name), known, graph)
        values = _values(known[name], given, graph)
        found.append(_axis(name, present.get(name), values))
    graphs = prod(len(axis.values) for axis in found)
    if graphs > MAX_GRAPHS:
        factors = ", ".join(f"{len(axis.values)} of {axis.name}" for axis in found)
        raise InputError(
            f"{graph}: {graphs} graphs ({factors}); legal in a live page: at most {MAX_GRAPHS}"
        )
    return found


def _axis(name: str, base: Value | None, values: Sequence[Value]) -> LiveAxis:
    """Return the axis of a parameter: numbers ascend, and the present value is one of them."""
    if base is None:
        return LiveAxis("graph", name, NOT_SET, (NOT_SET, *_ordered(values)))
    return LiveAxis("graph", name, base, tuple(_ordered(dict.fromkeys([base, *values]))))


def _ordered(values: Iterable[Value]) -> list[Value]:
    several: list[Any] = list(values)
    return several if any(isinstance(value, str) for value in several) else sorted(several)


def _values(parameter: Parameter, given: object, where: str) -> list[Value]:
    """Return the different values of *parameter* that a text or a sequence gives."""
    what = f"{where}: {parameter.name}"
    parts: Sequence[Any]
    if isinstance(given, str):
        try:
            several = values_of(given)
        except ValueError as error:
            raise InputError(f"{what}={given}: {error}") from None
        parts = [part.strip() for part in given.split(",")] if several is None else several
    elif isinstance(given, Iterable) and not isinstance(given, Mapping):
        parts = given if isinstance(given, range) else list(given)
    else:
        raise InputError(
            f"{what}: got {short(given)}; legal: a list of values, or a range such as 8..20, "
            "8..20:4, 64..512:log"
        )
    if len(parts) > MAX_GRAPHS:
        raise InputError(f"{what}: got {len(parts)} values; legal: at most {MAX_GRAPHS}")
    found = [parameter.convert(part, where) for part in parts]
    if not found or len(set(found)) < len(found):
        raise InputError(f"{what}: got {short(given)}; legal: different values, at least one")
    return found


def usual_axes(
    scenario: Setup, tasks: int, count_tasks: Callable[[Setup], int], *, nodes: int = 1
) -> tuple[list[LiveAxis], list[str]]:
    """Return axes of all whole parameters around their present values, and what was left out.

    Parameters
    ----------
    scenario : Setup
        The scenario of the page.
    tasks : int
        The number of its tasks.
    count_tasks : callable
        Returns the number of tasks of a variant; raises :exc:`InputError` if there is none.
    nodes : int, default 1
        The number of nodes.
    """
    graph = scenario.graph
    if not isinstance(graph, str) or not names_generator(graph):
        return [], []
    present = parse_settings(graph, scenario.settings)
    whole = [p for p in find(graph).parameters if p.kind is int and p.name not in _DRAWS]
    if not whole or tasks > _MAX_USUAL_TASKS // 4:
        name = whole[0].name if whole else ""
        large = f"the graph has no sliders, with {tasks} tasks; {name}=VALUE,VALUE asks for one"
        return [], [large] if whole else []
    ratios: dict[str, dict[int, float]] = {}
    left_out: list[str] = []
    for parameter in whole:
        base: Any = present.get(parameter.name)
        if base:
            found = _ratios(scenario, parameter, base, tasks, count_tasks, left_out)
            if len(found) > 1:
                ratios[parameter.name] = found
    most = _MAX_USUAL_GRAPHS if nodes == 1 else _MAX_USUAL_GRAPHS_ON_NODES
    _fit(ratios, present, tasks, most)
    return [_axis(name, present[name], list(found)) for name, found in ratios.items()], left_out


def _ratios(
    scenario: Setup,
    parameter: Parameter,
    base: int,
    tasks: int,
    count_tasks: Callable[[Setup], int],
    left_out: list[str],
) -> dict[int, float]:
    """Return usual values of a parameter, and how many times as many tasks each makes."""
    is_size = base >= _MIN_DOUBLED and base & (base - 1) == 0
    values = {round(base * share) for share in (_DOUBLED if is_size else _SHARES)}
    legal = [v for v in sorted(values) if parameter.minimum <= v <= parameter.maximum and v > 0]
    found = {base: 1.0}
    # Away from the present value graphs may grow on either side: small blocks make many tasks, too.
    for side in ([v for v in legal if v < base][::-1], [v for v in legal if v > base]):
        for value in side:
            try:
                count = count_tasks(scenario.vary({f"graph.{parameter.name}": value}))
            except InputError as error:
                left_out.append(f"{parameter.name}={value} is left out: {error}")
                continue
            if count > _MAX_USUAL_TASKS:
                break
            found[value] = count / max(tasks, 1)
    return dict(sorted(found.items()))


def _fit(
    ratios: dict[str, dict[int, float]], present: Mapping[str, Value], tasks: int, most: int
) -> None:
    """Leave out values until the graphs are at *most* so many and have few tasks."""

    def total() -> float:
        return tasks * prod(sum(found.values()) for found in ratios.values())

    while ratios and total() > _MAX_USUAL_TASKS:
        # The end value with the largest share of the tasks goes first.
        ends = [
            (found[value] / sum(found.values()), name, value)
            for name, found in ratios.items()
            for value in (min(found), max(found))
            if value != present[name]
        ]
        _, name, value = max(ends)
        del ratios[name][value]
        if len(ratios[name]) == 1:
            del ratios[name]
    while prod(len(found) for found in ratios.values()) > most:
        name = max(ratios, key=lambda name: len(ratios[name]))
        if len(ratios[name]) > 3:
            values = list(ratios[name])
            thin(values, int(present[name]))
            ratios[name] = {value: ratios[name][value] for value in values}
        else:
            ratios.popitem()  # generators have their main parameters first
