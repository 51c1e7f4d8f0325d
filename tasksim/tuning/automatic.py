"""Automatic settings, such as ``tile_size=auto``, from a tree or from an earlier tuning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.documents.json_document import read_json
from tasksim.base.errors import InputError, option, short
from tasksim.base.numerals import decimal_number
from tasksim.platform.description import Platform
from tasksim.tuning.over import SIZE, TILE_SIZE, TILES, in_tiles, takes_size
from tasksim.tuning.tree_file import FORMAT, tree_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.scenario.scenario import Scenario

__all__ = ["AUTO", "settled"]

AUTO: Final = "auto"
"""Value of a setting that is chosen automatically."""
TUNING_FORMATS: Final = ("tasksim-tuned", "tasksim-autotuned")
"""Formats of tuning results, of ``tasksim tune`` and of ``tasksim autotune``."""


def settled(scenario: Scenario, path: Path) -> tuple[Scenario, dict[str, str]]:
    """Return the scenario with a value for each ``auto``, and these values.

    Parameters
    ----------
    scenario : Scenario
        With ``KEY=auto`` among its settings, or the scheduler ``auto``. For a factorisation ``n``,
        the rows of the matrix, may replace the number of tiles.
    path : Path
        A tree (``tasksim study tree -o FILE.json``) or a result of tuning (``tasksim tune -o``,
        ``tasksim autotune -o``).

    Raises
    ------
    InputError
        If nothing is ``auto``, the file lacks a value for an ``auto``, or the tree needs a feature
        that the scenario does not have.
    """
    pairs = (text.partition("=") for text in scenario.settings)
    given = {key: value for key, _, value in pairs}
    wanted = [f"graph.{key}" for key, value in given.items() if value == AUTO]
    wanted += ["scheduler"] if scenario.scheduler == AUTO else []
    if not wanted:
        raise InputError(f"{path}: nothing to choose; give KEY={AUTO} or --scheduler {AUTO}")
    data = read_json(path)
    form = data.get("format") if isinstance(data, dict) else None
    if form in TUNING_FORMATS:
        chosen = _of_tuning(data, path, scenario)
    elif form == FORMAT:
        tree = tree_from_json(data, path)
        known = _known(scenario, given)
        native = scenario.clock == "native"
        row = [_feature(name, known, path, native) for name in tree.tree.features]
        choice = int(tree.tree.choose(np.array([row]))[0])
        chosen = {tree.choose: tree.tree.choices[choice]}
    else:
        raise InputError(
            f"{path}: is neither a decision tree nor a result of tuning: got the format"
            f" {short(form)}; legal: '{FORMAT}' (tasksim study tree -o FILE.json),"
            f" '{TUNING_FORMATS[0]}' (tasksim tune -o), '{TUNING_FORMATS[1]}' (tasksim autotune -o)"
        )
    for name in wanted:
        if name not in chosen:
            raise InputError(f"{path}: chooses {', '.join(chosen)}, not {name}")
    found = {name: chosen[name] for name in wanted}
    _refuse_foreign(found.get("scheduler"), path)
    return _with(scenario, given, found), found


def _refuse_foreign(scheduler: str | None, path: Path) -> None:
    """Raise :exc:`InputError` for a scheduler that would be imported because a file names it."""
    from tasksim.schedulers.registry import SCHEDULERS

    if scheduler is not None and scheduler.partition(":")[0] not in SCHEDULERS:
        raise InputError(
            f"{path}: chooses the scheduler '{scheduler}', which is not registered, and nothing is"
            " imported because a file names it; give it with --scheduler if you trust it"
        )


def _with(scenario: Scenario, given: Mapping[str, str], found: Mapping[str, str]) -> Scenario:
    """Return the scenario with the values *found*."""
    from dataclasses import replace

    settings: dict[str, Any] = dict(given)
    settings |= {n.removeprefix("graph."): v for n, v in found.items() if n.startswith("graph.")}
    if takes_size(str(scenario.graph)):
        settings = in_tiles(settings)
    texts = tuple(f"{key}={value}" for key, value in settings.items())
    scheduler = found.get("scheduler", scenario.scheduler)
    return replace(scenario, settings=texts, scheduler=scheduler)


def _of_tuning(data: Mapping[str, Any], path: Path, scenario: Scenario) -> dict[str, str]:
    """Return the values in a result of tuning, for a graph of the same generator."""
    best, graph = data.get("best"), data.get("graph")
    if not isinstance(best, dict) or not isinstance(graph, str):
        raise InputError(f"{path}: is not a readable result of tuning")
    name = str(scenario.graph)
    if graph.partition(" ")[0] != name:
        raise InputError(f"{path}: is a result for {graph}, not for {name}")
    return {key: str(value) for key, value in best.items()}


def _known(scenario: Scenario, given: Mapping[str, str]) -> dict[str, str]:
    """Return the features of the scenario, by the names of a study's columns."""
    platform = scenario.platform
    found = {f"graph.{key}": value for key, value in given.items() if value != AUTO}
    changes = (text.partition("=") for text in scenario.changes)
    found |= {key: value for key, _, value in changes}
    found["graph"] = str(scenario.graph)
    found["scheduler"] = scenario.scheduler_label
    if platform is not None:
        found["platform"] = platform.name if isinstance(platform, Platform) else platform
    elif scenario.workers is not None:
        found["platform"] = f"{scenario.workers} worker{'s' if scenario.workers > 1 else ''}"
        found["workers"] = str(scenario.workers)
    tiles, size = (decimal_number(given.get(key, "")) for key in (TILES, TILE_SIZE))
    if tiles is not None and size is not None:
        found.setdefault(f"graph.{SIZE}", f"{tiles * size:g}")
    return found


def _feature(name: str, known: Mapping[str, str], path: Path, native: bool) -> float:
    """Return the value of a feature: a number, or 1 if a setting has the value that it names.

    The error for a missing feature says how to give it; a *native* run has no settings but those of
    its graph.
    """
    column, equals, value = name.partition("=")
    if equals:
        return float(known.get(column, "none") == value)
    if name == "examples":  # a study that varies nothing else
        return 1.0
    number = decimal_number(known[name]) if name in known else None
    if number is None:
        how = ""
        if name.startswith("graph."):
            how = f"; give {name.removeprefix('graph.')}=NUMBER"
        elif name == "workers":
            how = f"; give {option('workers', 'N')}"
        elif "." in name and not native:
            how = f"; give {option('set', f'{name}=NUMBER')}"
        raise InputError(f"{path}: the tree needs {name}{how}")
    return number
