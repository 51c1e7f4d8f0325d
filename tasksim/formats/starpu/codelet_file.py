"""StarPU's measurements of one codelet (``sampling/codelets/VERSION/SYMBOL.HOST``).

Text of version 45, which StarPU writes since 1.3, or 44, that of 1.2, which has no multiple
regressions; lines that begin with ``#`` are comments. Per *combination* of devices and
per *implementation* there: the sums and results of StarPU's regressions, and the history, an
entry per footprint. See StarPU's ``src/core/perfmodel/perfmodel_history.c``.

Numbers stay in StarPU's units here: microseconds, bytes, flop.
:mod:`tasksim.formats.starpu.codelet_models` converts them to kernel models, and back.

Codelets of energy have joules where others have microseconds. Only their name shows it, as StarPU
has one structure for both: it is that of the model of durations with :data:`ENERGY_SUFFIX`, as in
StarPU's own programs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tasksim.base.files import read_text, write_text
from tasksim.formats.starpu.words import Words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from tasksim.formats.starpu.words import Word

__all__ = [
    "DEVICE_TYPES",
    "ENERGY_SUFFIX",
    "VERSIONS",
    "Codelet",
    "Combination",
    "HistoryEntry",
    "Implementation",
    "ModelType",
    "ModelledDevice",
    "Regression",
    "energy_of",
    "from_joules",
    "read_codelet",
    "rounded",
    "to_joules",
    "write_codelet",
]

VERSION: Final = 45
VERSIONS: Final = (45, 44)
"""Supported versions, the newest first. StarPU 1.1 and before write others."""
NO_REGRESSIONS: Final = 44
"""Version of files without multiple regressions."""
SCC_TYPE: Final = 4
"""Type of device that was Intel's single-chip cloud computer in version 44, and is an FPGA now."""

DEVICE_TYPES: Final = {
    0: "cpu",
    1: "cuda",
    2: "opencl",
    3: "mic",
    4: "fpga",
    5: "mpi_sc",
    6: "tcpip_sc",
    7: "hip",
    8: "sycl",
}
"""StarPU's numbers of device types; 3 is no longer used, but occurs in old files."""

_COMMENT: Final = (
    "CPU - 0, CUDA - 1, OpenCL - 2, FPGA - 4, MPI_SC - 5, TCPIP_SC - 6, HIP - 7, SYCL - 8"
)

ModelType = Literal["mlr", "nl", "regression", "history"]


class ModelledDevice(NamedTuple):
    """A device of a combination, with its type (:data:`DEVICE_TYPES`), number, and cores in use."""

    type: int
    devid: int
    ncores: int

    @property
    def name(self) -> str:
        """Name of the architecture in kernel models: ``cpu``, ``cuda0``, ``cuda1``."""
        kind = DEVICE_TYPES[self.type]
        return kind if (self.type, self.devid) == (0, 0) else f"{kind}{self.devid}"


@dataclass(frozen=True)
class HistoryEntry:
    """History of one footprint; times in us, *sum2* in us²."""

    hash: int
    size_bytes: int
    flops: float
    mean_us: float
    deviation_us: float
    sum: float
    sum2: float
    n: int


class Regression(NamedTuple):
    """Regression y = alpha·x^beta with its sums over samples; x is bytes, y a time in us."""

    sum_lnx: float = 0.0
    sum_lnx2: float = 0.0
    sum_lny: float = 0.0
    sum_lnxlny: float = 0.0
    alpha: float = math.nan
    beta: float = math.nan
    n: int = 0
    min_size: int = 0
    max_size: int = 0


