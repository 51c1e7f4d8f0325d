"""The numeric tests as other processors run them: ``make test-blas``, from the top level.

OpenBLAS, NumPy, the C library and Numba each choose, for the processor that they find, other code,
which sums in another order. They can be told to take that of an older one. What this processor
cannot execute is left out, and why is said.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from tests.tiers import LONG

FITS = (
    "calibration/test_fit_kernels.py", "calibration/test_fit_locality.py",
    "calibration/test_fit_pieces.py", "calibration/test_fit_runs.py",
    "models/counters/test_costs.py", "models/diagnosis/test_diagnose.py",
    "models/kinds/test_counted.py", "models/kinds/test_linear.py", "models/kinds/test_power.py",
    "models/learned", "models/tensor", "models/terms/test_search.py", "models/test_categories.py",
    "models/test_conformance.py", "models/test_nonnegative.py", "models/test_runeffects.py",
    "models/test_selection.py", "models/uncertainty/test_drift.py",
    "models/validation/test_crossvalidation.py", "models/validation/test_outside.py",
    "run/test_replicated.py", "study/report/test_scaling.py", "study/report/test_sensitivity.py",
)  # fmt: skip
"""Tests of what is fitted: another rounding of a sum may lead a search or a selection elsewhere."""
PRODUCTS = (
    "kernels/test_dense.py", "kernels/test_fmm_accuracy.py", "kernels/test_fmm_compiled.py",
    "kernels/test_fmm_kernels.py", "kernels/test_grids.py",
)  # fmt: skip
"""Tests of kernels, whose results are products and solutions themselves."""
ROOMS = (*FITS, *PRODUCTS)
"""Files and rooms that an older processor runs, in two threads of BLAS, as no other test does.

The criterion: the verdict follows from a fit of many unknowns, a search among fits, a product or a
solution. Other sums, logarithms and fits of a few unknowns differ in their last bits only; they run
on an older processor with `TASKSIM_LONG_TESTS=1`, by `MORE_ROOMS`."""
MORE_ROOMS = (
    "applications", "calibration", "experiments/tensor_completion", "kernels", "models",
    "recording/test_dask.py", "run", "study/report",
)  # fmt: skip
"""Rooms in which anything goes through BLAS, LAPACK, or functions of arrays."""
ONE_OF_MANY = (
    "(not (errors_are_as_small_as_promised or leaves_of_few_particles)"
    " or [sphere-3 or [sphere-5 or [sphere-7 or [ellipsoid-6)"
    " and (not (test_conformance or rules_of_every_kind)"
    " or rows_do_not_depend or mean_that_is_predicted)"
)
"""Expression that selects one of several distributions of particles: they differ in their trees,
not in the shapes of the products, which on an old processor take most of the time. Of the checks
that all kinds of models pass, it selects the two that compare different sums."""
ARCHITECTURE = """
import numpy, threadpoolctl
print(*(found.get("architecture", "") for found in threadpoolctl.threadpool_info()))
"""
FEATURES = """
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(*(name for name in __cpu_dispatch__ if __cpu_features__[name]))
"""


@dataclass(frozen=True)
class Processor:
    """Processor that the libraries are told to assume.

    Attributes
    ----------
    coretype
        Whose kernels OpenBLAS takes.
    flags
        What the processor here must have for them, as Linux calls it.
    threads
        Those of BLAS.
    widest
        Letters with which the names of NumPy's wider instructions begin, that are not used.
    old
        Whether the C library and Numba leave out what came after 2004, too.
    rooms
        What it runs.
    left_out
        Rooms inside of these that it does not run.
    """

    coretype: str
    flags: frozenset[str]
    threads: int
    widest: tuple[str, ...] = ()
    old: bool = False
    rooms: tuple[str, ...] = ROOMS
    left_out: tuple[str, ...] = ()


WITHOUT_AVX512 = ("AVX512", "X86_V4")
OLDEST = Processor("Prescott", frozenset({"pni"}), 2, widest=("",), old=True)
PROCESSORS = (OLDEST,)
"""Processors to try. The oldest one differs most from that which all other tests run on."""
OTHER_PROCESSORS = (
    replace(OLDEST, threads=1, rooms=MORE_ROOMS, left_out=ROOMS),
    Processor("Haswell", frozenset({"avx2", "fma"}), 2, widest=WITHOUT_AVX512),
    Processor("SkylakeX", frozenset({"avx512f", "avx512dq", "avx512bw", "avx512vl"}), 1),
    Processor("Zen", frozenset({"avx2", "fma"}), 1, widest=WITHOUT_AVX512),
)
"""Processors to try with `TASKSIM_LONG_TESTS=1`, too."""


def flags_here() -> frozenset[str]:
    """Return what Linux says that this processor can do; nothing on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.split() for line in lines if line.startswith("flags")), ()))


def printed(code: str, environment: dict[str, str]) -> str:
    """Return what Python prints when it executes *code*."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def environment_of(processor: Processor) -> dict[str, str]:
    """Return the variables in which the libraries find that they run on *processor*."""
    left_out = [
        name for name in printed(FEATURES, dict(os.environ)).split()
        if name.startswith(processor.widest)
    ]  # fmt: skip
    found = {
        **os.environ,
        "OPENBLAS_CORETYPE": processor.coretype,
        "OPENBLAS_NUM_THREADS": str(processor.threads),
        "NPY_DISABLE_CPU_FEATURES": " ".join(left_out),
    }
    if processor.old:
        newer = ",".join(f"-{name}" for name in ("AVX", "AVX2", "FMA", "FMA4", "AVX512F"))
        found |= {"GLIBC_TUNABLES": f"glibc.cpu.hwcaps={newer}", "NUMBA_CPU_NAME": "x86-64"}
    return found


def main() -> int:
    """Run the tests on each processor that can be had; return 1 if one failed."""
    here, failed = flags_here(), []
    seen = {(printed(ARCHITECTURE, dict(os.environ)), 1)}  # what all other tests take
    for processor in PROCESSORS + (OTHER_PROCESSORS if LONG else ()):
        name = f"{processor.coretype}, threads of BLAS: {processor.threads}"
        if missing := processor.flags - here:
            why = ", ".join(sorted(missing)) if here else f"flags that {platform.system()} tells"
            say(f"{name}: left out: this processor lacks {why}")
            continue
        environment = environment_of(processor)
        kernels = printed(ARCHITECTURE, environment)
        if not kernels or (kernels, processor.threads) in seen:
            why = f"takes those of {kernels} in other tests" if kernels else "is not OpenBLAS"
            say(f"{name}: left out: NumPy's BLAS {why}")
            continue
        seen.add((kernels, processor.threads))
        began = perf_counter()
        command = [*tests(processor), *sys.argv[1:]]
        code = subprocess.run(command, env=environment, check=False).returncode
        say(f"{name}: {'failed' if code else 'passed'} in {perf_counter() - began:.0f} s")
        failed += [name] if code else []
    return bool(failed)


def tests(processor: Processor) -> list[str]:
    """Return the command that runs the tests of the rooms of a *processor*."""
    rooms = [f"tests/{room}" for room in processor.rooms if room not in processor.left_out]
    left_out = [f"--ignore=tests/{room}" for room in processor.left_out]
    asked = ["--quiet", "-m", "not slow", "-k", ONE_OF_MANY]
    return [sys.executable, "-m", "pytest", *asked, *rooms, *left_out]


def say(line: str) -> None:
    """Print a *line* at once: pytest's own lines come in between."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
