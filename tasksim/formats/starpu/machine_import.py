"""Import of a machine calibrated by StarPU, as a platform file and coefficient files."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.arguments import flag, path_of
from tasksim.base.errors import InputError, option
from tasksim.base.files import new_folder, refuse_existing, refuse_folder, writing
from tasksim.base.lockfile import locked
from tasksim.formats.samples.starpufiles import read_starpu_out
from tasksim.formats.starpu.bus import (
    read_affinity,
    read_bandwidth,
    read_config,
    read_latency,
    read_platform_xml,
)
from tasksim.formats.starpu.codelet_file import (
    ENERGY_SUFFIX,
    VERSIONS,
    Codelet,
    energy_of,
    read_codelet,
    to_joules,
)
from tasksim.formats.starpu.codelet_models import to_models
from tasksim.formats.starpu.machine_fields import Bus, MachineFields, machine_fields
from tasksim.formats.starpu.sampling import Sampling
from tasksim.models.files.store import Entry, Machine, Measured, save_kernel
from tasksim.platform.load import dump

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples
    from tasksim.platform.description import Platform

__all__ = ["SYNCHRONOUS_KERNELS", "Imported", "import_machine"]

SYNCHRONOUS_KERNELS: Final = (
    "*potrf*",
    "*getrf*",
    "chol_model_11*",
    "starpu_[cdsz]lu_lu_model_11*",
)
"""Patterns of kernels whose GPU implementations in StarPU's examples are synchronous: potrf and
getrf, called 11 before 1.4."""
_COMMENT: Final = """\
Imported from StarPU's files of the machine {host} by `tasksim import starpu`.
Overheads, allocation and copying are the constants of StarPU-SimGrid.{synchronous}"""
_SYNCHRONOUS_COMMENT: Final = """
synchronous: in StarPU's examples potrf and getrf have no asynchronous GPU implementation; the
driver waits for them. Change the list if yours have."""


@dataclass(frozen=True)
class Imported:
    """Result of an import, with the files written."""

    host: str
    platform: Platform
    summary: str
    """Hardware, in one line."""
    platform_path: Path
    models_folder: Path
    kernels: Mapping[str, tuple[str, ...]]
    """Performance model -> its architectures."""
    skipped: tuple[str, ...]
    """Problems of the files that were skipped."""
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "host": self.host,
            "summary": self.summary,
            "platform": str(self.platform_path),
            "models": str(self.models_folder),
            "workers": {group.models: len(group.workers) for group in self.platform.classes},
            "memories": {memory.name: memory.size_bytes for memory in self.platform.memories},
            "links": len(self.platform.links),
            "routes": len(self.platform.routes),
            "kernels": {name: list(found) for name, found in self.kernels.items()},
            "skipped": list(self.skipped),
            "notes": list(self.notes),
        }


def import_machine(
    sampling: str | Path,
    host: str | None,
    library: str | Path,
    *,
    skip_bad: bool = False,
    force: bool = False,
) -> Imported:
    """Write the platform and the kernel models of a machine that StarPU calibrated.

    Parameters
    ----------
    sampling : str or Path
        A sampling directory, or a folder around or inside it, such as ``~/.starpu``.
    host : str or None
        Name of the machine in it; None for the only one.
    library : str or Path
        Folder that gets ``platforms/HOST.yaml`` and ``models/HOST/``: both, or nothing.
    skip_bad : bool, default False
        Whether to skip malformed files, if a platform can be made without them.
    force : bool, default False
        Whether to replace existing files.

    Returns
    -------
    Imported
        The hardware and the models, the skipped files, and notes.

    Raises
    ------
    InputError
        If there is no such directory or machine, or files are malformed: all of them, each with
        ``file:line:column: expected ..., found ...``.
    OutputError
        If the operating system refuses.

    See Also
    --------
    export_models : The inverse.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     (folder / "bus").mkdir()
    ...     xml = "<platform version='4'><host id='CPU0'/><host id='RAM'/></platform>"
    ...     _ = (folder / "bus" / "laptop.platform.v4.xml").write_text(xml)
    ...     import_machine(folder, "laptop", folder / "library").summary
    '1 CPU'
    """
    sampling, library = path_of(sampling, "sampling"), path_of(library, "library")
    flag(skip_bad, "skip_bad")
    flag(force, "force")
    found = Sampling.find(sampling)
    host = found.host(host)
    platform_path, models = library / "platforms" / f"{host}.yaml", library / "models" / host
    refuse_existing(platform_path, force=force)
    mark = next((path.name for path in models.glob("*.json")), "*.json")
    refuse_folder(models, force=force, what="a folder of coefficient files", mark=mark)
    reader = _Reader()
    bus, kernels = _read_bus(found, host, reader), _read_codelets(found, host, reader)
    if reader.problems and not skip_bad:
        way_out = f"{option('skip_bad', 'True')} imports the machine without malformed files"
        raise InputError("\n".join([*reader.problems, way_out]))
    hardware = machine_fields(bus, f"{found.folder / 'bus'}/{host}")
    with (  # both are complete before either has its name
        locked(models),  # platform and models are of one import
        writing(platform_path) as path,
        new_folder(models, force=force) as folder,
    ):
        for name, kernel in kernels.items():
            _write_kernel(folder, name, kernel, host)
        platform = _write_platform(path, host, hardware, bus, kernels)
    return Imported(
        host,
        replace(platform, path=platform_path),
        hardware.summary(),
        platform_path,
        models,
        {name: kernel.architectures() for name, kernel in kernels.items() if kernel.models},
        tuple(reader.problems),
        (*_notes(hardware, kernels), *found.unread(host)),
    )


@dataclass
class _Kernel:
    """Models of one codelet file."""

    path: Path
    models: Mapping[str, KernelModel]
    notes: list[str] = field(default_factory=list)
    energies: Mapping[str, KernelModel] = field(default_factory=dict)
    """Models of the energy of an execution, in joules, by architecture."""

    def architectures(self) -> tuple[str, ...]:
        """Return the architectures with models: cpu, cuda0, ..., cuda9, cuda10, ..."""
        return tuple(sorted(self.models, key=lambda a: (a.rstrip("0123456789"), len(a), a)))

    def remarks(self) -> Iterator[str]:
        """Yield the notes, each once with all its architectures."""
        told: dict[str, list[str]] = {}
        for note in self.notes:
            architecture, colon, text = note.partition(": ")
            known = colon and architecture in self.models
            told.setdefault(text if known else note, []).extend([architecture] if known else [])
        for text, architectures in told.items():
            yield f"on {', '.join(architectures)}: {text}" if architectures else text


@dataclass
class _Reader:
    """Reader of files, which collects their problems."""

    problems: list[str] = field(default_factory=list)

    def read(self, read: Callable[[Path], Any], path: Path | None) -> Any:
        """Return the result of *read*, or None if the file is missing or malformed."""
        if path is None:
            return None
        try:
            return read(path)
        except InputError as error:
            self.problems.append(str(error))
            return None


def _read_bus(sampling: Sampling, host: str, reader: _Reader) -> Bus:
    paths = sampling.bus(host)
    xml = paths.get(".platform.v4.xml", paths.get(".platform.xml"))
    return Bus(
        reader.read(read_platform_xml, xml),
        reader.read(read_config, paths.get(".config")),
        reader.read(read_bandwidth, paths.get(".bandwidth")),
        reader.read(read_latency, paths.get(".latency")),
        reader.read(read_affinity, paths.get(".affinity")) or (),
    )


def _read_codelets(sampling: Sampling, host: str, reader: _Reader) -> dict[str, _Kernel]:
    """Return the kernels of *host*; those without any model have none."""

    def read(path: Path) -> _Kernel:
        codelet = read_codelet(path)
        samples = _samples(sampling, codelet, reader)
        models, notes = to_models(codelet, samples)
        unused = [] if samples is None else samples.unused
        left_out = [f"{one.name} of its samples are left out: {one.why}" for one in unused]
        return _Kernel(path, models, [*notes, *left_out])

    found, paths = {}, sampling.codelets(host)
    for name, path in paths.items():
        kernel = None if energy_of(name, paths) else reader.read(read, path)
        if kernel is not None:
            found[name] = kernel
    for name, path in paths.items():
        if kernel := found.get(energy_of(name, paths) or ""):
            reader.read(partial(_read_energy, kernel), path)
    return found


def _read_energy(kernel: _Kernel, path: Path) -> None:
    """Add the energy models in the file at *path* to *kernel*."""
    models, notes = to_models(to_joules(read_codelet(path)))
    kernel.energies = {name: model for name, model in models.items() if name in kernel.models}
    alone = [name for name in models if name not in kernel.models]
    kernel.notes += [f"energy, {note}" for note in notes]
    kernel.notes += [
        f"energy on {name} is left out: no durations there are known" for name in alone
    ]


def _samples(sampling: Sampling, codelet: Codelet, reader: _Reader) -> Samples | None:
    """Return the samples of a multiple regression, if they exist."""
    path = sampling.samples(codelet.symbol)
    regressions = any(i.type == "mlr" for c in codelet.combinations for i in c.implementations)
    return reader.read(read_starpu_out, path) if regressions else None


def _write_kernel(folder: Path, name: str, kernel: _Kernel, host: str) -> None:
    if not kernel.models:
        return
    changed = datetime.datetime.fromtimestamp(kernel.path.stat().st_mtime, datetime.UTC)
    place = f"codelets/{kernel.path.parent.name}/{kernel.path.name}"
    how = f"by StarPU, {place}; the date is that of the file"
    measured = Measured(changed.date().isoformat(), how)
    entries = {
        architecture: Entry(model, measured, energy=kernel.energies.get(architecture))
        for architecture, model in kernel.models.items()
    }
    save_kernel(folder, name, entries, machine=Machine(host))


def _write_platform(
    path: Path, host: str, hardware: MachineFields, bus: Bus, kernels: Mapping[str, _Kernel]
) -> Platform:
    synchronous = [
        name
        for name, kernel in kernels.items()
        if any(fnmatch(name, pattern) for pattern in SYNCHRONOUS_KERNELS)
        and any(architecture.startswith("cuda") for architecture in kernel.models)
    ]
    description = {
        "name": host,
        "description": f"{hardware.summary()}, calibrated by StarPU",
        "models": f"../models/{host}",
        **hardware.description(synchronous),
        **(_power(hardware) if any(kernel.energies for kernel in kernels.values()) else {}),
        "fingerprint": _fingerprint(hardware, bus),
    }
    told = _SYNCHRONOUS_COMMENT if synchronous and hardware.gpus else ""
    return dump(description, path, comment=_COMMENT.format(host=host, synchronous=told))


def _power(hardware: MachineFields) -> dict[str, Any]:
    """Return the section ``power:`` of a machine with energy models and no other data.

    StarPU adds up the joules of tasks and ``STARPU_IDLE_POWER``, which is in no file.
    """
    drawn = {"idle": "0 W", "busy": "0 W"}
    names = ["cuda", "cpu"] if hardware.gpus else ["cpu"]
    return {"power": {"static": "0 W", "arch": {name: dict(drawn) for name in names}}}


def _fingerprint(hardware: MachineFields, bus: Bus) -> dict[str, Any]:
    """Return facts in the files that a platform has no field for."""
    near = {
        f"gpu{affinity.device}": list(affinity.nearest)
        for affinity in bus.affinity[: len(hardware.gpus)]
    }
    models = [gpu.properties.get("model", "") for gpu in hardware.gpus]
    facts = {"cpus": hardware.cpus, "gpus": models if any(models) else [], "nearest": near}
    return {name: fact for name, fact in facts.items() if fact}


def _notes(hardware: MachineFields, kernels: Mapping[str, _Kernel]) -> Iterator[str]:
    yield from hardware.notes
    if not kernels:
        yield f"no performance models in {' or '.join(f'codelets/{v}' for v in VERSIONS)}"
    energies = [name for name, kernel in kernels.items() if kernel.energies]
    if energies:
        yield (
            f"the energy of {len(energies)} of {len(kernels)} kernels is known; set power.static"
            " to the value of STARPU_IDLE_POWER"
        )
    for name in kernels:
        if name.endswith(ENERGY_SUFFIX):
            yield f"{name}: read as durations, as there is no {name.removesuffix(ENERGY_SUFFIX)}"
    for name, kernel in kernels.items():
        for text in kernel.remarks():
            yield f"{name} {text}" if text.startswith("on ") else f"{name}: {text}"
        if not kernel.models:
            yield f"{name}: no model can be made of it; no file is written"
