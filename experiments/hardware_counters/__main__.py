"""Command ``python -m experiments.hardware_counters``."""

from __future__ import annotations

from experiments.frame import command_of
from experiments.hardware_counters.experiment import HARDWARE_COUNTERS

__all__ = ["main"]

main = command_of(HARDWARE_COUNTERS)

if __name__ == "__main__":
    main()
