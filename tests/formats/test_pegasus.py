"""Workflows of Pegasus 5, in YAML."""

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.graphs import graph_in

PEGASUS_WORKFLOW = """\
x-pegasus:
  createdOn: 03-04-23T11:55:58Z
pegasus: "5.0.4"
name: diamond
jobs:
- type: job
  name: preprocess
  id: ID1
  arguments: [-a, 1.1]
  profiles: {pegasus: {runtime: "2"}, env: {A: b}}
  uses:
  - {lfn: f.a, type: input}
  - {lfn: f.b, type: output, metadata: {size: "2048"}, stageOut: true}
  - {lfn: tool, type: none, executable: true}
- {type: job, name: findrange, id: ID2, profiles: {pegasus: {runtime: 3}},
   uses: [{lfn: f.b, type: input, size: 2048}]}
- {type: job, name: findrange, id: ID3, profiles: {pegasus: {runtime: 3}}, uses: []}
- {type: pegasusWorkflow, file: inner.yml, id: inner, arguments: [], uses: []}
jobDependencies:
- id: ID1
  children: [ID2, ID3]
- id: ID2
  children:
  - inner
"""


def read(tmp_path, text):
    path = tmp_path / "workflow.yml"
    path.write_text(text)
    return graph_in(path)


def test_jobs_have_the_runtimes_of_their_profiles(tmp_path):
    found = read(tmp_path, PEGASUS_WORKFLOW)
    graph = found.graph
    assert graph.name == "diamond"
    assert sorted(graph.kernels) == ["findrange", "pegasus", "preprocess"]
    assert graph.edges == 3
    assert sorted(graph.handle_size.tolist()) == [0, 2048]
    durations = {"pegasus": 10}
    assert tasksim.simulate(graph, workers=2, durations=durations).makespan_s == 2 + 3 + 10
    assert tasksim.simulate(graph, workers=1, durations=durations).makespan_s == 18
    assert "1 job without a runtime, and so without a duration" in found.notes
    assert "1 workflow inside, each a single task here" in found.notes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('runtime: "2"', "runtime: soon", "jobs[0].profiles.pegasus: runtime: got 'soon'; legal:"),
        ("type: none", "type: sideways", "jobs[0].uses[2]: type: got 'sideways'; legal: input, o"),
        ("  id: ID1\n", "", "jobs[0]: id: got None; legal: a name"),
        ("[ID2, ID3]", "[ID2, ID4]", "jobDependencies[0]: there is no task 'ID4'"),
        ("[ID2, ID3]", "ID2", "jobDependencies[0]: children: got 'ID2'; legal: a list of ids"),
        ("jobs:\n", "sites:\n", "got x-pegasus, pegasus, name, sites, jobDependencies; legal: a w"),
        ("  - {lfn: f.a, type: input}", "  - f.a", "jobs[0].uses: got ['f.a', {"),
        ("[-a, 1.1]", "[-a, 1.1", "workflow.yml:"),
    ],
)
def test_wrong_workflows_are_told_with_their_place(tmp_path, old, new, message):
    assert old in PEGASUS_WORKFLOW
    with pytest.raises(InputError) as caught:
        read(tmp_path, PEGASUS_WORKFLOW.replace(old, new))
    assert message in str(caught.value)
