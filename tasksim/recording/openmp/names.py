"""Names of kernels: the function and the line that create a task, or what comes nearest to them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.base.arguments import path_of
from tasksim.base.errors import InputError, option
from tasksim.recording.openmp.elf import read_code, read_elf, read_symbols

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tasksim.recording.openmp.elf import Symbols
    from tasksim.recording.openmp.trace import Site

__all__ = ["UNKNOWN_PLACE", "renaming", "site_names"]

UNKNOWN_PLACE: Final = "unknown place"
"""Name of unknown code."""
ADDR2LINE_TIMEOUT_S: Final = 120.0
"""Longest time of addr2line for one file, in seconds; large programs with debug information need a
few."""
REACH_BYTES: Final = 96
"""Number of bytes before a call in which its arguments are sought: some twenty instructions."""
LEA_OPCODE: Final = 0x8D
"""Opcode of x86 that computes an address."""
PUSH_OPCODE: Final = 0x68
"""Opcode of x86 that pushes four bytes."""
MOV_OPCODE: Final = 0xB8
"""Opcode of x86, without the number of the register, that moves four bytes to it."""
MOV_TO: Final = 0xC7
"""Opcode of x86 that moves four bytes to the place that the next one to three bytes name."""
OF_GCC: Final = "._omp_fn."
"""Part of the name of a function that GCC made of the body of a task or a region."""
NO_ADDRESS: Final = -1
"""Address of nothing."""

_OUTLINED: Final = re.compile(r"\.(_omp_fn|constprop|isra|part|cold|lto_priv|extracted)(\.\d+)*.*$")
"""Suffixes that compilers append to the names of functions made of a part of another."""
_ANONYMOUS: Final = re.compile(r"^\.?(omp_outlined|omp_task_entry|omp)\b")
"""Names of clang's outlined functions, which do not say where they come from."""
_OPERATOR: Final = re.compile(r"\boperator(\(\)|\[\]|<=>|<<=?|>>=?|->\*?|[<>]=?| ) ?")
"""Begin of the name of an operator of C++, up to where brackets are brackets again."""


def site_names(sites: Mapping[int, Site], folder: Path) -> dict[int, str]:
    """Return the name of each site: ``FUNCTION:LINE``, or ``FUNCTION+OFFSET``, or ``FILE:LINE``.

    Parameters
    ----------
    sites : mapping of int to Site
    folder : Path
        Folder that relative paths of programs start from.
    """
    found = {}
    by_module: dict[str, list[int]] = {}
    for number, site in sites.items():
        by_module.setdefault(site.module, []).append(number)
    for module, numbers in by_module.items():
        found.update(_names_in(module, {n: sites[n] for n in numbers}, folder))
    return found


def _names_in(module: str, sites: Mapping[int, Site], folder: Path) -> dict[int, str]:
    """Return the names of the sites of one program or library."""
    path = folder / module
    try:
        first = read_elf(path).first_address if module else 0
    except InputError:
        return {number: _bare(site) for number, site in sites.items()}
    # What was recorded is where the call returns to, which may be in the next line.
    addresses = {n: first + s.offset - 1 for n, s in sites.items() if s.offset is not None}
    symbols = read_symbols(path)
    frames = _frames(path, addresses.values())
    found = {number: _bare(site) for number, site in sites.items()}
    for number, address in addresses.items():
        around = symbols.around(address)
        frame = frames[address][0] if address in frames else None
        if frame is not None and frame.line:
            found[number] = frame.text
        elif around is not None:  # the symbol of a function of C++ is mangled, its frame is not
            function = around[0] if frame is None else frame.function
            found[number] = f"{_plain(function)}+{around[1] + 1:#x}"
    return _told_apart(found, addresses, path, symbols)


def _told_apart(
    found: dict[int, str], addresses: Mapping[int, int], path: Path, symbols: Symbols
) -> dict[int, str]:
    """Return the names, with those of different sites made distinct.

    GCC may give all tasks that are created side by side the line of the construct around them. The
    function that it has made of a task's body knows the right one.
    """
    if not any(OF_GCC in name for name in symbols.names):
        return found  # the lines are right, and copies of inlined code create the same tasks
    bodies = _bodies(path, addresses, symbols)
    users: dict[int, set[str]] = {}
    for number, body in bodies.items():
        users.setdefault(body, set()).add(found[number])
    frames = _frames(path, bodies.values())
    names = dict(found)
    for number, body in bodies.items():
        # Two places that refer to one body: one of them only because it is near the other.
        if body in frames and frames[body][-1].line and len(users[body]) == 1:
            names[number] = frames[body][-1].text
    groups: dict[str, dict[int, list[int]]] = {}
    for number in sorted(names, key=lambda number: addresses.get(number, 0)):
        what = bodies.get(number, -number)  # copies of the same code create the same tasks
        groups.setdefault(names[number], {}).setdefault(what, []).append(number)
    for text, parts in groups.items():
        for at, numbers in enumerate(list(parts.values())[1:], 2):
            names.update((number, f"{text} #{at}") for number in numbers)
    return names


