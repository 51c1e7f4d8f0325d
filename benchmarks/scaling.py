"""Scaling predicted from few nodes: tasksim and two empirical laws against a finer model.

The truth is a simulation on a fat tree under SMPI's model with noisy kernels. tasksim knows only
what can be measured on two nodes of it: ping-pong over sizes, from which a switch with piecewise
Hockney messages is made, and the mean durations of kernels. The laws know the times on up to eight
nodes. All are judged on 64 and 128.

    python benchmarks/scaling.py [--tiles 20]
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from typing import TYPE_CHECKING

import numpy as np

from tasksim import ConstantLibrary, generate
from tasksim.engine.clock import Clock
from tasksim.engine.cluster.flows import Flows
from tasksim.engine.simulation import Simulation
from tasksim.network.cluster import Cluster
from tasksim.network.load import read_network
from tasksim.network.model import Piece
from tasksim.platform.costs import Overheads
from tasksim.platform.description import Platform
from tasksim.reports.scaling_laws import scaling_strong, scaling_weak

if TYPE_CHECKING:
    from tasksim.network.description import Network

TRUE_NETWORK = (
    "fat-tree:children=[16,16],parents=[1,8],cables=[1,1],bandwidth=5GB/s,latency=1us,model=smpi"
)
DURATIONS_S = {"potrf": 2.0e-3, "trsm": 4.4e-3, "syrk": 4.4e-3, "gemm": 8.2e-3}
SIZES = (32, 1024, 8192, 32768, 65536, 262144, 1048576, 4194304)
NODES = (1, 2, 4, 8, 64, 128)
WORKERS = 8


def ping_s(network: Network, size: int) -> float:
    """Return how long a message between hosts 0 and 17 takes."""
    clock = Clock()
    Flows(clock, network).send(0, 17, size, lambda _: None, None)
    clock.run()
    return clock.now * 1e-9


def calibrated(truth: Network) -> Network:
    """Return a switch whose messages take what ping-pong over SIZES says, in pieces."""
    bandwidth, latency = 5e9, 2e-6
    pieces = []
    for small, large in itertools.pairwise(SIZES):
        first, last = ping_s(truth, small), ping_s(truth, large)
        per_byte = (last - first) / (large - small)
        alpha = max(first - per_byte * small, 1e-9)
        above = 0.0 if small == SIZES[0] else small
        pieces.append(Piece(above, alpha / latency, 1.0 / (per_byte * bandwidth)))
    network = read_network("switch:bandwidth=5GB/s,latency=1us")
    model = dataclasses.replace(network.model, pieces=tuple(pieces))
    return dataclasses.replace(network, model=model)


def makespan_s(tiles: int, nodes: int, network: Network, *, noisy: bool) -> float:
    """Return how long a factorisation takes; noisy: kernels are 2 % off, pushes cost 2 us."""
    platform = dataclasses.replace(
        Platform.identical(WORKERS), overheads=Overheads(push_s=2e-6 if noisy else 0.0)
    )
    seconds = dict(DURATIONS_S)
    if noisy:
        draw = np.random.default_rng([tiles, nodes])
        seconds = {name: value * draw.normal(1.0, 0.02) for name, value in seconds.items()}
    graph = generate("cholesky", tiles=tiles, tile_size=512)
    cluster = Cluster.alike(platform, nodes, network)
    return Simulation(graph, cluster, ConstantLibrary(seconds), "prio").run().makespan_s


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiles", type=int, default=20)
    tiles = parser.parse_args().tiles
    truth = read_network(TRUE_NETWORK)
    coarse = calibrated(truth)
    strong = [makespan_s(tiles, nodes, truth, noisy=True) for nodes in NODES]
    told = [makespan_s(tiles, nodes, coarse, noisy=False) for nodes in NODES]
    print(f"strong: cholesky of {tiles} tiles")
    table = scaling_strong(NODES, strong, predicted={"tasksim": told})
    print(table.to_string(index=False, float_format="%.3g"))
    # Equal work per node: n^3 / P constant.
    grown = [max(4, round(5 * nodes ** (1 / 3))) for nodes in NODES]
    cases = list(zip(grown, NODES, strict=True))
    weak = [makespan_s(n, nodes, truth, noisy=True) for n, nodes in cases]
    told = [makespan_s(n, nodes, coarse, noisy=False) for n, nodes in cases]
    print(f"\nweak: cholesky of {grown} tiles, equal work per node")
    table = scaling_weak(NODES, [n**3 / 3 for n in grown], weak, predicted={"tasksim": told})
    print(table.to_string(index=False, float_format="%.3g"))


if __name__ == "__main__":
    main()
