"""Factorisations that are tuned, with the choices of each."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from experiments.selective_execution.machine import MODELS_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    emulated
        Whether its tasks take drawn durations on the emulated machine, instead of being executed.
    more
        Arguments of its graph besides, from the settings.
    """

    name: str
    label: str
    generator: str
    size: str
    axes: Mapping[str, str]
    emulated: bool = False
    more: Callable[[Mapping[str, Any]], dict[str, int]] = lambda _: {}

    def words(self, settings: Mapping[str, Any]) -> list[str]:
        """Return the words of ``tasksim autotune`` that say what is tuned, and how."""
        over = [f"{name}={_text(settings[setting])}" for name, setting in self.axes.items()]
        graph = [f"{name}={value}" for name, value in self.more(settings).items()]
        words = [self.generator, f"n={settings[self.size]}", *graph, "--over", *over]
        if not self.emulated:
            return [*words, "--no-fall-back"]
        return [
            *words, "--by", "emulation", "--models", f"../machine/{MODELS_FILE}",
            "--workers", str(settings["side"] ** 3), "--scatter", f"{settings['scatter']:g}",
        ]  # fmt: skip

    def configurations(self, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the arguments of the graph of each configuration."""
        axes = {name: setting for name, setting in self.axes.items() if name != "scheduler"}
        found = []
        for values in product(*(settings[setting] for setting in axes.values())):
            chosen = dict(zip(axes, values, strict=True))
            if "tile_size" in chosen:
                if settings[self.size] % chosen["tile_size"]:
                    continue
                size = {"tiles": settings[self.size] // chosen["tile_size"]}
            else:
                size = {"n": settings[self.size]}
            found.append({**size, **self.more(settings), **chosen})
        return found


PROBLEMS: Final = (
    Problem(
        "recursive-cholesky",
        "recursive Cholesky (as Capital's)",
        "recursive-cholesky",
        "recursive_n",
        {"block": "recursive_blocks", "base": "recursive_bases", "scheduler": "schedulers"},
        emulated=True,
        more=lambda settings: {"side": settings["side"]},
    ),
    Problem(
        "pipelined-qr",
        "pipelined QR (as CANDMC's)",
        "pipelined-qr",
        "pipelined_n",
        {"block": "pipelined_blocks", "rows": "pipelined_rows", "scheduler": "schedulers"},
        emulated=True,
        more=lambda settings: {"ranks": settings["side"] ** 3},
    ),
    Problem(
        "tiled-cholesky",
        "tiled Cholesky (as SLATE's)",
        "cholesky",
        "cholesky_n",
        {
            "tile_size": "cholesky_tiles",
            "lookahead": "cholesky_lookahead",
            "scheduler": "schedulers",
        },
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
