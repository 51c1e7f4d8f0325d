"""Fuzzing of a reader: ``python -m tests.fuzz READER --minutes 10``, from the top level.

The seed is another each time, and printed. Without a reader, all of them, one after the other.
Each find is printed, made small, and kept in ``tests/fuzz/finds/READER/``, from where the tests
read it ever after. The exit code is 1 if there was one.
"""

from __future__ import annotations

import argparse
import sys
from random import SystemRandom

from .search import Result, search
from .targets import TARGETS


def main() -> None:
    """Search as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(TARGETS))
    parser.add_argument("--minutes", type=float, default=1.0, help="for each reader; default: 1")
    parser.add_argument(
        "--missed", action="store_true", help="print the lines that no input reached"
    )
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    given = parser.parse_args()
    for name in given.readers:
        if name not in TARGETS:
            parser.error(f"unknown reader {name!r}; known: {', '.join(TARGETS)}")
    found = []
    for name in given.readers or TARGETS:
        found.append(_searched(name, given.minutes * 60, given.seed))
        for file, lines in found[-1].missed.items() if given.missed else ():
            print(f"  {file}: {', '.join(map(str, lines))}", flush=True)
    sys.exit(any(result.finds for result in found))


def _searched(name: str, seconds: float, seed: int) -> Result:
    result = search(name, seed=seed, seconds=seconds)
    print(f"{name}: seed {seed}: {result}", flush=True)
    for place in result.keep():
        print(f"  kept in {place}", flush=True)
    return result


if __name__ == "__main__":
    main()
