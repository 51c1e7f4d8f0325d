"""Each example: run and checked, its accesses too, calibrated, predicted elsewhere, compared."""

from pathlib import Path
from shutil import which

import numpy as np
import pytest
from tiers import LONG

import tasksim
from tasksim.calibration.calibration_options import CalibrationOptions

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMPILER = pytest.mark.skipif(which("cc") is None, reason="no C compiler")

STENCIL_ARGS = "steps=3 blocks=4 language="
STENCIL = ("n=96", "n=48", "n=64", "n=80")
CASES = {
    "stencil": ("stencil.py", STENCIL_ARGS + "numpy", STENCIL, "sweep_numpy=rows*columns"),
    "stencil in Numba": ("stencil.py", STENCIL_ARGS + "numba", STENCIL, "sweep_numba=rows*columns"),
    "stencil in C": ("stencil.py", STENCIL_ARGS + "c", STENCIL, "sweep_c=rows*columns"),
    "conjugate gradient": (
        "conjugate_gradient.py", "iterations=2 blocks=4", ("n=32", "n=48", "n=64", "n=40"),
        "laplace=cells,dot=cells,step=cells,turn=cells,copy=cells",
    ),
    "sparse Cholesky": (
        "sparse_cholesky.py", "leaf=8", ("n=12", "n=16", "n=8", "n=14"),
        "factor=pivots*rows,extend_add=entries,assemble=rows",
    ),
    "sparse Cholesky in 3-D": (
        "sparse_cholesky.py", "dimension=3 leaf=8", ("n=5", "n=6", "n=4", "n=7"),
        "factor=pivots*rows,extend_add=entries,assemble=rows",
    ),
    "images": (
        "image_pipeline.py", "images=4", ("width=80", "width=200", "width=160", "width=100"),
        "blur=pixels,edges=pixels,count=pixels,equalise=pixels,shrink=pixels",
    ),
}  # fmt: skip
"""Name -> file, settings, three sizes to calibrate and one to predict, terms of the models."""


MARKS = {
    "stencil in C": COMPILER,
    # Numba compiles their kernels anew in each process, for 5 to 10 seconds.
    "stencil in Numba": pytest.mark.slow,
    "conjugate gradient": pytest.mark.slow,
    "sparse Cholesky": pytest.mark.slow,
    "sparse Cholesky in 3-D": pytest.mark.slow,
}


def cases(*without):
    return [
        pytest.param(*case, id=name, marks=MARKS.get(name, ()))
        for name, case in CASES.items()
        if name not in without
    ]


# In Numba, the stencil is computed below, beside the other languages.
@pytest.mark.parametrize(
    ("file", "settings", "sizes", "terms"), cases(*([] if LONG else ["stencil in Numba"]))
)
def test_it_computes_what_it_should_and_declares_what_it_does(file, settings, sizes, terms):
    graph = tasksim.load_graph(str(EXAMPLES / file), [*settings.split(), sizes[0]])
    for scheduler in ("eager", "lws"):
        assert len(tasksim.execute(graph, workers=2, scheduler=scheduler, check=True)) == len(graph)
    tasksim.execute(graph, workers=2, check=True, check_accesses=True)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "settings", "sizes", "terms"), cases())
def test_it_is_calibrated_and_predicted_at_another_size(file, settings, sizes, terms, tmp_path):
    name, (*calibrated, predicted) = str(EXAMPLES / file), sizes
    tasksim.calibrate(
        [f"{name} {settings} {size}" for size in calibrated],
        tmp_path, workers=2, machine="here", options=CalibrationOptions(max_seconds=0.2),
        terms=dict(item.split("=") for item in terms.split(",")),
    )  # fmt: skip
    other = [*settings.split(), predicted]
    simulated = tasksim.simulate(name, "here", settings=other, library=tmp_path)
    measured = tasksim.execute(name, settings=other, workers=2)
    assert len(simulated) == len(measured)
    assert 0 < simulated.makespan_s < np.inf
    assert tasksim.compare(measured, simulated)


@pytest.mark.slow
@COMPILER
def test_the_stencil_gives_the_same_numbers_in_all_languages():
    import sys

    sys.path.insert(0, str(EXAMPLES))
    from stencil import stencil

    results = []
    for language in ("numpy", "numba", "c"):
        graph = stencil(n=64, steps=5, blocks=5, language=language)
        program = stencil.program(graph, 2, seed=3)
        tasksim.execute(graph, workers=2, program=program)
        results.append(np.concatenate([data for data in program.store.data if data is not None]))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("stencil.py", "n=10000000 blocks=64 language=c"),
        ("conjugate_gradient.py", "n=10000000 blocks=64"),
        ("image_pipeline.py", "images=50 width=1000000"),
    ],
)
def test_what_fits_no_memory_is_simulated(file, settings):
    graph = tasksim.load_graph(str(EXAMPLES / file), settings.split())
    assert graph.handle_size.sum() > 10**13
    run = tasksim.simulate(graph, workers=64, models=dict.fromkeys(graph.kernels, 1.0))
    assert run.makespan_s > 1
