"""The process in which a reader is tried, in limited memory, until the time or the inputs end.

Progress and finds are lines of JSON on the standard output; the input that is being read is in
a folder, where it is found if this process dies of it.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import time
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from .coverage import Coverage
from .inputs import put
from .mutations import mutated
from .rules import check, watch_actions
from .smaller import smaller
from .targets import MODULES_BY_READER, TARGETS

if TYPE_CHECKING:
    from .inputs import Input
    from .rules import Find

__all__ = ["limit_memory", "main"]

MAX_MEMORY_BYTES = 2**30
"""Memory that an input may cost, in bytes."""
LARGEST_KEPT = 20_000
"""The bytes of an input that others are made from: a tenth of the largest, so that most take
milliseconds. Seeds are always among them."""
PROGRESS = 50
"""Inputs between two lines that say how far the search has come."""
WATCHED_SHARE = 0.5
"""The part of the inputs whose lines are watched: that takes two to four times as long."""


def limit_memory() -> None:
    """Let this process take 1 GiB more than it has now, for data: libraries do not count."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    data = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData"))
    limit = data * 1024 + MAX_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))


class Search:
    """A search for inputs that break the rules of one reader."""

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        self.name = name
        self.read = TARGETS[name].read
        self.random = Random(seed)
        self.folder = folder
        self.coverage = Coverage()
        self.corpus: list[Input] = []
        self.inputs = 0
        self.found: set[tuple[str, str, str]] = set()
        self.slowest_s = 0.0
        self.digest = sha256()

    def run(self, seconds: float, inputs: int) -> None:
        """Try inputs until so many *seconds* have gone by, or so many *inputs* were tried."""
        end = time.monotonic() + seconds
        seeds = TARGETS[self.name].seeds()
        for seed in seeds:
            find = self.try_input(seed, watched=True)
            if find is not None:
                print(json.dumps({"bad_seed": str(find)}), flush=True)
            self.corpus.append(seed)
        while time.monotonic() < end and self.inputs < inputs:
            late = self.random.random() < 0.5
            given = self.random.choice(self.corpus[-20:] if late else self.corpus)
            self.step(mutated(given, self.corpus, self.random))
            if self.inputs % PROGRESS == 0:
                self.tell()

    def tell(self) -> None:
        """Say how far the search has come."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        so_far = {
            "inputs": self.inputs,
            "lines": self.coverage.lines,
            "peak_bytes": peak,
            "slowest_s": self.slowest_s,
            "digest": self.digest.hexdigest(),
        }
        print(json.dumps({"so_far": so_far}), flush=True)

    def step(self, given: Input) -> None:
        """Try an input; keep it if it reached new lines."""
        before = self.coverage.lines
        find = self.try_input(given)
        if find is not None and find.key not in self.found:
            self.found.add(find.key)
            kept = f"find-{len(self.found)}"
            put(given, self.folder.parent / kept)
            print(json.dumps({"find": find.__dict__, "kept": kept}), flush=True)
            if find.rule not in ("time", "memory"):  # each try would take as long
                small = smaller(given, find.key, self.key_of)
                shutil.rmtree(self.folder.parent / kept)
                put(small, self.folder.parent / kept)
        short = sum(map(len, given.values())) <= LARGEST_KEPT
        if self.coverage.lines > before and find is None and short:
            self.corpus.append(given)

    def key_of(self, given: Input) -> tuple[str, str, str] | None:
        """Return what tells apart the find that an input is; None if it is none."""
        find = self.try_input(given)
        return None if find is None else find.key

    def try_input(self, given: Input, *, watched: bool = False) -> Find | None:
        """Return the rule that the input breaks, if it breaks one.

        Its lines are watched, always or often. Its files are in the folder only while it is read:
        this process may die of it.
        """
        self.folder.mkdir(parents=True)
        put(given, self.folder)
        self.digest.update(repr(sorted(given.items())).encode())
        self.inputs += 1
        limit_memory()  # what inputs before it left behind, and the corpus, are not its cost
        watched = watched or self.random.random() <= WATCHED_SHARE
        begun = time.process_time()
        with self.coverage.watching() if watched else nullcontext():
            find = check(self.read, self.folder)
        self.slowest_s = max(self.slowest_s, time.process_time() - begun)
        shutil.rmtree(self.folder)
        return find


def main() -> None:
    """Search as the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("reader", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--inputs", type=int, default=10**12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    watch_actions()
    search = Search(given.reader, given.seed, given.folder / "input")
    search.run(given.seconds, given.inputs)
    search.tell()
    total, missed = search.coverage.of_modules(MODULES_BY_READER[given.reader].split())
    print(json.dumps({"done": {"total": total, "missed": missed}}), flush=True)


if __name__ == "__main__":
    main()
    sys.exit(0)
