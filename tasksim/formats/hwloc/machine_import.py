"""Import of a machine that hwloc describes, as a platform file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.arguments import flag, path_of
from tasksim.base.errors import InputError, expect
from tasksim.base.files import refuse_existing
from tasksim.formats.registry import Format

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.hwloc.machine_fields import MachineFields
    from tasksim.platform.description import Platform

__all__ = ["HWLOC", "ImportedMachine", "import_hwloc", "read_platform_xml"]

_COMMENT: Final = """\
Imported from hwloc's file {file} by `tasksim import hwloc`.
hwloc knows no costs of a runtime, and no durations: overheads are 0."""


@dataclass(frozen=True)
class ImportedMachine:
    """Result of an import: the platform, the file written and what was left out."""

    name: str
    platform: Platform
    summary: str
    """Hardware, in one line."""
    path: Path
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        platform = self.platform
        counts = dict.fromkeys(platform.architectures, 0)
        for worker in platform.workers:
            counts[worker.architecture] += 1
        return {
            "name": self.name,
            "summary": self.summary,
            "platform": str(self.path),
            "workers": counts,
            "memories": {memory.name: memory.size_bytes for memory in platform.memories},
            "memory_domains": {it.name: len(it.workers) for it in platform.memory_domains},
            "memory_hierarchy": {
                level.name: {"size_bytes": level.size_bytes, "cores": level.cores}
                for level in platform.memory_hierarchy
            },
            "links": len(platform.links),
            "routes": len(platform.routes),
            "notes": list(self.notes),
        }


def import_hwloc(
    path: str | Path,
    library: str | Path,
    name: str | None = None,
    *,
    hyper_threads: bool = False,
    force: bool = False,
) -> ImportedMachine:
    """Write the platform of a machine that hwloc describes.

    Parameters
    ----------
    path : str or Path
        A file that ``lstopo --of xml`` wrote, of version 1, 2 or 3.
    library : str or Path
        Folder that gets ``platforms/NAME.yaml``.
    name : str, optional
        Name of the machine; default: that of the file.
    hyper_threads : bool, default False
        Whether each hyper-thread is a worker; else each core is one.
    force : bool, default False
        Replace existing files.

    Returns
    -------
    ImportedMachine
        The hardware, and notes on everything that a platform has no place for.

    Raises
    ------
    InputError
        If the file is missing or malformed: ``file:line:column: expected ..., found ...``.
    OutputError
        If the operating system refuses.

    See Also
    --------
    import_machine : A platform and models from measurements of StarPU.
    load_platform : Read such a file directly, without a library.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> pu = "<object type='PU' os_index='0' cpuset='0x1'/>"
    >>> xml = f"<topology><object type='Machine' cpuset='0x1'>{pu}</object></topology>"
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "one.xml").write_text(xml)
    ...     import_hwloc(Path(folder, "one.xml"), folder).platform.summary()
    'one: 1 cpu; 1 memory: ram; no overheads'
    """
    from tasksim.platform.load import dump

    source, folder = path_of(path, "path"), path_of(library, "library")
    if name is not None:
        expect(name, str, "name")
    flag(hyper_threads, "hyper_threads")
    flag(force, "force")
    called = machine_name(source.stem if name is None else name, given=name is not None)
    target = folder / "platforms" / f"{called}.yaml"
    refuse_existing(target, force=force)
    found = _fields(source, hyper_threads=hyper_threads)
    comment = _COMMENT.format(file=source.name)
    platform = dump(_description(called, found), target, comment=comment)
    return ImportedMachine(called, platform, found.summary(), target, tuple(found.notes))


def read_platform_xml(path: Path) -> Platform:
    """Return the platform in hwloc's XML file at *path*, with a worker per core."""
    from tasksim.platform.load import described

    found = _fields(path, hyper_threads=False)
    return described(_description(machine_name(path.stem, given=False), found), path)


def machine_name(text: str, *, given: bool) -> str:
    """Return the name of a machine: the *given* text, or that of a file without illegal characters.

    >>> machine_name("24em64t-2n6c2t+pci", given=False)
    '24em64t-2n6c2t-pci'
    """
    legal = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text) is not None
    if given and not legal:
        raise InputError(
            f"name: got {text!r}; legal: letters, digits and . _ -, starting with a letter or digit"
        )
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")
    return text if legal else plain or "machine"


def _fields(path: Path, *, hyper_threads: bool) -> MachineFields:
    from tasksim.formats.hwloc.machine_fields import machine_fields
    from tasksim.formats.hwloc.topology import read_topology

    return machine_fields(read_topology(path), hyper_threads=hyper_threads)


def _description(name: str, found: MachineFields) -> dict[str, Any]:
    return {"name": name, "description": f"{found.summary()}; by hwloc", **found.fields}


HWLOC: Final = Format(
    summary="A machine as hwloc describes it: lstopo --of xml.",
    suffixes=(".xml",),
    recognises=lambda path, head: b"<topology" in head,  # noqa: ARG005
    reads_platform=read_platform_xml,
)
