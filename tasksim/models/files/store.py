"""Libraries of coefficient files and model files, and files of samples.

A sample file, ``<kernel>.samples.csv``, has the raw measurements beside a coefficient file. Its
columns are ``run`` (empty if unknown), ``architecture``, one per parameter, constant and counter,
``duration_s``; ``wall_s``, the wall-clock duration, if durations exclude the time taken by
other programs; and the bytes that it accessed, ``data_read_bytes`` and so on, if they are known of
any sample.
"""

from __future__ import annotations

import io
import math
from copy import copy
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.arguments import path_of
from tasksim.base.documents.json_document import position
from tasksim.base.errors import InputError, nearest, shortened_names
from tasksim.base.files import exists, read_text, write_text
from tasksim.base.library import find
from tasksim.base.numerals import plain_float, table_number, whole_number
from tasksim.models.categories import coded_column
from tasksim.models.files.coefficients import (
    CoefficientFile,
    Entry,
    Machine,
    Measured,
    ModelFile,
    common_machine,
    common_parameters,
    load_file,
    save_models,
)
from tasksim.models.fitted import columns
from tasksim.models.rows import plain_number
from tasksim.models.samples import ACCESSED_BYTES, UNKNOWN_RUN, Samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tasksim.base.arrays import Floats
    from tasksim.models.contention import Contention
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.models.uncertainty.runeffects import RunEffect
    from tasksim.models.uncertainty.slowdownlaw import SlowdownLaw

__all__ = [
    "CoefficientFile",
    "Entry",
    "Machine",
    "Measured",
    "ModelFile",
    "ModelLibrary",
    "common_machine",
    "kernel_path",
    "load_file",
    "load_kernel",
    "read_samples",
    "samples_path",
    "save_kernel",
    "save_models",
    "write_samples",
]


SAMPLES_SUFFIX = ".samples.csv"


