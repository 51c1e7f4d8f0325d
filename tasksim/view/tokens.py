"""Colours, type and spacing of pages and reports, light and dark, in one place.

The style sheets of the page of runs, of reports and of the documentation begin with these tokens
and name no colour of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CHART_COLOURS", "COLOURS", "token_sheet"]

COLOURS: Final = {
    # Grounds, from the furthest to the nearest.
    "ground": ("#ffffff", "#14181d"),
    "surface": ("#f7f9fb", "#1a1f25"),
    "band": ("#eef2f6", "#222931"),
    "control": ("#ffffff", "#252c34"),
    # Lines: between parts, around controls.
    "line": ("#dde3e9", "#333c46"),
    "edge": ("#82909d", "#6b7885"),
    # Texts.
    "text": ("#1c2126", "#e8ecf0"),
    "soft": ("#55606b", "#a9b4bf"),
    # What can be clicked, and what is chosen.
    "action": ("#0b62a8", "#7cc0f5"),
    "chosen": ("#dcebf8", "#1d3a54"),
    # Judgements.
    "good": ("#1a7338", "#62d08a"),
    "bad": ("#b3001b", "#ff6b78"),
    "warning": ("#b44a00", "#f5a95b"),
    "warm": ("#fdf3ec", "#33251b"),
}
"""Colours of text and controls by name, ``(light, dark)``: each text has a contrast of at least 4.5
to 1 on each ground."""

CHART_COLOURS: Final = {
    "idle": ("#e9edf1", "#2a3139"),
    "muted": ("#d3d9df", "#3b444e"),
    "accent": ("#c2185b", "#ff6fa8"),
    "path": ("#b3001b", "#ff5c6c"),
    "before": ("#a84300", "#f5a95b"),
    "after": ("#0a4f8a", "#7cc0f5"),
    "message": ("#5b3a8c", "#b79be0"),
    "mark": ("#6a1b9a", "#d0a2ec"),
    "dependency": ("#56a0d8", "#7cc0f5"),
    "data": ("#6e6e6e", "#aab2bb"),
    "runtime": ("#d99a00", "#f0c24b"),
    # Of idle workers: the colours above, paler. Data are grey, as copies are red.
    "idle-dependency": ("#c3e5f2", "#2f4256"),
    "idle-data": ("#b0b0b0", "#77808a"),
    "idle-runtime": ("#fbe3b5", "#6a5426"),
}
"""Colours of what the chart of runs draws beside tasks, ``(light, dark)``."""

_SIZES: Final = """\
  --font: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace;
  --small: 12px; --normal: 13px; --title: 15px; --figure: 26px;
  --gap: 8px; --radius: 6px;
"""


def token_sheet(*tables: Mapping[str, tuple[str, str]]) -> str:
    """Return the tokens as a style sheet: the colours of *tables*, type and spacing.

    The sheet is light on paper, and on a screen light or dark as the reader's system, unless
    ``data-theme`` of the root says ``light`` or ``dark``.
    """
    light, dark = (
        "".join(f"  --{name}: {pair[mode]};\n" for table in tables for name, pair in table.items())
        for mode in (0, 1)
    )
    dark = f"{dark}  --dark: 1;\n  color-scheme: dark;\n"
    return (
        f":root {{\n{light}{_SIZES}  --dark: 0;\n  color-scheme: light;\n}}\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f':root:not([data-theme="light"]) {{\n{dark}}}\n}}\n'
        f':root[data-theme="dark"] {{\n{dark}}}\n'
    )
