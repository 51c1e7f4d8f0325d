"""Choices of saved decision trees, for ``tasksim predict``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.base.numerals import decimal_number
from tasksim.cli.options import refuse_missing, settings_by_name
from tasksim.tuning.tree import Leaf
from tasksim.tuning.tree_file import FORMAT, tree_from_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.tuning.tree_file import ChoosingTree

__all__ = ["chosen", "chosen_text", "tree_in"]


def tree_in(path: Path) -> ChoosingTree | None:
    """Return the decision tree in the file at *path*; None if it has something else."""
    text = read_text(path)
    if FORMAT not in text:
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None  # the reader of models says where it is wrong
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return None
    return tree_from_json(data, path)


def chosen(found: ChoosingTree, settings: Sequence[str], path: Path) -> dict[str, Any]:
    """Return the choice for the features in *settings*, as ``--json`` prints it."""
    known = list(dict.fromkeys(feature.partition("=")[0] for feature in found.tree.features))
    short = {name.removeprefix("graph."): name for name in known}
    given = settings_by_name(settings, known, "feature", str(path), short)
    refuse_missing(known, given, str(path))
    row = [_value(feature, given) for feature in found.tree.features]
    node = found.tree.root
    while not isinstance(node, Leaf):
        node = node.low if row[node.feature] <= node.threshold else node.high
    return {
        "choose": found.choose,
        "choice": found.tree.choices[node.choice],
        "features": given,
        "msop": node.msop,
        "examples": node.examples,
    }


def _value(feature: str, given: dict[str, str]) -> float:
    """Return the value of a feature: a number, or 1 for the text that it names, else 0."""
    name, equals, text = feature.partition("=")
    if equals:
        return float(given[name] == text)
    number = decimal_number(given[name])
    if number is None:
        raise InputError(f"{name}: got '{given[name]}'; legal: a finite number")
    return number


def chosen_text(result: dict[str, Any]) -> str:
    """Return the choice as text, with the share of the best performance that it reaches."""
    examples = result["examples"]
    trained = (
        f"it reaches {100 * result['msop']:.2f} % of the best in {examples} such examples"
        if examples
        else "no example has such features"
    )
    return f"{result['choose']}={result['choice']}\n{trained}"
