"""Random graphs: their shapes, their durations and data, and what is refused."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim import InputError, simulate
from tasksim.graph import analysis
from tasksim.graph.apps.registry import generate
from tasksim.graph.apps.shapes import SHAPES

WORKFLOW_SHAPES = (
    "blast", "bwa", "cycles", "epigenomics", "genome", "montage", "seismology", "soykb",
    "srasearch",
)  # fmt: skip


def edges(graph):
    return [(task, after) for task in range(len(graph)) for after in graph.successors_of(task)]


def kernel_edges(graph):
    """Return how many dependencies there are between each two kernels."""
    return Counter((graph.kernel_of(a), graph.kernel_of(b)) for a, b in edges(graph))


def durations(graph):
    return np.array([graph.parameters_of(task)["duration_s"] for task in range(len(graph))])


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=few(30), deadline=None)
@given(tasks=st.integers(1, 80), seed=st.integers(0, 9), ccr=st.sampled_from([0.0, 0.5, 10.0]))
def test_every_shape_makes_a_graph_of_its_size_with_the_ratio_asked(shape, tasks, seed, ccr):
    tasks = max(tasks, SHAPES[shape].least_tasks)
    graph = generate("random-graph", shape=shape, tasks=tasks, seed=seed, ccr=ccr)
    assert graph.same_as(generate("random-graph", shape=shape, tasks=tasks, seed=seed, ccr=ccr))
    assert SHAPES[shape].least_tasks <= len(graph) <= tasks
    if shape not in WORKFLOW_SHAPES or shape in ("blast", "bwa", "genome", "seismology"):
        assert len(graph) == tasks
    assert len(graph.handle_size) == graph.edges
    if graph.edges:
        ratio = graph.handle_size.mean() / 1e9 / durations(graph).mean()
        assert ratio == pytest.approx(ccr, abs=1e-3)


def test_with_probability_one_all_tasks_depend_on_all_before():
    graph = generate("random-graph", shape="erdos-renyi", tasks=6, probability=1)
    assert edges(graph) == [(a, b) for a in range(6) for b in range(a + 1, 6)]
    assert generate("random-graph", shape="erdos-renyi", tasks=6, probability=0).edges == 0


def test_vectorised_draws_are_those_of_python():
    """Same seed, same bytes: of each pair in turn, and of all that is drawn behind them."""
    for seed, tasks in ((0, 1), (1, 60), (2, 300)):
        rng, one = random.Random(seed), random.Random(seed)
        found = SHAPES["erdos-renyi"].make(tasks, rng, probability=0.1)
        expected = [[b for b in range(task) if one.random() < 0.1] for task in range(tasks)]
        assert found.predecessors == expected
        assert rng.random() == one.random()


@pytest.mark.parametrize("shape", ["erdos-renyi", "layered"])
def test_graphs_too_large_for_pairs_have_the_same_distribution(shape, monkeypatch):
    pairs = SHAPES[shape].make(3000, random.Random(1), predecessors=4.0).predecessors
    monkeypatch.setattr("tasksim.graph.apps.shapes.MAX_TASKS_DRAWN_IN_PAIRS", 0)
    gaps = SHAPES[shape].make(3000, random.Random(2), predecessors=4.0).predecessors
    assert gaps != pairs
    assert all(before == sorted(set(before)) for before in gaps)
    assert all(task > max(before) for task, before in enumerate(gaps) if before)
    for lowest in (0, 1000, 2000):  # the mean of 1000 tasks has a standard deviation of 0.06
        means = [np.mean([*map(len, each[lowest : lowest + 1000])]) for each in (pairs, gaps)]
        assert means[0] == pytest.approx(means[1], abs=0.4)
    # Predecessors are uniform over the earlier tasks; those of a layer's own tasks are none.
    places = [
        [task / number for number, before in enumerate(each) for task in before]
        for each in (pairs, gaps)
    ]
    assert np.mean(places[0]) == pytest.approx(np.mean(places[1]), abs=0.02)
    for probability, edges_of_four in ((1, 6), (0, 0), (1e-320, 0)):
        made = SHAPES["erdos-renyi"].make(4, random.Random(0), probability=probability)
        assert sum(map(len, made.predecessors)) == edges_of_four


def test_the_mean_number_of_predecessors_is_the_one_asked():
    graph = generate("random-graph", shape="erdos-renyi", tasks=3000, predecessors=4)
    assert graph.edges / 3000 == pytest.approx(4, abs=0.2)


def test_layers_are_as_many_as_asked():
    graph = generate("random-graph", shape="layered", tasks=40, layers=8, probability=1)
    assert analysis.levels(graph).max() == 7
    assert len(set(analysis.levels(graph).tolist())) == 8


def test_daggen_of_extreme_widths():
    chain = generate("random-graph", shape="daggen", tasks=9, fat=0, density=1)
    assert edges(chain) == list(pairwise(range(9)))
    assert generate("random-graph", shape="daggen", tasks=9, fat=1, regularity=1).edges == 0


@settings(max_examples=few(40), deadline=None)
@given(tasks=st.integers(1, 200), seed=st.integers(0, 99), jump=st.integers(1, 4))
def test_dependencies_of_daggen_span_at_most_the_jump(tasks, seed, jump):
    graph = generate(
        "random-graph", shape="daggen", tasks=tasks, seed=seed, jump=jump, regularity=1
    )
    width = max(1, round(tasks**0.5))
    for before, after in edges(graph):
        assert 1 <= after // width - before // width <= jump


@settings(max_examples=few(40), deadline=None)
@given(tasks=st.integers(1, 60), seed=st.integers(0, 99), degree=st.integers(1, 4))
def test_trees_have_one_root_and_at_most_the_degree(tasks, seed, degree):
    out = generate("random-graph", shape="out-tree", tasks=tasks, seed=seed, degree=degree)
    assert out.edges == tasks - 1
    assert all(len(out.successors_of(task)) <= degree for task in range(tasks))
    into = generate("random-graph", shape="in-tree", tasks=tasks, seed=seed, degree=degree)
    mirrored = sorted((tasks - 1 - b, tasks - 1 - a) for a, b in edges(out))
    assert edges(into) == mirrored


def test_fork_joins_and_chains():
    graph = generate("random-graph", shape="fork-joins", tasks=7, width=1)
    assert edges(graph) == list(pairwise(range(7)))
    graph = generate("random-graph", shape="chains", tasks=5, width=3)
    assert edges(graph) == [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]


@settings(max_examples=few(40), deadline=None)
@given(tasks=st.integers(1, 60), seed=st.integers(0, 99))
def test_with_density_one_some_task_of_daggen_has_a_whole_layer_before_it(tasks, seed):
    """A task that draws as many predecessors as the layer has tasks gets all of them."""
    graph = generate(
        "random-graph", shape="daggen", tasks=tasks, seed=seed, density=1, regularity=1, fat=0.5
    )
    width = max(1, round(tasks**0.5))
    counts = graph.predecessor_count[width:]
    assert (counts >= 1).all()
    assert (counts <= width).all()
    if len(counts) > 30:
        assert counts.max() == width


def test_recorded_workflows_have_the_shapes_made():
    """Numbers of tasks and dependencies by kernel, as in four instances of WfCommons."""
    blast = generate("random-graph", shape="blast", tasks=43)
    assert kernel_edges(blast) == {
        ("split_fasta", "blastall"): 40, ("blastall", "cat_blast"): 40, ("blastall", "cat"): 40,
    }  # fmt: skip
    montage = generate("random-graph", shape="montage", tasks=58)
    assert montage.summary()["kernels"] == {
        "mProject": 12, "mDiffFit": 18, "mConcatFit": 3, "mBgModel": 3, "mBackground": 12,
        "mImgtbl": 3, "mAdd": 3, "mViewer": 4,
    }  # fmt: skip
    assert kernel_edges(montage) == {
        ("mProject", "mDiffFit"): 36, ("mDiffFit", "mConcatFit"): 18,
        ("mConcatFit", "mBgModel"): 3, ("mProject", "mBackground"): 12,
        ("mBgModel", "mBackground"): 12, ("mBackground", "mImgtbl"): 12,
        ("mBackground", "mAdd"): 12, ("mImgtbl", "mAdd"): 3, ("mAdd", "mViewer"): 6,
    }  # fmt: skip
    genome = generate("random-graph", shape="genome", tasks=52)
    assert kernel_edges(genome) == {
        ("individuals", "individuals_merge"): 20, ("sifting", "mutation_overlap"): 14,
        ("individuals_merge", "mutation_overlap"): 14, ("sifting", "frequency"): 14,
        ("individuals_merge", "frequency"): 14,
    }  # fmt: skip
    srasearch = generate("random-graph", shape="srasearch", tasks=22)
    assert kernel_edges(srasearch) == {
        ("bowtie2-build", "bowtie2"): 10, ("fasterq-dump", "bowtie2"): 10,
        ("bowtie2", "merge"): 10,
    }  # fmt: skip
    assert len(generate("random-graph", shape="epigenomics", tasks=41)) == 41


def test_workflows_of_bwa_cycles_and_soykb_have_the_shapes_recorded():
    """The numbers of five instances from which WfCommons makes its recipes."""
    bwa = generate("random-graph", shape="bwa", tasks=104)
    assert kernel_edges(bwa) == {
        ("fastq_reduce", "bwa"): 100, ("bwa_index", "bwa"): 100, ("bwa", "cat_bwa"): 100,
        ("bwa", "cat"): 100,
    }  # fmt: skip
    parser = "cycles_fertilizer_increase_output_parser"
    for crops in (1, 2):
        cycles = generate("random-graph", shape="cycles", tasks=67 * crops)
        assert len(cycles) == 67 * crops
        assert kernel_edges(cycles) == {
            ("baseline_cycles", "cycles"): 16 * crops,
            ("baseline_cycles", "fertilizer_increase_cycles"): 16 * crops,
            ("cycles", parser): 16 * crops,
            ("fertilizer_increase_cycles", parser): 16 * crops,
            ("cycles", "cycles_output_summary"): 16 * crops,
            ("cycles_output_summary", "cycles_plots"): crops,
            (parser, "cycles_fertilizer_increase_output_summary"): 16 * crops,
        }
    for tasks, samples in ((96, 5), (336, 20)):
        soykb = generate("random-graph", shape="soykb", tasks=tasks)
        assert len(soykb) == tasks
        assert kernel_edges(soykb) == {
            ("alignment_to_reference", "sort_sam"): samples, ("sort_sam", "dedup"): samples,
            ("dedup", "add_replace"): samples, ("add_replace", "realign_target_creator"): samples,
            ("add_replace", "indel_realign"): samples,
            ("realign_target_creator", "indel_realign"): samples,
            ("indel_realign", "haplotype_caller"): 10 * samples,
            ("haplotype_caller", "genotype_gvcfs"): 10 * samples,
            ("haplotype_caller", "merge_gcvf"): 10 * samples,
            ("genotype_gvcfs", "combine_variants"): 10,
            ("combine_variants", "select_variants_snp"): 1,
            ("combine_variants", "select_variants_indel"): 1,
            ("select_variants_snp", "filtering_snp"): 1,
            ("select_variants_indel", "filtering_indel"): 1,
        }  # fmt: skip


SETTINGS = {"shape": "erdos-renyi", "tasks": 50, "architectures": "P0+P1+P2"}


def rows(graph, names=("P0_s", "P1_s", "P2_s")):
    return np.array([[graph.parameters_of(t)[name] for name in names] for t in range(len(graph))])


def test_heterogeneity_is_the_range_of_durations_around_a_tasks_own():
    graph = generate("random-graph", **SETTINGS, heterogeneity=0.5)
    shares = rows(graph) / durations(graph)[:, None]
    assert shares.min() >= 0.75
    assert shares.max() <= 1.25
    assert shares.max() - shares.min() > 0.4
    assert (rows(generate("random-graph", **SETTINGS)) == durations(graph)[:, None]).all()


def test_of_consistent_architectures_the_first_is_the_fastest():
    consistent = rows(
        generate("random-graph", **SETTINGS, heterogeneity=1, consistency="consistent")
    )
    assert (np.diff(consistent) >= 0).all()
    inconsistent = rows(generate("random-graph", **SETTINGS, heterogeneity=1))
    assert set(inconsistent.argmin(axis=1).tolist()) == {0, 1, 2}


def test_draws_stay_the_same_on_any_version_of_python():
    graph = generate("random-graph", shape="daggen", tasks=6, ccr=1, seed=3)
    assert edges(graph) == [(1, 2), (1, 3), (2, 4), (2, 5), (3, 5)]
    assert (durations(graph) * 1e6).round(2).tolist() == [
        1736.09, 1046.36, 1482.5, 1342.82, 128.06, 1516.46,
    ]  # fmt: skip
    assert graph.handle_size.tolist() == [1579534, 805046, 82869, 2312858, 1263278]


def test_a_task_takes_its_duration_on_the_processor_that_runs_it():
    graph = generate("random-graph", shape="chains", tasks=3, architectures="P1", heterogeneity=2)
    costs = rows(graph, ["duration_s", "P1_s"])
    run = simulate(graph, "unrelated-4", scheduler="eager")
    tasks = run.tasks
    for task, worker, start, end in zip(
        tasks.task, tasks.worker, tasks.start_s, tasks.end_s, strict=True
    ):
        on_p1 = run.workers[worker].architecture == "P1"
        assert end - start == pytest.approx(costs[task, int(on_p1)])


def test_durations_on_architectures_that_are_not_there_are_named():
    with pytest.warns(UserWarning, match=r"durations of random-graph on P1 are not used: the pla"):
        simulate("random-graph shape=chains tasks=3 architectures=P1", workers=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shape": "montage", "tasks": 60, "fat": 0.5}, r"shape=montage: unknown setting 'fat'"),
        ({"shape": "daggen", "tasks": 9, "layers": 2}, r"shape=daggen: unknown setting 'layers'"),
        ({"shape": "blast", "tasks": 3}, r"shape=blast: tasks: got 3; legal: an integer from 4"),
        ({"shape": "dagen", "tasks": 3}, r"shape: got 'dagen', did you mean 'daggen'\?"),
        (
            {"shape": "layered", "tasks": 3, "probability": 0.5, "predecessors": 2},
            r"random-graph: got probability=0.5 and predecessors=2; legal: one of the two",
        ),
        ({"shape": "chains", "tasks": 3, "architectures": "a++b"}, r"architectures: got 'a\+\+b'"),
        ({"shape": "chains", "tasks": 3, "architectures": "a+a"}, r"architectures: got 'a\+a'"),
        ({"shape": "chains", "tasks": 3, "heterogeneity": 1}, r"heterogeneity: got 1 without arc"),
        ({"shape": "chains", "tasks": 3, "heterogeneity": 3}, r"legal: a number from 0 to 2"),
    ],
)
def test_settings_that_make_no_graph_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        generate("random-graph", **arguments)
