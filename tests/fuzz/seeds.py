"""Seeds: valid inputs of every reader, written by tasksim where it writes them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.counter_files import LIKWID, PAPI, PERF

from .inputs import Input, in_folder
from .readers import TEXT

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.models.files.store import Entry, Measured

PLATFORMS = {
    "small": "version: 1\nworkers:\n  cpu: {count: 2}\n",
    "full": """\
version: 1
name: gpus
description: two GPUs
models: xeon-2c
memories: {ram: {}, gpu0: {size: 5.25 GiB}, gpu1: {size: 5.25 GiB}}
arch:
  cpu: {}
  cuda: {speed: 1.5, pipeline: 2, synchronous: [potrf]}
workers:
  cuda: {count: 3, memory: [gpu0, gpu1], models: [cuda0, cuda1], drivers: cpu}
  cpu: {count: 10, memory: ram, cores: [0, 1, 2, 3, 4, 5, 6, 7, 8, null]}
links:
  host: {bandwidth: 6.5 GB/s, shared: false}
  ram-gpu0: {bandwidth: 6.01 GB/s, latency: 10 us, measured_bandwidth: 6.03 GB/s}
  ram-gpu1: {bandwidth: 6 GB/s, between: [ram, gpu1]}
routes:
- {from: ram, to: gpu0, links: [ram-gpu0, host]}
- {from: gpu0, to: ram, links: [ram-gpu0, host]}
overheads: {submission: 1 us, push: 1 us, fetch: 1 us, progress: 1 us, kernel: 10 us, copy: 10 us}
allocation: {allocate: 175 us, free: 750 us, chunk: 32 MiB, unit: 16 KiB, usable: 0.9}
copying: {fetches: 5, prefetches: 2, idle: 1, serialised: true, contention: 2}
fingerprint: {cpus: 12, gpus: [a, b], date: 2024-02-03}
""",
    "nodes": """\
version: 1
nodes: 3
memories: {ram: {size: 64 GiB}}
workers: {cpu: {count: 4, memory: ram}}
links:
  east: {bandwidth: 12.5 GB/s, latency: 1 us, between: [node0/ram, node1/ram]}
  west: {bandwidth: 12.5 GB/s, between: [node1/ram, node2/ram]}
""",
    "measured": """\
version: 1
arch: {cpu: {frequency: 2.6 GHz}}
workers: {cpu: {count: 4}}
memory_hierarchy:
  l1: {size: 48 KiB, latency: 1.3 ns, bandwidth: [67 GB/s, 134 GB/s]}
  l3: {size: 32 MiB, latency: 20 ns, bandwidth: [15 GB/s, 25 GB/s], cores: 2}
  memory: {latency: 90 ns, bandwidth: [9 GB/s, 12 GB/s], cores: 2}
memory_domains:
  ram: {workers: cpu, each: 2, bandwidth: [9 GB/s, 12 GB/s], known: true, size: 9 GB}
numa:
  distances: [[10, 21], [21, 10]]
  bandwidth: 5 GB/s
  kernels: {k: {memory_share: 0.1}}
power:
  static: 30 W
  arch: {cpu: {idle: 1.5 W, busy: 9 W, kernels: {gemm: 11 W}}}
