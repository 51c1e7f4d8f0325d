"""The columns of a page, read back in Python as ``script/columns.js`` reads them."""

import base64
import zlib

import numpy as np


def unpacked(layout, text):
    """Return the columns that *text* holds, by name."""
    data = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    found = {}
    for column in layout:
        size = column["rows"] * column["width"]
        planes, data = data[:size].reshape(column["width"], column["rows"]), data[size:]
        found[column["name"]] = values(planes, column["kind"])
    return found


def values(planes, kind):
    if kind in ("real", "exact"):
        return np.ascontiguousarray(planes.T).view("<f4" if kind == "real" else "<f8").ravel()
    folded = np.zeros((planes.shape[1], 8), np.uint8)
    folded[:, : len(planes)] = planes.T
    numbers = folded.view("<u8").ravel()
    numbers = (numbers >> 1).astype(np.int64) ^ -(numbers & 1).astype(np.int64)
    return np.cumsum(numbers) if kind == "differences" else numbers
