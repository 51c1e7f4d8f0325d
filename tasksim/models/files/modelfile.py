"""Model files: the models of several kernels of one machine, in one file.

A set of related models, such as those for one kind of input or
those for all inputs, can be named, sent and compared as one file::

    {
      "schema_version": 1,
      "machine": {"name": "laptop", "fingerprint": {"processor": "..."}},
      "kernels": {
        "gemm": {"parameters": ["m", "n", "k"], "architectures": {"cpu": {...}}},
        "trsm": {...}
      }
    }

The entry of a kernel has the layout of its coefficient file
(:mod:`tasksim.models.files.coefficients`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tasksim.base.arguments import path_of, short
from tasksim.base.documents.json_document import read_document
from tasksim.base.errors import InputError, expect
from tasksim.base.files import read_text, write_text
from tasksim.models.files.coefficients import (
    CoefficientFile,
    Entry,
    Machine,
    Measured,
    common_parameters,
    document_text,
    machine_of,
)
from tasksim.models.kernelmodel import KernelModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tasksim.base.documents.json_document import Node

__all__ = ["ModelFile", "common_machine", "load_file", "save_models"]


@dataclass(frozen=True)
class ModelFile:
    """The content of a model file: the models of several kernels on one machine, by kernel."""

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
    def from_document(cls, node: Node) -> ModelFile:
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


def _either(node: Node) -> CoefficientFile | ModelFile:
    several = "kernels" in node.mapping()
    return ModelFile.from_document(node) if several else CoefficientFile.from_document(node)
