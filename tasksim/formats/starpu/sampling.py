"""Sampling directory of StarPU's measurements: its machines and codelets, and exports to it.

``.starpu/sampling`` in the home directory, or the directory ``STARPU_PERF_MODEL_DIR``, has::

    bus/HOST.config, .bandwidth, .latency, .affinity, .platform.v4.xml
    codelets/45/MODEL.HOST
    codelets/tmp/MODEL.out
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.arguments import flag, path_of
from tasksim.base.errors import InputError, option, unknown
from tasksim.base.files import exists, refuse_existing
from tasksim.formats.starpu.codelet_file import ENERGY_SUFFIX, VERSIONS, from_joules, write_codelet
from tasksim.formats.starpu.codelet_models import from_models
from tasksim.models.files.store import ModelLibrary
from tasksim.models.modelnames import model_names_of, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tasksim.formats.starpu.codelet_file import Codelet
    from tasksim.models.files.store import CoefficientFile

__all__ = [
    "BUS_SUFFIXES",
    "CODELETS_FOLDER",
    "Exported",
    "Sampling",
    "destination",
    "export_models",
]


@dataclass(frozen=True)
class Exported:
    """Result of an export."""

    host: str
    paths: tuple[Path, ...]
    notes: tuple[str, ...]
    """Notes on facts that StarPU's files cannot hold."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "host": self.host,
            "files": [str(path) for path in self.paths],
            "notes": list(self.notes),
        }


def export_models(
    models: str | Path,
    host: str,
    sampling: str | Path,
    *,
    names: str | Path | Mapping[str, str] = "{kernel}",
    force: bool = False,
) -> Exported:
    """Write the kernel models in a folder as codelet files of StarPU.

    Parameters
    ----------
    models : str or Path
        A folder of coefficient files.
    host : str
        StarPU's name of the machine: its host name, up to the first dot.
    sampling : str or Path
        The sampling directory; it need not exist.
    names : str, Path or mapping, default "{kernel}"
        Names of the performance models, as ``model_names`` of scenarios: a pattern
        (``"chol_model_{kernel}"``), kernel -> name, or a YAML file of such a mapping.
    force : bool, default False
        Replace files that exist.

    Returns
    -------
    Exported
        The files, and notes on facts that they lose.

    Raises
    ------
    InputError
        If files exist, or models cannot be expressed in StarPU: all of them at once, and nothing is
        written.
    OutputError
        If the operating system refuses.

    See Also
    --------
    import_machine : The inverse.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tasksim.base.library import find
    >>> with TemporaryDirectory() as folder:
    ...     made = export_models(find("models", "xeon-2c"), "laptop", folder)
    >>> made.host, made.paths[0].name
    ('laptop', 'L2L.laptop')
    """
    sampling = path_of(sampling, "sampling")
    flag(force, "force")
    if not host or any(c in host for c in "./\\\0 \n"):
        raise InputError(f"host '{host}': legal: names without dots, '/' or spaces, as StarPU's")
    library = ModelLibrary(models)
    if not library.kernels():
        raise InputError(f"{models}: no coefficient files in this folder, nothing to export")
    files = [library.file(kernel) for kernel in library.kernels()]
    codelets = _codelets(files, host, _symbols(library.kernels(), names))
    folder = destination(sampling) / CODELETS_FOLDER
    paths = tuple(folder / f"{codelet.symbol}.{host}" for codelet in codelets)
    for path in paths:
        refuse_existing(path, force=force)
    for path, codelet in zip(paths, codelets, strict=True):
        write_codelet(codelet, path)
    lost = {
        file.kernel: [
            name for name, entry in file.architectures.items() if entry.locality is not None
        ]
        for file in files
    }
    notes = (
        f"{kernel}: StarPU does not know what far data cost ({', '.join(names)})"
        for kernel, names in lost.items()
        if names
    )
    return Exported(host, paths, tuple(notes))


def _symbols(kernels: Sequence[str], names: Any) -> dict[str, str]:
    """Return StarPU's name of each kernel's model: distinct, and legal for files."""
    given = model_names_of(names)
    if given is None:
        raise InputError(f"{option('model_names')}: got None; legal: a pattern, names or a file")
    symbols = dict(
        zip(kernels, named(given, dict(zip(kernels, kernels, strict=True))), strict=True)
    )
    for kernel, symbol in symbols.items():
        if any(c in symbol for c in "/\\\0\n."):
            raise InputError(
                f"{option('model_names')}: got '{symbol}' for {kernel}; legal: names without dots "
                "or '/'"
            )
        if (same := [k for k in kernels if symbols[k] == symbol]) != [kernel]:
            raise InputError(
                f"{option('model_names')}: {' and '.join(same)} are both called '{symbol}', but"
                " StarPU has one file per name"
            )
    return symbols


def _codelets(files: list[CoefficientFile], host: str, symbols: Mapping[str, str]) -> list[Codelet]:
    """Return the codelets of all *files*; the error names all that cannot be converted."""
    found, problems = [], []
    for file in files:
        models = {name: entry.model for name, entry in file.architectures.items()}
        symbol = symbols[file.kernel]
        energies = {name: e.energy for name, e in file.architectures.items() if e.energy}
        try:
            found.append(from_models(symbol, models, host=host, kernel=file.kernel))
            if energies:
                energy = from_models(
                    symbol + ENERGY_SUFFIX, energies, host=host, kernel=file.kernel
                )
                found.append(from_joules(energy))
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    return found


