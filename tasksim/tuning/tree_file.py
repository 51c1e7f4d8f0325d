"""JSON files of decision trees, with their choices and features."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError
from tasksim.base.versions import newer
from tasksim.tuning.tree import MAX_DEPTH, DecisionTree, Leaf, Split, TreeNode

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMAT", "ChoosingTree", "tree_from_json"]

FORMAT: Final = "tasksim-tree"
"""Format name inside the file."""
VERSION: Final = 1
"""Version of the format."""


@dataclass(frozen=True)
class ChoosingTree:
    """A decision tree, with the quantity that it chooses and its score.

    Attributes
    ----------
    choose : str
        The chosen quantity: ``tile_size``, ``scheduler``.
    tree : DecisionTree
        The decision tree.
    msop : float
        Mean share of the optimal performance that its choices reach on the training examples.
    examples : int
        Number of training examples.
    """

    choose: str
    tree: DecisionTree
    msop: float
    examples: int

    def to_json(self) -> dict[str, Any]:
        """Return the tree as plain JSON data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "choose": self.choose,
            "features": list(self.tree.features),
            "choices": list(self.tree.choices),
            "msop": self.msop,
            "examples": self.examples,
            "tree": _plain(self.tree, self.tree.root),
        }

    def text(self) -> str:
        """Return the text of its JSON file."""
        return json.dumps(self.to_json(), indent=1) + "\n"


def tree_from_json(data: Any, path: Path) -> ChoosingTree:
    """Return the tree in the JSON *data* of a file.

    Raises
    ------
    InputError
        If it is malformed, or of a newer version.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{path}: is not a decision tree; legal: a file with 'format': '{FORMAT}'")
    if data.get("version") != VERSION:
        version = data.get("version")
        why = newer(version, VERSION) or f"version: got {version!r}; legal: {VERSION}"
        raise InputError(f"{path}: {why}")
    try:
        features, choices = _names(data["features"]), _names(data["choices"])
        root = _node(data["tree"], features, choices, 0)
        made = DecisionTree(features, choices, root)
        examples = int(data["examples"])
        return ChoosingTree(str(data["choose"]), made, _number(data["msop"]), examples)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path}: is not a readable decision tree: {said}") from None


def _plain(tree: DecisionTree, node: TreeNode) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {
            "choice": tree.choices[node.choice], "msop": node.msop, "examples": node.examples,
        }  # fmt: skip
    return {
        "feature": tree.features[node.feature],
        "threshold": node.threshold,
        "low": _plain(tree, node.low),
        "high": _plain(tree, node.high),
    }


def _names(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(name, str) for name in data):
        raise TypeError(f"got {data!r:.60}; legal: a list of names")
    return tuple(data)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"got {value!r:.60}; legal: a number")
    return float(value)


def _index(name: Any, known: tuple[str, ...]) -> int:
    if name not in known:
        raise ValueError(f"got {name!r:.60}; legal: {', '.join(known) or 'none'}")
    return known.index(name)


def _node(data: Any, features: tuple[str, ...], choices: tuple[str, ...], depth: int) -> TreeNode:
    if not isinstance(data, dict):
        raise TypeError(f"got {data!r:.60}; legal: a node")
    if depth > MAX_DEPTH:
        raise ValueError(f"the tree is deeper than {MAX_DEPTH} questions")
    if "choice" in data:
        return Leaf(_index(data["choice"], choices), _number(data["msop"]), int(data["examples"]))
    return Split(
        _index(data["feature"], features),
        _number(data["threshold"]),
        _node(data["low"], features, choices, depth + 1),
        _node(data["high"], features, choices, depth + 1),
    )
