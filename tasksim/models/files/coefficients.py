"""Coefficient files, ``models/<machine>/<kernel>.json``, and model files of several kernels.

There is one file per kernel and machine, readable by people, diff and programs::

    {
      "schema_version": 1,
      "machine": {"name": "laptop", "fingerprint": {"processor": "..."}},
      "kernel": "gemm",
      "parameters": ["m", "n", "k"],
      "architectures": {
        "cpu": {
          "model": {"kind": "mlr", ...},
          "samples": {"count": 1200, "dropped": 3, "configurations": 12},
          "fit": {"mlogq": 0.021, ...},
          "measured": {"when": "2025-01-31", "how": "in situ, 2 workers", "clock": "processor",
                       "stopped": {...}}
        }
      }
    }

A model file has the models of several kernels of one machine. A set of related models, such as
those for one kind of input or those for all inputs, can be named, sent and compared as one file::

    {
      "schema_version": 1,
      "machine": {"name": "laptop", "fingerprint": {"processor": "..."}},
      "kernels": {
        "gemm": {"parameters": ["m", "n", "k"], "architectures": {"cpu": {...}}},
        "trsm": {...}
      }
    }

The entry of a kernel has the layout of its coefficient file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tasksim.base.arguments import path_of
from tasksim.base.documents.json_document import (
    JsonNode,
    format_json,
    read_document,
    to_data,
)
from tasksim.base.errors import InputError, expect, short
from tasksim.base.files import read_text, write_text
from tasksim.base.versions import newer
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.locality import Locality
from tasksim.models.registry import from_json
from tasksim.models.rows import SIZE_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tasksim.models.contention import Contention
    from tasksim.models.uncertainty.runeffects import RunEffect

__all__ = [
    "LOCK_FREE_THRESHOLD",
    "PROCESSOR",
    "WALL",
    "CoefficientFile",
    "Entry",
    "Machine",
    "Measured",
    "ModelFile",
    "common_machine",
    "common_parameters",
    "document_text",
    "load_file",
    "machine_of",
    "save_models",
]

T = TypeVar("T")

LOCK_FREE_THRESHOLD: Final = 0.5
"""Lock-free share below which a kernel counts as holding Python's lock: running two of them side by
side saves less than half of the duration of one."""
WALL: Final = "wall"
PROCESSOR: Final = "processor"
SCHEMA_VERSION = 1
"""Version of coefficient and model files; it increases when older versions of tasksim cannot read
them."""
REPORT_COUNTS = {"count": "samples", "dropped": "dropped", "configurations": "configurations"}


@dataclass(frozen=True)
class Machine:
    """The machine that kernels were measured on, by its name and a fingerprint as plain data."""

    name: str
    fingerprint: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """When and how the samples were measured."""

    when: str
    """A date, optionally with a time, in ISO 8601."""
    how: str
    """A description: ``"in situ, 2 workers, lws and eager"``."""
    stopped: Mapping[str, str] = field(default_factory=dict)
    """Per configuration, why measuring stopped: ``"tolerance"``, ``"limit"``, ..."""
    clock: str = WALL
    """The clock of durations: ``"wall"``, or ``"processor"`` for the processor time of preempted
    tasks."""


@dataclass(frozen=True)
class Entry:
    """The model of a kernel on one architecture, and its origin."""

    model: KernelModel
    measured: Measured
    locality: Locality | None = None
    """The cost of far data; None if unknown."""
    lock_free: float | None = None
    """The share of its duration in which it releases Python's lock; None if it never needs the
    lock, or if the share is unknown."""
    runs: RunEffect | None = None
    """Run-to-run variation; None if it was not measured, as in older files."""
    contention: Contention | None = None
    """Its slowdown by neighbours; None if unknown."""
    energy: KernelModel | None = None
    """Energy of one execution without the idle power of the machine: a model in joules instead of
    seconds; None if unknown."""

    @property
    def holds_lock(self) -> bool:
        """Whether two tasks of it, or of similar kernels, gain nothing by running side by side."""
        return self.lock_free is not None and self.lock_free < LOCK_FREE_THRESHOLD


@dataclass(frozen=True)
class CoefficientFile:
    """The content of a coefficient file, one kernel's models on one machine, by architecture."""

    kernel: str
    parameters: tuple[str, ...]
    machine: Machine
    architectures: Mapping[str, Entry]

    def summary(self) -> str:
        """Return a summary in one line.

        For example ``gemm (m, n, k) of laptop: cpu mlr, 1200 samples``.
        """
        models = ", ".join(
            f"{name} {entry.model.kind}, {entry.model.report()['samples']} samples"
            for name, entry in sorted(self.architectures.items())
        )
        parameters = ", ".join(self.parameters)
        return f"{self.kernel} ({parameters}) of {self.machine.name}: {models or 'no models'}"

    def text(self) -> str:
        """Return the text of the file."""
        return document_text(self.machine, {"kernel": self.kernel, **self.to_json()})

    def to_json(self) -> dict[str, Any]:
        """Return the parameters and the models, without the names of kernel and machine."""
        return {
            "parameters": self.parameters,
            "architectures": {
                name: _entry_data(entry) for name, entry in sorted(self.architectures.items())
            },
        }

    @classmethod
    def from_json(cls, node: JsonNode, kernel: str, machine: Machine) -> CoefficientFile:
        """Read what :meth:`to_json` returned for *kernel*; errors name the place in *node*."""
        return cls(
            kernel=kernel,
            parameters=node["parameters"].texts(),
            machine=machine,
            architectures={name: _entry(entry) for name, entry in node["architectures"].items()},
        )

    @classmethod
    def from_document(cls, node: JsonNode) -> CoefficientFile:
        """Read a coefficient file with the content *node*."""
        machine = machine_of(node)
        return cls.from_json(node, node["kernel"].text(), machine)

    @classmethod
    def from_text(cls, text: str, where: str = "coefficient file") -> CoefficientFile:
        """Read the *text* of a coefficient file; messages call it *where*.

        Raises
        ------
        InputError
            ``where:line:column: what is wrong, what was got, what is legal``.
        """
        return read_document(text, where, cls.from_document)


