import dataclasses
import json
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tasksim
from tasksim.base.errors import InputError
from tasksim.run.compare import compare, ks_distance
from tasksim.run.crowding import COLD_SHARES
from tasksim.run.record import Disturbance
from tasksim.view.texttables import comparison_table


def shifted(run, row, by_s):
    end = run.tasks.end_s.copy()
    end[row] += by_s
    return dataclasses.replace(run, tasks=dataclasses.replace(run.tasks, end_s=end))


def test_a_run_equals_itself(small):
    same = compare(small, small)
    assert same.error_percent == 0.0
    assert same.end_shift.mean_absolute_s == 0.0
    assert [k.mean_ratio for k in same.kernels] == [1.0, 1.0]
    assert [k.ks_distance for k in same.kernels] == [0.0, 0.0]


def test_differences(small):
    longer = shifted(small, 2, 1.5)
    found = compare(small, longer)
    assert found.error_percent == pytest.approx(25.0)
    assert found.end_shift.largest_task == 2
    assert found.end_shift.largest_s == 1.5
    assert found.end_shift.mean_s == 0.375
    assert found.end_shift.median_s == 0.0
    potrf, gemm = found.kernels
    assert potrf.mean_ratio == 1.0
    assert (gemm.total_a_s, gemm.total_b_s) == (6.0, 7.5)
    assert gemm.mean_ratio == pytest.approx(1.25)
    assert gemm.ks_distance == pytest.approx(1 / 3)
    assert found.b.worker_tasks == (2, 2)
    assert found.a.idleness_percent == pytest.approx(100 / 3)


def test_the_first_run_is_the_reference(small):
    longer = shifted(small, 2, 2.0)
    assert compare(longer, small).error_percent == pytest.approx(-25.0)


def test_different_graphs_are_refused_unless_told(make, small):
    other = make.schedule(make.cholesky(3))
    with pytest.raises(InputError, match="different graphs: test tiles=2 and cholesky tiles=3"):
        compare(small, other)
    found = compare(small, other, any_graph=True)
    assert found.end_shift is None
    by_name = {k.kernel: k for k in found.kernels}
    assert (by_name["trsm"].count_a, by_name["trsm"].count_b) == (0, 3)
    assert by_name["trsm"].mean_ratio is None
    assert by_name["trsm"].ks_distance is None


def test_tasks_of_other_kernels_are_another_graph(small):
    kernel = small.tasks.kernel.copy()
    kernel[3] = 0
    other = dataclasses.replace(small, tasks=dataclasses.replace(small.tasks, kernel=kernel))
    with pytest.raises(InputError, match="task 3 is gemm #3 in one and potrf #3 in the other"):
        compare(small, other)


def test_priorities_and_the_numbering_of_kernels_do_not_make_another_graph(small):
    other = dataclasses.replace(
        small,
        graph_arguments={"tiles": 2, "priorities": "none"},
        kernel_names=("gemm", "potrf"),
        tasks=dataclasses.replace(small.tasks, kernel=1 - small.tasks.kernel),
    )
    assert compare(small, other).end_shift is not None


def test_a_reference_without_time_is_refused(make):
    with pytest.raises(InputError, match="takes no time"):
        compare(make.run([]), make.run([]))


def test_json_is_plain(small):
    text = json.dumps(compare(small, shifted(small, 1, 0.5)).to_json(), allow_nan=False)
    assert json.loads(text)["schema_version"] == 1


floats = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 9.0]), min_size=1, max_size=30)


def share(values, x):
    return sum(value <= x for value in values) / len(values)


@given(a=floats, b=floats)
def test_ks_distance_is_the_largest_gap_between_the_distributions(a, b):
    assert ks_distance(a, b) == pytest.approx(max(abs(share(a, x) - share(b, x)) for x in a + b))
    assert ks_distance(a, b) == ks_distance(b, a)
    assert ks_distance(np.array(a), a) == 0.0


def test_copies_and_what_workers_waited_for(travelled, small):
    found = compare(travelled, travelled)
    assert (found.a.transfers, found.a.transferred_bytes, found.a.evictions) == (5, 220, 1)
    assert found.a.idle_waits_s == {"dependency": 7.0, "transfer": 3.25, "queue": 0.5, "end": 2.0}
    mixed = compare(small, travelled, any_graph=True)
    assert (mixed.a.transfers, mixed.a.transferred_bytes, mixed.a.evictions) == (None, None, None)
    assert mixed.b.transfers == 5
    assert json.loads(json.dumps(mixed.to_json()))["a"]["transfers"] is None


def test_a_disturbed_run_is_compared_alone_too(make):
    """A real run of 6 s, of which others had 2, would have taken 4; the prediction says 5."""
    real = make.run([(1, 0, 0, 0, 0, 6.0, -1)], workers=("cpu0",))
    tasks = dataclasses.replace(real.tasks, cpu_s=[4.0], preemptions=[3])
    told = Disturbance((2.0,), (3,), alone_s=4.0)
    real = dataclasses.replace(real, kind="native", tasks=tasks, disturbance=told)
    predicted = make.run([(1, 0, 0, 0, 0, 5.0, -1)], workers=("cpu0",))
    found = compare(real, predicted)
    assert found.error_percent == pytest.approx(100 * (5 / 6 - 1))
    assert found.error_alone_percent == pytest.approx(25.0)
    gemm = next(kernel for kernel in found.kernels if kernel.kernel == "gemm")
    assert gemm.mean_ratio == pytest.approx(5 / 6)
    assert gemm.alone_ratio == pytest.approx(5 / 4)
    builder = tasksim.GraphBuilder("one task")
    builder.insert("gemm", tasksim.RW(builder.handle("a", 2**25)))
    # Others had a third of the cores; nothing is known of the other hyper-threads.
    cold_s = 4 * fmean(COLD_SHARES["gemm"]) / 3
    with_graph = compare(real, predicted, graph_of=lambda _run: builder.build()).kernels
    assert with_graph[-1].alone_ratio == pytest.approx(5 / (4 - cold_s), rel=1e-9)
    kernel = {"kernel": "gemm", "architecture": "cpu", "run_low_s": 3.5, "run_high_s": 5.5}
    said = {"run_low_s": 5.5, "run_high_s": 6.5, "level": 0.95, "kernels": [kernel]}
    inside = compare(real, dataclasses.replace(predicted, uncertainty=said)).inside
    assert inside.inside
    assert inside.kernels[0].mean_s == pytest.approx(4.0)  # and not 6, which is outside
    lines = comparison_table(found).splitlines()
    assert "others had the cores" in lines[5]
    assert lines[5].split()[-4:] == ["s", "(33.3", "%)", "-"]
    assert lines[6].split() == ["makespan,", "alone", "4", "s", "5", "s", "+25.00", "%"]


def test_where_nobody_knows_what_others_took_nothing_is_said(small):
    found = compare(small, small)
    assert found.error_alone_percent is None
    assert {kernel.alone_ratio for kernel in found.kernels} == {None}
    assert "others" not in comparison_table(found)
    assert "alone" not in comparison_table(found)
