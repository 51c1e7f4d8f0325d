"""Costs of instructions and memory: as many as there are, found as constructed."""

import numpy as np
import pytest

from tasksim.base.documents.json_document import JsonNode
from tasksim.models.counters.costs import Costs, Spent, chosen_costs

HZ = 2e9
GROUP = np.repeat(np.arange(30), 3)
INSTRUCTIONS = np.repeat(np.geomspace(1e4, 1e8, 30), 3)
MEMORY_S = 2e-8 * INSTRUCTIONS**0.7


def spent(costs, noise=0.0):
    seconds = costs.computing_s(INSTRUCTIONS, HZ) + costs.bf_mem * MEMORY_S
    seconds = seconds * np.random.default_rng(0).lognormal(0, noise, len(seconds))
    return Spent(INSTRUCTIONS, np.full(len(seconds), HZ), MEMORY_S, seconds)


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize(
    "true",
    [
        Costs((0.3,), 0.2),
        Costs((0.3,), 0.2, call_cycles=9000.0),
        Costs((0.15, 0.3), 0.2, bound=1e6),
        Costs((0.15, 0.3), 0.2, 9000.0, 1e6),
    ],
    ids=["the paper's two", "with a call", "two codes", "both"],
)
def test_costs_are_found_as_constructed(true, noise):
    found = chosen_costs(spent(true, noise), GROUP)
    near = pytest.approx
    assert found.cpi == near(true.cpi, rel=0.03 if noise else 1e-9)
    assert found.bf_mem == near(true.bf_mem, rel=0.1 if noise else 1e-9)
    assert found.call_cycles == near(true.call_cycles, rel=0.1 if noise else 1e-6)
    assert (found.bound is None) is (true.bound is None)
    if true.bound is not None:
        assert 0.7 < found.bound / true.bound < 1.4
    assert Costs.from_json(JsonNode(found.to_json())) == found


def test_the_papers_two_where_they_are_asked_for_or_samples_are_few():
    two = spent(Costs((0.15, 0.3), 0.2, 9000.0, 1e6))
    assert chosen_costs(two, GROUP, "two").bound is None
    few = GROUP < 7
    assert len(chosen_costs(two.select(few), GROUP[few]).cpi) == 1


def test_costs_for_people():
    assert Costs((0.3,), 0.2).describe() == "0.3 cycles*instructions"
    both = Costs((0.15, 0.3), 0.2, 9000.0, 1e6)
    assert both.describe() == "(9000 + (0.15 up to 1e+06, then 0.3)*instructions) cycles"
