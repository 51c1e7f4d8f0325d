"""Slices of Chrome's traces that are work of their thread, by the tool that wrote them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.formats.traces.records import Records

    Event = dict[str, Any]
    Slice = tuple[int, Event]
    Place = tuple[Any, Any]

__all__ = ["is_of_pytorch", "outermost", "work_slices"]

PYTORCH_WORK: Final = frozenset(("cpu_op", "kernel", "gpu_memcpy", "gpu_memset"))
"""Categories of PyTorch's slices that are work: a trace with one of them is PyTorch's."""
PYTORCH_AROUND: Final = frozenset(
    ("user_annotation", "gpu_user_annotation", "python_function", "overhead", "cuda_sync")
)
"""Categories of PyTorch's slices that enclose work of their thread or stream, or are none: spans of
the program, functions of Python, the profiler itself, waiting."""
RAY_TASK: Final = "task::"
"""Beginning of the category of a task of Ray; the parts of a task have ``task:``."""
RAY_OTHERS: Final = ("task:", "submit_task")
"""Beginnings of the categories of Ray's other slices: parts of tasks, and submissions."""


def is_of_pytorch(slices: list[Slice]) -> bool:
    """Return whether PyTorch's profiler (Kineto) wrote the *slices*."""
    return any(event.get("cat") in PYTORCH_WORK for _, event in slices)


def work_slices(found: Records, slices: list[Slice]) -> list[Slice]:
    """Return the slices that are work; notes of *found* count the others."""
    slices = _without(found, slices, _is_sum, "sums of others, by PyTorch's profiler or clang")
    if is_of_pytorch(slices):
        slices = _without(
            found, slices, lambda event: event.get("cat") in PYTORCH_AROUND,
            "annotations, functions of Python, overheads or waits of PyTorch",
        )  # fmt: skip
    if any(_category(event).startswith(RAY_TASK) for _, event in slices):
        slices = _without(
            found, slices, _is_beside_tasks_of_ray, "submissions of Ray or parts of its tasks"
        )
    return slices


def _without(
    found: Records, slices: list[Slice], is_no_work: Callable[[Event], bool], what: str
) -> list[Slice]:
    kept = [it for it in slices if not is_no_work(it[1])]
    if len(kept) < len(slices):
        found.note(f"slices left out as {what}: {len(slices) - len(kept)}")
    return kept


def _category(event: Event) -> str:
    return str(event.get("cat", ""))


def _is_sum(event: Event) -> bool:
    """Return whether a slice is the span of a whole profile (PyTorch) or a total (clang)."""
    if event.get("pid") == "Spans" and event.get("cat") == "Trace":
        return True
    given = event.get("args")
    return (
        str(event.get("name")).startswith("Total ")
        and isinstance(given, dict)
        and {"count", "avg ms"} <= given.keys()
    )


def _is_beside_tasks_of_ray(event: Event) -> bool:
    category = _category(event)
    return category.startswith(RAY_OTHERS) and not category.startswith(RAY_TASK)


def outermost(
    found: Records, slices: list[Slice], place_of: Callable[[Event], Place]
) -> list[Slice]:
    """Return the slices that are not nested in others of their thread, in order of their starts."""
    kept, until = [], dict[Any, float]()
    for at, event in sorted(slices, key=lambda it: (it[1]["ts"], -it[1]["dur"])):
        end, place = event["ts"] + event["dur"], place_of(event)
        if end <= until.get(place, -math.inf):
            continue
        until[place] = end
        kept.append((at, event))
    if len(kept) < len(slices):
        found.note(f"nested slices are not tasks: {len(slices) - len(kept)}")
    return kept
