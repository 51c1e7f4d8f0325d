"""Arrays in .npz files: what files claim is not believed."""

from __future__ import annotations

import doctest
import io
import struct
import zipfile

import numpy as np
import pytest

from tasksim.base import npzarrays
from tasksim.base.npzarrays import NpzArrays


def test_examples_in_the_docstrings_hold():
    assert doctest.testmod(npzarrays).failed == 0


def file_of(member: bytes, compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        made.writestr("a.npy", member)
    return file


def array(descr: str, shape: str, data: bytes) -> bytes:
    head = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head = head.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


@pytest.mark.parametrize(
    ("descr", "shape", "message"),
    [
        ("<i4", "(1000000000000,)", "legal: 4000000000000 bytes"),
        ("<i4", "(-1,)", "legal: -4 bytes"),
        ("<i4", "(3,)", "legal: 12 bytes"),
        ("<f8", "(1,)", "float64 of shape"),
        ("|O", "(1,)", "object of shape"),
        ("<i4", "(2, 1)", "int32 of shape"),
        ("<i4", "(", "a: "),
        ("__import__('os')", "(2,)", "descr is not a valid dtype descriptor"),
    ],
)
def test_an_array_is_as_long_as_its_bytes(descr, shape, message):
    arrays = NpzArrays(file_of(array(descr, shape, bytes(8))))
    with pytest.raises(ValueError, match=message):
        arrays.read("a", np.int32)


def test_other_orders_and_types_of_bytes():
    file = io.BytesIO()
    np.savez(file, a=np.arange(6, dtype=">i4"), b=np.asfortranarray(np.ones((2, 3))))
    arrays = NpzArrays(file)
    assert arrays.read("a", np.int32).tolist() == [0, 1, 2, 3, 4, 5]
    assert arrays.read("b", np.float64, 2).shape == (2, 3)
    with pytest.raises(ValueError, match="array c is missing"):
        arrays.read("c", np.int32)


def test_zeros_without_end_are_not_unpacked():
    bomb = file_of(bytes(300_000_000), zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="bytes that would become 300000000"):
        NpzArrays(bomb)


def test_compressed_files_are_read():
    file = io.BytesIO()
    np.savez_compressed(file, a=np.zeros(100_000, dtype=np.int32))
    assert NpzArrays(file).read("a", np.int32).sum() == 0
