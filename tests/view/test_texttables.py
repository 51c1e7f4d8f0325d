import dataclasses
import subprocess
import sys

import tasksim
from tasksim.run.bounds import Bounds
from tasksim.run.compare import compare
from tasksim.run.critical import practical_critical_path
from tasksim.run.facts import run_facts
from tasksim.view import texttables as tables


def example(make, **changes):
    rows = [(0, 0, 0.0, 1.0), (3, 0, 1.0, 4.0), (3, 1, 1.0, 2.0)]
    return make.rows(rows, 2, **changes)


def test_columns_are_aligned():
    text = tables.table(["name", "n"], [["a", "100"], ["long", "5"]])
    assert text.splitlines() == ["name    n", "a     100", "long    5"]


def test_long_names_lose_their_middle_where_a_table_is_wider_than_a_terminal():
    name = f"tile::update<{'double, ' * 30}long>(Matrix const&)"
    headers = ["kernel", *(f"column {number}" for number in range(6))]
    rows = [[kernel, *["1.5 ms"] * 6] for kernel in (name, f"{name}X", "copy")]
    lines = tables.table(headers, rows).splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == [
        "kernel", "tile::updat…rix const&)", "tile::updat…ix const&)X", "copy",
    ]  # fmt: skip
    assert len({len(line) for line in lines}) == 1
    # With room, names keep what fits into 80 letters; sentences under no header stay.
    assert len(tables.table(["in", "time"], [[name, "1 s"]]).splitlines()[1]) == 79
    assert tables.table(["", ""], [["graph", name]], left=2) == f"graph  {name}"


def test_run_summary(make):
    run = example(make, bounds={"critical_path_s": 2.0, "area_s": 2.5}, wall_s=0.012)
    assert tables.run_summary(run).splitlines() == [
        "graph          cholesky tiles=10 tile_size=256 (3 tasks)",
        "run            simulated, scheduler lws, seed 0",
        "platform       identical-2 (2 cpu)",
        "makespan       4 s",
        "critical path  2 s (makespan +100.0 %)",
        "area bound     2.5 s (makespan +60.0 %)",
        "efficiency     62.5 %",
        "mean wait      0 s for dependencies, 667 ms for a worker",
        "took           12 ms",
    ]


def test_a_run_without_time_has_no_efficiency_and_no_shares(make):
    run = make.rows([(0, 0, 0.0, 0.0), (3, 1, 0.0, 0.0)], 2)
    assert dict(run_facts(run))["efficiency"] == "-"
    assert tables.kernel_table(run).splitlines()[1].split()[:5] == ["potrf", "1", "0", "s", "-"]


def test_kernel_table(make):
    assert tables.kernel_table(example(make)).splitlines() == [
        "kernel  tasks  total   share  mean  median     std  min  max",
        "potrf       1    1 s  20.0 %   1 s     1 s     0 s  1 s  1 s",
        "gemm        2    4 s  80.0 %   2 s     2 s  1.41 s  1 s  3 s",
    ]


def test_worker_table(make):
    assert tables.worker_table(example(make)).splitlines() == [
        "worker  architecture  tasks    idle",
        "cpu0    cpu               2   0.0 %",
        "cpu1    cpu               1  75.0 %",
    ]


def test_many_workers_are_listed_by_kind():
    graph = tasksim.GraphBuilder("apart")
    for _ in range(150):
        graph.insert("a")
    run = tasksim.simulate(graph.build(), workers=100, scheduler="eager", durations={"a": 1.0})
    assert tables.worker_table(run).splitlines() == [
        "worker               architecture   tasks           idle",
        "cpu0 to cpu99 (100)  cpu           1 to 2  0.0 to 50.0 %",
    ]


def test_tables_of_a_run_that_moved_data(make):
    run = make.hybrid(1, 1, tasks=2, copies=3)
    moved = dataclasses.replace(
        run.transfers, handle=[0, 0, 1], source=[0, 1, 0], target=[1, 0, 1],
        start_s=[0.0, 1.0, 2.0], end_s=[0.5, 2.0, 2.5], task=[-1, -1, 1], reason=[0, 2, 0],
    )  # fmt: skip
    rows = dataclasses.replace(
        run.tasks, worker=[1, 0], ready_s=[0, 0], popped_s=[0, 1], start_s=[0, 3], end_s=[4, 4]
    )
    used = dataclasses.replace(run.memory, used_bytes=[2**20, 0, 2**19])
    run = dataclasses.replace(run, tasks=rows, transfers=moved, memory=used, evictions=1)
    text = tables.run_summary(run)
    assert "mean wait   0 s for dependencies, 750 ms for data, 750 ms for a worker" in text
    assert "copies      3 (3 MiB, 1.50 times the data that moved), 1 eviction" in text
    assert tables.worker_table(run).splitlines() == [
        "worker  architecture  memory  tasks    idle  for data",
        "gpu0    gpu           gpu0        1  75.0 %    37.5 %",
        "cpu0    cpu           ram         1   0.0 %     0.0 %",
    ]
    assert tables.memory_table(run).splitlines() == [
        "memory   size  most used  copied in    out",
        "ram         -          -      1 MiB  2 MiB",
        "gpu0    1 MiB      1 MiB      2 MiB  1 MiB",
    ]
    assert tables.transfer_table(run).splitlines() == [
        "from and to  copies   size  bandwidth    busy",
        "ram to gpu0       2  2 MiB   2.1 MB/s  25.0 %",
        "gpu0 to ram       1  1 MiB  1.05 MB/s  25.0 %",
    ]


