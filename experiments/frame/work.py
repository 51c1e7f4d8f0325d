"""Work of a step: its settings and folder, what is kept, and the command line of tasksim."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tasksim import CheckFailed
from tasksim.base.files import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["Work"]


class Work:
    """What a step is given to work with.

    Attributes
    ----------
    settings
        Values by name.
    folder
        The step's own, which is there; what it writes there is kept.
    progress
        Called with what goes on and the share of the step that is done.

    Examples
    --------
    ::

        def measure_gemm(work):
            work.tasksim("measure", "gemm", "m=32..512", "-o", "gemm.csv")
            return [work.kept(f"{n}", lambda: errors(work["gemm"], n)) for n in (64, 128)]
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        folder: Path,
        found: Mapping[str, Any],
        progress: Callable[[str, float], None],
        commands: Callable[[str], None],
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.progress = progress
        self._found = found
        self._commands = commands

    def __getitem__(self, step: str) -> Any:
        """Return what an earlier step found."""
        return self._found[step]

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what *make* returns, plain data; made once, however often the step is resumed."""
        path = self.folder / f"{name}.json"
        if path.exists():
            return json.loads(path.read_text())
        made = make()
        write_text(path, json.dumps(made))
        return made

    def tasksim(self, *words: object, module: str = "tasksim") -> str:
        """Run a command of tasksim in the step's folder; return what it printed.

        The report lists it. *module* is another one that is run as a program, as for example
        ``benchmarks.models``.

        Raises
        ------
        CheckFailed
            If it fails: with its last line.
        """
        texts = [str(word) for word in words]
        self._commands(shlex.join(["python", "-m", module, *texts] if module != "tasksim"
                                  else ["tasksim", *texts]))  # fmt: skip
        command = [sys.executable, "-m", module, *texts]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode < 0 or done.returncode == 130:
            raise KeyboardInterrupt
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["nothing said"]
            raise CheckFailed(f"{shlex.join(command[2:])}: exit code {done.returncode}: {said[-1]}")
        return done.stdout