class ModelLibrary:
    """The kernel models of a machine, in a folder of coefficient files or in one file.

    Files in a folder are read on first use and cached.

    Parameters
    ----------
    path : Path
        A folder with one ``<kernel>.json`` per kernel, such as ``models/<machine>``; a model
        file with several kernels; or the coefficient file of one.

    Raises
    ------
    InputError
        If the path does not exist, or the file cannot be read.

    See Also
    --------
    tasksim.ConstantLibrary : Given durations.

    Examples
    --------
    >>> from tasksim.base.library import find
    >>> library = ModelLibrary(find("models", "xeon-2c"))
    >>> library.model("gemm", "cpu").kind
    'history'
    """

    def __init__(self, path: str | Path) -> None:
        path = find("models", path) if isinstance(path, str) else path_of(path, "models")
        if not exists(path):
            raise InputError(
                f"no folder of coefficient files at {path}, and no file: calibrate this machine"
            )
        self.path = path
        self._of_folder = path.is_dir()
        self._files: dict[str, CoefficientFile] = {}
        if not self._of_folder:
            found = load_file(path)
            files = found.kernels.values() if isinstance(found, ModelFile) else (found,)
            self._files = {file.kernel: _labelled(file) for file in files}

    def with_models(self, models: Mapping[str, Mapping[str, KernelModel]]) -> ModelLibrary:
        """Return a library in which *models* (kernel -> architecture -> model) precede files.

        A kernel in *models* uses no models from files, not even on other architectures.
        """
        result = copy(self)
        result._files = dict(self._files)
        for kernel, by_architecture in models.items():
            given = {name: Entry(m, Measured("", "given")) for name, m in by_architecture.items()}
            result._files[kernel] = _labelled(CoefficientFile(kernel, (), Machine("given"), given))
        return result

    def __repr__(self) -> str:
        return f"<ModelLibrary {self.path}: {', '.join(self.kernels()) or 'no kernels'}>"

    def kernels(self) -> tuple[str, ...]:
        """Return the names of the kernels that have models, sorted."""
        if not self._of_folder:
            return tuple(sorted(self._files))
        paths = self.path.glob("*.json")
        stems = {path.stem for path in paths if not path.name.startswith(".")}
        return tuple(sorted(stems | self._files.keys()))

    def file_of(self, kernel: str) -> Path:
        """Return the file that contains, or would contain, the models of *kernel*."""
        return kernel_path(self.path, kernel) if self._of_folder else self.path

    def file(self, kernel: str) -> CoefficientFile:
        """Return the coefficients of *kernel*; raise :exc:`InputError` if there are none."""
        if kernel not in self._files:
            path = self.file_of(kernel)
            if not self._of_folder or not path.is_file():
                raise self._missing([kernel])
            self._files[kernel] = _labelled(load_kernel(path))
        return self._files[kernel]

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel* for *architecture*.

        Raises
        ------
        InputError
            If the kernel, or its model for the architecture, is missing; the message has the
            expected file, the known names, and the nearest one.
        """
        return self._entry(kernel, architecture).model

    def _entry(self, kernel: str, architecture: str) -> Entry:
        found = self.file(kernel).architectures
        if architecture not in found:
            raise InputError(
                f"no model of kernel '{kernel}' for architecture '{architecture}' in "
                f"{self.file_of(kernel)}{nearest(architecture, found)} "
                f"(known: {', '.join(found) or 'none'})"
            )
        return found[architecture]

    def locality(self, kernel: str, architecture: str) -> Locality | None:
        """Return the cost of far data for *kernel*; None if unknown.

        Raises the errors of :meth:`model`.
        """
        return self._entry(kernel, architecture).locality

    def contention(self, kernel: str, architecture: str) -> Contention | None:
        """Return the slowdown of *kernel* by its neighbours; None if unknown.

        Raises the errors of :meth:`model`.
        """
        return self._entry(kernel, architecture).contention

    def energy(self, kernel: str, architecture: str) -> KernelModel | None:
        """Return the energy of an execution of *kernel*, in joules; None if unknown.

        Raises the errors of :meth:`model`.
        """
        return self._entry(kernel, architecture).energy

    def run_effect(self, kernel: str, architecture: str) -> RunEffect | None:
        """Return the run-to-run variation of *kernel*; None if it was not measured.

        Raises the errors of :meth:`model`.
        """
        return self._entry(kernel, architecture).runs

    def slowdown_law(self) -> SlowdownLaw | None:
        """Return the machine's law of slowdowns; None if the calibration measured none."""
        from tasksim.models.uncertainty.slowdownlaw import (
            SlowdownLaw,
            read_slowdowns,
            slowdown_path,
        )

        rows = read_slowdowns(slowdown_path(self.path)) if self._of_folder else {}
        return SlowdownLaw.of([rows[run] for run in sorted(rows)]) if rows else None

    def require(self, kernels: Iterable[str], architectures: Sequence[str] = ()) -> None:
        """Raise :exc:`InputError` with the names of all *kernels* without models.

        With *architectures*, also for kernels that have no model for any of them.
        """
        wanted = list(dict.fromkeys(kernels))
        known = self.kernels()
        missing = [kernel for kernel in wanted if kernel not in known]
        if missing:
            raise self._missing(missing)
        for kernel in wanted:
            if architectures and not set(architectures) & set(self.file(kernel).architectures):
                self.model(kernel, architectures[0])

    def predict(
        self, kernel: str, architecture: str, names: Sequence[str], table: Floats
    ) -> Floats:
        """Return the expected durations of *kernel*, in seconds.

        *names* are the columns of *table*; the model takes the ones it needs. Rows may have the
        names of categories.
        """
        model = self.model(kernel, architecture)
        return model.predict(columns(model, names, np.asarray(table)))

    def _missing(self, kernels: list[str]) -> InputError:
        known = self.kernels()
        named = ", ".join(f"'{kernel}'" for kernel in kernels)
        expected = f": expected {', '.join(f'{kernel}.json' for kernel in kernels)}"
        return InputError(
            f"no model of kernel{'s' if len(kernels) > 1 else ''} {named} in {self.path}"
            f"{expected if self._of_folder else ''}{nearest(kernels[0], known)} "
            f"(known: {shortened_names(known) or 'none'})"
        )


