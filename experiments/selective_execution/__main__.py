"""Command ``python -m experiments.selective_execution``."""

from __future__ import annotations

from experiments.frame import command_of
from experiments.selective_execution.experiment import SELECTIVE_EXECUTION

__all__ = ["main"]

main = command_of(SELECTIVE_EXECUTION)

if __name__ == "__main__":
    main()
