"""Small files that claim much: each is refused in a few words, within memory and time.

What is stated in docs/security.md is measured here: each command is a process of its own that the
system ends where it exceeds its memory or its processor time.
"""

from __future__ import annotations

import gzip
import io
import resource
import subprocess
import sys
import zipfile
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tiers import LONG

MEMORY_BYTES = 3 * 2**30
"""Data of a process that reads a bomb. NumPy, SciPy and Arrow themselves take half a gigabyte."""
CPU_S = 60
"""Processor time of such a process: ten times what the slowest takes."""


def entities():
    names = "abcdefghij"
    inner = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise(names))
    return f'<!DOCTYPE t [<!ENTITY a "ha">{inner}]><adag>&j;</adag>'.encode()


def aliases():
    names = "abcdefghij"
    lines = ["version: 1", "a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for one, other in pairwise(names):
        lines.append(f"{other}: &{other} [{', '.join([f'*{one}'] * 10)}]")
    return "\n".join(lines).encode()


def zipped(text, times):
    file = io.BytesIO()
    with gzip.open(file, "wb", compresslevel=1) as packed:
        for _ in range(times):
            packed.write(text)
    return file.getvalue()


def zeros():
    file = io.BytesIO()
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<i8", "fortran_order": False, "shape": (2**26,)}
    )
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as members,
        members.open("kernel.npy", "w") as member,
    ):
        member.write(head.getvalue())
        for _ in range(2**9):
            member.write(bytes(2**20))
    return file.getvalue()


def claims():
    file = io.BytesIO()
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<i8", "fortran_order": False, "shape": (2**50,)}
    )
    with zipfile.ZipFile(file, "w") as members:
        members.writestr("kernel.npy", head.getvalue())
    return file.getvalue()


def parquet(columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="zstd")
    return file.getvalue()


def repeated_text():
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 2000), pa.array(["x" * 5_000_000]))
    return parquet({"layout": text, "duration_s": [1.0] * 2000})


def rows():
    return parquet(
        {"n": np.zeros(51_000_000, np.int8), "duration_s": np.zeros(51_000_000, np.int8)}
    )


BOMBS = {
    "entities": (entities, "import network bomb.xml -o net.yaml", "expected no entities"),
    "entities of a workflow": (
        entities,
        "import workflow bomb.dax -o graph.npz",
        "entities are refused",
    ),
    "elements": (
        lambda: b"<platform>" + b"<a/>" * 4_000_001 + b"</platform>",
        "import network bomb.xml -o net.yaml",
        "at most 4000000 elements",
    ),
    "deep XML": (
        lambda: b"<platform>" + b"<a>" * 10_000,
        "import network bomb.xml -o net.yaml",
        "at most 100 elements inside each other",
    ),
    "aliases": (aliases, "simulate chain length=2 --platform ./bomb.yaml", "each alias counted in"),
    "deep YAML": (
        lambda: b"a: " + b"[" * 200_000,
        "simulate chain length=2 --platform ./bomb.yaml",
        "not YAML",
    ),
    "long YAML": (
        lambda: b"a: [" + b"1, " * 2**20 + b"]",
        "simulate chain length=2 --platform ./bomb.yaml",
        "legal: at most 1 MiB",
    ),
    "deep JSON": (lambda: b"[" * 1_000_000, "fit bomb.json -o k.json", "100 deep"),
    "wide JSON": (
        lambda: b"[" + b"{}," * 16_000_000 + b"1]",
        "fit bomb.json -o k.json",
        "more than 16000000 lists and objects",
    ),
    "gzipped JSON": (
        lambda: zipped(b" " * 2**20, 1200),
        "import trace bomb.json.gz -o run",
        "too large",
    ),
    "zeros": (zeros, "validate bomb.npz", "bytes that would become"),
    "claimed array": (claims, "validate bomb.npz", "bomb.npz"),
    "repeated text": (repeated_text, "fit bomb.parquet -o k.json", "its texts have more than"),
    "rows": (rows, "fit bomb.parquet -o k.json", "legal: at most 50000000 rows"),
}


def limited():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))


SLOW_BOMBS = ("deep YAML", "elements", "gzipped JSON", "rows", "zeros")
"""Bombs that take seconds to make, or to refuse."""


LONG_BOMBS = ("elements", "gzipped JSON")
"""Bombs that take 5 to 10 seconds: others that are counted, or unpacked, stand for them."""


@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW_BOMBS))
        for name in BOMBS
        if LONG or name not in LONG_BOMBS
    ],
)
def test_a_bomb_is_refused(bomb, tmp_path):
    make, line, said = BOMBS[bomb]
    (name,) = [word for word in line.split() if "bomb." in word]
    (tmp_path / name).write_bytes(make())
    done = subprocess.run(
        [sys.executable, "-m", "tasksim", *line.split()], capture_output=True, text=True,
        cwd=tmp_path, preexec_fn=limited, timeout=1200, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr[-2000:]
    assert said in done.stderr
    assert len(done.stderr) < 1500
    assert [path.name for path in tmp_path.iterdir()] == [(tmp_path / name).name]
