"""Colours of kernels, runs, copies and idle time, the same in figures and on pages.

This module does not import Matplotlib: pages need the colours only.
"""

from __future__ import annotations

import colorsys
import itertools
import zlib
from typing import TYPE_CHECKING, Final

from tasksim.run.metrics import IDLE_NAMES
from tasksim.run.recordtables import TransferReason
from tasksim.view.tokens import CHART_COLOURS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "COPY_REASONS",
    "DARK_COLOURS",
    "DARK_COPY_REASONS",
    "IDLE_COLOURS",
    "KERNEL_COLOURS",
    "PALETTE",
    "RUN_COLOURS",
    "UNLIMITED_COLOUR",
    "is_light",
    "kernel_colours",
    "memory_colours",
]

KERNEL_COLOURS = {
    # Blue solves and green updates, as in StarVZ, which users know at sight. Panels are amber
    # and not red as there: copies are red, as in ViTE, Dask and StarVZ. Those of a factorisation
    # are apart in lightness too: on paper without colours, and under protanopia, deuteranopia and
    # tritanopia (tests/view/test_style.py measures it). None is near the colour of a copy or a
    # wait.
    "potrf": "#f7b52c",
    "trsm": "#1a40e0",
    "syrk": "#431a60",
    "gemm": "#448736",
    "getrf": "#f7b52c",
    "trsm_ll": "#1a40e0",
    "trsm_ru": "#2fa6f6",
    "geqrt": "#f7b52c",
    "gemqrt": "#1a40e0",
    "tpqrt": "#431a60",
    "tpmqrt": "#448736",
}

DARK_COLOURS: Final = {
    "#1a40e0": "#4464e9",
    "#431a60": "#c39bff",
    "#448736": "#4f9c3f",
    "#2fa6f6": "#57b8ff",
}
"""Colours of :data:`KERNEL_COLOURS` -> those on dark pages: as far apart there, and as vivid."""

# Chosen one by one, each the furthest from those before it to the eye that sees it worst, among
# the hues of M. Okabe and K. Ito, "Color Universal Design" (2008), and others; without reds.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#20603a",
    "#99ddff",
    "#997233",
    "#c3e88d",
    "#080679",
    "#602045",
    "#d48fe6",
    "#4b3fae",
    "#53c683",
    "#472060",
)
"""Colours for everything that has no colour of its own, in order."""

UNLIMITED_COLOUR: Final = "#8c8c8c"
"""Grey of the first memory without a size, which is RAM on most machines."""

RUN_COLOURS = ("#222222", "#d55e00", "#0072b2", "#009e73", "#cc79a7")
"""Colours of the curves of several runs in one panel, in order; further runs start again."""

# Red is what StarVZ, ViTE and Dask give to transfers; the darker, the more it hurts.
COPY_REASONS: Final = {
    TransferReason.FETCH: ("copy, a task waits", "#c91214"),
    TransferReason.PREFETCH: ("copy in advance", "#f9816c"),
    TransferReason.IDLE: ("copy back, idle", "#f1cfbf"),
    TransferReason.EVICTION: ("copy to make room", "#5d0d0a"),
}
"""Reason for a copy -> its name in the legend and its colour."""

DARK_COPY_REASONS: Final = {TransferReason.EVICTION: "#ff4fd8"}
"""Colours of copies that are others on dark pages, whose ground would swallow the dark red."""

IDLE_COLOURS: Final = {
    cause: (IDLE_NAMES[cause], CHART_COLOURS[token][0])
    for cause, token in (
        ("dependency", "idle-dependency"),
        ("queue", "idle-runtime"),
        ("transfer", "idle-data"),
    )
}
"""Cause of idle time -> its name in the legend and its colour, paler than that of any kernel."""

_RED_SHARE: Final = 0.11
"""Share of the circle of hues, on each side of red, that is left to the colours of copies."""


def kernel_colours(names: Iterable[str]) -> dict[str, str]:
    """Return a colour per kernel, ``"#rrggbb"``, from :data:`KERNEL_COLOURS` if it is there.

    The colour of another kernel depends on its name, so that it is the same in most figures. No
    two kernels have the same colour.

    >>> kernel_colours(["gemm", "p2p"])
    {'gemm': '#448736', 'p2p': '#602045'}
    """
    wanted = list(dict.fromkeys(names))
    colours = {name: KERNEL_COLOURS[name] for name in wanted if name in KERNEL_COLOURS}
    taken = set(colours.values())
    for name in sorted(set(wanted) - set(colours)):
        colours[name] = _free_colour(name, taken)
        taken.add(colours[name])
    return {name: colours[name] for name in wanted}


def memory_colours(sizes_bytes: Iterable[float | None]) -> list[str]:
    """Return a colour per memory: grey for the first without a size, of the palette for the others.

    >>> memory_colours([None, 1e9, None])
    ['#8c8c8c', '#0072b2', '#e69f00']
    """
    colours, palette, grey = [], itertools.cycle(PALETTE), UNLIMITED_COLOUR
    for size in sizes_bytes:
        colours.append(grey if size is None and grey not in colours else next(palette))
    return colours


def is_light(colour: str) -> bool:
    """Return whether black text is easier to read on the *colour*, ``#rrggbb``, than white text.

    The contrast of both is that of the Web Content Accessibility Guidelines, 2.1.
    """
    parts = [int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return (luminance + 0.05) ** 2 > 1.05 * 0.05


def _free_colour(name: str, taken: set[str]) -> str:
    """Return a colour for the kernel *name* that is not *taken*."""
    code = zlib.crc32(name.encode())
    for step in range(len(PALETTE)):
        colour = PALETTE[(code + step) % len(PALETTE)]
        if colour not in taken:
            return colour
    # The palette is used up: turn the hue by the golden angle, which never comes back.
    turn = code % 1000 / 1000.0
    while True:
        hue = _RED_SHARE + (1.0 - 2.0 * _RED_SHARE) * (turn % 1.0)
        red, green, blue = colorsys.hls_to_rgb(hue, 0.35 + 0.3 * (turn * 7 % 1.0), 0.6)
        colour = f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
        if colour not in taken:
            return colour
        turn += 0.381966