@dataclass(frozen=True)
class Implementation:
    """Model of one variant of a codelet on one combination of devices.

    *nonlinear* are a, b, c of y = a·x^b + c. *coefficients* are those of a multiple regression,
    the intercept first, empty without one; *coefficient_names* are the names of the others in a
    comment of the file: ``("M^2*N", "N^3*K")``, empty without such a comment.
    """

    entries: tuple[HistoryEntry, ...] = ()
    regression: Regression = field(default_factory=Regression)
    nonlinear: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    coefficients: tuple[float, ...] = ()
    coefficient_names: tuple[str, ...] = ()

    @property
    def type(self) -> ModelType | None:
        """The type of the model, as StarPU's tools determine it; None without a model."""
        if self.coefficients:
            return "mlr"
        if not any(map(math.isnan, self.nonlinear)):
            return "nl"
        if not (math.isnan(self.regression.alpha) or math.isnan(self.regression.beta)):
            return "regression"
        return "history" if self.entries else None


@dataclass(frozen=True)
class Combination:
    """Devices that run a task together (mostly one), and the implementations for them."""

    devices: tuple[ModelledDevice, ...]
    implementations: tuple[Implementation, ...]

    @property
    def name(self) -> str:
        """StarPU's name: ``cuda0``, or ``cpu0_cores4`` with several cores."""
        if len(self.devices) == 1 and self.devices[0].ncores <= 1:
            return self.devices[0].name
        return _full_name(self.devices)


@dataclass(frozen=True)
class Codelet:
    """Contents of a codelet file; *host* is the machine, empty if the file name has none."""

    symbol: str
    host: str
    combinations: tuple[Combination, ...]

    @property
    def type(self) -> ModelType | None:
        """The type of the first implementation that has one, which StarPU uses for all."""
        implementations = (i for c in self.combinations for i in c.implementations)
        return next((i.type for i in implementations if i.type is not None), None)


def read_codelet(path: Path) -> Codelet:
    """Return the contents of the codelet file at *path*.

    The file's name is ``SYMBOL.HOST``, or ``SYMBOL``. Any white space separates numbers; entries
    without flop (7 numbers, of older versions) have 0.

    Raises
    ------
    InputError
        ``file:line:column: where: what was expected, what was found``.
    """
    words = Words(path, read_text(path))
    legal = " or ".join(map(str, VERSIONS))
    word = words.one(f"the version of the file, {legal}")
    version = words.whole(word, f"the version of the file, {legal}")
    if version not in VERSIONS:
        raise words.error(word, f"version {legal}")
    count = words.count("the number of combinations")
    combinations = tuple(_combination(words, index, version) for index in range(1, count + 1))
    words.where = ""
    words.finish(f"the end of the file after {count} combination(s)")
    symbol, _, host = path.name.partition(".")
    return Codelet(symbol, host, combinations)


def write_codelet(codelet: Codelet, path: Path) -> None:
    """Write *codelet* to *path*, all or nothing, with StarPU's comments.

    Numbers have the seven digits of StarPU's own files, or more if those would not give the same
    number back.
    """
    write_text(path, "".join(_text(codelet)))


def _combination(words: Words, number: int, version: int) -> Combination:
    words.where = f"combination {number}"
    devices = tuple(_device(words, version) for _ in range(words.count("the number of devices")))
    if not devices:
        raise words.error(words.last, "at least 1 device")
    name = Combination(devices, ()).name
    words.where = f"combination {number} ({name})"
    count = words.count("the number of implementations")
    found = []
    for index in range(1, count + 1):
        part = f", implementation {index}" if count > 1 else ""
        words.where = f"combination {number} ({name}){part}"
        found.append(_implementation(words, version))
    return Combination(devices, tuple(found))


def _device(words: Words, version: int) -> ModelledDevice:
    kind = words.count("the type of a device")
    known = {
        key: v for key, v in DEVICE_TYPES.items() if version > NO_REGRESSIONS or key < SCC_TYPE
    }
    if kind not in known:
        legal = ", ".join(f"{key} {value}" for key, value in known.items())
        raise words.error(words.last, f"a type of device ({legal})")
    return ModelledDevice(
        kind, words.count("the number of a device"), words.count("a number of cores")
    )