def test_bounds_table():
    assert tables.bounds_table(Bounds(2.0, 2.5), 4.0).splitlines() == [
        "bound           time  makespan",
        "critical path    2 s  +100.0 %",
        "area bound     2.5 s   +60.0 %",
    ]
    assert tables.bounds_table({"area_s": 0.5}).splitlines() == [
        "bound         time",
        "area bound  500 ms",
    ]
    assert tables.bounds_table({"area_s": 0.0}, 1.0).splitlines()[1] == "area bound   0 s         -"


def test_path_table(make):
    path = practical_critical_path(example(make))
    assert tables.path_table(path).splitlines() == [
        "2 tasks   time   share",
        "in potrf   1 s  25.0 %",
        "in gemm    3 s  75.0 %",
    ]


def test_comparison_table(make):
    run = example(make)
    end = run.tasks.end_s * 1.25
    start = run.tasks.start_s * 1.25
    other = dataclasses.replace(
        run, kind="native", tasks=dataclasses.replace(run.tasks, start_s=start, end_s=end)
    )
    assert tables.comparison_table(compare(run, other)).splitlines() == [
        "                            a            b  b against a",
        "run                 simulated       native",
        "scheduler                 lws          lws",
        "platform          identical-2  identical-2",
        "makespan                  4 s          5 s     +25.00 %",
        "busy                      5 s       6.25 s      +25.0 %",
        "idle                   37.5 %       37.5 %",
        "tasks per worker       1 to 2       1 to 2",
        "",
        "kernel  tasks  total a  total b  mean a  mean b  b against a     KS",
        "potrf       1      1 s   1.25 s     1 s  1.25 s      +25.0 %  1.000",
        "gemm        2      4 s      5 s     2 s   2.5 s      +25.0 %  0.500",
        "",
        "Tasks of b end 583 ms later on average (distance: mean 583 ms, 95 % within 950 ms, "
        "largest 1 s later, task 1).",
    ]
    earlier = tables.comparison_table(compare(other, run))
    assert "Tasks of b end 583 ms earlier on average" in earlier


def test_comparison_of_runs_that_move_data(make):
    run = make.hybrid()
    lines = tables.comparison_table(compare(run, run)).splitlines()
    names = [line[:22].strip() for line in lines]
    begin = names.index("idle for dependencies")
    assert names[begin : begin + 7] == [
        "idle for dependencies",
        "idle for data",
        "idle for the runtime",
        "idle at the end",
        "copies",
        "copied",
        "evictions",
    ]
    assert lines[begin + 4].split() == ["copies", "40", "40"]
    assert lines[begin + 5].split() == ["copied", "40", "MiB", "40", "MiB", "+0.0", "%"]
    plain = dataclasses.replace(run, transfers=None)
    lines = tables.comparison_table(compare(plain, run)).splitlines()
    assert lines[begin + 5].split() == ["copied", "-", "40", "MiB"]


def test_workers_are_compared_where_they_differ(make):
    run = make.hybrid()
    fewer = dataclasses.replace(run.workers[-1], architecture="other")
    other = dataclasses.replace(run, workers=(*run.workers[:-1], fewer))
    found = compare(run, other)
    assert sum(found.a.workers.values()) == len(run.workers)
    (line,) = [
        line for line in tables.comparison_table(found).splitlines() if line.startswith("workers")
    ]
    assert line.endswith(" + 1 other")
    assert "\nworkers" not in tables.comparison_table(compare(run, run))


def test_comparison_with_itself(make):
    run = example(make)
    lines = tables.comparison_table(compare(run, run)).splitlines()
    assert lines[-1] == "Tasks of b end when those of a do."


def test_comparison_of_different_graphs(make):
    run = example(make)
    larger = dataclasses.replace(run, graph_name="lu")
    text = tables.comparison_table(compare(run, larger, any_graph=True))
    assert text.splitlines()[:2] == [
        "graph of a: cholesky tiles=10 tile_size=256",
        "graph of b: lu tiles=10 tile_size=256",
    ]
    assert "Tasks of b" not in text


def test_an_empty_run_has_tables(make):
    run = make.run(workers=1, tasks=0)
    assert "makespan    0 s" in tables.run_summary(run)
    assert tables.kernel_table(run).startswith("kernel")
    assert tables.path_table(practical_critical_path(run)).startswith("0 tasks")


def test_tables_need_no_matplotlib():
    code = (
        "import sys, tasksim.view.texttables;"
        "sys.exit(bool({'matplotlib', 'pandas', 'scipy', 'pyarrow'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