def _bodies(path: Path, addresses: Mapping[int, int], symbols: Symbols) -> dict[int, int]:
    """Return for sites the address of the function that the creating code refers to last.

    A reference is an instruction of x86 that takes the very start of a function made of a task, in
    the function that creates the task.
    """
    starts = {
        start for start, name in zip(symbols.starts, symbols.names, strict=True)
        if OF_GCC in name
    }  # fmt: skip
    found: dict[int, int] = {}
    if not starts:
        return found
    for number, address in addresses.items():
        around = symbols.around(address)
        reach = REACH_BYTES if around is None else min(around[1], REACH_BYTES)
        begin = address - reach
        code = read_code(path, begin, reach)
        for at in range(len(code) - 4, 0, -1):
            value = int.from_bytes(code[at : at + 4], "little", signed=True)
            if _is_relative(code, at) and begin + at + 4 + value in starts:
                found[number] = begin + at + 4 + value
                break
            if value in starts and _is_immediate(code, at):
                found[number] = value
                break
    return found


def _is_relative(code: bytes, at: int) -> bool:
    """Return whether the four bytes at *at* are what ``lea`` adds to the instruction pointer.

    Other numbers may lead to a function by chance: ``mov $1, %r9d`` to one that is 441 bytes away.
    """
    return at >= 2 and code[at - 2] == LEA_OPCODE and code[at - 1] & 0b11000111 == 0b101


def _is_immediate(code: bytes, at: int) -> bool:
    """Return whether the four bytes at *at* are a number that an instruction moves or pushes."""
    return (
        code[at - 1] == PUSH_OPCODE
        or code[at - 1] & 0xF8 == MOV_OPCODE
        or MOV_TO in code[max(at - 4, 0) : at]
    )


def _bare(site: Site) -> str:
    """Return the name of a site that only the dynamic loader knows."""
    if site.symbol:
        return f"{_plain(site.symbol)}+{site.symbol_offset:#x}"
    if site.module and site.offset is not None:
        return f"{Path(site.module).name}+{site.offset:#x}"
    return UNKNOWN_PLACE


class _Frame(NamedTuple):
    """A function, and a line in it; 0 without debug information."""

    function: str
    file: str
    line: int

    @property
    def text(self) -> str:
        plain = _plain(self.function)
        known = plain not in ("", "??") and not _ANONYMOUS.match(plain)
        return f"{plain if known else Path(self.file).name}:{self.line}"


def _frames(path: Path, addresses: Iterable[int]) -> dict[int, list[_Frame]]:
    """Return the frames, inlined ones first, at each address that addr2line knows."""
    asked = sorted(set(addresses))
    tool = shutil.which("addr2line")
    if tool is None or not asked:
        return {}
    command = [tool, "-a", "-f", "-i", "-C", "-e", str(path), *(f"{each:#x}" for each in asked)]
    # It could ask servers for debug information.
    quiet = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, env=quiet,
            timeout=ADDR2LINE_TIMEOUT_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[int, list[_Frame]] = {}
    address, function = NO_ADDRESS, ""
    for line in done.stdout.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            address, function = int(line, 16), ""
        elif not function:
            function = line
        else:
            file, _, number = line.partition(" (")[0].rpartition(":")
            if function != "??" or number.isdecimal():
                known = int(number) if number.isdecimal() else 0
                found.setdefault(address, []).append(_Frame(function, file, known))
            function = ""
    return found


def _plain(function: str) -> str:
    """Return the name of a function without its parameters and the suffixes of compilers.

    Names of templates in C++ begin with the type of the result, which is left out.

    >>> _plain("double sum<float>(std::vector<float> const&) [clone ._omp_fn.0]")
    'sum<float>'
    >>> _plain("auto main::{lambda(auto:1)#1}::operator()<int>(int) const")
    'main::{lambda(auto:1)#1}::operator()<int>'
    """
    name = function if _ANONYMOUS.match(function) else _OUTLINED.sub("", function)
    depth = begin = at = 0
    while at < len(name):
        operator = _OPERATOR.match(name, at)
        if operator:  # its brackets are none
            at = operator.end()
            continue
        character = name[at]
        is_opened = character == "(" and depth == 0 and at > begin
        if is_opened and not name.startswith("(anonymous", at):
            return name[begin:at].rstrip()
        depth += (character in "<({") - (character in ">)}")
        at += 1
        if character == " " and depth == 0:
            begin = at
    return name


def renaming(given: Any) -> dict[str, str]:
    """Return new names of kernels by old ones, from a mapping or a YAML file with one.

    Raises
    ------
    InputError
        If it is neither, or a name is empty or no text.
    """
    if given is None:
        return {}
    if isinstance(given, str | PathLike):
        return _of_file(path_of(given, "kernels"))
    if not isinstance(given, Mapping):
        raise InputError(
            f"{option('kernels')}: got {type(given).__name__}; legal: a mapping of names to names, "
            "or a YAML file with one"
        )
    for old, new in given.items():
        if not (isinstance(old, str) and isinstance(new, str) and new.strip()):
            raise InputError(
                f"{option('kernels')}: got {old!r:.40}: {new!r:.40}; legal: names of kernels"
            )
    return {old: new.strip() for old, new in given.items()}


def _of_file(path: Path) -> dict[str, str]:
    from tasksim.base.documents import FileProblem
    from tasksim.base.documents.yaml_document import ProblemReport, YamlDocument

    document = YamlDocument.read(path, "a mapping, KERNEL: NAME")
    problems = [
        FileProblem((old,), f"must be a name (got {new!r:.40})")
        for old, new in document.data.items()
        if not (isinstance(new, str) and new.strip())
    ]
    report = ProblemReport([document])
    report.add([*document.problems, *problems])
    if report.errors:
        raise report.error()
    return {str(old): new.strip() for old, new in document.data.items()}