def document_text(machine: Machine, content: Mapping[str, Any]) -> str:
    """Return the text of a file of *machine*: schema version and machine, then *content*."""
    head = {
        "schema_version": SCHEMA_VERSION,
        "machine": {"name": machine.name, "fingerprint": machine.fingerprint},
    }
    return format_json(to_data({**head, **content}))


def machine_of(node: JsonNode) -> Machine:
    """Return the machine of a file with the content *node*; refuse other schema versions."""
    version = node["schema_version"]
    if version.integer() != SCHEMA_VERSION:
        older = f"expected {SCHEMA_VERSION}, got {version.value}; calibrate again"
        raise version.error(newer(version.value, SCHEMA_VERSION) or older)
    machine = node["machine"]
    return Machine(machine["name"].text(), machine["fingerprint"].mapping())


def common_parameters(
    entries: Mapping[str, Entry], where: str, advice: str = ""
) -> tuple[str, ...]:
    """Return the names of the parameters, which all architectures must share.

    Models by the size of the data are exempt, since every task has a size.

    Raises
    ------
    InputError
        If they differ; the message begins with *where* and ends with *advice*.
    NotFittedError
        If a model is not fitted.
    """
    names: tuple[str, ...] | None = None
    by_size = False
    for architecture, entry in entries.items():
        model = entry.model
        model._check_fitted("save_kernel")
        by_size = by_size or model.names_ == (SIZE_PARAMETER,)
        if not model.needs_fit or model.names_ == (SIZE_PARAMETER,):
            continue
        if names is not None and sorted(model.names_) != sorted(names):
            raise InputError(
                f"{where}: the model for architecture '{architecture}' has the parameters "
                f"({', '.join(model.names_)}), others have ({', '.join(names)}){advice}"
            )
        names = names if names is not None else model.names_
    return names or ((SIZE_PARAMETER,) if by_size else ())


