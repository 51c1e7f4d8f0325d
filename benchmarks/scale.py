"""How large may a simulation be? Time and peak memory of whole commands, up to ten million tasks.

    python benchmarks/scale.py                                   # a million tasks each
    python benchmarks/scale.py --millions 1 10 --only cores gpus # ten million: minutes, 7 GB
    python benchmarks/scale.py --only cluster cluster-cg         # 1,024 nodes with GPUs

Each case is `tasksim simulate`, from the generator to the written run; then `tasksim validate`
reads and checks what was written, unless --unread. Printed are wall time, processor time, peak
memory, and per task processor time and peak memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

COSTS: Final = (
    "potrf=5ms,trsm=10ms,syrk=10ms,gemm=18ms,"
    "cuda:potrf=2ms,cuda:trsm=3.4ms,cuda:syrk=2ms,cuda:gemm=2.8ms"
)
CG_COSTS: Final = "pack=10us,stencil=1ms,dot=100us,add=1us,axpy=100us,update=100us"
NODE: Final = """\
version: 1
name: node
memories: {{ram: {{}}, {memories}}}
arch: {{cpu: {{}}, cuda: {{pipeline: 2}}}}
workers:
  cpu: {{count: {cores}, memory: ram}}
  cuda: {{count: {gpus}, memory: [{names}], drivers: cpu}}
overheads: {{submission: 1 us, task: 1 us, push: 1 us, fetch: 1 us}}
links: {{{links}}}
"""
NETWORK: Final = "switch:bandwidth=12.5GB/s,latency=1us"
NODES: Final = 1024


def node(cores: int, gpus: int, memory: str, bandwidth: str) -> str:
    """Return the platform file of a node with GPUs of some *memory* on a link each."""
    names = [f"gpu{i}" for i in range(gpus)]
    return NODE.format(
        cores=cores,
        gpus=gpus,
        names=", ".join(names),
        memories=", ".join(f"{name}: {{size: {memory}}}" for name in names),
        links=", ".join(
            f"pcie{i}: {{bandwidth: {bandwidth}, latency: 10 us, between: [ram, {name}]}}"
            for i, name in enumerate(names)
        ),
    )


def cases(tasks: float, folder: Path) -> dict[str, list[str]]:
    """Return the arguments of `tasksim simulate` for each case of about *tasks* tasks."""
    machine, cluster = folder / "machine.yaml", folder / "node.yaml"
    machine.write_text(node(12, 3, "3 GiB", "6 GB/s"), encoding="utf-8")
    cluster.write_text(node(48, 4, "16 GiB", "12 GB/s"), encoding="utf-8")
    tiles = round((6 * tasks) ** (1 / 3) - 1)
    cholesky = ["cholesky", f"tiles={tiles}", "tile_size=960"]
    many = ["--platform", str(cluster), "--nodes", str(NODES), "--network", NETWORK]
    blocks = 32
    per_iteration = 8.4 * blocks * blocks
    return {
        "cores": [*cholesky, "--workers", "12", "--durations", COSTS.partition(",cuda")[0]],
        "overheads": ["cholesky", f"tiles={tiles}", "--platform", "xeon-24c", "--noise", "model"],
        "qr": ["qr", f"tiles={round((3 * tasks) ** (1 / 3))}", "--platform", "xeon-24c"],
        "gpus": [
            *cholesky, "--platform", str(machine), "--durations", COSTS, "--scheduler", "dmdas",
        ],
        "cluster": [*cholesky, *many, "--durations", COSTS, "--scheduler", "dmdas"],
        "cluster-cg": [
            "cg", f"block_rows={blocks}", f"block_columns={blocks}",
            f"iterations={max(1, round(tasks / per_iteration))}",
            *many, "--durations", CG_COSTS, "--scheduler", "lws",
        ],
    }  # fmt: skip


def measure(arguments: list[str]) -> tuple[float, float, float]:
    """Run a command of tasksim; return its wall time, processor time and peak memory in GB."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "tasksim", *arguments], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"tasksim {' '.join(arguments)}: exit code {process.returncode}")
    wall_s = time.perf_counter() - begun
    return wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def report(name: str, arguments: list[str], folder: Path, *, read: bool) -> None:
    """Measure a case, and print a line per command."""
    from tasksim import load_run

    run = folder / name
    figures = {"simulate": measure(["simulate", *arguments, "--output", str(run), "--force"])}
    if read:
        figures["validate"] = measure(["validate", str(run)])
    tasks = len(load_run(run))
    size = sum(file.stat().st_size for file in run.iterdir()) / 1e6
    for command, (wall_s, cpu_s, peak_gb) in figures.items():
        print(
            f"{name:12} {command:9} {tasks:11,} tasks  {wall_s:7.1f} s wall {cpu_s:7.1f} s CPU"
            f"  {peak_gb:5.2f} GB  {1e6 * cpu_s / tasks:6.2f} us and {1e9 * peak_gb / tasks:6.0f} B"
            f" per task  {size:7.1f} MB written",
            flush=True,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--millions", type=float, nargs="+", default=[1.0])
    parser.add_argument("--only", nargs="+", default=["cores", "overheads", "qr", "gpus"])
    parser.add_argument("--unread", action="store_true", help="do not read the runs again")
    given = parser.parse_args()
    for millions in given.millions:
        with tempfile.TemporaryDirectory() as name:
            known = cases(1e6 * millions, Path(name))
            for case in given.only:
                if case not in known:
                    parser.error(f"--only {case}; legal: {', '.join(known)}")
                report(case, known[case], Path(name), read=not given.unread)


if __name__ == "__main__":
    main()
