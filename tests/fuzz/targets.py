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

__all__ = ["MODULES_BY_READER", "TARGETS", "Target"]


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
    "starpu-means": Target(readers.samples("work.laptop", "cpu"), starpu_seeds.starpu_codelets),
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
    "job-logs": Target(readers.trace("jobs.log"), trace_seeds.job_logs),
    "pj-dump": Target(readers.trace("run.csv"), trace_seeds.pj_dumps),
    "chrome": Target(readers.trace("run.json"), trace_seeds.chrome),
    "otf2": Target(readers.printed_otf2, trace_seeds.otf2),
    "paraver": Target(readers.trace("run.prv"), trace_seeds.paraver),
    "projections": Target(readers.trace("run.sts"), trace_seeds.projections),
    "starvz": Target(readers.trace(""), trace_seeds.starvz),
    "starvz-parquet": Target(readers.trace(""), trace_seeds.traces("starvz", "tables")),
    "wfformat": Target(readers.workflow("flow.json"), trace_seeds.workflows("flow.json")),
    "dax": Target(readers.workflow("flow.dax"), trace_seeds.workflows("flow.dax")),
    "pegasus": Target(readers.workflow("flow.yml"), trace_seeds.workflows("flow.yml")),
    "dot": Target(readers.workflow("flow.dot"), trace_seeds.workflows("flow.dot")),
    "junit": Target(readers.workflow("tests.xml"), trace_seeds.workflows("tests.xml")),
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

_TABLES = "formats/samples/cells.py formats/samples/columns.py"
MODULES_BY_READER = {
    "platform": "platform",
    "settings": "platform/layers.py",
    "coefficients": "models/files",
    "models": "models/files",
    "calibrated-samples": "models/files/store.py",
    "csv-samples": f"formats/samples/csvfile.py {_TABLES}",
    "parquet-samples": f"formats/samples/parquet.py {_TABLES}",
    "json-samples": f"formats/samples/jsonfile.py {_TABLES}",
    "extrap-samples": "formats/samples/extrap.py",
    "starpu-samples": "formats/samples/starpufiles.py",
    "starpu-means": "formats/samples/starpufiles.py formats/starpu/codelet_file.py",
    "counters": "formats/counters.py",
    "network": "network/load.py network/topologies",
    "network-text": "network/load.py network/topologies",
    "network-xml": (
        "formats/simgrid.py formats/simgrid_elements.py formats/simgrid_zones.py formats/xmltext.py"
    ),
    "cluster": "network/clusterfile.py network/load.py",
    "graph": "graph/graph_file.py base/npzarrays.py",
    "costs": "formats/costs_csv.py base/documents/csv_table.py",
    "run": "run/runfolder.py run/header.py run/tablechecks.py base/parquetfile.py",
    "schedule": "schedulers/static/schedule_file.py base/documents/csv_table.py",
    "starpu-bus": "formats/starpu/bus.py",
    "starpu-codelet": "formats/starpu/codelet_file.py formats/starpu/codelet_models.py",
    "starpu-xml": "formats/starpu/bus.py formats/xmltext.py",
    "hwloc": "formats/hwloc",
    "starpu-machine": "formats/starpu/machine_import.py formats/starpu/machine_fields.py",
    "tasks-rec": "formats/traces/tasks_rec.py formats/traces/recutils.py",
    "task-table": "formats/traces/tablecsv.py",
    "job-logs": "formats/traces/joblogs.py formats/traces/tfprof.py formats/traces/cargo.py"
    " formats/traces/sparklog.py formats/traces/cijobs.py",
    "pj-dump": "formats/traces/paje.py",
    "chrome": "formats/traces/chrome.py formats/traces/chromework.py",
    "otf2": "formats/traces/otf2",
    "paraver": "formats/traces/paraver",
    "projections": "formats/traces/projections.py",
    "starvz": "formats/traces/paje.py",
    "starvz-parquet": "formats/traces/starvz.py",
    "wfformat": "formats/workflows/wfformat.py formats/workflows/jobs.py",
    "pegasus": "formats/workflows/pegasus.py",
    "dax": "formats/workflows/dax.py formats/workflows/jobs.py",
    "dot": "formats/workflows/dot.py formats/workflows/jobs.py",
    "junit": "formats/workflows/junit.py",
    "stg": "formats/workflows/stg.py",
    "ogra": "formats/workflows/stg.py",
    "scenario": "scenario/document.py",
    "scheduler": "schedulers/registry.py",
    "generator": "graph/apps/registry.py graph/apps/parameters.py",
    "domain": "calibration/domain.py",
    "terms": "models/terms/formulas.py",
    "quantities": "base/units.py",
}
"""The files and folders of the package, separated by blanks, whose lines the search for a reader
should reach."""
