"""Types of the events about tasks, by the tool that writes a Paraver trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["CREATION_TAG", "DIALECTS", "Dialect"]

CREATION_TAG: Final = 0xFFFFFF00
"""Tag of the communications of Nanos6 from the creation of a task to its beginning."""


@dataclass(frozen=True)
class Dialect:
    """Types of events about tasks.

    Attributes
    ----------
    name
        Their subject, and the tool that writes them.
    kernels
        Types whose value is the running code, 0 for none; the first that occurs counts.
    task
        Type whose value is the number of the running task, 0 for none; None without such a type.
    priority
        Type whose value is the priority of that task.
    parts
        Types whose values separate tasks of one number: the process, or a part of the task.
    label
        Name that the type *task* must have in the ``.pcf``, if its number is ambiguous.
    nested
        Whether a 0 ends the code that began last, and resumes the code that it interrupted;
        otherwise each value is the code that runs from now on.
    is_task
        Whether the code is that of tasks.
    """

    name: str
    kernels: tuple[int, ...]
    task: int | None = None
    priority: int | None = None
    parts: tuple[int, ...] = ()
    label: str = ""
    nested: bool = False
    is_task: bool = True

    def types(self) -> set[int]:
        """Return all its types."""
        others = (kind for kind in (self.task, self.priority) if kind is not None)
        return {*self.kernels, *self.parts, *others}


DIALECTS: Final = (
    Dialect("tasks of OpenMP, by ovni", (51,), 52, parts=(1,), label="OpenMP task ID"),
    Dialect("tasks of Nanos6, by ovni", (36,), 35, parts=(1,), label="Nanos6 task ID"),
    Dialect("tasks of nOS-V, by ovni", (11,), 10, parts=(1, 15), label="nOS-V task ID"),
    Dialect("tasks of Nanos6, by CTF", (6400013, 6400014), 6400016),
    Dialect("tasks of OmpSs, by Extrae", (9200011, 9200021), 9200002, 9200038),
    Dialect("tasks of OpenMP, by Extrae", (60000023, 60000123), nested=True),
    Dialect("tasks of OpenMP, by Extrae", (60018, 60019), nested=True),
    Dialect(
        "parallel functions of OpenMP, by Extrae", (60000018, 60000118), nested=True, is_task=False
    ),
    Dialect("parallel functions of OpenMP, by Extrae", (60012, 60013), nested=True, is_task=False),
    Dialect("user functions, by Extrae", (60000019, 60000119), nested=True, is_task=False),
)
"""All dialects, in the order in which they are tried: tasks before mere code."""
