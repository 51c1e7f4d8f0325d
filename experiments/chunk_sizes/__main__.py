"""Command ``python -m experiments.chunk_sizes``."""

from __future__ import annotations

from experiments.chunk_sizes.experiment import CHUNK_SIZES
from experiments.frame import command_of

__all__ = ["main"]

main = command_of(CHUNK_SIZES)

if __name__ == "__main__":
    main()
