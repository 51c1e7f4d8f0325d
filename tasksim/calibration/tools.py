"""C++ tools for measurements of memory and frequency, compiled on demand."""

from __future__ import annotations

import ctypes
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import TasksimError
from tasksim.core.compiler import NotBuilt, find_compiler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["MemoryTool", "compiled", "core_frequency", "loaded"]

LINK_FLAGS: Final = ("-shared", "-pthread")


def compiled(
    source: str,
    target: Path,
    purpose: str,
    flags: Sequence[str] = ("-O2",),
    linked: Sequence[str] = LINK_FLAGS,
) -> Path:
    """Compile *source* to *target*, by default a shared library, and return *target*.

    The flags and libraries *linked* come last in the command that links it.

    Raises
    ------
    TasksimError
        If there is no compiler or compilation fails; the message names the *purpose*.
    """
    target.with_suffix(".cpp").write_text(source, encoding="utf-8")
    try:
        compiler = find_compiler()
        name = target.with_suffix("").name
        compiler.run(compiler.compile(f"{name}.cpp", f"{name}.o", flags), target.parent)
        command = [*compiler.command, f"{name}.o", "-o", target.name, *linked]
        compiler.run(command, target.parent)
    except NotBuilt as error:
        raise TasksimError(f"{purpose} needs a small C++ program: {error}") from error
    return target


def loaded(source: str, purpose: str, flags: Sequence[str] = ("-O2",)) -> ctypes.CDLL:
    """Return *source* compiled and loaded as a library; its file is deleted."""
    with TemporaryDirectory(prefix="tasksim-") as folder:
        return ctypes.CDLL(str(compiled(source, Path(folder, "tool.so"), purpose, flags)))


