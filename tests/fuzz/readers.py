"""Readers as the command line uses them: each takes a folder and reads what is in it."""

from __future__ import annotations

import shutil
from contextlib import chdir
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = "text"
"""The file whose content is a text of the command line."""


def text_of(folder: Path) -> str:
    """Return the text that a shell would hand over: any characters but the null one."""
    path = folder / TEXT
    if not path.exists():
        return ""
    return path.read_bytes().decode("utf-8", "replace").replace("\0", " ")


def platform(folder: Path) -> object:
    from tasksim.platform.load import load

    return load(folder / "machine.yaml").summary()


def settings(folder: Path) -> object:
    from tasksim.platform.load import load

    return load(folder / "machine.yaml", settings=text_of(folder).split("\n")).summary()


def coefficients(folder: Path) -> object:
    from tasksim.models.files.store import ModelLibrary

    return _predicted(ModelLibrary(folder))


def models(folder: Path) -> object:
    from tasksim.models.files.store import ModelLibrary

    return _predicted(ModelLibrary(folder / "models.json"))


def _predicted(library: object) -> object:
    """Return what all models say of a configuration within their domain."""
    found = []
    for kernel in library.kernels():
        for architecture in library.file(kernel).architectures:
            model = library.model(kernel, architecture)
            row = [[low for low, _ in model.domain_.values()]]
            found.append(model.predict(row))
    return found


def calibrated_samples(folder: Path) -> object:
    from tasksim.models.files.store import read_samples

    return read_samples(folder / "gemm.samples.csv")


def samples(name: str, part: str | None = None) -> Callable[[Path], object]:
    """Return the reader of the samples in the file *name*, of whatever format, or a *part*."""

    def read(folder: Path) -> object:
        from tasksim.formats.samples import samples_in

        return samples_in(folder / name, part=part)

    return read


def counters(folder: Path) -> object:
    from tasksim.formats.counters import counters_of, read_counts

    return counters_of(read_counts(folder / "counted"), "counted", executions=3.0)


def graph(folder: Path) -> object:
    from tasksim.graph.graph_file import load

    return load(folder / "graph.npz").summary()


def costs(folder: Path) -> object:
    from tasksim.formats.costs_csv import read_costs

    return read_costs(folder / "costs.csv")


def run(folder: Path) -> object:
    from tasksim.run.metrics import summary
    from tasksim.run.runfolder import load

    return summary(load(folder))


def printed_otf2(folder: Path) -> object:
    """Read what otf2-print has printed; archives themselves are read by that program."""
    from tasksim.base.errors import InputError
    from tasksim.formats.traces.otf2.printed import is_printed
    from tasksim.formats.traces.otf2.reader import read_otf2

    path = folder / "run.txt"
    if not is_printed(path):
        return None
    try:
        return read_otf2(path)
    except InputError:
        return read_otf2(path, skip_bad=True)


def trace(name: str) -> Callable[[Path], object]:
    """Return the reader of a trace; what is wrong is refused, and then passed over."""

    def read(folder: Path) -> object:
        from tasksim.base.errors import InputError
        from tasksim.formats.runs import read_trace
        from tasksim.run.runchecks import check_records

        path = folder / name if name else folder
        try:
            found = read_trace(path)
        except InputError:
            found = read_trace(path, skip_bad=True)
        check_records(found.run, path)
        return found.run, found.notes, found.skipped

    return read


def workflow(name: str) -> Callable[[Path], object]:
    """Return the reader of a workflow."""

    def read(folder: Path) -> object:
        from tasksim.formats.graphs import graph_in

        return graph_in(folder / name).graph.summary()

    return read


def schedule(folder: Path) -> object:
    from tasksim.graph.apps.registry import generate
    from tasksim.schedulers.static.schedule_file import match, read_schedule

    path = folder / "schedule.csv"
    return match(read_schedule(path), path, generate("chain", length=3), ["cpu0", "cpu1"])


def hwloc(folder: Path) -> object:
    from tasksim.formats.hwloc.machine_import import import_hwloc
    from tasksim.view.machine import read_machine

    found = import_hwloc(folder / "machine.xml", folder / "library", force=True)
    return found.to_json(), read_machine(folder / "machine.xml").facts


def starpu_bus(folder: Path) -> object:
    from tasksim.formats.starpu.bus import (
        read_affinity,
        read_bandwidth,
        read_config,
        read_latency,
    )

    of = {"config": read_config, "bandwidth": read_bandwidth}
    of |= {"latency": read_latency, "affinity": read_affinity}
    return [read(folder / name) for name, read in of.items() if (folder / name).exists()]


def starpu_codelet(folder: Path) -> object:
    from tasksim.formats.starpu.codelet_file import read_codelet
    from tasksim.formats.starpu.codelet_models import to_models

    return to_models(read_codelet(folder / "work.laptop"))


def starpu_xml(folder: Path) -> object:
    from tasksim.formats.starpu.bus import read_platform_xml

    return read_platform_xml(folder / "laptop.platform.v4.xml")


def starpu_machine(folder: Path) -> object:
    from tasksim.formats.starpu.machine_import import import_machine

    library = folder.parent / "library"
    try:
        return import_machine(folder, "laptop", library).to_json()
    finally:
        shutil.rmtree(library, ignore_errors=True)


def scenario(folder: Path) -> object:
    from tasksim.base.documents.json_document import read_json
    from tasksim.scenario.document import decode, encode
    from tasksim.scenario.scenario import Scenario

    return encode(decode(Scenario, read_json(folder / "scenario.json"), folder / "scenario.json"))


def scheduler(folder: Path) -> object:
    from tasksim.schedulers import registry

    return [registry.refuse_foreign(text_of(folder), "run.json"), registry.create(text_of(folder))]


def generator(folder: Path) -> object:
    from tasksim.graph.apps import registry

    name, *given = text_of(folder).split(" ")
    registry.GENERATORS.refuse_foreign(name, "run.json")
    return registry.parse_settings(name, given)


def domain(folder: Path) -> object:
    from tasksim.calibration.domain import parse_domain

    kernel, *given = text_of(folder).split(" ")
    return parse_domain(kernel, given)


def terms(folder: Path) -> object:
    import numpy as np

    from tasksim.models.terms.formulas import parse_terms

    found = parse_terms(text_of(folder))
    return str(found), found.design(np.ones((1, len(found.names))))


def quantities(folder: Path) -> object:
    from tasksim.base.units import exact_quantity, parse_quantity

    dimension, _, text = text_of(folder).partition(" ")
    if dimension not in ("time", "size", "bandwidth", "flop_rate", "factor"):
        return None  # no text of a user's
    value = parse_quantity(text, dimension)
    return exact_quantity(value, dimension)


def network(name: str) -> Callable[[Path], object]:
    """Return the reader of the network in the file *name*."""

    def read(folder: Path) -> object:
        from tasksim.formats.platforms import load_network

        return _routed(load_network(folder / name))

    return read


def network_text(folder: Path) -> object:
    from tasksim.formats.platforms import load_network

    with chdir(folder):
        return _routed(load_network(text_of(folder)))


def cluster(folder: Path) -> object:
    from tasksim.network.clusterfile import read_cluster_file

    found = read_cluster_file(folder / "cluster.yaml")
    return None if found is None else _routed(found.network)


def _routed(found: object) -> object:
    """Return how long a message takes between the first and the last of some hosts."""
    sized = found.sized(found.nodes or 2)
    return found.summary(), sized.alone_s(0, sized.nodes - 1, 1e6)
