"""Command ``python -m experiments.irregular_kernels``."""

from __future__ import annotations

from experiments.frame import command_of
from experiments.irregular_kernels.experiment import IRREGULAR_KERNELS

__all__ = ["main"]

main = command_of(IRREGULAR_KERNELS)

if __name__ == "__main__":
    main()
