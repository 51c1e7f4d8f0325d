"""Conduct of an experiment: steps made in turn, each kept, and the report.

::

    experiment.json           settings, machine: what was begun
    steps/NAME.json           what a step found, and how long it took
    work/NAME/                what it wrote meanwhile
    commands.txt              commands of tasksim that it ran
    figures/, tables/         PNG and CSV, by exhibit
    results.json, index.html
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import shutil
import time
from typing import TYPE_CHECKING, Any, Final

import tasksim
from experiments.frame.experiment import DESIGNS
from experiments.frame.report import write_report
from experiments.frame.work import Work
from tasksim import InputError
from tasksim.base.errors import option
from tasksim.base.files import refuse_folder, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from experiments.frame.experiment import Experiment

__all__ = ["begin", "conduct", "report"]

MARK_FILE: Final = "experiment.json"
"""File that marks a folder as an experiment."""


def begin(
    experiment: Experiment, folder: Path, design: str, given: Mapping[str, Any], *, force: bool
) -> dict[str, Any]:
    """Make the folder of an experiment, or check that it is one that can go on; return its mark.

    Raises
    ------
    InputError
        If the folder has something else, or the same experiment with other settings.
    """
    about = {
        "format": "tasksim-experiment",
        "experiment": experiment.name,
        "design": design,
        "settings": json.loads(json.dumps(experiment.values(design, given))),
        "machine": _machine(),
        "began": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    path = folder / MARK_FILE
    if force and folder.exists():
        refuse_folder(folder, force=True, what="an experiment's folder", mark=MARK_FILE)
        shutil.rmtree(folder)
    if not path.exists():
        if folder.exists() and (folder.is_file() or any(folder.iterdir())):
            raise InputError(f"{folder} is no folder of an experiment (it has no {MARK_FILE})")
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(about, indent=2) + "\n")
        return about
    begun = read_mark(experiment, folder)
    if begun["design"] != design or begun["settings"] != about["settings"]:
        differ = [
            f"{name}={value!r}, now {about['settings'].get(name)!r}"
            for name, value in begun["settings"].items()
            if value != about["settings"].get(name)
        ]
        raise InputError(
            f"{folder} was begun with other settings ({', '.join(differ) or begun['design']}); "
            f"give the same, another {option('output')}, or {option('force', 'True')} to begin anew"
        )
    return begun


def read_mark(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return what was written when the experiment in *folder* began."""
    path = folder / MARK_FILE
    try:
        begun = json.loads(path.read_text())
        known = begun["experiment"], begun["design"], begun["settings"], begun["machine"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is not what an experiment writes: {error}") from None
    if known[0] != experiment.name or known[1] not in DESIGNS:
        raise InputError(f"{path}: is of another experiment: {known[0]}; legal: {experiment.name}")
    return dict(begun)


def conduct(
    experiment: Experiment,
    folder: Path,
    about: Mapping[str, Any],
    progress: Callable[[str, float], None],
) -> dict[str, Any]:
    """Make the steps that are not there yet; write the report; return its results.

    *progress* is called with what goes on, with the time that is left, and the share of the whole
    that is done.
    """
    column = DESIGNS.index(about["design"])
    left = _TimeLeft([step.minutes[column] for step in experiment.steps], progress)
    found: dict[str, Any] = {}
    (folder / "steps").mkdir(exist_ok=True)
    for number, step in enumerate(experiment.steps):
        path = folder / "steps" / f"{step.name}.json"
        if path.exists():
            left.skip(number)
        else:
            own = folder / "work" / step.name
            own.mkdir(parents=True, exist_ok=True)
            tell = left.step(number, step.title)
            tell("", 0.0)
            work = Work(about["settings"], own, found, tell, lambda line: _note(folder, line))
            began_s = time.monotonic()
            made = step.make(work)
            kept = {"seconds": round(time.monotonic() - began_s, 1), "found": made}
            write_text(path, json.dumps(kept) + "\n")
        found[step.name] = json.loads(path.read_text())["found"]
    return report(experiment, folder, about)


def report(experiment: Experiment, folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Write the report once more, from what the steps found; return its results.

    Raises
    ------
    InputError
        If a step lacks.
    """
    found, seconds = {}, {}
    for step in experiment.steps:
        path = folder / "steps" / f"{step.name}.json"
        if not path.exists():
            raise InputError(f"{folder}: step '{step.name}' is not made yet; go on with it first")
        kept = json.loads(path.read_text())
        found[step.name], seconds[step.name] = kept["found"], kept["seconds"]
    commands = folder / "commands.txt"
    lines = commands.read_text().splitlines() if commands.exists() else []
    return write_report(experiment, folder, about, found, seconds, lines)


def _note(folder: Path, line: str) -> None:
    """List a command once."""
    path = folder / "commands.txt"
    before = path.read_text() if path.exists() else ""
    if line not in before.splitlines():
        write_text(path, f"{before}{line}\n")


def _machine() -> dict[str, Any]:
    usable = getattr(os, "sched_getaffinity", None)
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": len(usable(0)) if usable else os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "tasksim": tasksim.__version__,
    }


class _TimeLeft:
    """Share that is done, and time that is left, from what the steps were said to take."""

    def __init__(self, minutes: list[float], tell: Callable[[str, float], None]) -> None:
        self._expected_s = [60.0 * m for m in minutes]
        self._tell = tell
        self._made_s = self._skipped_s = 0.0
        self._began_s = time.monotonic()

    def skip(self, number: int) -> None:
        """Count a step that was there already."""
        self._skipped_s += self._expected_s[number]

    def step(self, number: int, title: str) -> Callable[[str, float], None]:
        """Return what a step tells its progress to."""
        before_s, own_s = sum(self._expected_s[:number]), self._expected_s[number]
        total_s = sum(self._expected_s) or 1.0

        def tell(what: str, share: float) -> None:
            done_s = before_s + own_s * min(1.0, share)
            made_s = done_s - self._skipped_s
            # Before there is something to judge by, the steps take what they were said to.
            pace = (time.monotonic() - self._began_s + 30.0) / (made_s + 30.0)
            left_s = pace * (total_s - done_s)
            about = f"{left_s:.0f} s" if left_s < 100 else f"{left_s / 60:.0f} min"
            said = f"{title}, {what}" if what else title
            self._tell(f"{said} (about {about} left)", done_s / total_s)

        return tell