def save_kernel(
    folder: Path,
    kernel: str,
    architectures: Mapping[str, Entry],
    *,
    machine: Machine,
    samples: Mapping[str, Samples] | None = None,
) -> Path:
    """Write the models of *kernel* to *folder*, and its samples beside them.

    Architectures that are in the existing files but not given are kept.

    Parameters
    ----------
    folder
        The machine's folder of coefficient files, ``models/<machine>``.
    architectures
        Architecture -> its fitted model, and how it was measured.
    machine
        The machine that was measured.
    samples
        Architecture -> all its samples, including earlier ones; they replace those in the file.

    Returns
    -------
    Path
        The coefficient file.

    Raises
    ------
    InputError
        If an existing file cannot be read, or has other parameters.
    OutputError
        If the operating system refuses to write.
    """
    path = kernel_path(folder, kernel)
    from tasksim.base.lockfile import locked

    with locked(path):  # other processes may write other architectures at the same time
        merged = dict(architectures)
        if path.exists():
            merged = {**load_kernel(path).architectures, **merged}
        names = common_parameters(merged, str(path), "; remove the file to begin anew")
        text = CoefficientFile(kernel, names, machine, merged).text()
        if samples is not None:
            beside = samples_path(folder, kernel)
            write_samples(beside, {**(read_samples(beside) if beside.exists() else {}), **samples})
        # Coefficients are written last: if they exist, their samples exist, too.
        write_text(path, text)
    return path


def load_kernel(path: Path) -> CoefficientFile:
    """Read the coefficient file of one kernel at *path*.

    Raises
    ------
    InputError
        ``file:line:column: what is wrong, what was got, what is legal``.
    """
    found = load_file(path)
    if isinstance(found, ModelFile):
        names = ", ".join(found.kernels) or "none"
        raise InputError(
            f"{path}: expected the coefficient file of one kernel, got a model file of several "
            f"({names})"
        )
    if found.kernel != path.stem:
        line, column = position(read_text(path), ("kernel",))
        raise InputError(
            f"{path}:{line}:{column}: kernel: expected '{path.stem}', the name of the file, "
            f"got '{found.kernel}'"
        )
    return found


def kernel_path(folder: Path, kernel: str) -> Path:
    """Return the path of the coefficient file of *kernel* in *folder*."""
    if not kernel or kernel.startswith(".") or any(c in kernel for c in "/\\\0\n"):
        raise InputError(f"kernel {kernel!r}: a name must not contain '/' or begin with '.'")
    return folder / f"{kernel}.json"


def samples_path(folder: Path, kernel: str) -> Path:
    """Return the path of the sample file of *kernel* in *folder*."""
    return kernel_path(folder, kernel).with_name(f"{kernel}{SAMPLES_SUFFIX}")


def _labelled(file: CoefficientFile) -> CoefficientFile:
    for architecture, entry in file.architectures.items():
        entry.model.label = f"{file.kernel} on {architecture}"
    return file


_Row = tuple[int, list[float | str], list[float]]
"""The run, the parameters (of categories their names), and the durations: ``duration_s``,
optionally ``wall_s`` and the bytes that were accessed."""
DURATION_COLUMNS: Final = ("duration_s", "wall_s")


