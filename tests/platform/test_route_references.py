"""Routes and devices in files that are wrong: all of it is told, with places."""

from __future__ import annotations

import pytest

from tasksim.platform.load import load

HEAD = """
    version: 1
    memories: {ram: {}, gpu0: {}, gpu1: {}}
"""
WORKERS = "    workers: {cuda: {count: 2, memory: [gpu0, gpu1]}, cpu: {count: 1, memory: ram}}\n"
LINKS = """
    links:
      a: {bandwidth: 1 GB/s, between: [ram, gpu0]}
      b: {bandwidth: 1 GB/s, between: [ram, gpu1]}
      bus: {bandwidth: 1 GB/s}
"""


@pytest.mark.parametrize(
    ("routes", "what"),
    [
        (
            "[{from: ram, to: gpu2, links: [a]}]",
            "8:26: routes.0.to: unknown memory (got 'gpu2', legal ram, gpu0, gpu1), did you mean "
            "'gpu1'?",
        ),
        (
            "[{from: ramm, to: gpu0, links: [a]}]",
            "8:17: routes.0.from: unknown memory (got 'ramm', legal ram, gpu0, gpu1), did you "
            "mean 'ram'?",
        ),
        (
            "[{from: ram, to: gpu0, links: [a, buss]}]",
            "8:43: routes.0.links.1: unknown link (got 'buss', legal a, b, bus), did you mean "
            "'bus'?",
        ),
        (
            "[{from: ram, to: ram, links: [a]}]",
            "8:26: routes.0.to: must be another memory than where the route begins (got 'ram')",
        ),
        (
            "[{from: ram, to: gpu0, links: [a]}, {from: ram, to: gpu0, links: [bus]}]",
            "8:45: routes.1: a second route from ram to gpu0 (the first is routes.0)",
        ),
        ("[{from: ram, to: gpu0, links: []}]", "8:39: routes.0.links: must not be empty (got [])"),
        ("[{from: ram, to: gpu0}]", "8:10: routes.0.links: missing"),
        ("[{from: ram, to: gpu0, links: a}]", "8:39: routes.0.links: must be a list (got 'a')"),
        (
            "[{from: ram, too: gpu0, links: [a]}]",
            "8:22: routes.0.too: unknown field (got 'too', legal from, to, links), did you "
            "mean 'to'?",
        ),
        ("[ram]", "8:10: routes.0: must be a mapping (got 'ram')"),
        ("{ram: gpu0}", "8:9: routes: must be a list (got a mapping)"),
        (
            "[{from: node0/ram, to: gpu0, links: [a]}]",
            "8:17: routes.0.from: routes lead within a node; between nodes there are links (got "
            "'node0/ram')",
        ),
    ],
)
def test_wrong_routes(write, errors, routes, what):
    path = write(HEAD + WORKERS + LINKS.lstrip("\n") + f"    routes: {routes}\n")
    lines = errors(path)
    assert f"p.yaml:{what}" in lines
    assert len(lines) == 1 + ("too" in routes)


def test_a_route_over_a_link_between_nodes(write, errors):
    text = """
        version: 1
        nodes: 2
        memories: {ram: {}, gpu: {}}
        workers: {cuda: {count: 1, memory: gpu}}
        links: {net: {bandwidth: 1 GB/s, between: [node0/ram, node1/ram]}}
        routes: [{from: ram, to: gpu, links: [net]}, {from: gpu, to: ram, links: [net]}]
    """
    assert errors(write(text)) == [
        f"p.yaml:6:{column}: routes.{i}.links.0: link net is between nodes, routes lead within a "
        "node"
        for i, column in enumerate((39, 75))
    ]


