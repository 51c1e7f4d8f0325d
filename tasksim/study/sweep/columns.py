"""Columns of a study's table: those of all studies, those of the settings, and their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from tasksim.study.sweep.study import Study

__all__ = ["HIDDEN", "LOST", "UNIQUE", "Answer", "Columns"]

LOST: Final = "lost"
"""What becomes of a cell whose worker has died: nothing yet, it is tried again."""

_BEFORE: Final = {
    "cell": "string", "graph": "string", "platform": "string", "scheduler": "string",
    "seed": "int64",
}  # fmt: skip
_AFTER: Final = {
    "status": "string", "error": "string", "makespan_s": "float64", "lower_bound_s": "float64",
    "critical_path_s": "float64", "tasks": "int64", "busy_share": "float64",
    "moved_bytes": "int64", "engine": "string", "seconds": "float64", "draw_seed": "int64",
}  # fmt: skip
HIDDEN: Final = {"position": "int64", "scenario": "string", "warnings": "string"}
"""What the store keeps of a cell beside what the table shows."""

UNIQUE: Final = frozenset({
    "cell", "makespan_s", "lower_bound_s", "critical_path_s", "busy_share", "seconds", "position",
    "scenario",
})  # fmt: skip
"""What is another value in nearly each row: a dictionary of it would be made for nothing."""


class Answer(NamedTuple):
    """What came out of a cell."""

    cell: str
    status: str = "done"
    error: str | None = None
    makespan_s: float | None = None
    lower_bound_s: float | None = None
    critical_path_s: float | None = None
    tasks: int | None = None
    busy_share: float | None = None
    moved_bytes: int | None = None
    engine: str | None = None
    warnings: str | None = None
    """What its simulation warns of, a line each."""
    metrics: tuple[float, ...] = ()
    seconds: float | None = None


class Columns(NamedTuple):
    """The columns of a study: those of settings and of metrics beside those of all."""

    settings: dict[str, str]
    """Column -> type."""
    metrics: tuple[str, ...] = ()

    @classmethod
    def of(cls, study: Study) -> Columns:
        """Return those of a *study*."""
        from tasksim.study.sweep.grid import Grid

        found = Grid(study).columns.items()
        return cls({name: _type(values) for name, values in found}, study.metrics)

    @property
    def types(self) -> dict[str, str]:
        """Column -> type, in the order of the table."""
        metrics = dict.fromkeys(self.metrics, "float64")
        return {**_BEFORE, **self.settings, **_AFTER, **metrics}

    def schema(self) -> pa.Schema:
        """Return the schema of the store's files."""
        import pyarrow as pa

        return pa.schema([(n, pa.type_for_alias(t)) for n, t in {**self.types, **HIDDEN}.items()])


def _type(values: Sequence[Any]) -> str:
    """Return the type of a column that has these *values*."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "bool"
    if kinds <= {int} and all(abs(value) < 2**63 for value in values):
        return "int64"
    return "float64" if kinds <= {int, float} else "string"
