"""ELF files: what a program or a library needs and offers, and where its functions are.

Only headers, dynamic sections and tables of symbols are read; nothing is loaded or executed.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Elf", "Symbols", "is_elf", "read_code", "read_elf", "read_symbols"]

ELF_MAGIC: Final = b"\x7fELF"
MAX_FILE_BYTES: Final = 2**31
"""Maximum size of a file that is read: programs with all their debug information are smaller."""
MAX_ENTRIES: Final = 2**24
"""Maximum number of symbols or dynamic entries of a file. A damaged file could claim any."""

_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRING_TABLE, _SYMBOL_TABLE, _RPATH, _RUNPATH = 1, 5, 6, 15, 29
_SYMBOLS, _DYNAMIC_SYMBOLS = 2, 11
_OBJECT = 1
_FUNCTION = 2
_MACHINES: Final = {3: "x86", 62: "x86_64", 183: "aarch64", 40: "arm", 21: "ppc64", 243: "riscv"}
"""Names of processors by their numbers in ELF files."""


@dataclass(frozen=True)
class Elf:
    """Facts about a program or a shared library.

    Attributes
    ----------
    machine
        Name of the processor, or its number in ELF files.
    interpreter
        Path of the dynamic loader; empty for libraries and statically linked programs.
    is_dynamic
        Whether it uses shared libraries at all.
    needed
        Names of the shared libraries that it needs.
    run_path
        Search path for libraries that no environment variable overrides (``DT_RPATH``).
    wanted
        Names of the symbols that other files have to define.
    offered
        Names of the symbols that it defines for others.
    first_address
        Lowest address of its parts in memory, as the file says it.
    """

    machine: str
    interpreter: str
    is_dynamic: bool
    needed: tuple[str, ...]
    run_path: str
    wanted: frozenset[str]
    offered: frozenset[str]
    first_address: int


@dataclass(frozen=True)
class Symbols:
    """Functions of a file in order of address."""

    starts: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def around(self, address: int) -> tuple[str, int] | None:
        """Return the function that contains *address*, and the offset in it; None if none does."""
        at = bisect_right(self.starts, address) - 1
        if at < 0 or address - self.starts[at] >= max(self.sizes[at], 1):
            return None
        return self.names[at], address - self.starts[at]


def is_elf(path: Path) -> bool:
    """Return whether *path* is a file that begins like an ELF file."""
    try:
        with path.open("rb") as file:
            return file.read(len(ELF_MAGIC)) == ELF_MAGIC
    except OSError:
        return False


def read_elf(path: Path) -> Elf:
    """Return the facts about the program or library *path*.

    Raises
    ------
    InputError
        If it cannot be read, or is damaged.
    """
    try:
        return _Reader(_content(path)).facts()
    except (struct.error, ValueError, IndexError) as error:
        raise InputError(f"{path}: a damaged ELF file: {error}") from None


def read_symbols(path: Path) -> Symbols:
    """Return the functions of the file *path*; none if it has no table of them, or is damaged."""
    try:
        found = sorted(_Reader(_content(path)).symbols_of(_FUNCTION))
    except (InputError, struct.error, ValueError, IndexError):
        return Symbols()
    return Symbols([f[0] for f in found], [f[1] for f in found], [f[2] for f in found])


def read_objects(path: Path) -> list[tuple[int, int, str]]:
    """Return address, size and name of the global variables of the file *path*.

    None if it has no table of them, or is damaged.
    """
    try:
        return sorted(set(_Reader(_content(path)).symbols_of(_OBJECT)))
    except (InputError, struct.error, ValueError, IndexError):
        return []


def read_code(path: Path, address: int, size: int) -> bytes:
    """Return *size* bytes of the file *path* that are at *address* in memory; none if it has none.

    The address is the file's own.
    """
    try:
        return _Reader(_content(path)).bytes_at(address, size)
    except (InputError, struct.error, ValueError, IndexError):
        return b""


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InputError(f"{path}: larger than {MAX_FILE_BYTES} bytes")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


class _Reader:
    """The content of an ELF file, and where its headers are."""

    def __init__(self, data: bytes) -> None:
        if (
            data[:4] != ELF_MAGIC
            or len(data) < 52
            or data[4] not in (1, 2)
            or data[5] not in (1, 2)
        ):
            raise ValueError("its header is none")
        self._data = data
        self._wide = data[4] == 2
        self._order = "<" if data[5] == 1 else ">"
        _, self._machine = self._at("HH", 16)
        if self._wide:
            self._segments_at, self._sections_at = self._at("QQ", 32)
            sizes = self._at("HHHH", 54)
        else:
            self._segments_at, self._sections_at = self._at("II", 28)
            sizes = self._at("HHHH", 42)
        self._segment_size, self._segments, self._section_size, self._sections = sizes
        self._loads = [s for s in self._all_segments() if s[0] == _LOAD]

    def _at(self, form: str, place: int) -> tuple[int, ...]:
        return struct.unpack_from(self._order + form, self._data, place)

    def _all_segments(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield kind, offset, address, size in the file and size in memory of each segment."""
        for number in range(self._segments):
            at = self._segments_at + number * self._segment_size
            if self._wide:
                kind, _, offset, address, _, size, memory = self._at("IIQQQQQ", at)
            else:
                kind, offset, address, _, size, memory = self._at("IIIIII", at)
            yield kind, offset, address, size, memory

    def _offset(self, address: int) -> int:
        """Return where in the file the content of an *address* is."""
        for _, offset, begin, size, _ in self._loads:
            if begin <= address < begin + size:
                return offset + address - begin
        raise ValueError(f"address {address:#x} is in no part of it")

    def bytes_at(self, address: int, size: int) -> bytes:
        """Return *size* bytes of the content at an *address* in memory."""
        at = self._offset(address)
        return self._data[at : at + size]

    def _text(self, at: int) -> str:
        return self._data[at : self._data.index(b"\0", at)].decode("utf-8", "replace")

    def facts(self) -> Elf:
        segments = {s[0]: s for s in self._all_segments()}
        entries = self._dynamic_entries(segments.get(_DYNAMIC))
        single = dict(entries)
        strings = self._offset(single[_STRING_TABLE]) if _STRING_TABLE in single else 0
        names = {tag: [self._text(strings + value) for t, value in entries if t == tag]
                 for tag in (_NEEDED, _RPATH, _RUNPATH)}  # fmt: skip
        wanted, offered = self._dynamic_symbols(single, strings)
        interpreter = segments.get(_INTERPRETER)
        run_path = "" if names[_RUNPATH] else ":".join(names[_RPATH])
        return Elf(
            machine=_MACHINES.get(self._machine, f"number {self._machine}"),
            interpreter="" if interpreter is None else self._text(interpreter[1]),
            is_dynamic=bool(entries),
            needed=tuple(names[_NEEDED]),
            run_path=run_path,
            wanted=wanted,
            offered=offered,
            first_address=min((s[2] for s in self._loads), default=0) & ~0xFFF,
        )

    def _dynamic_entries(
        self, segment: tuple[int, int, int, int, int] | None
    ) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        if segment is None:
            return found
        form, step = ("QQ", 16) if self._wide else ("II", 8)
        for at in range(segment[1], segment[1] + min(segment[3], MAX_ENTRIES * step), step):
            tag, value = self._at(form, at)
            if not tag:
                break
            found.append((tag, value))
        return found

    def _dynamic_symbols(
        self, entries: dict[int, int], strings: int
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of the symbols that are wanted, and of those that are offered."""
        if _SYMBOL_TABLE not in entries:
            return frozenset(), frozenset()
        # The table has no size: what follows it in files of all linkers is that of strings.
        begin = self._offset(entries[_SYMBOL_TABLE])
        end = strings if strings > begin else begin
        wanted: set[str] = set()
        offered: set[str] = set()
        for name, info, section, _, _ in self._symbols(begin, end, strings):
            if name and info >> 4:  # not local
                (offered if section else wanted).add(name)
        return frozenset(wanted), frozenset(offered)

    def _symbols(
        self, begin: int, end: int, strings: int
    ) -> Iterator[tuple[str, int, int, int, int]]:
        """Yield name, information, section, value and size of the symbols of a table."""
        step = 24 if self._wide else 16
        for at in range(begin, min(end, begin + MAX_ENTRIES * step) - step + 1, step):
            if self._wide:
                name, info, _, section, value, size = self._at("IBBHQQ", at)
            else:
                name, value, size, info, _, section = self._at("IIIBBH", at)
            yield self._text(strings + name) if name else "", info, section, value, size

    def symbols_of(self, sought: int) -> Iterator[tuple[int, int, str]]:
        """Yield address, size and name of the symbols of a type."""
        sections = [self._section(number) for number in range(self._sections)]
        for kind, offset, size, link in sections:
            if kind not in (_SYMBOLS, _DYNAMIC_SYMBOLS) or link >= len(sections):
                continue
            strings = sections[link][1]
            for name, info, section, value, length in self._symbols(offset, offset + size, strings):
                if name and section and info & 0xF == sought:
                    yield value, length, name

    def _section(self, number: int) -> tuple[int, int, int, int]:
        """Return kind, offset, size and linked section of a section."""
        at = self._sections_at + number * self._section_size
        if self._wide:
            _, kind, _, _, offset, size, link = self._at("IIQQQQI", at)
        else:
            _, kind, _, _, offset, size, link = self._at("IIIIIII", at)
        return kind, offset, size, link