@pytest.mark.parametrize(
    ("workers", "what"),
    [
        (
            "{cuda: {count: 2, memory: [gpu0, gpu2]}, cpu: {count: 1, memory: ram}}",
            "3:43: workers.cuda.memory.1: unknown memory (got 'gpu2', legal ram, gpu0, gpu1), did "
            "you mean 'gpu1'?",
        ),
        (
            "{cuda: {count: 2, memory: []}, cpu: {count: 1, memory: ram}}",
            "3:36: workers.cuda.memory: must not be empty (got [])",
        ),
        (
            "{cuda: {count: 2, memory: [gpu0, 3]}, cpu: {count: 1, memory: ram}}",
            "3:43: workers.cuda.memory.1: must be text (got 3)",
        ),
        (
            "{cuda: {count: 2, memory: 3}, cpu: {count: 1, memory: ram}}",
            "3:36: workers.cuda.memory: must be text (got 3)",
        ),
        (
            "{cuda: {count: 2, memory: [gpu0, gpu1], models: [m0]}, cpu: {count: 1, memory: ram}}",
            "3:58: workers.cuda.models: must have an entry per entry of memory (got 1 for 2)",
        ),
        (
            "{cuda: {count: 300, memory: [gpu0, gpu1]}, cpu: {count: 1, memory: ram}}",
            "3:25: workers.cuda.count: too many workers with memories of their own (got 300, legal "
            "256)",
        ),
        (
            "{cuda: {count: 1, memory: gpu0, drivers: cpus}, cpu: {count: 1, memory: ram}}",
            "3:51: workers.cuda.drivers: unknown group, must be another group of workers (got "
            "'cpus', legal cpu), did you mean 'cpu'?",
        ),
        (
            "{cuda: {count: 1, memory: gpu0, drivers: cuda}, cpu: {count: 1, memory: ram}}",
            "3:51: workers.cuda.drivers: unknown group, must be another group of workers (got "
            "'cuda', legal cpu), did you mean 'cpu'?",
        ),
        (
            "{cuda: {count: 1, memory: gpu0, drivers: cpu}, "
            "cpu: {count: 1, memory: ram, drivers: io}, io: {count: 1, memory: ram}}",
            "3:51: workers.cuda.drivers: must be a group that needs no drivers itself (got 'cpu')",
        ),
    ],
)
def test_wrong_devices(write, errors, workers, what):
    path = write(HEAD + f"    workers: {workers}\n" + LINKS.lstrip("\n"))
    assert errors(path) == [f"p.yaml:{what}"]


NO_WAY = "not even over one other memory: add a link between them, or routes"


@pytest.mark.parametrize(
    ("links", "lines"),
    [
        (
            "",
            [
                f"3:37: workers.cuda.memory.0: no route leads from ram to gpu0, {NO_WAY}",
                f"3:43: workers.cuda.memory.1: no route leads from ram to gpu1, {NO_WAY}",
            ],
        ),
        (
            "links: {a: {bandwidth: 1 GB/s, between: [ram, gpu0]}, b: {bandwidth: 1 GB/s}}\n"
            "    routes: [{from: ram, to: gpu1, links: [b]}]",
            [f"3:43: workers.cuda.memory.1: no route leads from gpu1 to ram, {NO_WAY}"],
        ),
        (
            "links: {a: {bandwidth: 1 GB/s, between: [ram, gpu0]}, "
            "b: {bandwidth: 1 GB/s, between: [gpu0, gpu1]}}",
            [],
        ),
    ],
)
def test_memories_that_no_way_leads_to(write, errors, links, lines):
    path = write(HEAD + WORKERS + (f"    {links}\n" if links else ""))
    if lines:
        assert errors(path) == [f"p.yaml:{line}" for line in lines]
    else:
        assert len(load(path).links) == 2


def test_a_memory_that_no_worker_uses_needs_no_way(write):
    path = write("""
        version: 1
        memories: {ram: {}, disk: {}}
        workers: {cpu: {count: 1, memory: ram}}
    """)
    assert len(load(path).memories) == 2


def test_two_steps_are_too_far(write, errors):
    path = write("""
        version: 1
        memories: {a: {}, b: {}, c: {}, d: {}}
        workers: {cpu: {count: 1, memory: a}, far: {count: 1, memory: d}}
        links:
          ab: {bandwidth: 1 GB/s, between: [a, b]}
          bc: {bandwidth: 1 GB/s, between: [b, c]}
          cd: {bandwidth: 1 GB/s, between: [c, d]}
    """)
    assert errors(path) == [
        f"p.yaml:3:63: workers.far.memory: no route leads from a to d, {NO_WAY}"
    ]


def test_devices_that_are_reached_through_one_that_is_not_used(write, errors):
    path = write("""
        version: 1
        memories: {ram: {}, gpu0: {}, gpu1: {}}
        workers: {cpu: {count: 1, memory: ram}, cuda: {count: 2, memory: [gpu0, gpu1]}}
        links:
          a: {bandwidth: 1 GB/s, between: [ram, gpu1]}
          b: {bandwidth: 1 GB/s, between: [gpu1, gpu0]}
    """)
    assert len(load(path).memories) == 3
    assert errors(path, settings=["platform.workers.cuda.count=1"]) == [
        "platform p: no route leads from ram to gpu0, not even over one other memory",
        "platform p: no route leads from gpu0 to ram, not even over one other memory",
    ]
