"""The generators: hand-drawn small graphs, closed forms, published figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tasksim.base.errors import InputError
from tasksim.graph import analysis
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.apps.registry import generate
from tasksim.graph.flop import task_flop

COMMUTING_MODES = {AccessMode.R, AccessMode.COMMUTATIVE, AccessMode.REDUCTION}


def described(graph, task):
    accesses = [f"{mode.name} {graph.handle_name(h)}" for h, mode in graph.accesses_of(task)]
    return f"{graph.kernel_of(task)}: {', '.join(accesses)}; {graph.priority[task]}"


def edges(graph):
    return [(task, after) for task in range(len(graph)) for after in graph.successors_of(task)]


def counts(graph):
    return graph.summary()["kernels"]


def test_cholesky_of_two_by_two_tiles():
    graph = generate("cholesky", tiles=2, tile_size=10)
    assert [described(graph, task) for task in range(len(graph))] == [
        "potrf: RW A[0, 0]; 4",
        "trsm: R A[0, 0], RW A[1, 0]; 3",
        "syrk: R A[1, 0], RW A[1, 1]; 3",
        "potrf: RW A[1, 1]; 2",
    ]
    assert edges(graph) == [(0, 1), (1, 2), (2, 3)]
    assert graph.label(1) == "trsm #1 (m=10, n=10)"


def test_cholesky_updates_the_lower_triangle():
    graph = generate("cholesky", tiles=3)
    gemm = next(t for t in range(len(graph)) if graph.kernel_of(t) == "gemm")
    assert described(graph, gemm) == "gemm: R A[2, 0], R A[1, 0], RW A[2, 1]; 3"


def test_lu_of_two_by_two_tiles():
    graph = generate("lu", tiles=2, tile_size=10)
    assert [described(graph, task) for task in range(len(graph))] == [
        "getrf: RW A[0, 0]; 6",
        "trsm_ll: R A[0, 0], RW A[0, 1]; 5",
        "trsm_ru: R A[0, 0], RW A[1, 0]; 5",
        "gemm: R A[1, 0], R A[0, 1], RW A[1, 1]; 4",
        "getrf: RW A[1, 1]; 3",
    ]
    assert edges(graph) == [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]


def test_qr_of_two_by_two_tiles():
    graph = generate("qr", tiles=2, tile_size=40)
    assert [described(graph, task) for task in range(len(graph))] == [
        "geqrt: RW A[0, 0], W V[0], W T[0, 0]; 6",
        "gemqrt: R V[0], R T[0, 0], RW A[0, 1]; 5",
        "tpqrt: RW A[0, 0], RW A[1, 0], W T[1, 0]; 5",
        "tpmqrt: R A[1, 0], R T[1, 0], RW A[0, 1], RW A[1, 1]; 4",
        "geqrt: RW A[1, 1], W V[1], W T[1, 1]; 3",
    ]
    # gemqrt (1) and tpqrt (2) do not depend on each other: that is what V is for.
    assert edges(graph) == [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]
    assert graph.parameters_of(3) == {"m": 40, "n": 40, "k": 40, "ib": 32}


def hints(graph):
    """Return the hints in the order of the tasks: each after the task that it follows."""
    pairs = zip(graph.hint_handle.tolist(), graph.hint_after.tolist(), strict=True)
    return [f"{graph.label(n - 1).split(' (')[0]}: {graph.handle_name(h)}" for h, n in pairs]


def test_cholesky_hints_at_what_was_read_last():
    assert hints(generate("cholesky", tiles=3)) == [
        "trsm #2: A[0, 0]", "gemm #4: A[1, 0]", "syrk #5: A[2, 0]",
        "trsm #7: A[1, 1]", "syrk #8: A[2, 1]",
        "potrf #9: A[2, 2]",
    ]  # fmt: skip


def test_lu_hints_at_a_step_when_it_is_over():
    assert hints(generate("lu", tiles=3)) == [
        "trsm_ru #4: A[0, 0]",
        "gemm #8: A[1, 0]", "gemm #8: A[0, 1]", "gemm #8: A[2, 0]", "gemm #8: A[0, 2]",
        "trsm_ru #11: A[1, 1]", "gemm #12: A[2, 1]", "gemm #12: A[1, 2]",
        "getrf #13: A[2, 2]",
    ]  # fmt: skip


def test_qr_hints_at_reflectors_and_finished_rows():
    assert hints(generate("qr", tiles=2)) == [
        "gemqrt #1: V[0]", "gemqrt #1: T[0, 0]", "tpmqrt #3: A[1, 0]", "tpmqrt #3: T[1, 0]",
        "tpmqrt #3: A[0, 0]", "tpmqrt #3: A[0, 1]",
        "geqrt #4: V[1]", "geqrt #4: T[1, 1]", "geqrt #4: A[1, 1]",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["cholesky", "lu", "qr"])
def test_what_was_hinted_at_is_never_accessed_again(name):
    graph = generate(name, tiles=6)
    last = {h: t for t in range(len(graph)) for h, _ in graph.accesses_of(t)}
    hinted = dict(zip(graph.hint_handle.tolist(), graph.hint_after.tolist(), strict=True))
    assert len(hinted) == graph.hints == graph.summary()["handles"]
    assert all(last[handle] < after for handle, after in hinted.items())


@pytest.mark.parametrize("n", [1, 2, 3, 8, 20])
def test_cholesky_has_its_closed_forms(n):
    graph = generate("cholesky", tiles=n)
    half = n * (n - 1) // 2
    gemm = n * (n - 1) * (n - 2) // 6
    expected = {"potrf": n, "trsm": half, "syrk": half, "gemm": gemm}
    assert counts(graph) == {kernel: count for kernel, count in expected.items() if count}
    assert graph.summary()["handles"] == n * (n + 1) // 2


@pytest.mark.parametrize(("n", "count"), [(20, 3990), (40, 31980)])
def test_cholesky_has_the_published_number_of_dependencies(n, count):
    assert generate("cholesky", tiles=n).edges == count


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_lu_has_its_closed_forms(n):
    graph = generate("lu", tiles=n, tile_size=30)
    half, gemm = n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6
    expected = {"getrf": n, "trsm_ll": half, "trsm_ru": half, "gemm": gemm}
    assert counts(graph) == {kernel: count for kernel, count in expected.items() if count}
    # One getrf, trsm and gemm per step, 2, 3 and 6 units of b³/3, and the last getrf.
    assert analysis.critical_path(graph, task_flop(graph))[0] == pytest.approx((11 * n - 9) * 9000)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (4, 4), (7, 3), (3, 7), (5, 1), (1, 5)])
def test_qr_has_its_closed_forms(p, q):
    graph = generate("qr", rows=p, columns=q)
    steps = range(min(p, q))
    expected = {
        "geqrt": len(steps),
        "gemqrt": sum(q - 1 - k for k in steps),
        "tpqrt": sum(p - 1 - k for k in steps),
        "tpmqrt": sum((p - 1 - k) * (q - 1 - k) for k in steps),
    }
    assert counts(graph) == {kernel: count for kernel, count in expected.items() if count}
    assert (graph.priority > 0).all()


@pytest.mark.parametrize(
    ("p", "q", "units"),
    [(p, p, 30 * p - 34) for p in (2, 3, 8)]
    + [(p, q, 12 * p + 18 * q - 32) for p, q in ((5, 2), (9, 4), (12, 11))]
    + [(5, 1, 6 * 5 - 2)],
)
def test_flat_tree_qr_has_the_known_critical_path(p, q, units):
    graph = generate("qr", rows=p, columns=q, tile_size=30)
    length, _ = analysis.critical_path(graph, task_flop(graph))
    assert length == pytest.approx(units * 30**3 / 3)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cholesky", {"tiles": 5}),
        ("lu", {"tiles": 4}),
        ("qr", {"rows": 5, "columns": 3}),
        ("qr", {"rows": 3, "columns": 4}),
        ("fork-join", {"width": 4, "stages": 3}),
        ("random-layered", {"layers": 4, "width": 5}),
    ],
)
def test_dependencies_are_those_of_the_accesses_one_by_one(name, arguments):
    graph = generate(name, **arguments)
    current, before, found = {}, {}, set()
    for task in range(len(graph)):
        for handle, mode in graph.accesses_of(task):
            kind, members = current.get(handle, (None, []))
            if kind == mode and mode in COMMUTING_MODES:
                members.append(task)
            else:
                before[handle], current[handle] = members, (mode, [task])
            found |= {(earlier, task) for earlier in before[handle]}
    assert edges(graph) == sorted(found)


def test_single_precision_has_models_and_sizes_of_its_own():
    double = generate("lu", tiles=2, tile_size=10)
    single = generate("lu", tiles=2, tile_size=10, dtype="float32")
    assert double.kernels == single.kernels
    assert double.model_names == ("getrf", "trsm_ll", "trsm_ru", "gemm_nn")
    assert single.model_names == tuple(f"{name}_float32" for name in double.model_names)
    assert (double.handle_size == 800).all()
    assert (single.handle_size == 400).all()


def test_qr_data_have_their_sizes():
    graph = generate("qr", rows=3, columns=2, tile_size=64, ib=16)
    sizes = {graph.handle_name(h): size for h, size in enumerate(graph.handle_size.tolist())}
    assert sizes["A[2, 1]"] == sizes["V[1]"] == 64 * 64 * 8
    assert sizes["T[2, 1]"] == 16 * 64 * 8
    assert len(sizes) == 6 + 6 + 2


def test_qr_takes_its_shape_from_either():
    assert generate("qr", tiles=3).same_as(generate("qr", tiles=3))
    shapes = [
        counts(generate("qr", tiles=3, rows=5)),
        counts(generate("qr", rows=5, columns=3)),
    ]
    assert shapes[0] == shapes[1]
    with pytest.raises(InputError, match="qr: give tiles=VALUE, or rows=VALUE and columns=VALUE"):
        generate("qr", rows=3)


def test_the_inner_block_fits_the_tile():
    assert generate("qr", tiles=1, tile_size=8).parameters_of(0)["ib"] == 8
    with pytest.raises(InputError, match="qr: ib: got 9; legal: an integer from 1 to tile_size, 8"):
        generate("qr", tiles=1, tile_size=8, ib=9)


def test_a_chain():
    graph = generate("chain", length=4, duration=0.5)
    assert edges(graph) == [(0, 1), (1, 2), (2, 3)]
    assert graph.label(3) == "task #3 (duration_s=0.5)"


def test_fork_join():
    graph = generate("fork-join", width=2, stages=2)
    assert edges(graph) == [
        (0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6),
    ]  # fmt: skip
    graph = generate("fork-join", width=10, stages=7)
    assert (len(graph), graph.edges, analysis.width(graph)) == (7 * 11 + 1, 2 * 10 * 7, 10)


def test_random_layered_has_its_shape():
    graph = generate("random-layered", layers=6, width=9, fan_in=4, seed=3, duration=1)
    assert (len(graph), graph.edges) == (54, 5 * 9 * 4)
    assert analysis.levels(graph).tolist() == [layer for layer in range(6) for _ in range(9)]
    assert set(graph.parameters[0][:, 0]) == {0.25, 0.5, 1, 2, 4}
    assert generate("random-layered", layers=2, width=3, fan_in=9).edges == 9


def test_random_layered_depends_on_its_seed_alone():
    arguments = {"layers": 3, "width": 3, "fan_in": 2}
    graph = generate("random-layered", **arguments, seed=1)
    assert graph.same_as(generate("random-layered", **arguments, seed=1))
    assert edges(graph) != edges(generate("random-layered", **arguments, seed=2))
    # As drawn once and for all: other versions of Python must draw the same.
    assert [graph.successors_of(task) for task in range(6)] == [
        [3, 5], [3, 4], [4, 5], [6, 7, 8], [6, 7, 8], [],
    ]  # fmt: skip
    factors = [graph.parameters_of(task)["duration_s"] / 1e-3 for task in range(9)]
    assert factors == [0.25, 4, 2, 1, 0.25, 1, 1, 4, 0.25]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="/proc says what memory was")
def test_a_million_tasks_fit():
    script = (
        "import re; from pathlib import Path; "
        "from tasksim.graph.apps.registry import generate; "
        "graph = generate('cholesky', tiles=181); "
        "status = Path('/proc/self/status').read_text(); "
        # Not ru_maxrss: that begins with what the process had that started this one.
        "print(len(graph), int(re.search(r'VmHWM:\\s*([0-9]+)', status)[1]) / 1024)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    tasks, megabytes = map(float, result.stdout.split())
    assert tasks == 181 + 181 * 180 + 181 * 180 * 179 / 6
    assert megabytes < 700
