"""Non-uniform memory of platforms: its section in files, its settings, its checks."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from contended import sockets

from tasksim.base.errors import InputError
from tasksim.platform.load import dump, load
from tasksim.platform.parts import Numa, NumaKernel

PLATFORM_FILE = """
    version: 1
    workers: {cpu: {count: 4}}
    memory_domains: {numa: {workers: cpu, each: 2, bandwidth: [9 GB/s, 12 GB/s], size: 32 GiB}}
    numa:
      distances: [[10, 21], [21, 10]]
      bandwidth: [[null, 6 GB/s], [5 GB/s, null]]
      placement: interleaved
      cache: 8 MiB
      kernels: {gemm: {memory_share: 0.25, demand: 2 GB/s}, trsm: {memory_share: 0.5}}
"""
SHORT_FILE = """
    version: 1
    workers: {cpu: {count: 4}}
    memory_domains: {numa: {workers: cpu, each: 2}}
    numa: {distances: 21, bandwidth: 6 GB/s}
"""


def test_all_that_a_file_says(write):
    platform = load(write(PLATFORM_FILE))
    assert platform.numa == Numa(
        ((10.0, 21.0), (21.0, 10.0)),
        ((inf, 6e9), (5e9, inf)),
        "interleaved",
        8 * 2.0**20,
        {"gemm": NumaKernel(0.25, 2e9), "trsm": NumaKernel(0.5)},
    )
    assert [domain.size_bytes for domain in platform.memory_domains] == [32 * 2.0**30] * 2
    assert platform.numa.ratio(1, 0) == 2.1
    assert platform.summary() == "p: 4 cpu; 1 memory: ram, in 2 NUMA domains; no overheads"


def test_a_value_for_all_pairs_fits_any_number_of_domains(write):
    path = write(SHORT_FILE)
    assert load(path).numa == Numa(((10.0, 21.0), (21.0, 10.0)), ((inf, 6e9), (6e9, inf)))
    more = load(path, settings=["platform.workers.cpu.count=6", "platform.numa.distances=x2"])
    assert more.numa.distances == ((10.0, 42.0, 42.0), (42.0, 10.0, 42.0), (42.0, 42.0, 10.0))
    assert more.numa.bandwidths_bytes_per_s[2] == (6e9, 6e9, inf)


def test_fewer_domains_use_the_first_rows(write):
    one = load(write(PLATFORM_FILE), settings=["platform.workers.cpu.count=2"])
    assert (one.numa.distances, one.numa.bandwidths_bytes_per_s) == (((10.0,),), ((inf,),))


def test_settings(write):
    changed = load(
        write(PLATFORM_FILE),
        settings=[
            "platform.numa.distances=[[10, 16], [16, 10]]",
            "platform.numa.bandwidth=8 GB/s",
            "platform.numa.placement=numa1",
            "platform.numa.cache=x2",
            "platform.numa.kernels.*.memory_share=0.1",
            "platform.memory_domains.numa.size=16 GiB",
        ],
    )
    numa = changed.numa
    assert numa.distances == ((10.0, 16.0), (16.0, 10.0))
    assert numa.bandwidths_bytes_per_s == ((inf, 8e9), (8e9, inf))
    assert (numa.placement, numa.cache_bytes) == ("numa1", 16 * 2.0**20)
    assert numa.kernels == {"gemm": NumaKernel(0.1, 2e9), "trsm": NumaKernel(0.1)}
    assert changed.memory_domains[0].size_bytes == 16 * 2.0**30


def test_what_is_written_reads_back(here):
    numa = {"distances": [[10, 21.5], [20, 10]], "cache": "8 MiB"}
    domains = {"numa": {"workers": "cpu", "each": 2, "size": "4 GiB"}}
    fields = {"workers": {"cpu": {"count": 4}}, "memory_domains": domains, "numa": numa}
    written = dump(fields, here / "mine.yaml")
    assert load(here / "mine.yaml") == written
    assert written.numa.distances == ((10.0, 21.5), (20.0, 10.0))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("[[10, 21], [21, 10]]", "[[10, 21, 21], [21, 10]]",
         "5:15: numa.distances.0: must have 2 values, one per row of the matrix (got 3)"),
        ("[[10, 21], [21, 10]]", "[[10]]",
         "5:14: numa.distances: must have a row per memory domain: numa0, numa1 (got 1 rows); "
         "a single value is for all pairs"),
        ("[[10, 21], [21, 10]]", "[[10, 9], [21, 10]]",
         "5:20: numa.distances.0.1: must be at least the distance of the domain to itself, 10 "
         "(got 9)"),
        ("[[10, 21], [21, 10]]", "[[10, 0], [21, 10]]",
         "5:20: numa.distances.0.1: must be greater than 0 (got 0)"),
        ("[[10, 21], [21, 10]]", "near", "5:14: numa.distances: 'near' is not a factor"),
        ("[[null, 6 GB/s]", "[[9 GB/s, 6 GB/s]",
         "6:16: numa.bandwidth.0.0: must be null: memory_domains.*.bandwidth is that of a domain's "
         "own memory (got '9 GB/s')"),
        ("[[null, 6 GB/s]", "[[null, 6]", "6:22: numa.bandwidth.0.1: 6 has no unit"),
        ("interleaved", "interleave", "7:14: numa.placement: unknown placement (got 'interleave', "
         "legal first_touch, interleaved, numa0, numa1), did you mean 'interleaved'?"),
        ("8 MiB", "-1 B", "8:10: numa.cache: must be at least 0 (got '-1 B')"),
        ("0.25", "1.5", "numa.kernels.gemm.memory_share: must be at most 1 (got 1.5)"),
        ("memory_share: 0.5}", "}", "numa.kernels.trsm.memory_share: missing"),
        ("distances: [[10, 21], [21, 10]]\n", "placment: numa0\n",
         "numa.placment: unknown field (got 'placment', legal distances, bandwidth, placement, "
         "cache, kernels), did you mean 'placement'?"),
        ("version: 1\n", "version: 1\n    nodes: 2\n",
         "numa.distances: too many nodes: numa is of one (got nodes: 2); see --nodes"),
        ("32 GiB", "0 B", "memory_domains.numa.size: must be greater than 0 (got '0 B')"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file(write, errors, old, new, what):
    assert PLATFORM_FILE.count(old) == 1
    assert what in "\n".join(errors(write(PLATFORM_FILE.replace(old, new))))


def test_distances_need_domains(write, errors):
    found = errors(write("version: 1\nworkers: {cpu: {count: 4}}\nnuma: {distances: 21}\n"))
    assert found == [
        "p.yaml:3:19: numa.distances: memory_domains are missing, which have the workers of each"
    ]


TWO_SOCKETS = sockets(2, 2)
NUMA = TWO_SOCKETS.numa


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (Numa(((10.0,),)), "numa: distances: must be 2 rows of 2, one per memory domain"),
        (replace(NUMA, bandwidths_bytes_per_s=((1.0, 1.0),)), "numa: bandwidths: must be 2 rows"),
        (replace(NUMA, distances=((10.0, 5.0), (20.0, 10.0))),
         "distance from numa0 to numa1 is 5.0, must be at least that of numa0 to itself, 10.0"),
        (replace(NUMA, distances=((10.0, inf), (20.0, 10.0))),
         "distance from numa0 to numa1 is inf, must be positive"),
        (replace(NUMA, bandwidths_bytes_per_s=((inf, 0.0), (1.0, 2.0))),
         "bandwidth from numa0 to numa1 is 0.0, must be positive"),
        (replace(NUMA, bandwidths_bytes_per_s=((inf, 1.0), (1.0, 2.0))),
         "bandwidth from numa1 to numa1 is 2.0, must be infinite: the memory domain has its own"),
        (replace(NUMA, placement="numa2"), "numa: unknown placement (got 'numa2', legal first_tou"),
        (replace(NUMA, cache_bytes=-1.0), "numa: cache has -1.0 bytes, must be 0 or more"),
        (replace(NUMA, kernels={"gemm": NumaKernel(2.0)}), "memory share 2.0, must be 0 to 1"),
        (replace(NUMA, kernels={"gemm": NumaKernel(1.0, -1.0)}), "demands -1.0 bytes/s, must be 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_python(wrong, what):
    with pytest.raises(InputError) as refused:
        replace(TWO_SOCKETS, numa=wrong)
    assert what in str(refused.value)


def test_domains_and_one_node_are_needed_in_python():
    with pytest.raises(InputError, match="numa needs memory domains"):
        replace(TWO_SOCKETS, memory_domains=())
    nodes = tuple(replace(memory, id=n, name=f"r{n}", node=n)
                  for n, memory in enumerate(TWO_SOCKETS.memories * 2))  # fmt: skip
    with pytest.raises(InputError, match="numa is for one node, got 2"):
        replace(TWO_SOCKETS, memories=nodes)
    sized = tuple(replace(domain, size_bytes=0.0) for domain in TWO_SOCKETS.memory_domains)
    with pytest.raises(InputError, match=r"memory domain numa0 has size 0\.0, must be positive"):
        replace(TWO_SOCKETS, memory_domains=sized)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Numa("near"), "distances: got 'near' (str); legal: rows of numbers"),
        (lambda: Numa(21.0), "distances: got 21.0 (float); legal: rows of numbers"),
        (lambda: Numa((10.0, 21.0)), "distances: got the row 10.0 (float); legal: rows of numbers"),
        (lambda: Numa((("10", 21.0),)), "distances: got the row ('10', 21.0) (tuple); legal: rows"),
        (lambda: Numa(((10.0,),), cache_bytes="1 MiB"), "cache_bytes: got '1 MiB' (str)"),
        (lambda: Numa(((10.0,),), kernels={"gemm": 0.5}), "legal: NumaKernel by name"),
        (lambda: NumaKernel("half"), "memory_share: got 'half' (str)"),
        (lambda: NumaKernel(0.5, "1 GB/s"), "demand_bytes_per_s: got '1 GB/s' (str)"),
        (
            lambda: replace(TWO_SOCKETS, numa={"distances": 21}),
            "numa: got {'distances': 21} (dict); legal",
        ),
    ],
)
def test_arguments_that_are_no_numbers(make, what):
    with pytest.raises(InputError) as refused:
        make()
    assert what in str(refused.value)


def test_rows_may_be_lists_or_arrays():
    rows = np.array([[10, 21], [21, 10]])
    assert Numa(rows) == Numa(rows.tolist()) == Numa(((10.0, 21.0), (21.0, 10.0)))
