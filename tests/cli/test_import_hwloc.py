"""``tasksim import hwloc`` and ``view machine``: what is written and printed, what is refused."""

from __future__ import annotations

import pytest
from hwloc_files import TWO_PACKAGES, WITH_GPU

IMPORTED = """\
machine   machine: 2 packages, 2 NUMA nodes, 4 cores (8 hyper-threads), 1 Tesla V100: \
Some Processor 2.0
workers   1 cuda, 3 cpu
memories  ram 64 GiB, gpu0 16 GiB
domains   1 of 2 workers, 1 of 1 workers
caches    l1 32 KiB, l2 256 KiB, l3 20 MiB for 2 cores
links     1, in 0 routes

notes:
  up to 2 hyper-threads per core: each core is one worker (--hyper-threads makes more)
  2 NUMA nodes: they are one main memory; memory_domains has the workers of each node
  the distances between NUMA nodes are unknown: set numa.distances
  the NUMA nodes differ in their workers: each has groups of workers of its own
  latencies of links are unknown: they are 0
  bandwidths and latencies of memory are unknown: 'tasksim calibrate memory' measures them there
  left out: 1 device of the system, such as disks and networks

Next:
  tasksim view machine machine --library lib
"""


def test_a_machine_is_written_to_the_library(tasksim, tmp_path):
    (tmp_path / "machine.xml").write_text(WITH_GPU)
    result = tasksim("import hwloc machine.xml -o lib")
    assert (result.code, result.err) == (0, "Wrote lib/platforms/machine.yaml\n")
    assert result.out == IMPORTED
    assert tasksim("import hwloc machine.xml -o lib").code == 2
    found = tasksim("import hwloc machine.xml -o lib --name big --hyper-threads --json").json
    assert (found["name"], found["workers"]) == ("big", {"cuda": 1, "cpu": 6})
    assert found["memory_hierarchy"]["l3"] == {"size_bytes": 20 * 2**20, "cores": 2}


def test_what_was_imported_simulates(tasksim, tmp_path):
    (tmp_path / "machine.xml").write_text(WITH_GPU)
    tasksim("import hwloc machine.xml -o lib")
    line = "simulate cholesky tiles=3 --durations potrf=1,trsm=1,syrk=1,gemm=1 --json"
    imported = tasksim(f"{line} --platform machine --library lib").json
    assert imported["makespan_s"] == tasksim(f"{line} --platform machine.xml").json["makespan_s"]
    assert tasksim("validate machine.xml").code == 0


def test_a_broken_file_is_refused_in_one_line(tasksim, tmp_path):
    (tmp_path / "machine.xml").write_text(TWO_PACKAGES.replace("</topology>", "</topologie>"))
    result = tasksim("import hwloc machine.xml -o lib")
    assert (result.code, len(result.errors)) == (2, 1)
    assert "found what is not: mismatched tag" in result.err
    assert not (tmp_path / "lib" / "platforms").exists()
    assert tasksim("import hwloc nothing.xml -o lib").code == 2


def test_models_of_counters_need_latencies_that_hwloc_does_not_tell(tasksim, tmp_path):
    (tmp_path / "machine.xml").write_text(TWO_PACKAGES)
    tasksim("import hwloc machine.xml")
    (tmp_path / "s.csv").write_text("n,duration_s\n1,1\n2,2\n3,3\n")
    result = tasksim("fit s.csv --kind counters --memory machine -o m.json")
    assert result.code == 2
    assert "memory_hierarchy has no latency of l1, l2, l3, memory" in result.err


def test_a_machine_is_drawn(tasksim, tmp_path):
    (tmp_path / "machine.xml").write_text(WITH_GPU)
    result = tasksim("view machine machine.xml -o machine.svg")
    assert (result.code, result.err) == (0, "Wrote machine.svg\n")
    assert result.out.splitlines()[1] == (
        "parts     2 packages, 2 memories, 4 cores, 1 co-processor"
    )
    drawn = (tmp_path / "machine.svg").read_text()
    for text in ("Machine tall", "NUMA node 1", "L3 20 MiB", "PU 6, 7", "Tesla V100", "eth0"):
        assert f">{text}</text>" in drawn
    assert tasksim("view machine machine.xml -o machine.svg").code == 2


def test_a_platform_is_drawn_and_a_page_written(tasksim, tmp_path):
    (tmp_path / "machine.xml").write_text(WITH_GPU)
    tasksim("import hwloc machine.xml -o lib")
    found = tasksim("view machine machine --library lib -o machine.html --json").json
    assert found["parts"] == {"domains": 2, "memories": 1, "cores": 3, "co-processors": 1}
    assert (found["figure"], found["html"]) == (None, "machine.html")
    page = (tmp_path / "machine.html").read_text()
    assert "data:image/png" in page
    assert "<td>3</td>" in page
    assert tasksim("view machine machine --library lib").err == "Wrote machine.png\n"


def test_wrong_requests_for_a_machine_are_refused(tasksim, tmp_path):
    (tmp_path / "machine.xml").write_text(TWO_PACKAGES)
    for line, message in {
        "view machine": "view machine: got 0 machines; legal: one",
        "view machine machine.xml other.xml": "view machine: got 2 machines; legal: one",
        "view machine machine.xml --panels gantt": "--panels is for runs",
        "view machine machine.xml -o m.bmp": "m.bmp: cannot draw a '.bmp' file",
        "view machine machine.xml -o a.html --html b.html": "both pages",
        "view machine machine.xml --html b.svg": "a page is a '.html' file, not '.svg'",
        "view machine nothing.xml": "nothing.xml: no such file",
        "view machine identical-9": "did you mean 'identical-8'?",
        "view run --library .": "--library is for 'view machine'",
    }.items():
        result = tasksim(line)
        assert result.code == 2, line
        assert message in result.err, line


def test_a_run_in_a_folder_called_machine_is_a_run(tasksim):
    given = "--workers 2 --durations potrf=1,trsm=1,syrk=1,gemm=1"
    tasksim(f"simulate cholesky tiles=2 {given} -o machine")
    result = tasksim("view machine")
    assert result.code == 0
    assert result.out.startswith("machine\ngraph          cholesky")


@pytest.mark.slow
def test_the_doctor_tells_what_hwloc_sees_or_why_not(tasksim, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert tasksim("doctor --json").json["hwloc"]["available"] is False
    (tmp_path / "machine.xml").write_text(WITH_GPU)
    program = tmp_path / "bin" / "lstopo"
    program.write_text(
        f'#!/bin/sh\nwhile read line; do echo "$line"; done < {tmp_path}/machine.xml\n'
    )
    program.chmod(0o755)
    found = tasksim("doctor --json").json["hwloc"]
    assert (found["numa_nodes"], found["cores"], found["hyper_threads"]) == (2, 4, 8)
    assert found["co_processors"] == ["Tesla V100"]
