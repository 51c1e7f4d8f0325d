"""Models of the duration of a kernel as a function of its parameters, and their files."""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["CLOCK_PARAMETER", "FIT_WEIGHTS", "Weights"]

# Commands have these words in their options, so they are here, where no import of NumPy is needed.

CLOCK_PARAMETER: Final = "frequency_hz"
"""The clock of the core: a counter, and a parameter of samples measured at several clocks."""

Weights = Literal["relative", "none", "huber"]
FIT_WEIGHTS: Final = ("relative", "none", "huber")
"""Weights of the samples in a linear fit."""
