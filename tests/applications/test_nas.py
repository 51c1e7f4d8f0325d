"""Programs after the NAS benchmarks: right results, also in any order; a block for each rank."""

import pytest

from tasksim import execute, generate, simulate
from tasksim.base.errors import GraphError
from tasksim.native.conformance import parametrize_with_checks

SMALL = [
    "ep block_rows=2 block_columns=2 block_size=12",
    "ft slabs=4 slab_rows=4 iterations=2",
    "mg block_rows=2 block_columns=3 block_size=8 iterations=2",
    "ssor block_rows=2 block_columns=3 block_size=6 planes=2 iterations=2",
    "adi block_rows=3 block_columns=2 block_size=6 iterations=2",
]
NAMES = [text.split()[0] for text in SMALL]


@parametrize_with_checks(SMALL)
def test_they_keep_the_contract(application, check):
    check(application)


@pytest.mark.parametrize("text", SMALL, ids=NAMES)
def test_results_are_those_of_the_whole_grid(text):
    execute(text, workers=2, check=True)


@pytest.mark.parametrize("text", SMALL, ids=NAMES)
def test_ranks_with_a_block_each_only_send_what_others_need(text):
    name, settings = _parsed(text)
    graph = generate(name, **settings)
    slabs = name == "ft"
    run = simulate(
        graph, workers=1, durations=dict.fromkeys(graph.model_names, 1e-6), nodes=4,
        network="switch:bandwidth=1GB/s,latency=1us", grid="4x1" if slabs else "2x2",
    )  # fmt: skip
    sent = {
        block.name
        for block in graph.handle_blocks
        if ((run.messages.handle >= block.first) & (run.messages.handle < block.end)).any()
    }
    expected = {"ep": {"counts"}, "ft": {"piece"}}.get(name)
    assert sent == expected if expected else sent
    assert not sent & {"x", "y", "u", "work"}
    assert not any(each.endswith("border") for each in sent)
    if slabs:  # each slab to each other one, in each of two iterations
        assert len(run.messages) == 4 * 3 * 2


def _parsed(text):
    name, *settings = text.split()
    return name, dict(word.split("=") for word in settings)


def test_a_sweep_takes_as_long_as_its_wave():
    """Blocks of a diagonal go on at once; each plane follows the last one by a block."""
    graph = generate("ssor", block_rows=3, block_columns=4, planes=5, iterations=1)
    run = simulate(graph, workers=12, scheduler="prio", durations={"sweep": 1.0})
    assert run.makespan_s == 3 + 4 - 1 + 5 - 1


def test_a_transform_of_another_length_is_refused():
    with pytest.raises(GraphError, match="12 rows; legal: a power of two"):
        generate("ft", slabs=3, slab_rows=4)