""",
    "aliases": "version: 1\nworkers:\n  cpu: &a {count: 2}\n  big: {<<: *a, count: 3, arch: cpu}\n",
    "extending": "version: 1\nextends: base\nworkers: {cpu: {count: 5}, gpu: null}\n",
}
BASE = b"version: 1\nworkers: {cpu: {count: 2, cores: [0, 1]}, gpu: {count: 1}}\n"
SETTINGS = (
    "platform.workers.cpu.count=24",
    "platform.workers.cuda.count=x2\nplatform.links.*.bandwidth=x2",
    "platform.arch.cpu.speed=x1.5\nplatform.memories.gpu?.size=4.7 GiB",
    "platform.overheads.push=2us\nplatform.copying.serialised=false",
    "platform.workers.cpu.cores=null\nplatform.name=other",
)
SCHEDULERS = ("eager", "prio", "dmda:alpha=1.5,beta=2", "ws", "lws", "dmdas:beta=2",
              "modular-heft",
              "heteroprio:cpu=potrf/trsm/gemm@11,cuda=gemm/syrk+trsm/potrf", "heft", "graph_test",
              "dmdar")  # fmt: skip
GENERATORS = ("cholesky tiles=4 tile_size=960", "lu tiles=3 dtype=float32", "qr rows=3 columns=2",
              "chain length=5", "fmm particles=100 height=3 group_size=9",
              "random-layered layers=3 width=2")  # fmt: skip
DOMAINS = ("gemm m=32..512:log n=m k=64", "potrf n=32,64,128", "trsm m=64..128 n=16..64:log")
TERMS = ("m*n*k + m*n", "m^2*n + log2(m) + 1", "log(m)*n + m^0.5", "0 + a*b^1.5", "1")
QUANTITIES = ("size 4.7 GiB", "time 10 us", "bandwidth 12.5 GB/s", "flop_rate 30 Gflop/s",
              "factor x1.5", "time 0", "size 1e3 kB")  # fmt: skip


def platforms(folder: Path) -> dict[str, Input]:
    return {
        name: {"machine.yaml": text.encode()} | ({"base.yaml": BASE} if "extends" in text else {})
        for name, text in PLATFORMS.items()
    }


def settings(folder: Path) -> dict[str, Input]:
    full = PLATFORMS["full"].encode()
    return {text: {"machine.yaml": full, TEXT: text.encode()} for text in SETTINGS}


@cache
def _models() -> dict[str, object]:
    """Return a fitted model of every kind that files hold."""
    from tasksim.models.registry import kinds, model_class
    from tasksim.models.samples import Samples

    random = np.random.default_rng(1)
    rows = np.array([[m, n] for m in (8, 16, 32, 64) for n in (8, 32, 128)] * 3, dtype=float)
    noise = random.lognormal(0, 0.05, len(rows))
    samples = Samples(("m", "n"), rows, 1e-9 * rows[:, 0] * rows[:, 1] * noise + 1e-7)
    size = Samples(("size_bytes",), rows[:, :1] * 100, 1e-9 * rows[:, 0] ** 1.5 * noise + 1e-7)
    found = {}
    for kind in kinds():
        for given in (samples, size):
            try:
                found.setdefault(kind, model_class(kind)().fit(given))
            except Exception:  # a kind that is for other parameters
                continue
    return found


def coefficients(folder: Path) -> dict[str, Input]:
    from tasksim.models.files.store import Entry, Machine, Measured, save_kernel

    measured = Measured("2024-02-03", "a test")
    found = {}
    for kind, model in _models().items():
        path = folder / kind
        save_kernel(path, "gemm", {"cpu": Entry(model, measured)}, machine=Machine("m", {"a": 1}))
        found[kind] = in_folder(path)
    entry = _entry_with_all(next(iter(_models().values())), measured)
    save_kernel(folder / "all", "gemm", {"cpu": entry}, machine=Machine("m", {"a": 1}))
    found["all"] = in_folder(folder / "all")
    return found


def _entry_with_all(model: Any, measured: Measured) -> Entry:
    """Return an entry with everything that may stand beside a model."""
    from tasksim.models.contention import Contention
    from tasksim.models.files.store import Entry
    from tasksim.models.locality import Locality
    from tasksim.models.uncertainty.runeffects import RunEffect

    return Entry(
        model,
        replace(measured, clock="processor", stopped={"a": "budget"}),
        Locality(8.0, 0.01, 0.5),
        0.5,
        RunEffect(0.03, 0.01, 5),
        Contention(1e9, 0.25, {"gemm": (1.25,)}),
        model,
    )


def models(folder: Path) -> dict[str, Input]:
    from tasksim.models.files.coefficients import save_models
    from tasksim.models.files.store import Entry, Machine, Measured

    measured = Measured("2024-02-03", "a test")
    kernels = {f"k-{kind}": {"cpu": Entry(model, measured)} for kind, model in _models().items()}
    save_models(folder / "models.json", kernels, machine=Machine("m"))
    return {"all": in_folder(folder)} | {
        kind: {"models.json": given["gemm.json"]}
        for kind, given in coefficients(folder / "single").items()
    }


def calibrated_samples(folder: Path) -> dict[str, Input]:
    text = "run,architecture,m,n,duration_s\n0,cpu,64,32,0.001\n1,cpu,64,32,0.002\n,cuda,8,8,1e-5\n"
    return {"two": {"gemm.samples.csv": text.encode()}}


def csv_samples(folder: Path) -> dict[str, Input]:
    texts = {
        "plain": "m,n,runtime_ms\n64,32,1.5\n128,32,3.5e0\n",
        "commented": "# by hand\nrun;m;duration_s\n0;64;0.5\n;64;.25\n\n",
        "architectures": "architecture\tm\ttime(us)\ncpu\t64\t15\ncpu\t32\t8\n",
        "quoted": '"m","name","seconds"\n"64","a,b","1.5"\n"32","c","2"\n',
    }
    return {name: {"samples.csv": text.encode()} for name, text in texts.items()}


def parquet_samples(folder: Path) -> dict[str, Input]:
    import pyarrow
    from pyarrow import parquet

    tables = {
        "plain": {"m": [64, 128], "n": [32.0, 64.0], "runtime_ms": [1.5, 3.5]},
        "runs": {"run": [0, None, 1], "m": [1, 2, 3], "duration_s": [0.1, 0.2, 0.3]},
        "architectures": {"architecture": ["cpu", "cpu"], "m": [1, 2], "duration_s": [0.1, 0.2]},
    }
    for name, columns in tables.items():
        (folder / name).mkdir()
        parquet.write_table(pyarrow.table(columns), folder / name / "samples.parquet")
    return {name: in_folder(folder / name) for name in tables}


def json_samples(folder: Path) -> dict[str, Input]:
    texts = {
        "flat": '{"m": 64, "run": 1, "duration_s": 0.5}\n{"m": 32, "run": null, "duration_s": 1}\n',
        "records": '{"params": {"p": 4, "n": 64}, "callpath": "solve", "metric": "time", '
        '"value": [0.1, 0.12]}\n{"params": {"p": 8, "n": 64}, "callpath": "solve", '
        '"metric": "time", "value": 0.2}\n',
        "extra-p": '{"parameters": ["p"], "measurements": {"solve": {"time": '
        '[{"point": [4], "values": [0.1, 0.12]}, {"point": [8], "values": [0.3]}]}}}',
    }
    return {name: {"samples.jsonl": text.encode()} for name, text in texts.items()}


def extrap_samples(folder: Path) -> dict[str, Input]:
    text = (
        "PARAMETER p\nPARAMETER n\nPOINTS (4 64) (8 64)\nREGION main->solve # one\n"
        "METRIC time\nDATA 1.1 1.2\nDATA 0.6 0.7\n"
    )
    short = "PARAMETER p\nPOINTS 4 8 16\nDATA 1\nDATA 2\nDATA 3 4\n"
    return {"two": {"samples.txt": text.encode()}, "short": {"samples.txt": short.encode()}}


def counters(folder: Path) -> dict[str, Input]:
    return {
        "perf": {"counted": PERF.encode()},
        "perf with semicolons": {"counted": PERF.replace(",", ";").encode()},
        "likwid": {"counted": LIKWID.encode()},
        "papi": {"counted": PAPI.encode()},
    }


def graphs(folder: Path) -> dict[str, Input]:
    from tasksim.graph.apps.registry import generate
    from tasksim.graph.graph_file import save

    made = {
        "cholesky": generate("cholesky", tiles=3),
        "chain": generate("chain", length=2),
        "qr": generate("qr", rows=3, columns=2),
    }
    for name, graph in made.items():
        (folder / name).mkdir()
        save(graph, folder / name / "graph.npz")
    return {name: in_folder(folder / name) for name in made}


def costs(folder: Path) -> dict[str, Input]:
    listed = {
        "costs.csv": b"task,P0,P1,P2\nT1,14,16,9\nT2,13,19,18\nT3,,0.5,1e1\n",
        "edges.csv": b"from,to,volume\nT1,T2,18\nT1,T3,0.25\n",
        "links.csv": b"from,to,bandwidth,latency\nP0,P1,2,0.5\nP0,P2,1,0\nP1,P2,4,1e-3\n",
    }
    matrix = {
        "costs.csv": b"# by hand\ntask,P0,P1\nA,1,2\nB,2,1\n",
        "edges.csv": b"volume,A,B\nA,0,3\nB,,0\n",
        "links.csv": b"bandwidth,P0,P1\nP0,0,2\nP1,2,0\n",
    }
    return {"listed": listed, "matrix": matrix, "two": {k: listed[k] for k in list(listed)[:2]}}


def runs(folder: Path) -> dict[str, Input]:
    import tasksim
    from tasksim.graph.apps.registry import generate
    from tasksim.platform.load import load

    text = (
        PLATFORMS["full"].replace("models: xeon-2c\n", "").replace(", models: [cuda0, cuda1]", "")
    )
    (folder / "gpus.yaml").write_text(text.replace("5.25 GiB", "8 MiB"))
    models = tasksim.ConstantLibrary(dict.fromkeys(("potrf", "trsm", "syrk", "gemm"), 1e-3))
    platforms = {"two": tasksim.Platform.identical(2), "gpus": load(folder / "gpus.yaml")}
    for name, platform in platforms.items():
        run = tasksim.simulate(generate("cholesky", tiles=4), platform, models, "dmda")
        tasksim.save_run(replace(run, wall_s=0.0), folder / name)
    return {name: _without(folder, in_folder(folder / name)) for name in platforms}


def _without(folder: Path, given: Input) -> Input:
    """Return a run that does not name the *folder*, which is another each time."""
    text = given["run.json"].replace(bytes(folder), b"folder")
    return {**given, "run.json": text}


def schedules(folder: Path) -> dict[str, Input]:
    texts = {
        "numbers": "task,worker\n0,cpu0\n1,1\n2,cpu1\n",
        "ordered": "# by hand\ntask,worker,order\n0,0,1\n2,0,3\n1,cpu1,2.5\n",
    }
    return {name: {"schedule.csv": text.encode()} for name, text in texts.items()}


def scenarios(folder: Path) -> dict[str, Input]:
    import json

    from tasksim.scenario.document import encode
    from tasksim.scenario.scenario import Scenario

    seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    set_two = ["platform.workers.cpu.count=2"]
    made = {
        "durations": Scenario("cholesky tiles=2", workers=2, durations=seconds),
        "names": Scenario("lu tiles=3", platform="xeon-2c", changes=set_two, noise="model"),
        "native": Scenario(
            "qr rows=2 columns=2", workers=1, clock="native", scheduler="dmda:beta=2"
        ),
        "file": Scenario("graph.npz", platform="machine.yaml", models="models.json", seed=7),
        "nodes": Scenario(
            "cholesky tiles=4",
            platform="xeon-2c",
            nodes=2,
            grid="1x2",
            owner="column",
            network="switch:bandwidth=1GB/s,latency=1us",
            model_names="{kernel}-old",
        ),
    }
    written = {name: encode(scenario) for name, scenario in made.items()}
    written["of version 1"] = {
        "graph": {"name": "cholesky", "settings": ["tiles=2"]}, "workers": 2, "models": None,
        "library": None, "scheduler": "lws", "seed": 0, "pin": True,
    }  # fmt: skip
    return {
        name: {"scenario.json": json.dumps(data, indent=2).encode()}
        for name, data in written.items()
    }


def _texts(texts: tuple[str, ...]) -> dict[str, Input]:
    return {text: {TEXT: text.encode()} for text in texts}


def scheduler_texts(folder: Path) -> dict[str, Input]:
    return _texts(SCHEDULERS)


def generator_texts(folder: Path) -> dict[str, Input]:
    return _texts(GENERATORS)


def domain_texts(folder: Path) -> dict[str, Input]:
    return _texts(DOMAINS)


def term_texts(folder: Path) -> dict[str, Input]:
    return _texts(TERMS)


def quantity_texts(folder: Path) -> dict[str, Input]:
    return _texts(QUANTITIES)
