"""Work of a step: its settings and folder, what is kept, and the command line of tasksim."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

from tasksim import CheckFailed
from tasksim.base.files import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Work"]


class Work:
    """Tools of a step: its settings, its folder, earlier results, commands of tasksim.

    Attributes
    ----------
    settings
        Values by name.
    folder
        The step's own, which is there; what it writes there is kept.
    progress
        Called with what goes on and the share of the step that is done.
    mpiexec
        The program that starts MPI's ranks, or None.

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

    @property
    def mpiexec(self) -> str | None:
        """The program that starts ranks, where mpi4py is; None if either is not installed."""
        if find_spec("mpi4py") is None:
            return None
        # The wheel of MPICH puts it beside Python.
        return which("mpiexec", path=Path(sys.executable).parent) or which("mpiexec")

    def tasksim(self, *words: object, module: str = "tasksim", ranks: int = 0) -> str:
        """Run a command of tasksim in the step's folder; return what it printed.

        The report lists it. *module* is another one that is run as a program, as for example
        ``benchmarks.models``. It runs on so many *ranks* under :attr:`mpiexec`, unless 0.

        Raises
        ------
        CheckFailed
            If it fails: with its last line; if ranks are asked for without ``mpiexec``.
        """
        texts = [str(word) for word in words]
        plain = ["tasksim", *texts] if module == "tasksim" else ["python", "-m", module, *texts]
        launch: list[str] = []
        if ranks:
            if self.mpiexec is None:
                raise CheckFailed("no mpiexec: install it with: pip install 'tasksim[mpi]'")
            launch = [self.mpiexec, "-n", str(ranks)]
            plain = ["mpiexec", "-n", str(ranks), *plain]
        self._commands(shlex.join(plain))
        command = [*launch, sys.executable, "-m", module, *texts]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode < 0 or done.returncode == 130:
            raise KeyboardInterrupt
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["nothing said"]
            raise CheckFailed(
                f"{shlex.join([module, *texts])}: exit code {done.returncode}: {said[-1]}"
            )
        return done.stdout
