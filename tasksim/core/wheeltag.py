"""Tag of a wheel with the core, with its processor and the oldest C library that it runs on.

The tag is read from the shared library itself, an ELF file, so that it holds for other machines'
libraries as well.
"""

from __future__ import annotations

import platform
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Requirements", "needs_of", "wheel_tag"]

_MACHINES: Final = {
    62: "x86_64",
    183: "aarch64",
    21: "ppc64le",
    22: "s390x",
    243: "riscv64",
    258: "loongarch64",
}
"""Names of 64-bit processors in wheels, by their number in ELF files."""
_OLDEST_GLIBC: Final = (2, 17)
"""Version of the oldest C library that Python's wheels are still built for (manylinux2014)."""
_OF_GLIBC: Final = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux.*|ld64)\.so\.\d")
_OF_VERSION: Final = re.compile(r"GLIBC_(\d+)\.(\d+)(\.\d+)?")
_DYNAMIC, _VERSIONS_NEEDED = 6, 0x6FFFFFFE
_DT_NEEDED: Final = 1


@dataclass(frozen=True)
class Requirements:
    """Requirements of a shared library.

    Attributes
    ----------
    machine
        The processor, as wheels call it; empty if it is none that is known.
    libraries
        Other shared libraries, by name.
    versions
        Of symbols: "GLIBC_2.34".
    """

    machine: str
    libraries: tuple[str, ...]
    versions: tuple[str, ...]


def wheel_tag(path: Path) -> str:
    """Return the tag of a wheel that has the shared library *path*: ``py3-none-manylinux_...``.

    One that needs more than the C library is for machines like the one it was made on:
    ``linux_...``.
    """
    needs = needs_of(path)
    machine = needs.machine or platform.machine()
    asked = [_OF_VERSION.fullmatch(version) for version in needs.versions]
    if not needs.machine or not all(asked) or not all(map(_OF_GLIBC.fullmatch, needs.libraries)):
        return f"py3-none-linux_{machine}"
    numbers = [(int(match[1]), int(match[2])) for match in asked if match]
    major, minor = max([_OLDEST_GLIBC, *numbers])
    return f"py3-none-manylinux_{major}_{minor}_{machine}"


def needs_of(path: Path) -> Requirements:
    """Return what the shared library *path* needs; raises ValueError if it is none of 64 bits."""
    data = path.read_bytes()
    if data[:5] != b"\x7fELF\x02":
        raise ValueError(f"{path}: is no shared library of 64 bits")
    order = "<" if data[5] == 1 else ">"
    sections = list(_sections(data, order))
    machine = _MACHINES.get(struct.unpack_from(order + "H", data, 18)[0], "")
    if machine == "ppc64le" and order == ">":
        machine = ""
    return Requirements(
        machine, _libraries(data, order, sections), _versions(data, order, sections)
    )


@dataclass(frozen=True)
class _Section:
    kind: int
    offset: int
    size: int
    link: int
    count: int


def _sections(data: bytes, order: str) -> Iterator[_Section]:
    start = struct.unpack_from(order + "Q", data, 40)[0]
    size, count = struct.unpack_from(order + "HH", data, 58)
    for i in range(count):
        fields = struct.unpack_from(order + "IIQQQQIIQQ", data, start + i * size)
        yield _Section(kind=fields[1], offset=fields[4], size=fields[5], link=fields[6],
                       count=fields[7])  # fmt: skip


def _string(data: bytes, strings: _Section, at: int) -> str:
    start = strings.offset + at
    return data[start : data.index(b"\0", start)].decode()


def _libraries(data: bytes, order: str, sections: list[_Section]) -> tuple[str, ...]:
    found = []
    for section in (each for each in sections if each.kind == _DYNAMIC):
        for at in range(section.offset, section.offset + section.size, 16):
            tag, value = struct.unpack_from(order + "QQ", data, at)
            if tag == _DT_NEEDED:
                found.append(_string(data, sections[section.link], value))
    return tuple(found)


def _versions(data: bytes, order: str, sections: list[_Section]) -> tuple[str, ...]:
    """Return the versions in the chain of files, each with a chain of versions."""
    found = []
    for section in (each for each in sections if each.kind == _VERSIONS_NEEDED):
        file = section.offset
        for _ in range(section.count):
            _, versions, _, first, next_file = struct.unpack_from(order + "HHIII", data, file)
            version = file + first
            for _ in range(versions):
                _, _, _, name, next_version = struct.unpack_from(order + "IHHII", data, version)
                found.append(_string(data, sections[section.link], name))
                version += next_version
            file += next_file
    return tuple(found)
