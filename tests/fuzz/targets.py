"""Targets: every reader of what users give, with seeds that the tests write themselves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from . import network_seeds, readers, seeds, starpu_seeds, trace_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from .inputs import Input

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A reader, and where the search begins."""

    read: Callable[[Path], object]
    """Reads what is in a folder."""
    write: Callable[[Path], dict[str, Input]]
    """Returns valid inputs by name; the folder is theirs to write in."""

    def seeds(self) -> list[Input]:
        """Return the valid inputs."""
        with TemporaryDirectory() as folder:
            return list(self.write(Path(folder)).values())


TARGETS = {
    "platform": Target(readers.platform, seeds.platforms),
    "settings": Target(readers.settings, seeds.settings),
    "coefficients": Target(readers.coefficients, seeds.coefficients),
    "models": Target(readers.models, seeds.models),
    "calibrated-samples": Target(readers.calibrated_samples, seeds.calibrated_samples),
    "csv-samples": Target(readers.samples("samples.csv"), seeds.csv_samples),
    "parquet-samples": Target(readers.samples("samples.parquet"), seeds.parquet_samples),
    "json-samples": Target(readers.samples("samples.jsonl"), seeds.json_samples),
    "extrap-samples": Target(readers.samples("samples.txt"), seeds.extrap_samples),
    "starpu-samples": Target(readers.samples("samples.out"), starpu_seeds.starpu_samples),
    "counters": Target(readers.counters, seeds.counters),
    "network": Target(readers.network("net.yaml"), network_seeds.networks),
    "network-text": Target(readers.network_text, network_seeds.network_texts),
    "network-xml": Target(readers.network("net.xml"), network_seeds.network_xml),
    "cluster": Target(readers.cluster, network_seeds.clusters),
    "graph": Target(readers.graph, seeds.graphs),
    "costs": Target(readers.costs, seeds.costs),
    "run": Target(readers.run, seeds.runs),
    "schedule": Target(readers.schedule, seeds.schedules),
    "starpu-bus": Target(readers.starpu_bus, starpu_seeds.starpu_bus),
    "starpu-codelet": Target(readers.starpu_codelet, starpu_seeds.starpu_codelets),
    "starpu-xml": Target(readers.starpu_xml, starpu_seeds.starpu_xml),
    "hwloc": Target(readers.hwloc, network_seeds.hwloc),
    "starpu-machine": Target(readers.starpu_machine, starpu_seeds.starpu_machines),
    "tasks-rec": Target(readers.trace("tasks.rec"), trace_seeds.tasks_rec),
    "task-table": Target(readers.trace("run.csv"), trace_seeds.task_table),
    "pj-dump": Target(readers.trace("run.csv"), trace_seeds.pj_dumps),
    "chrome": Target(readers.trace("run.json"), trace_seeds.chrome),
    "otf2": Target(readers.printed_otf2, trace_seeds.otf2),
    "paraver": Target(readers.trace("run.prv"), trace_seeds.paraver),
    "starvz": Target(readers.trace(""), trace_seeds.starvz),
    "starvz-parquet": Target(readers.trace(""), trace_seeds.traces("starvz", "tables")),
    "wfformat": Target(readers.workflow("flow.json"), trace_seeds.workflows("flow.json")),
    "dax": Target(readers.workflow("flow.dax"), trace_seeds.workflows("flow.dax")),
    "dot": Target(readers.workflow("flow.dot"), trace_seeds.workflows("flow.dot")),
    "stg": Target(readers.workflow("flow.stg"), trace_seeds.workflows("flow.stg")),
    "ogra": Target(readers.workflow("flow.td"), trace_seeds.workflows("flow.td")),
    "scenario": Target(readers.scenario, seeds.scenarios),
    "scheduler": Target(readers.scheduler, seeds.scheduler_texts),
    "generator": Target(readers.generator, seeds.generator_texts),
    "domain": Target(readers.domain, seeds.domain_texts),
    "terms": Target(readers.terms, seeds.term_texts),
    "quantities": Target(readers.quantities, seeds.quantity_texts),
}
"""All readers, by the names that ``python -m tests.fuzz`` takes."""
