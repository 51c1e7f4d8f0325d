"""Factorisations that are tuned, with the choices of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["PROBLEMS", "Problem", "problem"]


class Problem(NamedTuple):
    """A factorisation with the choices to tune.

    Attributes
    ----------
    name
        Of its results.
    label
        In figures.
    generator
        Its task graph in tasksim.
    size
        The setting with the rows of its matrix.
    axes
        Name of a choice in tasksim -> the setting with its values.
    """

    name: str
    label: str
    generator: str
    size: str
    axes: Mapping[str, str]

    def words(self, settings: Mapping[str, Any]) -> list[str]:
        """Return the words of ``tasksim autotune`` that say what is tuned."""
        over = [f"{name}={_text(settings[setting])}" for name, setting in self.axes.items()]
        return [self.generator, f"n={settings[self.size]}", "--over", *over]


PROBLEMS: Final = (
    Problem(
        "tiled-cholesky",
        "tiled Cholesky (as SLATE's)",
        "cholesky",
        "cholesky_n",
        {"tile_size": "cholesky_tiles", "scheduler": "schedulers"},
    ),
    Problem(
        "tiled-qr",
        "tiled QR (as SLATE's)",
        "qr",
        "qr_n",
        {"tile_size": "qr_tiles", "ib": "qr_inner", "scheduler": "schedulers"},
    ),
)


def problem(name: str) -> Problem:
    """Return the problem called *name*."""
    return next(one for one in PROBLEMS if one.name == name)


def _text(values: Sequence[Any]) -> str:
    return ",".join(map(str, values))
