"""`tasksim validate` on YAML files that are no platforms: networks, clusters, studies."""

from pathlib import Path

import pytest

NETWORK_SECTION = "network: {topology: switch, bandwidth: 12.5 GB/s, latency: 1 us}\n"


def test_a_library_with_a_network_is_valid(tasksim):
    Path("lib/networks").mkdir(parents=True)
    Path("lib/networks/mine.yaml").write_text(f"version: 1\n{NETWORK_SECTION}")
    called = tasksim("validate lib")
    assert called.code == 0, called.err
    assert called.out == "lib/networks/mine.yaml: ok, network mine: switch, hockney\n"


def test_a_cluster_is_its_nodes_and_its_network(tasksim):
    Path("many.yaml").write_text(f"nodes: {{count: 64, like: xeon-24c}}\n{NETWORK_SECTION}")
    called = tasksim("validate many.yaml")
    assert called.out == "many.yaml: ok, cluster of 64 nodes, network many: switch, hockney\n"


def test_a_new_study_is_valid(tasksim):
    assert tasksim("study new plan.yaml").code == 0
    called = tasksim("validate plan.yaml")
    assert called.code == 0, called.err
    assert called.out.startswith("plan.yaml: ok, study ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"version: 1\n{NETWORK_SECTION.replace('switch', 'swich')}", "did you mean 'switch'"),
        (f"nodes: {{count: 0, like: xeon-24c}}\n{NETWORK_SECTION}", "wrong.yaml:1:"),
        ("version: 1\nname: x\ngraphs: 3\n", "wrong.yaml:"),
        ("version: 1\nworkers: {cpu: {count: -1}}\n", "workers.cpu.count: must be at least 0"),
    ],
)
def test_what_is_wrong_is_said_in_words_of_its_kind(tasksim, text, said):
    Path("wrong.yaml").write_text(text)
    called = tasksim("validate wrong.yaml")
    assert called.code == 2
    assert said in called.err
    assert "legal version, name, description, extends" not in called.err
