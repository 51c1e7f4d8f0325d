"""DAX 3 as Pegasus has it: uses of files without a direction, workflows as jobs."""

import pytest

from tasksim.base.errors import InputError
from tasksim.formats.graphs import graph_in

DAX = """\
<?xml version="1.0" encoding="UTF-8"?>
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="3.6" name="outer">
  <job id="J1" name="prepare" runtime="3">
    <uses name="f.dax" link="output" size="10"/>
    <uses name="tool" link="none" executable="true"/>
    <uses name="state" link="checkpoint"/>
  </job>
  <dax id="J2" file="f.dax"><argument>--force</argument><uses name="f.dax" link="input"/></dax>
  <dag id="J3" file="g.dag"/>
  <child ref="J2"><parent ref="J1"/></child>
  <child ref="J3"><parent ref="J2"/></child>
</adag>
"""


def read(tmp_path, text):
    path = tmp_path / "outer.dax"
    path.write_text(text)
    return graph_in(path)


def test_workflows_that_are_jobs_are_single_tasks(tmp_path):
    found = read(tmp_path, DAX)
    graph = found.graph
    assert [graph.kernel_of(task) for task in range(len(graph))] == ["prepare", "dax", "dag"]
    assert graph.successors.tolist() == [1, 2]
    assert "2 jobs are workflows of their own, each a single task here" in found.notes


def test_a_file_of_another_direction_is_refused_with_its_line_once(tmp_path):
    with pytest.raises(InputError) as caught:
        read(tmp_path, DAX.replace("checkpoint", "sideways"))
    legal = "input, output, inout, none, checkpoint"
    assert str(caught.value) == f"{tmp_path}/outer.dax:6: link: got 'sideways'; legal: {legal}"
