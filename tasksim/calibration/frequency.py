"""Measured frequency of a core: its number of dependent instructions per second."""

from __future__ import annotations

from typing import Final

from tasksim.calibration.compiled_tool import loaded

__all__ = ["core_frequency"]

SOURCE: Final = """
#include <chrono>
// Each waits for the one before: a cycle each, on all processors of these decades. Exclusive ors
// of two registers: additions of constants some processors do while renaming, eight in a cycle.
#define TEN(x) x x x x x x x x x x
static double seconds(long rounds) {
    auto begun = std::chrono::steady_clock::now();
    unsigned long sum = (unsigned long)rounds, other = 3;
    for (long i = 0; i < rounds; i++) {
        TEN(TEN(sum ^= other; asm volatile("" : "+r"(sum), "+r"(other));))
    }
    asm volatile("" : : "r"(sum));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}
extern "C" __attribute__((visibility("default")))
double instructions_per_second(long rounds, long times) {
    double best = 1e300;
    for (long i = 0; i < times; i++) {
        double one = seconds(rounds);
        if (one < best) best = one;
    }
    return 100.0 * (double)rounds / best;
}
"""
MEASUREMENT_ROUNDS: Final = 20_000
"""Number of rounds of a hundred additions each: about a millisecond, less than the time between
interruptions of a core."""
MEASUREMENTS: Final = 50
"""Number of measurements, of which the fastest counts: interruptions and other machines on the same
core only add time."""


def core_frequency() -> float:
    """Return the frequency of a busy core in cycles per second.

    Raises
    ------
    TasksimError
        If there is no compiler.
    """
    import ctypes

    tool = loaded(SOURCE, "measuring the frequency")
    tool.instructions_per_second.restype = ctypes.c_double
    tool.instructions_per_second.argtypes = [ctypes.c_long, ctypes.c_long]
    return float(tool.instructions_per_second(MEASUREMENT_ROUNDS, MEASUREMENTS))
