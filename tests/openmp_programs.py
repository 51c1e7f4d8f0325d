"""Programs with OpenMP for tests: where they are, what compiles them, what was recorded of them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "openmp"
COMPILERS = {
    "gcc": ".c",
    "clang": ".c",
    "g++": ".cpp",
    "clang++": ".cpp",
    "gfortran": ".f90",
}
HANG_S = 300.0
"""Time in seconds after which a process counts as hanging; all here end in a few."""
NO_TASKS = ("parallel ", "barrier", "serial", "thread start")
"""Beginnings of the names of kernels that are none of explicit tasks."""


def compilers(name):
    """The paths of a compiler, also of Debian's names with versions, newest first."""
    names = [name, *(f"{name}-{version}" for version in range(21, 12, -1))]
    return [found for each in names if (found := shutil.which(each))]


@dataclass
class Recorded:
    """A recording, and what the program printed."""

    recording: object
    output: str

    @property
    def explicit_edges(self):
        """Dependencies between pieces of explicit tasks."""
        graph = self.recording.graph
        is_task = [not name.startswith(NO_TASKS) for name in graph.kernels]
        return sum(
            is_task[graph.kernel[task]] and is_task[graph.kernel[other]]
            for task in range(len(graph))
            for other in graph.successors_of(task)
        )

    def counts(self):
        """Return the numbers of tasks that each place created, in descending order."""
        graph = self.recording.graph
        found = [0] * len(graph.kernels)
        for kernel in graph.kernel.tolist():
            found[kernel] += 1
        return sorted(
            (
                count
                for name, count in zip(graph.kernels, found, strict=True)
                if not name.startswith((*NO_TASKS, "taskwait")) and not name.endswith(")")
            ),
            reverse=True,
        )


def printed(program, *arguments):
    """Return the output of a program without a recorder."""
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=True, timeout=HANG_S
    )
    return done.stdout