def read_samples(path: Path) -> dict[str, Samples]:
    """Return the samples in the file at *path*, by architecture.

    Raises
    ------
    InputError
        ``file:line: what is wrong``; a last line without a newline is reported as cut off.
    """
    import csv

    text = read_text(path)
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        names, durations = _header(next(lines, []), path)
        columns = ("run", "architecture", *names, *durations)
        rows: dict[str, list[_Row]] = {}
        found = []
        for fields in lines:
            where = f"{path}:{lines.line_num}"
            if len(fields) != len(columns):
                raise InputError(
                    f"{where}: expected {len(columns)} fields ({', '.join(columns)}), "
                    f"got {len(fields)}: '{','.join(fields)[:80]}'"
                )
            if not fields[1]:
                raise InputError(f"{where}: architecture: expected a name, got nothing")
            found.append((fields, where))
        named = _named(names, [fields for fields, _ in found])
        for fields, where in found:
            row = _row(fields, names, durations, where, named)
            rows.setdefault(fields[1], []).append(row)
    except csv.Error as error:
        raise InputError(f"{path}:{lines.line_num}: {error}") from error
    if not text.endswith("\n"):
        raise InputError(
            f"{path}:{lines.line_num}: the last line is cut off: delete it, or restore the file"
        )
    return {
        architecture: _samples(names, durations, mine).with_counters_apart()
        for architecture, mine in rows.items()
    }


def write_samples(path: Path, samples: Mapping[str, Samples]) -> None:
    """Write *samples*, by architecture, to *path* atomically; replace an existing file.

    Raises :exc:`InputError` if they have different parameters, :exc:`OutputError` if the
    operating system refuses to write.
    """
    import csv

    samples = {architecture: _with_all_columns(some) for architecture, some in samples.items()}
    names = _common_names(samples)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    durations = DURATION_COLUMNS[: 1 + any(some.wall_s is not None for some in samples.values())]
    accessed = any(some.accessed_bytes is not None for some in samples.values())
    last = ACCESSED_BYTES if accessed else ()
    writer.writerow(["run", "architecture", *names, *durations, *last])
    for architecture, some in samples.items():
        table = some.parameters[:, [some.names.index(name) for name in names]].tolist()
        runs = [UNKNOWN_RUN] * len(some) if some.runs is None else some.runs.tolist()
        wall_s = some.durations_s if some.wall_s is None else some.wall_s
        times = zip(some.durations_s.tolist(), wall_s.tolist(), strict=True)
        known = [some.categories.get(name) for name in names]
        for index, (run, row, pair) in enumerate(zip(runs, table, times, strict=True)):
            cells = [
                plain_number(value) if of is None else of[int(value)]
                for value, of in zip(row, known, strict=True)
            ]
            run_cell = "" if run < 0 else run
            bytes_: list[float | str] = [""] * len(last)  # empty if they are unknown
            if some.accessed_bytes is not None and not np.isnan(some.accessed_bytes[index, 0]):
                bytes_ = [plain_number(value) for value in some.accessed_bytes[index].tolist()]
            writer.writerow([run_cell, architecture, *cells, *pair[: len(durations)], *bytes_])
    write_text(path, out.getvalue())


def _with_all_columns(samples: Samples) -> Samples:
    """Return the samples with constants and counters as parameters, the columns of a file."""
    count = len(samples)
    further = {name: np.full(count, value) for name, value in (samples.constants or {}).items()}
    further |= {n: c for n, c in (samples.counters or {}).items() if n not in samples.names}
    table = np.column_stack([samples.parameters, *further.values()])
    for name, categories in samples.categories.items():
        for category in categories:
            if table_number(category) is not None:
                raise InputError(
                    f"{name}: the category '{category}' is a number, which a file of samples "
                    "cannot tell from a quantity; legal: names that are no numbers"
                )
    return Samples(
        (*samples.names, *further), table, samples.durations_s, samples.runs,
        wall_s=samples.wall_s, categories=samples.categories, accessed_bytes=samples.accessed_bytes,
    )  # fmt: skip