def _implementation(words: Words, version: int) -> Implementation:
    count = words.count("the number of history entries")
    sums = words.line("the regression", 9)
    lnx, lnx2, lny, lnxlny, alpha, beta = (_number(words, word) for word in sums[:6])
    n, low, high = (words.whole(word, "a whole number") for word in sums[6:])
    regression = Regression(lnx, lnx2, lny, lnxlny, alpha, beta, n, low, high)
    a, b, c = words.line("a, b and c of the non-linear regression", 3)
    nonlinear = (_number(words, a), _number(words, b), _number(words, c))
    values, names = ((), ()) if version == NO_REGRESSIONS else _coefficients(words)
    entries = tuple(_entry(words) for _ in range(count))
    return Implementation(entries, regression, nonlinear, values, names)


def _coefficients(words: Words) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Return the coefficients of the multiple regression, and their names."""
    coefficients = words.line("the number of coefficients, and these")
    needed = words.whole(coefficients[0], "the number of coefficients of the multiple regression")
    if len(coefficients) != needed + 1:
        found = f"{len(coefficients) - 1} on this line"
        raise words.error(coefficients[0], f"{needed} coefficients after their number", found)
    values = tuple(_number(words, word) for word in coefficients[1:])
    # The comment above names them, if the numbers match.
    heads = words.comment.lstrip("# \t").split()
    names = tuple(heads[2:])
    known = heads[:2] == ["n", "intercept"] and len(names) == needed - 1
    return values, names if known else ()


def _entry(words: Words) -> HistoryEntry:
    line = words.line("a history entry: hash, size, flop, mean, deviation, sum, sum2, n")
    if len(line) not in (7, 8):
        found = f"{len(line)} numbers, from '{line[0].text[:40]}'"
        raise words.error(line[0], "a history entry of 8 numbers (or 7, without flop)", found)
    if len(line) == 7:
        line = [*line[:2], line[0]._replace(text="0"), *line[2:]]
    what = ("flop", "a mean in us", "a deviation in us", "a sum in us", "a sum of squares in us²")
    legal = [f"{name}, not negative" for name in what]
    flops, mean, deviation, total, squares = (
        words.not_negative(word, name) for word, name in zip(line[2:7], legal, strict=True)
    )
    size = words.whole(line[1], "a size in bytes")
    n = words.whole(line[7], "a number of samples")
    key = words.hexadecimal(line[0], "a hash of up to 8 hexadecimal digits")
    return HistoryEntry(key, size, flops, mean, deviation, total, squares, n)


def _number(words: Words, word: Word) -> float:
    return words.number(word, "a number or nan")


def _text(codelet: Codelet) -> Iterator[str]:
    yield f"##################\n# Performance Model Version\n{VERSION}\n\n"
    yield f"####################\n# COMBs\n# number of combinations\n{len(codelet.combinations)}\n"
    rule = "####################\n"
    for number, combination in enumerate(codelet.combinations):
        devices = combination.devices
        yield f"{rule}# COMB_{number}\n# number of types devices\n{len(devices)}\n"
        for index, device in enumerate(devices):
            yield f"{rule}# DEV_{index}\n# device type ({_COMMENT})\n{device.type}\n"
            yield f"{rule}# DEV_{index}\n# device id \n{device.devid}\n"
            yield f"{rule}# DEV_{index}\n# number of cores \n{device.ncores}\n"
        yield f"##########\n# number of implementations\n{len(combination.implementations)}\n"
        for index, implementation in enumerate(combination.implementations):
            name = f"{_full_name(devices)}_impl{index} (Comb{number})"
            yield f"#####\n# Model for {name}\n# number of entries\n{len(implementation.entries)}\n"
            yield from _implementation_text(implementation)
            yield "\n"


def _implementation_text(implementation: Implementation) -> Iterator[str]:
    regression = implementation.regression
    yield "# sumlnx\tsumlnx2\t\tsumlny\t\tsumlnxlny\talpha\t\tbeta\t\tn\tminx\t\tmaxx\n"
    yield "".join(f"{_float(value)}\t" for value in regression[:6])
    yield f"{regression.n}\t{regression.min_size:<15d}\t{regression.max_size:<15d}\n"
    yield "# a\t\tb\t\tc\n" + "\t".join(map(_float, implementation.nonlinear)) + "\n"
    if implementation.type == "mlr":
        values = implementation.coefficients
        given = implementation.coefficient_names
        names = given if given else tuple(f"c{index}" for index in range(1, len(values)))
        yield "# n\tintercept\t" + "".join(f"{name}\t\t" for name in names)
        yield f"\n{len(values)}" + "".join(f"\t{_float(value)}" for value in values)
        if not implementation.entries:
            return
        yield "\n"
    else:
        yield "# not multiple-regression-base\n0\n"
    yield "# hash\t\tsize\t\tflops\t\tmean (us or J)\tdev (us or J)\tsum\t\tsum2\t\tn\n"
    for e in implementation.entries:
        columns = "\t".join(map(_float, (e.flops, e.mean_us, e.deviation_us, e.sum, e.sum2)))
        yield f"{e.hash:08x}\t{e.size_bytes:<15d}\t{columns}\t{e.n}\n"


def _full_name(devices: tuple[ModelledDevice, ...]) -> str:
    return "_".join(f"{DEVICE_TYPES[d.type]}{d.devid}_cores{d.ncores}" for d in devices)


def _float(value: float) -> str:
    """Return ``%-15e``, with more digits if the number would not come back otherwise."""
    if math.isnan(value):
        return f"{'nan':<15}"
    short = f"{value:e}"
    mantissa, _, exponent = f"{value:.16e}".partition("e")
    if float(short) == value:
        return f"{short:<15}"
    for digits in range(7, 17):
        longer = f"{value:.{digits}e}"
        if float(longer) == value:
            return longer
    return f"{mantissa}e{exponent}"


ENERGY_SUFFIX: Final = "_energy"
"""Suffix that StarPU's own programs append to the name of a duration model."""
MICROSECONDS_PER_SECOND: Final = 1e6
"""Microseconds per second: models convert us to s, so energies need it to stay in joules."""


