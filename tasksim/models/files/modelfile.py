"""Model files: the models of several kernels of one machine, in one file.

A set of models that belong together, such as those that are specific to one kind of input, or
general over all, is one file to name, to send and to compare::

    {
      "schema_version": 1,
      "machine": {"name": "laptop", "fingerprint": {"processor": "..."}},
      "kernels": {
        "gemm": {"parameters": ["m", "n", "k"], "architectures": {"cpu": {...}}},
        "trsm": {...}
      }
    }

Each kernel has what its coefficient file has (:mod:`tasksim.models.files.coefficients`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.base.files import read_text, write_text
from tasksim.models.files.coefficients import (
    CoefficientFile,
    Machine,
    common_parameters,
    document_text,
    machine_of,
    read_document,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tasksim.models.document import Node
    from tasksim.models.files.coefficients import Entry

__all__ = ["ModelFile", "common_machine", "load_file", "save_models"]


@dataclass(frozen=True)
class ModelFile:
    """What a model file says: the models of several kernels on one machine, by kernel."""

    machine: Machine
    kernels: Mapping[str, CoefficientFile]

    def text(self) -> str:
        """Return the text of the file, the kernels in order of their names."""
        found = {name: file.to_json() for name, file in sorted(self.kernels.items())}
        return document_text(self.machine, {"kernels": found})

    @classmethod
    def from_text(cls, text: str, where: str = "model file") -> ModelFile:
        """Return what *text* says; *where* is what messages call it.

        Raises
        ------
        InputError
            ``where:line:column: what is wrong, what was got, what is legal``.
        """
        return read_document(text, where, cls.from_document)

    @classmethod
    def from_document(cls, node: Node) -> ModelFile:
        """Return what a model file says whose whole content is *node*."""
        machine = machine_of(node)
        kernels = {
            name: CoefficientFile.from_json(entry, name, machine)
            for name, entry in node["kernels"].items()
        }
        return cls(machine, kernels)


def load_file(path: Path) -> CoefficientFile | ModelFile:
    """Return what the file at *path* says, of one kernel or of several.

    Raises
    ------
    InputError
        ``file:line:column: what is wrong, what was got, what is legal``.
    """
    return read_document(read_text(path), str(path), _either)


def save_models(
    path: Path, kernels: Mapping[str, Mapping[str, Entry]], *, machine: Machine
) -> Path:
    """Write the models of several kernels to one file, all or nothing; what was there is replaced.

    Parameters
    ----------
    path
        The file, ``general.json``.
    kernels
        Kernel -> architecture -> its fitted model, and how it was measured.
    machine
        Where.

    Returns
    -------
    Path
        *path*.

    Raises
    ------
    InputError
        If the models of one kernel have different parameters, or *path* does not end in
        ``.json``, which is how such files are told from names.
    OutputError
        Where the operating system refuses.
    """
    if path.suffix != ".json":
        raise InputError(f"{path}: kernel models are in .json files; got '{path.suffix}'")
    files = {
        kernel: CoefficientFile(
            kernel, common_parameters(entries, f"{path}: kernel {kernel}"), machine, entries
        )
        for kernel, entries in kernels.items()
    }
    write_text(path, ModelFile(machine, files).text())
    return path


def common_machine(files: Sequence[CoefficientFile]) -> tuple[Machine, tuple[str, ...]]:
    """Return the machine of all *files*, and in what their fingerprints differ, which it has not.

    What only some of the fingerprints have is kept.

    Raises :exc:`InputError` if the files are of machines with different names, or there are none.
    """
    if not files:
        raise InputError("no coefficient files, no machine")
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


def _either(node: Node) -> CoefficientFile | ModelFile:
    several = "kernels" in node.mapping()
    return ModelFile.from_document(node) if several else CoefficientFile.from_document(node)