FREQUENCY_SOURCE: Final = """
#include <chrono>
// Each exclusive or waits for the one before, so it takes a cycle on every processor. Additions of
// constants would not do: some processors execute eight of them in a cycle, while renaming.
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
"""Number of rounds of a hundred instructions each: about a millisecond, less than the time between
interruptions of a core."""
MEASUREMENT_COUNT: Final = 50
"""Number of measurements, of which the fastest counts: interruptions and other machines on the same
core only add time."""


def core_frequency() -> float:
    """Return the frequency of a busy core in cycles per second.

    Raises
    ------
    TasksimError
        If there is no compiler.
    """
    tool = loaded(FREQUENCY_SOURCE, "measuring the frequency")
    tool.instructions_per_second.restype = ctypes.c_double
    tool.instructions_per_second.argtypes = [ctypes.c_long, ctypes.c_long]
    return float(tool.instructions_per_second(MEASUREMENT_ROUNDS, MEASUREMENT_COUNT))


MEMORY_PURPOSE: Final = "measuring memory"
MEMORY_SOURCE: Final = r"""
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>
#include <atomic>
#include <sys/mman.h>
#define OFFERED extern "C" __attribute__((visibility("default")))
typedef std::chrono::steady_clock Clock;
static double since(Clock::time_point begun) {
    return std::chrono::duration<double>(Clock::now() - begun).count();
}
static char *taken(size_t bytes) {
    void *found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return nullptr;
    madvise(found, bytes, MADV_HUGEPAGE);  // else a miss of the table of pages is measured, too
    return (char *)found;
}
// A cycle through all lines in random order (Sattolo): no processor can guess the next one.
struct Chase { size_t bytes, lines; char *memory; void **at; };
OFFERED void *chase_new(size_t bytes, size_t line) {
    Chase *c = new Chase{bytes, bytes / line, taken(bytes), nullptr};
    if (!c->memory) { delete c; return nullptr; }
    std::vector<uint32_t> next(c->lines);
    for (size_t i = 0; i < c->lines; i++) next[i] = (uint32_t)i;
    uint64_t state = 88172645463325252ull;
    for (size_t i = c->lines - 1; i > 0; i--) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        std::swap(next[i], next[state % i]);
    }
    for (size_t i = 0; i < c->lines; i++)
        *(void **)(c->memory + i * line) = c->memory + (size_t)next[i] * line;
    c->at = (void **)c->memory;
    return c;
}
OFFERED double chase_seconds(void *chase, long steps) {
    Chase *c = (Chase *)chase;
    void **at = c->at;
    auto begun = Clock::now();
    for (long i = 0; i < steps; i++) at = (void **)*at;
    double taken = since(begun);
    c->at = at;
    asm volatile("" : : "r"(at) : "memory");
    return taken / (double)steps;
}
OFFERED void chase_delete(void *chase) {
    Chase *c = (Chase *)chase;
    munmap(c->memory, c->bytes);
    delete c;
}
// a = b + s c, over and over: 24 bytes per element, as STREAM counts them.
static void triad(double *a, const double *b, const double *c, size_t n) {
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 0.25 * c[i];
    asm volatile("" : : "r"(a) : "memory");
}
OFFERED double stream_bytes_per_second(size_t bytes, long threads, double seconds) {
    size_t n = bytes / 24 / 8 * 8;
    if (n < 8) return 0;
    // Between two looks at the clock about 1 MiB: a look takes as long as some KiB from a cache.
    size_t passes_at_once = 1 + (1 << 20) / (n * 24);
    std::atomic<long> ready(0), failed(0);
    std::atomic<bool> started(false), stop(false);
    std::vector<double> passes((size_t)threads, 0.0);
    std::vector<Clock::time_point> ends((size_t)threads);
    Clock::time_point begun;
    auto work = [&](size_t me) {
        char *memory = taken(n * 24);
        double *a = (double *)memory, *b = a + n, *c = b + n;
        if (memory) {
            for (size_t i = 0; i < 3 * n; i++) a[i] = 1.0;
            triad(a, b, c, n);
        } else {
            failed++;
        }
        if (ready.fetch_add(1) == threads - 1) {
            begun = Clock::now();
            started.store(true);
        }
        while (!started.load()) std::this_thread::yield();
        if (failed.load()) {
            if (memory) munmap(memory, n * 24);
            return;
        }
        do {
            for (size_t i = 0; i < passes_at_once; i++) triad(a, b, c, n);
            passes[me] += (double)passes_at_once;
            if (since(begun) >= seconds) stop.store(true);
        } while (!stop.load(std::memory_order_relaxed));
        ends[me] = Clock::now();
        munmap(memory, n * 24);
    };
    std::vector<std::thread> others;
    for (long t = 1; t < threads; t++) others.emplace_back(work, (size_t)t);
    work(0);
    for (auto &other : others) other.join();
    if (failed.load()) return 0;
    // All threads count over one span: a thread that streamed alone while others waited for a core
    // would add a rate that they do not reach together.
    double sum = 0;
    for (double count : passes) sum += count;
    auto ended = *std::max_element(ends.begin(), ends.end());
    return sum * (double)n * 24.0 / std::chrono::duration<double>(ended - begun).count();
}
"""
MEMORY_FLAGS: Final = ("-O3", "-march=native")
"""Compiler flags: vectors of this machine, as narrower ones would limit bandwidths of caches."""


class MemoryTool:
    """Pointer chases and streams.

    Raise :exc:`TasksimError` if there is no compiler.
    """

    def __init__(self) -> None:
        self._library: Any = loaded(MEMORY_SOURCE, MEMORY_PURPOSE, MEMORY_FLAGS)
        self._library.chase_new.restype = ctypes.c_void_p
        self._library.chase_new.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
        self._library.chase_seconds.restype = ctypes.c_double
        self._library.chase_seconds.argtypes = [ctypes.c_void_p, ctypes.c_long]
        self._library.chase_delete.argtypes = [ctypes.c_void_p]
        self._library.stream_bytes_per_second.restype = ctypes.c_double
        self._library.stream_bytes_per_second.argtypes = [
            ctypes.c_size_t, ctypes.c_long, ctypes.c_double,
        ]  # fmt: skip

    def latencies(self, size_bytes: int, line_bytes: int, steps: int) -> Iterator[float]:
        """Yield the time per access in seconds, over *size_bytes* in random order, endlessly."""
        chase = self._library.chase_new(size_bytes, line_bytes)
        if not chase:
            raise TasksimError(f"{MEMORY_PURPOSE}: cannot allocate {size_bytes} bytes of memory")
        try:
            self._library.chase_seconds(chase, max(steps, size_bytes // line_bytes // 8))
            while True:
                yield self._library.chase_seconds(chase, steps)
        finally:
            self._library.chase_delete(chase)

    def bandwidth(self, size_bytes: int, threads: int, seconds: float) -> float:
        """Return the total bytes per second of *threads*, each over *size_bytes* of its own."""
        found = self._library.stream_bytes_per_second(size_bytes, threads, seconds)
        if not found > 0:
            raise TasksimError(
                f"{MEMORY_PURPOSE}: cannot allocate {threads} times {size_bytes} bytes"
            )
        return float(found)
