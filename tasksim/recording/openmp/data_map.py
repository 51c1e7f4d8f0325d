"""Data of an OpenMP program, as its author describes them: where they are, how large, what tiles.

OpenMP tells the addresses in ``depend`` clauses and nothing else. Addresses differ from run to run,
so a map cannot have them. Either the program itself says them while it runs, in lines of the file
that ``TASKSIM_DATA_MAP`` names; or a name is that of a global variable, whose address and size are
in the symbols of the program.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.arguments import path_of
from tasksim.base.documents.sections import ILLEGAL, ListOf, Maybe, Section, Whole, given, refused
from tasksim.base.errors import InputError, listed, nearest, option
from tasksim.recording.openmp.data_regions import DataRegion, fill, guessed_sizes, is_used
from tasksim.recording.openmp.elf import read_elf, read_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tasksim.base.documents import FileProblem
    from tasksim.recording.openmp.trace import Site

__all__ = ["MAP_VARIABLE", "DataMap", "DescribedData", "data_map"]

MAP_VARIABLE: Final = "TASKSIM_DATA_MAP"
"""Variable of the environment that names the file for the program's own lines."""
MAX_EXTENT: Final = 2**48
"""Largest size in bytes, or number of elements: the address space of processors."""
ADDRESS_COUNT: Final = 2**64
"""Number of addresses."""
MAX_NAMES_IN_NOTE: Final = 4
"""Largest number of names in a note."""
_LINE: Final = re.compile(r"(\S{1,200}) +(?:0x)?([0-9a-fA-F]{1,16}) +(\d{1,15})((?: +\S{1,60})*)")
_WORD: Final = re.compile(r"(element|leading|datum)=(\d{1,15})|tile=(\d{1,15})x(\d{1,15})")
_LEGAL: Final = "NAME ADDRESS BYTES [element=N] [tile=ROWSxCOLUMNS] [leading=N] [datum=N]"
_NUMBER: Final = Whole(1, MAX_EXTENT)


class Description(Section):
    """Data that have one name, such as a matrix."""

    element = given(_NUMBER, 8, "Size of an element, in bytes.")
    tile = given(Maybe(ListOf(_NUMBER, 2, 2)), None, "Rows and columns of a tile, in elements.")
    leading = given(
        Maybe(_NUMBER), None, "Elements from one row to the next; default: tiles lie one by one."
    )
    datum = given(Maybe(_NUMBER), None, "Size of each datum in it, in bytes, in place of tiles.")

    @classmethod
    def check(
        cls, name: str, value: Any, before: Mapping[str, Any], location: Any, found: Any
    ) -> Any:
        """Return *value*, or BAD if the fields before forbid it."""
        if value is None or name not in ("leading", "datum"):
            return value
        if name == "leading" and before["tile"] is None:
            return refused(found, location, "is for data with a tile", value)
        if name == "datum" and before["tile"] is not None:
            return refused(found, location, "is in place of a tile", value)
        return value


class DescribedData(NamedTuple):
    """Sizes and names of data, in the order of their addresses as they were given."""

    sizes: NDArray[np.int64]
    names: tuple[str, ...]
    """Empty if no datum is in the map."""
    notes: tuple[str, ...]


class DataMap:
    """Descriptions of data by name; see :func:`data_map`."""

    def __init__(self, descriptions: Mapping[str, Description]) -> None:
        self._descriptions = dict(descriptions)

    def describe(
        self, address: NDArray[np.uint64], written: Sequence[str], program: Path,
        sites: Iterable[Site],
    ) -> DescribedData:  # fmt: skip
        """Return sizes and names of the data at some addresses.

        Parameters
        ----------
        address : ndarray
        written : sequence of str
            Lines that the program has written.
        program : Path
            The program, for its symbols.
        sites : iterable of Site
            Places in it, which tell where it was loaded.
        """
        notes: list[str] = []
        regions = {each.name: each for each in _written(written, notes)}
        rest = [name for name in self._descriptions if name not in regions]
        for each in _symbols(rest, program, sites):
            regions.setdefault(each.name, each)
        known = [_described(each, self._descriptions.get(each.name)) for each in regions.values()]
        notes += [
            f"no data are called '{name}'{nearest(name, regions)}: the program has not written it "
            f"to ${MAP_VARIABLE}, and it is no global variable"
            for name in rest if name not in regions
        ]  # fmt: skip
        sizes, names = guessed_sizes(address), [""] * len(address)
        guessed = fill(address, known, sizes, names)
        if len(address) > 1 or (len(address) and not guessed):
            which = "" if guessed == len(address) else f"{guessed} of {len(address)} "
            notes.append(
                f"sizes of {which}data are guessed from the distances of their addresses"
                if guessed
                else f"sizes of all {len(address)} data are those of the program's own map"
            )
        unused = [each.name for each in known if not is_used(each, address)]
        if unused:
            notes.append(f"no depend clause names {listed(unused, MAX_NAMES_IN_NOTE)}")
        labels = [name or f"data[{at}]" for at, name in enumerate(names)] if any(names) else []
        return DescribedData(sizes, tuple(labels), tuple(notes))


