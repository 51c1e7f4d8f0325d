"""Mutations of binary files: arrays in NumPy's ``.npz``, tables in Parquet, whole again after."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from numpy.typing import NDArray

__all__ = ["mutated_npz", "mutated_parquet"]

_MAGIC = b"\x93NUMPY\x01\x00"
_DTYPES = ("<i4", "<i8", "<f8", "|i1", "|b1", "|O", "<U9", "|S4", "<c16", "<M8[s]", "|u1", ">i4")
_SHAPES = ("(0,)", "()", "(3, 2)", "(1000000000000,)", "(2147483648, 4)", "(-1,)", "(1, 1, 1)")
_VALUES = (0, 1, -1, 2, 127, 2**15, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, -(2**63))


def mutated_npz(content: bytes, random: Random, text: Callable[[bytes], bytes]) -> bytes:
    """Return an ``.npz`` file with one of its arrays changed; *text* changes those of text."""
    try:
        members = _members(content)
    except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError, zlib.error):
        return text(content)
    if not members:
        return text(content)
    name = random.choice(sorted(members))
    chosen = random.randrange(8)
    if chosen == 0:
        del members[name]
    elif chosen == 1:
        members[f"{name.removesuffix('.npy')}x.npy"] = members.pop(name)
    elif chosen == 2:
        members[name] = text(members[name])
    elif chosen == 3 and name != "header.npy":
        members[name] = _other_header(members[name], random)
    elif chosen == 4:
        members[name] += bytes(random.choice((1, 8, 10**8)))
    elif name == "header.npy":
        members[name] = _array(np.frombuffer(text(_json_of(members[name])), dtype=np.uint8))
    else:
        members[name] = _other_values(members[name], random)
    return _npz(members, random.choice((zipfile.ZIP_STORED,) * 9 + (zipfile.ZIP_DEFLATED,)))


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        if sum(info.file_size for info in file.infolist()) > 10**6:
            return {}
        return {name: file.read(name) for name in file.namelist()}


def _npz(members: dict[str, bytes], compression: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, member in members.items():
            information = zipfile.ZipInfo(name)  # with a date of its own: the same bytes each time
            large = len(member) > 10**6  # only compressed it is small
            information.compress_type = zipfile.ZIP_DEFLATED if large else compression
            file.writestr(information, member)
    return stream.getvalue()


def _json_of(member: bytes) -> bytes:
    start = member.find(b"\n") + 1
    return member[start:] or b"{}"


def _array(values: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=False)
    return stream.getvalue()


def _other_header(member: bytes, random: Random) -> bytes:
    """Return an array that claims another type, another shape or another order."""
    body = _json_of(member)
    descr, shape = random.choice(_DTYPES), random.choice(_SHAPES)
    if random.random() < 0.2:
        descr = random.choice(("[('a', '<i4')]", "__import__('os')", "<i4)", ""))
    header = f"{{'descr': {descr!r}, 'fortran_order': {random.random() < 0.3}, 'shape': {shape}, }}"
    text = header.encode().ljust(117) + b"\n"
    return _MAGIC + struct.pack("<H", len(text)) + text + body


def _other_values(member: bytes, random: Random) -> bytes:
    try:
        values = np.load(io.BytesIO(member), allow_pickle=False).copy()
    except Exception:  # an array that was spoilt before
        return member[:-1]
    if values.size and values.ndim and values.dtype.kind in "iuf":
        match random.randrange(4):
            case 0:
                values = values[: random.randint(0, len(values))]
            case 1:
                values = np.concatenate([values, values])
            case 2:
                values = values[::-1]
            case _:
                with np.errstate(all="ignore"):
                    new = np.array(random.choice(_VALUES)).astype(values.dtype)
                    if values.dtype.kind == "f" and random.random() < 0.5:
                        new = np.array(random.choice((np.nan, np.inf, -1.0, 1e308)))
                values.flat[random.randrange(values.size)] = new
    return _array(values)


def mutated_parquet(content: bytes, random: Random) -> bytes:
    """Return a Parquet file with a column or a value changed."""
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(pyarrow.BufferReader(content))
        if table.num_rows > 10**5 or not table.num_columns:
            return _flipped(content, random)
        columns = {name: table.column(name) for name in table.column_names}
        name = random.choice(sorted(columns))
        _change_column(columns, name, random)
        stream = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), stream)
        return stream.getvalue()
    except (
        pyarrow.ArrowException,
        OSError,
        ValueError,
        OverflowError,
        UnicodeDecodeError,
        TypeError,
    ):
        return _flipped(content, random)


def _change_column(columns: dict[str, Any], name: str, random: Random) -> None:
    import pyarrow

    values = columns[name].to_pylist()
    number = random.choice((*_VALUES, None, 1.5, float("nan"), float("inf"), -1e-9, 1e308))
    match random.randrange(7):
        case 0:
            del columns[name]
        case 1:
            columns[name + "x"] = columns.pop(name)
        case 2:
            kinds = (pyarrow.int8(), pyarrow.int64(), pyarrow.uint64(), pyarrow.float32())
            more = (pyarrow.string(), pyarrow.bool_(), pyarrow.decimal128(38, 3), pyarrow.date32())
            columns[name] = columns[name].cast(random.choice((*kinds, *more)), safe=False)
        case 3:
            rows = random.randint(0, len(values))
            for other in columns:
                columns[other] = columns[other].slice(0, rows)
        case 4:
            columns[name] = pyarrow.array([[value] for value in values])
        case 5:
            rows = random.choice((10, 1000, 10**5))
            for other, column in list(columns.items()):
                columns[other] = pyarrow.array([column[0].as_py() if len(column) else 0] * rows)
        case _:
            if values:
                values[random.randrange(len(values))] = number
            columns[name] = pyarrow.array(values)


def _flipped(content: bytes, random: Random) -> bytes:
    if not content:
        return b"PAR1"
    place = random.randrange(len(content))
    return content[:place] + bytes([random.randrange(256)]) + content[place + 1 :]
