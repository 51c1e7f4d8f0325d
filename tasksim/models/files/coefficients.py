"""Coefficient files, ``models/<machine>/<kernel>.json``: the fitted models of one kernel.

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
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tasksim.base.documents.json_document import (
    Node,
    format_json,
    read_document,
    to_data,
)
from tasksim.base.errors import InputError
from tasksim.models.columns import SIZE
from tasksim.models.locality import Locality
from tasksim.models.registry import from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.models.contention import Contention
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.uncertainty.runeffects import RunEffect

__all__ = [
    "HELD_BELOW",
    "PROCESSOR",
    "WALL",
    "CoefficientFile",
    "Entry",
    "Machine",
    "Measured",
    "common_parameters",
    "document_text",
    "machine_of",
]

T = TypeVar("T")

HELD_BELOW: Final = 0.5
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
    """The machine that kernels were measured on: its name, and a fingerprint as plain data."""

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
        return self.lock_free is not None and self.lock_free < HELD_BELOW


@dataclass(frozen=True)
class CoefficientFile:
    """The content of a coefficient file: one kernel's models on one machine, by architecture."""

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
    def from_json(cls, node: Node, kernel: str, machine: Machine) -> CoefficientFile:
        """Read what :meth:`to_json` returned for *kernel*; errors name the place in *node*."""
        return cls(
            kernel=kernel,
            parameters=node["parameters"].texts(),
            machine=machine,
            architectures={name: _entry(entry) for name, entry in node["architectures"].items()},
        )

    @classmethod
    def from_document(cls, node: Node) -> CoefficientFile:
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


def machine_of(node: Node) -> Machine:
    """Return the machine of a file with the content *node*; refuse other schema versions."""
    version = node["schema_version"]
    if version.integer() != SCHEMA_VERSION:
        newer = version.integer() > SCHEMA_VERSION
        hint = "a newer tasksim wrote the file: update this one" if newer else "calibrate again"
        raise version.error(f"expected {SCHEMA_VERSION}, got {version.value}; {hint}")
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
        by_size = by_size or model.names_ == (SIZE,)
        if not model.needs_fit or model.names_ == (SIZE,):
            continue
        if names is not None and sorted(model.names_) != sorted(names):
            raise InputError(
                f"{where}: the model for architecture '{architecture}' has the parameters "
                f"({', '.join(model.names_)}), others have ({', '.join(names)}){advice}"
            )
        names = names if names is not None else model.names_
    return names or ((SIZE,) if by_size else ())


def _entry_data(entry: Entry) -> dict[str, Any]:
    model = entry.model.to_json()
    model.pop("report", None)
    # The report is split: counts go to "samples", the rest to "fit".
    report = entry.model.report()
    fit = {key: v for key, v in report.items() if key not in ("kind", *REPORT_COUNTS.values())}
    measured = entry.measured
    stopped = dict(sorted(measured.stopped.items()))
    locality = {} if entry.locality is None else {"locality": entry.locality.to_json()}
    lock = {} if entry.lock_free is None else {"lock_free": entry.lock_free}
    return {
        "model": model,
        **locality,
        **({} if entry.contention is None else {"contention": entry.contention.to_json()}),
        **({} if entry.energy is None else {"energy": entry.energy.to_json()}),
        **lock,
        **({} if entry.runs is None else {"run_to_run": entry.runs.to_json()}),
        "samples": {name: report[key] for name, key in REPORT_COUNTS.items()},
        "fit": fit,
        "measured": {
            "when": measured.when,
            "how": measured.how,
            **({} if measured.clock == WALL else {"clock": measured.clock}),
            "stopped": stopped,
        },
    }


def _entry(node: Node) -> Entry:
    counts = {key: node["samples"][name].integer() for name, key in REPORT_COUNTS.items()}
    model = node["model"]
    report = {"kind": model["kind"].text(), **counts, **node["fit"].mapping()}
    with_report = Node({**model.mapping(), "report": report}, model.path)
    locality = _locality(node["locality"]) if "locality" in node.mapping() else None
    lock_free = _share(node["lock_free"]) if "lock_free" in node.mapping() else None
    runs = None
    if "run_to_run" in node.mapping():
        from tasksim.models.uncertainty.runeffects import RunEffect

        runs = RunEffect.from_json(node["run_to_run"])
    beside = _contention(node["contention"]) if "contention" in node.mapping() else None
    energy = from_json(node["energy"]) if "energy" in node.mapping() else None
    measured = _measured(node["measured"])
    return Entry(from_json(with_report), measured, locality, lock_free, runs, beside, energy)


def _share(node: Node) -> float:
    share = node.number()
    if not 0 <= share <= 1:
        raise node.expected("a share, from 0 to 1")
    return share


def _locality(node: Node) -> Locality:
    try:
        return Locality.from_json(node.mapping())
    except InputError as error:
        raise node.error(str(error).removeprefix("locality: ")) from error


def _contention(node: Node) -> Contention:
    from tasksim.models.contention import Contention

    try:
        return Contention.from_json(node.mapping())
    except InputError as error:
        raise node.error(str(error).removeprefix("contention: ")) from error


def _measured(node: Node) -> Measured:
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
