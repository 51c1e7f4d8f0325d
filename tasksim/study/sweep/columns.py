"""Columns of a study's table, with their types.

They are common to all studies, or belong to settings or metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from tasksim.study.sweep.study import Study

__all__ = ["COMPUTED", "HIDDEN_COLUMNS", "LOST", "UNIQUE_COLUMNS", "Answer", "Columns"]

COMPUTED: Final = "done"
"""Status of a cell that was computed."""
LOST: Final = "lost"
"""Status of a cell whose worker has died; the cell is tried again."""

_FIRST_COLUMNS: Final = {
    "cell": "string", "graph": "string", "platform": "string", "scheduler": "string",
    "seed": "int64",
}  # fmt: skip
_LAST_COLUMNS: Final = {
    "status": "string", "error": "string", "makespan_s": "float64", "lower_bound_s": "float64",
    "critical_path_s": "float64", "tasks": "int64", "busy_share": "float64",
    "moved_bytes": "int64", "engine": "string", "seconds": "float64", "draw_seed": "int64",
}  # fmt: skip
HIDDEN_COLUMNS: Final = {"position": "int64", "scenario": "string", "warnings": "string"}
"""Columns that the store keeps and the table does not show."""

UNIQUE_COLUMNS: Final = frozenset({
    "cell", "makespan_s", "lower_bound_s", "critical_path_s", "busy_share", "seconds", "position",
    "scenario",
})  # fmt: skip
"""Columns with another value in nearly every row: a Parquet dictionary would not make them
smaller."""


class Answer(NamedTuple):
    """The result of a cell, or its failure."""

    cell: str
    status: str = COMPUTED
    error: str | None = None
    makespan_s: float | None = None
    lower_bound_s: float | None = None
    critical_path_s: float | None = None
    tasks: int | None = None
    busy_share: float | None = None
    moved_bytes: int | None = None
    engine: str | None = None
    warnings: str | None = None
    """Warnings of its simulation, one per line."""
    metrics: tuple[float, ...] = ()
    seconds: float | None = None


class Columns(NamedTuple):
    """Columns of a study, both common ones and its own for settings and metrics."""

    settings: dict[str, str]
    """Types of the settings' columns, by column."""
    metrics: tuple[str, ...] = ()

    @classmethod
    def of(cls, study: Study) -> Columns:
        """Return the columns of a *study*."""
        from tasksim.study.sweep.grid import Grid

        found = Grid(study).columns.items()
        return cls({name: _type(values) for name, values in found}, study.metrics)

    @property
    def types(self) -> dict[str, str]:
        """Types of all columns, by column, in the order of the table."""
        metrics = dict.fromkeys(self.metrics, "float64")
        return {**_FIRST_COLUMNS, **self.settings, **_LAST_COLUMNS, **metrics}

    def schema(self) -> pa.Schema:
        """Return the schema of the store's files."""
        import pyarrow as pa

        return pa.schema(
            [(n, pa.type_for_alias(t)) for n, t in {**self.types, **HIDDEN_COLUMNS}.items()]
        )


def _type(values: Sequence[Any]) -> str:
    """Return the type of a column with these *values*."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "bool"
    if kinds <= {int} and all(abs(value) < 2**63 for value in values):
        return "int64"
    return "float64" if kinds <= {int, float} else "string"
