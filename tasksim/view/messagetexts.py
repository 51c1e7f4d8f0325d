"""Texts of the messages of two runs, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.units import format_size, format_time

if TYPE_CHECKING:
    from tasksim.run.comparemessages import MessageComparison

__all__ = ["message_rows", "pair_headers", "pair_rows"]

MOST_PAIRS: Final = 12
"""Rows of a table that is read at a glance: those of four nodes that all talk to each other."""


def message_rows(messages: MessageComparison) -> list[list[str]]:
    """Return the rows about messages of the table that has two runs side by side."""
    a, b = messages.a, messages.b
    return [
        ["messages", str(a.count), str(b.count), _change(b.count, a.count)],
        ["sent", format_size(a.bytes), format_size(b.bytes), _change(b.bytes, a.bytes)],
        *(
            [name, format_time(one), format_time(other), _change(other, one)]
            for name, one, other in (
                ("messages move", a.moving_s, b.moving_s),
                ("messages wait", a.waiting_s, b.waiting_s),
            )
        ),
    ]


def pair_headers() -> list[str]:
    """Return the names of the columns of :func:`pair_rows`."""
    return ["from, to", "in a", "in b", "moving in a", "in b ", "b against a"]


def pair_rows(messages: MessageComparison) -> list[list[str]]:
    """Return a row per pair of nodes; of many those whose time differs most."""
    pairs = sorted(messages.pairs, key=lambda p: -abs(p.b.moving_s - p.a.moving_s))
    shown = sorted(pairs[:MOST_PAIRS], key=lambda p: (p.source, p.target))
    return [
        [
            f"{pair.source} -> {pair.target}",
            str(pair.a.count),
            str(pair.b.count),
            format_time(pair.a.moving_s),
            format_time(pair.b.moving_s),
            _change(pair.b.moving_s, pair.a.moving_s),
        ]
        for pair in shown
    ]


def _change(value: float, reference: float) -> str:
    return f"{100 * (value / reference - 1):+.1f} %" if reference else "-"
