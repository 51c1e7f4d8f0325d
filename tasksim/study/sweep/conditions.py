"""Conditions of a study, which select cells of the grid.

::

    where:
      - tiles <= 16 or scheduler != 'random'

A condition is a small expression over the table's columns. It names a setting by its path
(``graph.tiles``), in backquotes if the path is not a Python name
(`` `platform.links.*.bandwidth` ``), or by the last part of its path if that is unambiguous.
Conditions call and import nothing.
"""

from __future__ import annotations

import ast
import operator
import re
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["CellCondition"]

_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda value, values: value in values,
    ast.NotIn: lambda value, values: value not in values,
}
_COMBINE: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_QUOTED: Final = re.compile(r"`([^`]+)`")
MAX_CONDITION_CHARACTERS: Final = 500
"""Longest condition, in characters: several lines of a file, too short to be nested too deep for
the parser."""


class CellCondition:
    """An expression over a cell's columns.

    Parameters
    ----------
    text : str
        Text of the condition in the file.
    columns : sequence of str
        Columns that the text may name.

    Raises
    ------
    InputError
        If the text is not such an expression, or names an unknown column (the message has the
        nearest).

    Examples
    --------
    >>> small = CellCondition("tiles <= 8", ["graph", "graph.tiles"])
    >>> small.holds({"graph.tiles": 8}), small.holds({"graph.tiles": 9})
    (True, False)

    The condition holds for cells that do not have the setting:

    >>> small.holds({"graph": "chain length=3"})
    True
    """

    def __init__(self, text: str, columns: Sequence[str]) -> None:
        self.text = text
        self._columns = columns
        self._quoted: list[str] = []
        self._named: set[str] = set()
        if len(text) > MAX_CONDITION_CHARACTERS:
            raise InputError(
                f"must have at most {MAX_CONDITION_CHARACTERS} characters (got {len(text)})"
            )
        try:
            tree = ast.parse(_QUOTED.sub(self._stand_in, text.strip()), mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise InputError(
                f"'{text}' is no condition; legal: one such as tiles <= 16 or scheduler == 'lws'"
            ) from None
        self._check(tree.body)
        self._tree = tree.body

    def holds(self, labels: Mapping[str, Any]) -> bool:
        """Return whether the cell with these *labels* meets the condition.

        Raises :exc:`InputError` for values that cannot be compared.
        """
        if any(labels.get(name) is None for name in self._named):
            return True
        try:
            return bool(self._value(self._tree, labels))
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            values = ", ".join(f"{name}={labels[name]!r}" for name in sorted(self._named))
            raise InputError(f"where: '{self.text}': {error} ({values})") from None

    def _stand_in(self, match: re.Match[str]) -> str:
        self._quoted.append(match[1])
        return f"_quoted{len(self._quoted) - 1}"

    def _check(self, node: ast.AST) -> None:
        """Raise :exc:`InputError` if *node* is not legal in a condition; note its columns."""
        if isinstance(node, ast.Name | ast.Attribute):
            self._named.add(self._column(node))
            return
        legal = (
            ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.Compare, ast.Constant,
            ast.BinOp, ast.List, ast.Tuple, ast.Load, *_COMPARE, *_COMBINE,
        )  # fmt: skip
        if not isinstance(node, legal):
            raise InputError(
                f"'{self.text}': legal are columns, numbers, texts in quotes, comparisons, in, "
                "and, or, not"
            )
        for child in ast.iter_child_nodes(node):
            self._check(child)

    def _column(self, node: ast.AST) -> str:
        """Return the column for a name or path."""
        path = ast.unparse(node)
        if path.startswith("_quoted") and path[7:].isdecimal():
            path = self._quoted[int(path[7:])]
        if path in self._columns:
            return path
        ends = [column for column in self._columns if column.endswith(f".{path}")]
        if len(ends) == 1:
            return ends[0]
        if ends:
            raise InputError(f"'{path}' may be {' or '.join(ends)}: write which")
        names = [*self._columns, *(column.rpartition(".")[2] for column in self._columns)]
        raise InputError(
            f"unknown column '{path}'{nearest(path, names)} (known: "
            f"{', '.join(self._columns)}); texts stand in quotes"
        )

    def _value(self, node: ast.AST, labels: Mapping[str, Any]) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name | ast.Attribute):
            return labels[self._column(node)]
        if isinstance(node, ast.List | ast.Tuple):
            return [self._value(item, labels) for item in node.elts]
        if isinstance(node, ast.BoolOp):
            values = (self._value(value, labels) for value in node.values)
            return all(values) if isinstance(node.op, ast.And) else any(values)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, labels)
            return not value if isinstance(node.op, ast.Not) else -value
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, labels), self._value(node.right, labels)
            if not (isinstance(left, int | float) and isinstance(right, int | float)):
                raise TypeError("only numbers can be added or multiplied")
            return _COMBINE[type(node.op)](left, right)
        assert isinstance(node, ast.Compare)
        left = self._value(node.left, labels)
        for kind, right_node in zip(node.ops, node.comparators, strict=True):
            right = self._value(right_node, labels)
            if not _COMPARE[type(kind)](left, right):
                return False
            left = right
        return True