def _entry_data(entry: Entry) -> dict[str, Any]:
    model = entry.model.to_json()
    model.pop("report", None)
    # The report is split: counts go to "samples", the rest to "fit".
    report = entry.model.report()
    fit = {key: v for key, v in report.items() if key not in ("kind", *REPORT_COUNTS.values())}
    measured = entry.measured
    return {
        "model": model,
        **({} if entry.locality is None else {"locality": entry.locality.to_json()}),
        **({} if entry.contention is None else {"contention": entry.contention.to_json()}),
        **({} if entry.energy is None else {"energy": entry.energy.to_json()}),
        **({} if entry.lock_free is None else {"lock_free": entry.lock_free}),
        **({} if entry.runs is None else {"run_to_run": entry.runs.to_json()}),
        "samples": {name: report[key] for name, key in REPORT_COUNTS.items()},
        "fit": fit,
        "measured": {
            "when": measured.when,
            "how": measured.how,
            **({} if measured.clock == WALL else {"clock": measured.clock}),
            "stopped": dict(sorted(measured.stopped.items())),
        },
    }


def _entry(node: JsonNode) -> Entry:
    counts = {key: node["samples"][name].integer() for name, key in REPORT_COUNTS.items()}
    model = node["model"]
    report = {"kind": model["kind"].text(), **counts, **node["fit"].mapping()}
    with_report = JsonNode({**model.mapping(), "report": report}, model.path)
    given = node.mapping()
    locality = lock_free = runs = beside = energy = None
    if "locality" in given:
        locality = _plain(node["locality"], Locality.from_json)
    if "lock_free" in given:
        lock_free = node["lock_free"].number()
        if not 0 <= lock_free <= 1:
            raise node["lock_free"].expected("a share, from 0 to 1")
    if "run_to_run" in given:
        from tasksim.models.uncertainty.runeffects import RunEffect

        runs = RunEffect.from_json(node["run_to_run"])
    if "contention" in given:
        from tasksim.models.contention import Contention

        beside = _plain(node["contention"], Contention.from_json)
    if "energy" in given:
        energy = from_json(node["energy"])
    measured = _measured(node["measured"])
    return Entry(from_json(with_report), measured, locality, lock_free, runs, beside, energy)


def _plain(node: JsonNode, read: Callable[[Any], T]) -> T:
    """Read the plain data in *node* with *read*; errors name the place in the file."""
    try:
        return read(node.mapping())
    except InputError as error:
        raise node.error(re.sub("^(locality|contention): ", "", str(error))) from error


