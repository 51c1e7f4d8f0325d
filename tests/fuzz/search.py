"""Searches of one reader in a process of its own, which may die of what it reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

from .inputs import Input, in_folder, put

__all__ = ["FINDS_FOLDER", "Result", "search"]

HERE = Path(__file__).resolve().parent
FINDS_FOLDER = HERE / "finds"
"""A folder per reader, in it one per find: its input."""
MAX_FINDS = 5
"""After which a process that has died is not followed by another: they may all do."""
SILENCE_S = 60.0
"""CPU time of a process after which it is ended, once the time is over: an input takes `CPU_S` at
most. On a busy machine, it may be a long time."""


@dataclass
class Result:
    """Result of a search."""

    reader: str
    inputs: int = 0
    lines: int = 0
    peak_bytes: int = 0
    slowest_s: float = 0.0
    """The CPU time of the input that took longest."""
    digest: str = ""
    """Of all inputs of the last process: equal for equal seeds."""
    total: int = 0
    """Lines of the reader's modules."""
    missed: dict[str, list[int]] = field(default_factory=dict)
    """Lines by file that the inputs of the last process did not reach."""
    finds: list[tuple[str, Input]] = field(default_factory=list)

    def __str__(self) -> str:
        peak = f"{self.peak_bytes / 2**20:.0f} MiB"
        head = f"{self.inputs} inputs, {self.lines} lines reached, peak memory {peak}"
        head += f", the slowest {self.slowest_s:.2g} s"
        if self.total:
            covered = 1 - sum(map(len, self.missed.values())) / self.total
            head += f", {100 * covered:.0f} % of the {self.total} lines of its modules"
        told = "".join(f"\n  {what}" for what, _ in self.finds)
        return f"{head}, {len(self.finds)} finds{told}"

    def keep(self) -> list[Path]:
        """Write the finds to where the tests read them; return the folders."""
        places = []
        for _, given in self.finds:
            digest = sha256(b"".join(given[name] for name in sorted(given))).hexdigest()[:10]
            place = FINDS_FOLDER / self.reader / digest
            put(given, place)
            places.append(place)
        return places


def search(
    reader: str, *, seed: int, seconds: float = 1e6, inputs: int = 10**9, nice: int = 10
) -> Result:
    """Return what inputs of a *reader* break the rules, of some *seconds* or number of *inputs*.

    A process that dies is a find as well, and another goes on with another seed.
    """
    result = Result(reader)
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and result.inputs < inputs:
        if not _searched(result, seed, left, inputs - result.inputs, nice):
            break
        if len(result.finds) > MAX_FINDS:
            break
        seed += 1
    return result


def _searched(result: Result, seed: int, seconds: float, inputs: int, nice: int) -> bool:
    """Add to a *result* what one process finds; return whether it died."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        arguments = [result.reader, "--seed", str(seed), "--seconds", str(seconds)]
        command = [sys.executable, "-m", f"{__package__}.child", *arguments]
        command += ["--inputs", str(inputs), "--folder", name]
        with (folder / "output").open("w+b") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=_environment(nice),
                preexec_fn=lambda: os.nice(nice),
            )  # fmt: skip
            _wait(process, seconds if seconds < 10**5 else None)
            output.seek(0)
            text = output.read().decode("utf-8", "replace")
        return _take(result, text, folder, process.returncode)


def _wait(process: subprocess.Popen[bytes], seconds: float | None) -> None:
    """Wait until a process ends, or for some *seconds*, and then as long as it may take to end."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        limit_s = _cpu_s(process) + SILENCE_S
        while process.poll() is None and _cpu_s(process) < limit_s:
            time.sleep(0.1)
        process.kill()
        process.wait()


def _cpu_s(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU time of a process; infinite if it has ended."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _environment(nice: int) -> dict[str, str]:
    """Return the environment in which the child finds this package and tasksim, alone."""
    above = HERE.parents[1 if __package__ == "tests.fuzz" else 0]
    paths = [str(above), *sys.path]
    single = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
    single["PYTHONHASHSEED"] = "0"  # the same seed, the same inputs
    return {**os.environ, **single, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _take(result: Result, text: str, folder: Path, code: int) -> bool:
    """Add what a process has said to *result*; return whether it died before its time."""
    done, so_far = False, {"inputs": 0, "lines": 0, "peak_bytes": 0, "slowest_s": 0.0, "digest": ""}
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        said = json.loads(line)
        if "find" in said:
            find = said["find"]
            what = f"{find['rule']}: {find['what']} ({find['where']})"
            result.finds.append((what, in_folder(folder / said["kept"])))
        elif "bad_seed" in said:
            result.finds.append((f"a valid input is refused: {said['bad_seed']}", {}))
        elif "so_far" in said:
            so_far = said["so_far"]
        else:
            done = True
            result.total, result.missed = said["done"]["total"], said["done"]["missed"]
    result.inputs += so_far["inputs"]
    result.lines = max(result.lines, so_far["lines"])
    result.peak_bytes = max(result.peak_bytes, so_far["peak_bytes"])
    result.slowest_s = max(result.slowest_s, so_far["slowest_s"])
    result.digest = so_far["digest"]
    if not done:
        last = text.strip().splitlines()[-1:] or [""]
        place = folder / "input"
        given = in_folder(place) if place.is_dir() else {}
        result.finds.append((f"dies: exit code {code}: {last[0][:200]}", given))
    shutil.rmtree(folder / "input", ignore_errors=True)
    return not done