def _common_names(samples: Mapping[str, Samples]) -> tuple[str, ...]:
    names: tuple[str, ...] | None = None
    for architecture, some in samples.items():
        if names is not None and sorted(some.names) != sorted(names):
            raise InputError(
                f"the samples of architecture '{architecture}' have the parameters "
                f"({', '.join(some.names)}), others have ({', '.join(names)})"
            )
        names = names if names is not None else some.names
    return names or ()


def _header(fields: list[str], path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the parameters, and those of the durations."""
    last = ACCESSED_BYTES if tuple(fields[-len(ACCESSED_BYTES) :]) == ACCESSED_BYTES else ()
    before = fields[: len(fields) - len(last)]
    durations = DURATION_COLUMNS if before[-2:] == list(DURATION_COLUMNS) else DURATION_COLUMNS[:1]
    durations = (*durations, *last)
    names = fields[2 : -len(durations)]
    if fields != ["run", "architecture", *names, *durations]:
        raise InputError(
            f"{path}:1: expected the header 'run,architecture,PARAMETER,...,duration_s', "
            f"got '{','.join(fields)[:80]}'"
        )
    return tuple(names), durations


def _row(
    fields: list[str],
    names: tuple[str, ...],
    durations: tuple[str, ...],
    where: str,
    named: frozenset[str],
) -> _Row:
    """Return the cells of a line; parameters that are *named* hold categories."""
    end = len(fields) - len(durations)
    parameters: list[float | str] = []
    for name, text in zip(names, fields[2:end], strict=True):
        if name not in named:
            parameters.append(_number(text, name, where, least=0.0))
        elif text and table_number(text) is None:
            parameters.append(text)
        else:
            raise InputError(f"{where}: {name}: expected the name of a category, got '{text}'")
    taken = []
    for name, text in zip(durations, fields[end:], strict=True):
        if name not in ACCESSED_BYTES:
            taken.append(_number(text, name, where, least=math.ulp(0.0)))
        else:  # empty if they are unknown
            taken.append(_number(text, name, where, least=0.0) if text else math.nan)
    run = whole_number(fields[0]) if fields[0] else UNKNOWN_RUN
    if run is None or (fields[0] and not 0 <= run < 2**63):
        raise InputError(f"{where}: run: expected a whole number or nothing, got '{fields[0]}'")
    return run, parameters, taken


def _named(names: tuple[str, ...], rows: Sequence[list[str]]) -> frozenset[str]:
    """Return the parameters with categories: those that hold more texts than numbers."""
    found = set()
    for place, name in enumerate(names, 2):
        texts = sum(bool(row[place]) and table_number(row[place]) is None for row in rows)
        if 2 * texts > len(rows):
            found.add(name)
    return frozenset(found)


def _number(text: str, name: str, where: str, least: float) -> float:
    try:
        value = plain_float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= least):
        kind = "not negative" if least == 0 else "larger than 0"
        raise InputError(f"{where}: {name}: expected a finite number, {kind}, got '{text}'")
    return value


def _samples(names: tuple[str, ...], durations: tuple[str, ...], rows: list[_Row]) -> Samples:
    runs, parameters, taken = zip(*rows, strict=True)
    of = dict(zip(durations, zip(*taken, strict=True), strict=True))
    known = any(run != UNKNOWN_RUN for run in runs)
    columns: list[Any] = list(zip(*parameters, strict=True))
    categories = {}
    for place, name in enumerate(names):
        if isinstance(columns[place][0], str):
            columns[place], categories[name] = coded_column(columns[place])
    table = np.column_stack(columns) if names else np.empty((len(rows), 0))
    accessed = None
    if not np.isnan(of.get(ACCESSED_BYTES[0], math.nan)).all():
        accessed = np.column_stack([of[name] for name in ACCESSED_BYTES])
    run: Any = runs if known else None
    return Samples(
        names, table, np.array(of["duration_s"]), run,
        wall_s=np.array(of["wall_s"]) if "wall_s" in of else None,
        categories=categories, accessed_bytes=accessed,
    )  # fmt: skip
