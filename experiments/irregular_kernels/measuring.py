"""Native runs of the inputs, interleaved, in calm moments; kept in folders, and read again.

::

    native/fitted/cube-60k-h4-g32/0/          a run folder, see tasksim.run.runfolder
    native/predicted/...
    native/unseen/...
    measured.json                             how it was done, and how calm the machine was
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

from experiments.irregular_kernels.inputs import DESIGNS, SEEDS, Design
from experiments.irregular_kernels.modelling import MeasuredInput
from tasksim.base.documents.json_document import read_json
from tasksim.base.errors import InputError
from tasksim.base.files import write_text
from tasksim.native.calm_moments import Calmness
from tasksim.native.cores import usable_cores
from tasksim.native.this_machine import machine_name
from tasksim.run.runfolder import load, save
from tasksim.scenario.repetitions import ScenarioRuns
from tasksim.scenario.repetitions import measure as run_natively
from tasksim.scenario.resolved import Resolver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from experiments.irregular_kernels.inputs import Input
    from tasksim.native.calm_moments import Gate
    from tasksim.run.record import Run
    from tasksim.scenario.scenario import Scenario

__all__ = ["MARK", "Measurements", "Setting", "measure", "read", "write"]

MARK: Final = "measured.json"
"""What has it is a folder of this experiment."""


@dataclass(frozen=True)
class Setting:
    """How the experiment is done.

    Attributes
    ----------
    design
        Which inputs: one of :data:`~experiments.irregular_kernels.inputs.DESIGNS`.
    patience_s
        How long the machine is waited for to be calm, at most, each of the two times that
        something is measured.
    """

    design: str = "paper"
    repetitions: int = 5
    order: int = 5
    scheduler: str = "prio"
    workers: int = 0
    patience_s: float = 900.0

    @property
    def inputs(self) -> Design:
        """The inputs."""
        return DESIGNS[self.design]

    def scenario(self, given: Input, part: str) -> Scenario:
        """Return the question what an input of a *part*, as in :data:`SEEDS`, takes natively."""
        asked = given.scenario(self.order, SEEDS[part])
        return asked.vary(scheduler=self.scheduler, workers=self.workers or None)

    def resolved(self) -> Setting:
        """Return the setting with all usable cores for workers, if none were given."""
        return replace(self, workers=self.workers or len(usable_cores()))


@dataclass(frozen=True, eq=False)
class Measurements:
    """All native runs, by the part that they have in the experiment.

    Attributes
    ----------
    parts
        "fitted", "predicted" and "unseen" -> the inputs and their runs.
    calm
        How calm the machine was, one for each time that something was measured.
    """

    setting: Setting
    machine: str
    parts: Mapping[str, Sequence[MeasuredInput]]
    calm: Sequence[Calmness]


def measure(
    parts: Mapping[str, Sequence[Input]],
    setting: Setting,
    gate: Gate[Run],
    progress: Callable[[str, float], None] | None = None,
    resolver: Resolver | None = None,
) -> Measurements:
    """Run all inputs of *parts* in turn, as often as *setting* says, in calm moments.

    Each is run once before, which warms up and verifies what the run computes. *resolver* keeps
    the graphs for those who ask for them later.
    """
    resolver = resolver or Resolver()
    asked = [(part, given) for part, inputs in parts.items() for given in inputs]
    measured = run_natively(
        [setting.scenario(given, part) for part, given in asked],
        setting.repetitions,
        gate=gate,
        patience_s=setting.patience_s,
        check=False,
        resolver=resolver,
        progress=progress,
    )
    assert measured.calm is not None  # since there is a gate
    found: dict[str, list[MeasuredInput]] = {part: [] for part in parts}
    for (part, given), native in zip(asked, measured.scenarios, strict=True):
        found[part].append(MeasuredInput(given, resolver.resolve(native.scenario).graph, native))
    return Measurements(setting, machine_name(), found, (measured.calm,))


def write(measurements: Measurements, folder: Path) -> None:
    """Write the runs of *measurements* and how they were made to *folder*."""
    for part, inputs in measurements.parts.items():
        for measured in inputs:
            for number, run in enumerate(measured.native.runs):
                save(run, _run_folder(folder, part, measured.input, number))
    about = {
        "schema_version": 1,
        "machine": measurements.machine,
        "setting": asdict(measurements.setting),
        "calm": [asdict(calm) for calm in measurements.calm],
    }
    write_text(folder / MARK, json.dumps(about, indent=2) + "\n")


def read(folder: Path, resolver: Resolver) -> Measurements:
    """Return what :func:`write` wrote to *folder*; *resolver* makes the graphs, and keeps them.

    Raises
    ------
    InputError
        If it is no folder of this experiment, or not all of one.
    """
    path = folder / MARK
    about = read_json(path)
    try:
        setting = Setting(**about["setting"])
        calm = tuple(Calmness(**each) for each in about["calm"])
        parts = {part: _read_part(folder, part, setting, resolver) for part in SEEDS}
        return Measurements(setting, about["machine"], parts, calm)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is not what this experiment writes: {error}") from error


def _read_part(
    folder: Path, part: str, setting: Setting, resolver: Resolver
) -> list[MeasuredInput]:
    found = []
    for given in setting.inputs.part(part):
        runs = tuple(
            load(_run_folder(folder, part, given, number)) for number in range(setting.repetitions)
        )
        asked = setting.scenario(given, part)
        found.append(MeasuredInput(given, resolver.resolve(asked).graph, ScenarioRuns(asked, runs)))
    return found


def _run_folder(folder: Path, part: str, given: Input, number: int) -> Path:
    return folder / "native" / part / given.text.replace(" ", "-") / str(number)