CODELETS_FOLDER: Final = "codelets/45"
"""Folder of StarPU's codelet files, by their version."""
TEMPORARY_FOLDER: Final = "tmp"
"""Folder of the samples of multiple regressions, the same for all versions."""
BUS_SUFFIXES: Final = (
    ".platform.v4.xml",
    ".platform.xml",
    ".config",
    ".bandwidth",
    ".latency",
    ".affinity",
)


@dataclass(frozen=True)
class Sampling:
    """A sampling directory."""

    folder: Path

    @classmethod
    def find(cls, place: Path) -> Sampling:
        """Return the sampling directory at, above or below *place*.

        Raises
        ------
        InputError
            If there is none.
        """
        if not exists(place):
            raise InputError(
                f"{place}: no such folder; StarPU writes it when a program runs with "
                "STARPU_CALIBRATE=1, and brings measurements of other machines in "
                "share/starpu/perfmodels/sampling"
            )
        here = place.absolute()
        for folder in (
            here, here / "sampling", here / ".starpu" / "sampling", *list(here.parents)[:3]
        ):  # fmt: skip
            if (folder / "bus").is_dir():
                return cls(folder)
        raise InputError(
            f"{place}: no sampling directory of StarPU: expected a folder with bus/ and codelets/, "
            "such as ~/.starpu/sampling"
        )

    def hosts(self) -> tuple[str, ...]:
        """Return the machines that have files in ``bus/``, in order of their names."""
        names = sorted(path.name for path in (self.folder / "bus").iterdir())
        found = [
            name.removesuffix(suffix)
            for name in names
            for suffix in BUS_SUFFIXES
            if name.endswith(suffix)
        ]
        return tuple(dict.fromkeys(host for host in found if not host.startswith(".")))

    def host(self, name: str | None) -> str:
        """Return *name*, which must be a machine of the directory; None for the only one."""
        hosts = self.hosts()
        if name is None and len(hosts) == 1:
            return hosts[0]
        if name is None:
            known = f"choose one: {', '.join(hosts)}" if hosts else "no files of any machine"
            raise InputError(f"{self.folder} has {len(hosts)} machines; {known}")
        if name not in hosts:
            raise unknown("machine", name, hosts, where=str(self.folder))
        return name

    def bus(self, host: str) -> dict[str, Path]:
        """Return the files in ``bus/`` of *host*, by suffix."""
        paths = {suffix: self.folder / "bus" / f"{host}{suffix}" for suffix in BUS_SUFFIXES}
        return {suffix: path for suffix, path in paths.items() if path.is_file()}

    def codelets(self, host: str) -> dict[str, Path]:
        """Return the codelet files of *host*, by the name of the performance model.

        If several versions of StarPU have measured a model, the newest counts.
        """
        found: dict[str, Path] = {}
        for version in VERSIONS:
            for name, path in self._of_host(self.folder / "codelets" / str(version), host):
                found.setdefault(name, path)
        return dict(sorted(found.items()))

    def unread(self, host: str) -> Iterator[str]:
        """Yield notes on files of *host* that are not read."""
        read = self.codelets(host)
        folders = self.folder / "codelets"
        for folder in sorted(folders.iterdir()) if folders.is_dir() else []:
            files = [(n, p) for n, p in self._of_host(folder, host) if read.get(n) != p]
            names = ", ".join(name for name, _ in files)
            where = f"codelets/{folder.name}"
            if not files:
                continue
            if folder.name in map(str, VERSIONS):
                yield f"{where} is older, and not read where a newer one exists: {names}"
            elif folder.name != TEMPORARY_FOLDER:
                legal = " and ".join(map(str, VERSIONS))
                yield f"{where} is not read, only versions {legal} are: {names}"
        known = {f"{host}{suffix}" for suffix in BUS_SUFFIXES}
        others = [
            path.name
            for path in sorted((self.folder / "bus").iterdir())
            if path.name.startswith(f"{host}.") and path.name not in known
        ]
        if others:
            yield f"not read in bus/: {', '.join(others)}"

    @staticmethod
    def _of_host(folder: Path, host: str) -> Iterator[tuple[str, Path]]:
        """Yield the name and the file of each model of *host* in a *folder*."""
        suffix = f".{host}"
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            if path.name.endswith(suffix) and path.name != suffix and path.is_file():
                yield path.name.removesuffix(suffix), path

    def samples(self, model: str) -> Path | None:
        """Return the file of samples of a multiple regression, whose name has no host."""
        path = self.folder / "codelets" / TEMPORARY_FOLDER / f"{model}.out"
        return path if path.is_file() else None


def destination(place: Path) -> Path:
    """Return the sampling directory at *place*, or *place* itself if it has none yet."""
    inside = (place / "sampling", place / ".starpu" / "sampling")
    return next((folder for folder in inside if folder.is_dir()), place)