def _measured(node: JsonNode) -> Measured:
    when = node["when"]
    try:
        datetime.fromisoformat(when.text())
    except ValueError:
        raise when.expected("a date in ISO 8601, such as 2025-01-31") from None
    stopped = {name: reason.text() for name, reason in node["stopped"].items()}
    clock = node.get("clock", WALL)
    if clock.value not in (WALL, PROCESSOR):
        raise clock.expected(f"'{WALL}' or '{PROCESSOR}'")
    return Measured(when.text(), node["how"].text(), stopped, clock.text())


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file, the models of several kernels on one machine, by kernel."""

    machine: Machine
    kernels: Mapping[str, CoefficientFile]

    def text(self) -> str:
        """Return the text of the file, with kernels sorted by name."""
        found = {name: file.to_json() for name, file in sorted(self.kernels.items())}
        return document_text(self.machine, {"kernels": found})

    @classmethod
    def from_text(cls, text: str, where: str = "model file") -> ModelFile:
        """Read the *text* of a model file; messages call it *where*.

        Raises
        ------
        InputError
            ``where:line:column: what is wrong, what was got, what is legal``.
        """
        return read_document(text, where, cls.from_document)

    @classmethod
    def from_document(cls, node: JsonNode) -> ModelFile:
        """Read a model file with the content *node*."""
        machine = machine_of(node)
        kernels = {
            name: CoefficientFile.from_json(entry, name, machine)
            for name, entry in node["kernels"].items()
        }
        return cls(machine, kernels)


def load_file(path: Path) -> CoefficientFile | ModelFile:
    """Read the coefficient file or model file at *path*.

    Raises
    ------
    InputError
        ``file:line:column: what is wrong, what was got, what is legal``.
    """
    return read_document(read_text(path), str(path), _either)


def save_models(
    path: str | Path,
    kernels: Mapping[str, Mapping[str, KernelModel | Entry]],
    *,
    machine: str | Machine,
    when: str | None = None,
    how: str = "fitted in Python",
) -> Path:
    """Write models to one file that simulations can read; replace an existing file.

    Parameters
    ----------
    path : str or Path
        The file, such as ``general.json``.
    kernels : dict of dict
        Kernel -> architecture -> its fitted model, of any kind.
    machine : str
        The name of the machine that was measured.
    when : str, optional
        The date of the measurements, in ISO 8601: ``2025-01-31``. Default: today.
    how : str, default "fitted in Python"
        A description of the measurements.

    Returns
    -------
    Path
        *path*, which ``models=`` accepts.

    Raises
    ------
    InputError
        If a model is not fitted, the models of one kernel have different parameters, or *path* does
        not end in ``.json``, which distinguishes such files from names.
    OutputError
        If the operating system refuses to write.

    See Also
    --------
    ModelLibrary : Read such a file.
    select : Choose the kind of model with the smallest error.
    export_models : Write models in StarPU's format.

    Examples
    --------
    >>> import tasksim
    >>> samples = tasksim.Samples(("n",), [[64], [128], [64]], [1e-3, 8e-3, 1.2e-3])
    >>> model = tasksim.PowerLaw().fit(samples)
    >>> path = tasksim.save_models("mine.json", {"potrf": {"cpu": model}}, machine="laptop")
    >>> run = tasksim.simulate("cholesky tiles=1 tile_size=64", workers=1, models=path)
    >>> bool(abs(run.makespan_s - model.predict([[64]])[0]) < 1e-9)
    True
    """
    path = path_of(path, "path")
    if path.suffix != ".json":
        raise InputError(f"{path}: kernel models are in .json files; got '{path.suffix}'")
    if isinstance(machine, str):
        machine = Machine(machine)
    expect(machine, Machine, "machine")
    expect(how, str, "how")
    measured = Measured(_date(when), how)
    files = {}
    for kernel, models in kernels.items():
        entries = {
            name: given if isinstance(given, Entry) else Entry(_fitted(given, kernel), measured)
            for name, given in models.items()
        }
        names = common_parameters(entries, f"{path}: kernel {kernel}")
        files[kernel] = CoefficientFile(kernel, names, machine, entries)
    write_text(path, ModelFile(machine, files).text())
    return path


def _date(when: str | None) -> str:
    """Return *when* as a date in ISO 8601; today's date by default."""
    if when is None:
        return datetime.now(UTC).date().isoformat()
    try:
        datetime.fromisoformat(when)
    except (TypeError, ValueError):
        raise InputError(f"when: got {short(when)}; legal: a date, such as 2025-01-31") from None
    return when


def _fitted(model: object, kernel: str) -> KernelModel:
    """Return *model* if it is a fitted kernel model."""
    if not isinstance(model, KernelModel) or not hasattr(model, "names_"):
        raise InputError(f"kernel {kernel}: got {short(model)}; legal: a fitted kernel model")
    return model


def common_machine(files: Sequence[CoefficientFile]) -> tuple[Machine, tuple[str, ...]]:
    """Return the machine of all *files* and the names of fingerprint entries that differ.

    The fingerprint has the entries without a contradiction, even if some files lack them.

    Raises :exc:`InputError` if the names of the machines differ, or there are no files.
    """
    if not files:
        raise InputError("no coefficient files, so no machine is known")
    first = files[0]
    for file in files:
        if file.machine.name != first.machine.name:
            raise InputError(
                f"{file.kernel} was measured on {file.machine.name}, {first.kernel} on "
                f"{first.machine.name}: one file has the models of one machine"
            )
    known: dict[str, Any] = {}
    differing: dict[str, None] = {}
    for file in files:
        for name, value in file.machine.fingerprint.items():
            if known.setdefault(name, value) != value:
                differing[name] = None
    kept = {name: value for name, value in known.items() if name not in differing}
    return Machine(first.machine.name, kept), tuple(differing)


def _either(node: JsonNode) -> CoefficientFile | ModelFile:
    several = "kernels" in node.mapping()
    return ModelFile.from_document(node) if several else CoefficientFile.from_document(node)
