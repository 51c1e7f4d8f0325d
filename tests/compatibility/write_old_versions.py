"""Files that an earlier version of tasksim wrote, made again with the code of that version.

    python -m tests.compatibility.write_old_versions FOLDER COMMIT...

Each commit is unpacked, and its commands write whatever that version could write, into
``FOLDER/DATE-COMMIT``. Then every kind of file whose *shape* (its keys, columns and versions) no
earlier commit wrote is copied to ``tests/compatibility/old_versions/KIND/DATE-COMMIT``, where the
tests read it ever after. Give all commits in the order of history: those that FOLDER has already
are not written again. Before a release, give that of the release as the last one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet

KEPT_FILES = Path(__file__).with_name("old_versions")
COMMAND_TIMEOUT_S = 120
MAX_SAMPLE_LINES = 20
"""Lines that are kept of a file of samples: all have the same form."""
LEFT_OUT = (".png", ".html", ".md", ".lock")
"""Suffixes of files that nothing reads."""
GIVEN_DURATIONS = "--durations potrf=1,trsm=3,syrk=3,gemm=6"
ON_GPUS = (
    "--durations cpu:potrf=1,cpu:trsm=3,cpu:syrk=3,cpu:gemm=6,"
    "cuda:potrf=2,cuda:trsm=1,cuda:syrk=1,cuda:gemm=1"
)
INPUT_FILES = {
    "platforms/box.yaml": """\
version: 1
name: box
memories: {ram: {}, gpu0: {size: 2 MiB}}
overheads: {submission: 1 us, copy: 10 us}
workers:
  cuda: {count: 1, memory: gpu0}
  cpu: {count: 2, memory: ram}
links:
  pci0: {bandwidth: 12 GB/s, latency: 10 us}
routes:
  - {from: ram, to: gpu0, links: [pci0]}
  - {from: gpu0, to: ram, links: [pci0]}
""",
    "platforms/numa.yaml": """\
version: 1
workers: {cpu: {count: 4}}
memory_domains: {socket: {workers: cpu, each: 2, bandwidth: [12 GB/s, 22 GB/s]}}
numa:
  distances: [[10, 21], [21, 10]]
  bandwidth: 15 GB/s
  kernels:
    gemm: {memory_share: 0.4, demand: 5 GB/s}
""",
    "study.yaml": """\
version: 1
name: small
graphs:
  - {graph: cholesky, set: {tiles: [2, 3]}}
platforms: [identical-8]
durations: {potrf: 1, trsm: 3, syrk: 3, gemm: 6}
schedulers: [eager, dmdas]
""",
    "three.csv": "m,n,k,seconds\n"
    + "".join(
        f"{m},{n},{k},{1e-9 * m * n * k + 1e-6 * (1 + (repeat + m) % 3)}\n"
        for m in (16, 32, 64, 128)
        for n in (16, 32, 64, 128)
        for k in (16, 64, 128)
        for repeat in (1, 2)
    ),
    "one.csv": "m,seconds\n"
    + "".join(
        f"{m},{1e-9 * m**3 + 1e-6 * (r % 3)}\n" for m in range(16, 256, 16) for r in range(4)
    ),
    "program.py": """\
from concurrent.futures import ThreadPoolExecutor
def work(n):
    return sum(i * i for i in range(n))
with ThreadPoolExecutor(2) as pool:
    list(pool.map(work, [3000, 4000, 5000, 6000]))
""",
    "graph.py": """\
from pathlib import Path
import tasksim
from tasksim import GraphBuilder, R, RW
Path("graph").mkdir()
builder = GraphBuilder("small")
x, y = builder.handle("x", size_bytes=8), builder.handle("y", size_bytes=16)
for n in (16, 32):
    builder.insert("work", RW(x), R(y), n=n, duration_s=0.5)
tasksim.save_graph(builder.build(), "graph/small.npz")
""",
    "objects.py": """\
