"""Command ``python -m experiments.hardware_counters``."""

from __future__ import annotations

from experiments.frame import command_of
from experiments.hardware_counters.experiment import EXPERIMENT

__all__ = ["main"]

main = command_of(EXPERIMENT)

if __name__ == "__main__":
    main()