def _described(region: DataRegion, given: Description | None) -> DataRegion:
    """Return a region with its description in a map, unless the program described it itself."""
    if given is None or region.tile is not None or region.datum is not None:
        return region
    tile = None if given.tile is None else (given.tile[0], given.tile[1])
    return replace(
        region, element=given.element, tile=tile, leading=given.leading, datum=given.datum
    )


def _written(lines: Sequence[str], notes: list[str]) -> Iterable[DataRegion]:
    """Yield the regions that the program has written, and note lines that are none."""
    wrong: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line.strip())
        words = [_WORD.fullmatch(word) for word in match[4].split()] if match else []
        if match is None or None in words:
            wrong[f"line {number}: got '{line[:60]}'"] += 1
            continue
        values: dict[str, int] = {}
        tile = None
        for word in words:
            assert word is not None  # checked above
            if word[1]:
                values[word[1]] = int(word[2])
            else:
                tile = int(word[3]), int(word[4])
        base, size = int(match[2], 16), int(match[3])
        if 0 in (size, *values.values(), *(tile or ())) or base + size > ADDRESS_COUNT:
            wrong[f"line {number}: got '{line[:60]}', with a 0, or beyond the memory"] += 1
            continue
        yield DataRegion(match[1], base, size, tile=tile, **values)
    if wrong:
        notes.append(
            f"${MAP_VARIABLE}: {wrong.total()} lines are left out; {next(iter(wrong))}; "
            f"legal: {_LEGAL}"
        )


def _symbols(names: Sequence[str], program: Path, sites: Iterable[Site]) -> Iterable[DataRegion]:
    """Yield the global variables of the program with some names."""
    in_program = (site for site in sites if site.module and Path(site.module).name == program.name)
    place = next((site for site in in_program if site.offset is not None), None)
    if not names or place is None or place.offset is None:
        return
    loaded = place.address - place.offset
    try:
        first = read_elf(program).first_address
    except InputError:
        return
    for start, size, name in read_objects(program):
        if name in names and size:
            yield DataRegion(name, loaded + start - first, size)


def data_map(given: Any) -> DataMap:
    """Return the map of a program's data, from a mapping or a YAML file with one.

    Parameters
    ----------
    given : mapping of str to mapping, path or None
        Per name ``element``, ``tile``, ``leading`` and ``datum``, as far as they are known.

    Raises
    ------
    InputError
        If it is neither, or says what is not legal.

    Examples
    --------
    >>> data_map({"A": {"tile": [64, 0]}})
    Traceback (most recent call last):
    tasksim.base.errors.InputError: data: A.tile[1]: must be at least 1 (got 0)
    """
    if given is None:
        return DataMap({})
    if isinstance(given, str | PathLike):
        return _of_file(path_of(given, "data"))
    if not isinstance(given, Mapping):
        raise InputError(
            f"{option('data')}: got {type(given).__name__}; legal: a mapping of names to what they "
            "are, or a YAML file with one"
        )
    found: list[FileProblem] = []
    descriptions = _read(given, found)
    if found:
        from tasksim.base.documents.json_document import path_text

        raise InputError(f"{option('data')}: {path_text(found[0].location)}: {found[0].what}")
    return DataMap(descriptions)


def _read(given: Mapping[Any, Any], found: list[FileProblem]) -> dict[str, Description]:
    read = {
        str(name): Description.read({} if value is None else value, (str(name),), found)
        for name, value in given.items()
    }
    return {name: value for name, value in read.items() if value is not ILLEGAL}


def _of_file(path: Path) -> DataMap:
    from tasksim.base.documents.yaml_document import ProblemReport, YamlDocument

    document = YamlDocument.read(path, "a mapping, NAME: {element: 8, tile: [64, 64], ...}")
    problems: list[FileProblem] = []
    descriptions = _read(document.data, problems)
    report = ProblemReport([document])
    report.add([*document.problems, *problems])
    if report.errors:
        raise report.error()
    return DataMap(descriptions)