import tasksim
graph = tasksim.load_graph("graph/small.npz")
run = tasksim.simulate(graph, workers=2, durations={"work": 1.0})
tasksim.save_run(run, "run-of-object")
""",
}
"""Files that the commands read."""

SIMULATE_COMMAND = "tasksim simulate cholesky tiles=3"
CALIBRATE = "tasksim calibrate cholesky tiles=3 tile_size=16 --library @ --name here --workers 2"
SAMPLES = dict.fromkeys(("history", "mlr", "cp", "hybrid", "learned"), "three.csv")
SAMPLES |= {"power": "one.csv", "bysize": "one.csv"}
STEPS: dict[str, list[str]] = {
    "graph": ["python graph.py"],
    "run-simulated": [f"{SIMULATE_COMMAND} --workers 2 {GIVEN_DURATIONS} -o @"],
    "run-models": [
        f"{SIMULATE_COMMAND} --platform xeon-2c --noise model --seed 3 --scheduler dmdas -o @",
    ],
    "run-gpu": [f"{SIMULATE_COMMAND} --platform box --scheduler dmdas {ON_GPUS} -o @"],
    "run-numa": [f"{SIMULATE_COMMAND} --platform numa {GIVEN_DURATIONS} -o @"],
    "run-uncertain": [
        f"{SIMULATE_COMMAND} --platform xeon-2c --uncertainty all --replications 20 -o @",
        f"{SIMULATE_COMMAND} --platform xeon-2c --uncertainty models --replications 20 -o @",
    ],
    "run-cluster": [
        f"{SIMULATE_COMMAND} --workers 2 --nodes 2 --network switch:bandwidth=4GB/s,latency=1us"
        f" {GIVEN_DURATIONS} -o @",
    ],
    "run-native": ["tasksim run cholesky tiles=3 tile_size=16 --workers 2 -o @"],
    "run-recorded": ["tasksim record -o @ program.py"],
    "run-of-object": ["python objects.py"],
    "calibration": [f"{CALIBRATE} --max-time 2s"],
    **{
        f"models-{kind}": [f"tasksim fit {samples} --kind {kind} -o @/gemm.json"]
        for kind, samples in SAMPLES.items()
    },
    "study": ["tasksim study run study.yaml -o @"],
    "tree": [
        "tasksim study tree study --choose scheduler -o @/tree.json",
        "tasksim study tree study --choice scheduler -o @/tree.json",
    ],
    "adversary": [
        "tasksim study adversary heft cpop --tasks 4 --workers 2 --steps 5 --runs 1 --keep 1 -o @",
    ],
    "optimum": [
        f"tasksim optimize cholesky tiles=3 --workers 2 {GIVEN_DURATIONS} --steps 50"
        " --method annealing -o @",
    ],
}
"""Kinds of what is kept -> command lines, of which the first that works counts; ``@`` is the folder
of the kind."""


def main() -> None:
    """Write with each commit what it could write, and keep what has a new shape."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("commits", nargs="+", metavar="COMMIT")
    given = parser.parse_args()
    seen: set[str] = set()
    for commit in given.commits:
        words = ["git", "log", "-1", "--format=%ad-%h", "--date=format:%Y%m%d-%H%M", commit]
        name = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
        if not (given.folder / name).is_dir():
            write(commit, given.folder / name)
        for kind in STEPS:
            place = given.folder / name / kind
            found = kind + shape(place) if place.is_dir() and any(place.iterdir()) else ""
            if found and found not in seen:
                seen.add(found)
                shutil.rmtree(KEPT_FILES / kind / name, ignore_errors=True)
                shutil.copytree(place, KEPT_FILES / kind / name)


def write(commit: str, folder: Path) -> None:
    """Write to *folder* what the code of *commit* can write."""
    with TemporaryDirectory() as text:
        place = Path(text)
        code, here = place / "code", place / "here"
        for path in (code, here):
            path.mkdir()
        packed = subprocess.run(["git", "archive", commit], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(code)], input=packed, check=True)
        for name, content in INPUT_FILES.items():
            (here / name).parent.mkdir(exist_ok=True)
            (here / name).write_text(content)
        packages = [str(code), os.environ.get("OLD_PACKAGES", "")]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, packages)),
            "XDG_DATA_HOME": str(place / "user"),
            "HOME": str(here),
        }
        folder.mkdir(parents=True)
        for kind, lines in STEPS.items():
            if any(_works(kind, line, here, environment) for line in lines):
                shutil.copytree(here / kind, folder / kind)
        for path in [path for path in folder.rglob("*") if path.is_file()]:
            _trim(path, place)


def _works(kind: str, line: str, here: Path, environment: dict[str, str]) -> bool:
    """Call a command line of the old version; return whether it ended well."""
    if "@/" in line:  # others make their folders themselves
        (here / kind).mkdir(exist_ok=True)
    words = line.replace("@", kind).split()
    words[:1] = [sys.executable, *(["-m", "tasksim"] if words[0] == "tasksim" else [])]
    try:
        done = subprocess.run(
            words, cwd=here, env=environment, capture_output=True, timeout=COMMAND_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _trim(path: Path, place: Path) -> None:
    """Remove a file that nothing reads, or what a text says of the machine that wrote it."""
    if path.suffix in LEFT_OUT:
        path.unlink()
    elif path.suffix in (".json", ".yaml", ".csv"):
        text = path.read_text().replace(str(place), "/old")
        if path.name.endswith(".samples.csv"):
            text = "".join(text.splitlines(keepends=True)[:MAX_SAMPLE_LINES])
        path.write_text(re.sub(rf"\b{re.escape(os.uname().nodename)}\b", "laptop", text))


def shape(folder: Path) -> str:
    """Return what a reader of the files in *folder* must know: names, keys, columns, versions."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = re.sub(r"[0-9a-f]{16}", "*", path.relative_to(folder).as_posix())
        found[name] = _shape_of_file(path)
    return json.dumps(found, sort_keys=True)


def _shape_of_file(path: Path) -> Any:
    if path.suffix == ".json":
        return sorted(set(_keys(json.loads(path.read_text()))))
    if path.suffix == ".parquet":
        schema = pyarrow.parquet.ParquetFile(path).schema
        return [f"{one.name} {one.physical_type}" for one in schema]
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return sorted(f"{name} {arrays[name].dtype.kind}" for name in arrays.files)
    return path.read_text().partition("\n")[0] if path.suffix == ".csv" else None


def _keys(data: Any, place: str = "") -> Any:
    """Yield the places of the keys in JSON *data*; those that users or files name are ``*``."""
    if isinstance(data, dict):
        for key, value in data.items():
            is_own = any(mark in key for mark in "/: ") or key[:1].isdigit() or key[-1:].isdigit()
            yield from _keys(value, f"{place}.{'*' if is_own else key}")
    elif isinstance(data, list):
        for value in data[:50]:
            yield from _keys(value, f"{place}[]")
    else:
        yield f"{place}={data}" if place.endswith("version") else place


if __name__ == "__main__":
    main()