def energy_of(name: str, names: Collection[str]) -> str | None:
    """Return the kernel among *names* whose energy the model *name* predicts, or None.

    >>> energy_of("gemm_energy", ["gemm", "gemm_energy"]), energy_of("kinetic_energy", ["gemm"])
    ('gemm', None)
    """
    kernel = name.removesuffix(ENERGY_SUFFIX)
    return kernel if kernel != name and kernel in names else None


def to_joules(codelet: Codelet) -> Codelet:
    """Return *codelet* scaled so that its models predict joules, not microjoules."""
    return _scaled(codelet, MICROSECONDS_PER_SECOND)


def from_joules(codelet: Codelet) -> Codelet:
    """Return a *codelet* made from models of joules, with joules in it."""
    return _scaled(codelet, 1.0 / MICROSECONDS_PER_SECOND)


def _scaled(codelet: Codelet, factor: float) -> Codelet:
    combinations = (
        replace(
            found, implementations=tuple(_scaled_one(one, factor) for one in found.implementations)
        )
        for found in codelet.combinations
    )
    return replace(codelet, combinations=tuple(combinations))


def _scaled_one(found: Implementation, factor: float) -> Implementation:
    a, b, c = found.nonlinear
    sums = found.regression
    return replace(
        found,
        entries=tuple(
            replace(
                entry,
                mean_us=rounded(entry.mean_us * factor),
                deviation_us=rounded(entry.deviation_us * factor),
                sum=rounded(entry.sum * factor),
                sum2=rounded(entry.sum2 * factor**2),
            )
            for entry in found.entries
        ),
        regression=sums._replace(
            sum_lny=sums.sum_lny + sums.n * math.log(factor),
            sum_lnxlny=sums.sum_lnxlny + sums.sum_lnx * math.log(factor),
            alpha=rounded(sums.alpha * factor),
        ),
        nonlinear=(rounded(a * factor), b, rounded(c * factor)),
        coefficients=tuple(rounded(value * factor) for value in found.coefficients),
    )


def rounded(value: float) -> float:
    """Return *value* to 15 digits, without the ones that a change of units adds."""
    return float(f"{value:.14e}")
