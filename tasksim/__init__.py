"""tasksim predicts how long a task graph takes on a machine.

Calibrate kernels, fit models of their durations, replay the graph with a scheduler, compare
with real runs. The names that follow are the public interface; each is imported when it is
first used, so that ``import tasksim`` costs nothing.

=======================  ===================================================================
Task graphs
=======================  ===================================================================
TaskGraph                tasks in submission order, their data, their dependencies
GraphBuilder             builds one; reads like the algorithm
AccessMode               how a task accesses a datum
R                        an access that reads
W                        an access that writes
RW                       an access that reads and writes
Commute                  an access that commutes with others of its kind
Reduce                   an access that adds to a reduction
Scratch                  memory of the task's own
application              registers an application: its tasks, kernels and data
kernel                   a function as the kernel of tasks
TaskFlow                 what an application inserts its tasks into
generate                 a graph by the name of its generator
generator                registers a generator
load_graph               a graph by name, or from a file
save_graph               writes a graph to a file
to_networkx              a graph as NetworkX has it
from_networkx            and back: any directed acyclic graph
=======================  ===================================================================

=======================  ===================================================================
Platforms and models
=======================  ===================================================================
Platform                 workers, memories, links, costs of the runtime
Worker                   a processing unit
Memory                   a memory node
MemoryDomain             cores that slow each other down
Numa                     what accesses to the memory of other domains cost
NumaKernel               how a kernel uses the memory
Link                     what copies between memories cross
Route                    the links from one memory to another
Device                   how the workers of an architecture are driven
Allocation               what allocating in the memory of a device costs
Copying                  how many copies are under way together
Overheads                the costs of the runtime itself
load_platform            a platform by name, or from a file
load_network             a network between nodes, by text, name or file
import_machine           a platform and models of what StarPU measured
import_hwloc             a platform of what hwloc sees: lstopo's file
export_models            models as StarPU reads them
ModelLibrary             fitted models, in a folder or a file
save_models              writes fitted models to such a file
ConstantLibrary          durations that are given
=======================  ===================================================================

=======================  ===================================================================
Kernel models
=======================  ===================================================================
Samples                  measured durations
KernelModel              the duration of a kernel, as a function of its parameters
HistoryModel             means of what was measured
LinearModel              a sum of products of powers, given or searched for
PowerLaw                 a power of the size of the data
SizeHistory              means by the size of the data, power laws between and beyond
TensorModel              a table over a grid, completed from few cells
HybridModel              a simple law, corrected by such a table
LearnedModel             a law times what a process and trees learn of its residuals
ConstantModel            a duration that is given
select                   the kind of model that suits some samples
Selection                what was chosen, and why
diagnose                 what is wrong with a model, or missing in it
Diagnosis                what was found
Finding                  a thing to know of a model or its samples
=======================  ===================================================================

=======================  ===================================================================
Runs
=======================  ===================================================================
Scenario                 a question that a run answers: what is run where, and how
Scheduler                a scheduling policy
View                     what it sees of a run
simulate                 replays a graph on a platform
simulate_many            replays many scenarios; results in columns
Replays                  what came out of those
how_sure                 replays with what is uncertain drawn: intervals of the makespan
Prediction               what came out of that
difference               of two predictions: which is faster, how surely
Difference               what came out of that
counting                 marks code that counts indirect parameters of tasks
parameter_costs          how long that takes, beside the run of these tasks
durations                the expected duration of each task on each class of workers
execute                  runs a graph for real, here
execute_many             runs scenarios for real, in turn, each several times
Repetitions              what came out of that
calibrate                measures kernels here, and writes models and a platform
CalibrationOptions       when it stops, and how it measures
calibrate_from           the same of recorded runs: nothing is measured
recorded_samples         the samples of each kernel in recorded runs
record                   records the tasks of a program that uses executors or Dask
Recording                what came out
record_openmp            runs a compiled program with OpenMP, and records its tasks
OpenMPRecording          what came out
recover_openmp           makes a recording of what is left of one that was cut short
from_dask                the graph of a Dask collection
Run                      what came out
save_run                 writes a run to a folder
load_run                 reads it back
check_run                whether a run is possible
bounds                   lower bounds on the makespan
compare                  two runs side by side
practical_critical_path  what the last task waited for, back to the start
longest_path             the path of a run that costs most: by time, words, flop
slack_s                  by how much each task could end later
closed_costs             costs along a path of a factorisation, by its closed formula
figure                   draws runs
figure_sure              draws how sure a makespan is, and which kernels that comes from
save_figure              writes a drawing to a file
machine_figure           draws a machine as boxes in boxes
octree_figure            draws the octree of a fast multipole method
save_page                writes runs to a page to explore in a browser
explore                  a page that replays a scenario as its sliders say
=======================  ===================================================================

=======================  ===================================================================
Data and plans
=======================  ===================================================================
TransferTable            the copies of a run
MemoryTable              what was allocated when
Problem                  a graph and what static algorithms know of a platform
Plan                     which task runs where and when
plan                     a plan by the name of an algorithm
optimize                 searches for the best plan, and says how far it is from the optimum
Optimum                  what came out of that
schedule_of              a run as a plan
read_schedule            a plan from a file
write_schedule           writes a plan to a file
=======================  ===================================================================

=======================  ===================================================================
Errors
=======================  ===================================================================
TasksimError             anything that tasksim refuses or fails to do
InputError               the user's input is wrong
CheckFailed              everything ran, but a check does not hold
=======================  ===================================================================
"""

TYPE_CHECKING = False  # typing's own takes 5 ms to import, more than all else here
if TYPE_CHECKING:
    from typing import Any

    from tasksim.applications.application import application
    from tasksim.applications.flow import TaskFlow
    from tasksim.applications.kernel import kernel
    from tasksim.base.errors import CheckFailed, InputError, TasksimError
    from tasksim.calibration.calibrate import calibrate
    from tasksim.calibration.calibration_options import CalibrationOptions
    from tasksim.calibration.recorded_calibration import calibrate_from
    from tasksim.formats.graphs import load_graph
    from tasksim.formats.hwloc.machine_import import import_hwloc
    from tasksim.formats.platforms import load_network, load_platform
    from tasksim.formats.runs import check_run, compare, load_run, practical_critical_path, save_run
    from tasksim.formats.starpu.machine_import import import_machine
    from tasksim.formats.starpu.sampling import export_models
    from tasksim.graph.access_mode import AccessMode
    from tasksim.graph.apps.registry import generate, generator
    from tasksim.graph.builder import RW, Commute, GraphBuilder, R, Reduce, Scratch, W
    from tasksim.graph.closedcosts import closed_costs
    from tasksim.graph.counting import counting
    from tasksim.graph.graph_file import save as save_graph
    from tasksim.graph.interchange import from_networkx, to_networkx
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.diagnosis.diagnose import Diagnosis, diagnose
    from tasksim.models.diagnosis.findings import Finding
    from tasksim.models.files.store import ModelLibrary, save_models
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.kinds.bysize import SizeHistory
    from tasksim.models.kinds.given import ConstantLibrary, ConstantModel
    from tasksim.models.kinds.history import HistoryModel
    from tasksim.models.kinds.linear import LinearModel
    from tasksim.models.kinds.power import PowerLaw
    from tasksim.models.learned.model import LearnedModel
    from tasksim.models.samples import Samples
    from tasksim.models.selection import Selection, select
    from tasksim.models.tensor.hybrid import HybridModel
    from tasksim.models.tensor.model import TensorModel
    from tasksim.platform.costs import Allocation, Copying
    from tasksim.platform.description import (
        Device,
        Link,
        Memory,
        Overheads,
        Platform,
        Route,
        Worker,
    )
    from tasksim.recording.dask_collections import from_dask
    from tasksim.recording.openmp.openmp_recording import OpenMPRecording, record_openmp
    from tasksim.recording.openmp.recovery import recover_openmp
    from tasksim.recording.recording import Recording, record
    from tasksim.reports.parametercosts import parameter_costs
    from tasksim.run.record import Run
    from tasksim.run.recordtables import MemoryTable, TransferTable
    from tasksim.run.schedulepath import longest_path, slack_s
    from tasksim.scenario.many import Replays, simulate_many
    from tasksim.scenario.prediction import Difference, Prediction, difference
    from tasksim.scenario.public import bounds, durations, execute, simulate
    from tasksim.scenario.recorded import recorded_samples
    from tasksim.scenario.repetitions import Repetitions, execute_many
    from tasksim.scenario.scenario import Scenario
    from tasksim.scenario.sureness import how_sure
    from tasksim.schedulers.base import Scheduler, View
    from tasksim.schedulers.static import (
        Plan,
        Problem,
        plan,
        read_schedule,
        schedule_of,
        write_schedule,
    )
    from tasksim.view.figure import figure, save_figure
    from tasksim.view.live.page import explore
    from tasksim.view.machine import machine_figure
    from tasksim.view.octree import octree_figure
    from tasksim.view.page.document import save_page
    from tasksim.view.sureplots import figure_sure

    __version__: str

_HOMES = {
    "tasksim.applications.application": ("application",),
    "tasksim.applications.flow": ("TaskFlow",),
    "tasksim.applications.kernel": ("kernel",),
    "tasksim.base.errors": ("CheckFailed", "InputError", "TasksimError"),
    "tasksim.calibration.calibrate": ("calibrate",),
    "tasksim.calibration.calibration_options": ("CalibrationOptions",),
    "tasksim.calibration.recorded_calibration": ("calibrate_from",),
    "tasksim.formats.starpu.sampling": ("export_models",),
    "tasksim.formats.hwloc.machine_import": ("import_hwloc",),
    "tasksim.formats.starpu.machine_import": ("import_machine",),
    "tasksim.graph.apps.registry": ("generate", "generator"),
    "tasksim.graph.closedcosts": ("closed_costs",),
    "tasksim.graph.builder": ("Commute", "GraphBuilder", "R", "RW", "Reduce", "Scratch", "W"),
    "tasksim.graph.counting": ("counting",),
    "tasksim.graph.interchange": ("from_networkx", "to_networkx"),
    "tasksim.formats.graphs": ("load_graph",),
    "tasksim.graph.graph_file": ("save_graph",),
    "tasksim.graph.access_mode": ("AccessMode",),
    "tasksim.graph.taskgraph": ("TaskGraph",),
    "tasksim.models.kernelmodel": ("KernelModel",),
    "tasksim.models.samples": ("Samples",),
    "tasksim.models.diagnosis.diagnose": ("Diagnosis", "diagnose"),
    "tasksim.models.diagnosis.findings": ("Finding",),
    "tasksim.models.kinds.bysize": ("SizeHistory",),
    "tasksim.models.kinds.given": ("ConstantLibrary", "ConstantModel"),
    "tasksim.models.kinds.history": ("HistoryModel",),
    "tasksim.models.kinds.linear": ("LinearModel",),
    "tasksim.models.kinds.power": ("PowerLaw",),
    "tasksim.models.selection": ("Selection", "select"),
    "tasksim.models.learned.model": ("LearnedModel",),
    "tasksim.models.tensor.hybrid": ("HybridModel",),
    "tasksim.models.tensor.model": ("TensorModel",),
    "tasksim.models.files.store": ("ModelLibrary", "save_models"),
    "tasksim.platform.costs": ("Allocation", "Copying"),
    "tasksim.platform.description": (
        "Device",
        "Link",
        "Memory",
        "MemoryDomain",
        "Overheads",
        "Platform",
        "Route",
        "Worker",
    ),
    "tasksim.optimization.optimum": ("Optimum",),
    "tasksim.optimization.search": ("optimize",),
    "tasksim.platform.parts": ("Numa", "NumaKernel"),
    "tasksim.formats.platforms": ("load_network", "load_platform"),
    "tasksim.recording.recording": ("Recording", "record"),
    "tasksim.recording.dask_collections": ("from_dask",),
    "tasksim.recording.openmp.openmp_recording": ("OpenMPRecording", "record_openmp"),
    "tasksim.recording.openmp.recovery": ("recover_openmp",),
    "tasksim.reports.parametercosts": ("parameter_costs",),
    "tasksim.run.record": ("Run",),
    "tasksim.formats.runs": (
        "check_run",
        "compare",
        "load_run",
        "practical_critical_path",
        "save_run",
    ),
    "tasksim.run.recordtables": ("MemoryTable", "TransferTable"),
    "tasksim.run.schedulepath": ("longest_path", "slack_s"),
    "tasksim.scenario.many": ("Replays", "simulate_many"),
    "tasksim.scenario.prediction": ("Difference", "Prediction", "difference"),
    "tasksim.scenario.public": ("bounds", "durations", "execute", "simulate"),
    "tasksim.scenario.recorded": ("recorded_samples",),
    "tasksim.scenario.repetitions": ("Repetitions", "execute_many"),
    "tasksim.scenario.scenario": ("Scenario",),
    "tasksim.scenario.sureness": ("how_sure",),
    "tasksim.schedulers.base": ("Scheduler", "View"),
    "tasksim.schedulers.static": (
        "Plan",
        "Problem",
        "plan",
        "read_schedule",
        "schedule_of",
        "write_schedule",
    ),
    "tasksim.view.figure": ("figure", "save_figure"),
    "tasksim.view.live.page": ("explore",),
    "tasksim.view.machine": ("machine_figure",),
    "tasksim.view.octree": ("octree_figure",),
    "tasksim.view.sureplots": ("figure_sure",),
    "tasksim.view.page.document": ("save_page",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_RENAMED = {
    "save_graph": "save",
}

_DEPRECATED: "dict[str, tuple[str, str, str]]" = {}
"""Earlier public name -> the present one, the version that renamed it, the one that removes it."""

__all__ = [
    "RW",
    "AccessMode",
    "Allocation",
    "CalibrationOptions",
    "CheckFailed",
    "Commute",
    "ConstantLibrary",
    "ConstantModel",
    "Copying",
    "Device",
    "Diagnosis",
    "Difference",
    "Finding",
    "GraphBuilder",
    "HistoryModel",
    "HybridModel",
    "InputError",
    "KernelModel",
    "LearnedModel",
    "LinearModel",
    "Link",
    "Memory",
    "MemoryDomain",
    "MemoryTable",
    "ModelLibrary",
    "Numa",
    "NumaKernel",
    "OpenMPRecording",
    "Optimum",
    "Overheads",
    "Plan",
    "Platform",
    "PowerLaw",
    "Prediction",
    "Problem",
    "R",
    "Recording",
    "Reduce",
    "Repetitions",
    "Replays",
    "Route",
    "Run",
    "Samples",
    "Scenario",
    "Scheduler",
    "Scratch",
    "Selection",
    "SizeHistory",
    "TaskFlow",
    "TaskGraph",
    "TasksimError",
    "TensorModel",
    "TransferTable",
    "View",
    "W",
    "Worker",
    "application",
    "bounds",
    "calibrate",
    "calibrate_from",
    "check_run",
    "closed_costs",
    "compare",
    "counting",
    "diagnose",
    "difference",
    "durations",
    "execute",
    "execute_many",
    "explore",
    "export_models",
    "figure",
    "figure_sure",
    "from_dask",
    "from_networkx",
    "generate",
    "generator",
    "how_sure",
    "import_hwloc",
    "import_machine",
    "kernel",
    "load_graph",
    "load_network",
    "load_platform",
    "load_run",
    "longest_path",
    "machine_figure",
    "octree_figure",
    "optimize",
    "parameter_costs",
    "plan",
    "practical_critical_path",
    "read_schedule",
    "record",
    "record_openmp",
    "recorded_samples",
    "recover_openmp",
    "save_figure",
    "save_graph",
    "save_models",
    "save_page",
    "save_run",
    "schedule_of",
    "select",
    "simulate",
    "simulate_many",
    "slack_s",
    "to_networkx",
    "write_schedule",
]


def __getattr__(name: str) -> "Any":
    """Import a public name when it is first used (PEP 562)."""
    if name == "__version__":
        value = _version()
    elif name in _HOME:
        from importlib import import_module

        value = getattr(import_module(_HOME[name]), _RENAMED.get(name, name))
    elif name in _DEPRECATED:
        from tasksim.base.deprecation import warn_deprecated

        new, since, until = _DEPRECATED[name]
        warn_deprecated(f"tasksim.{name}", f"tasksim.{new}", since=since, until=until)
        return __getattr__(new)
    else:
        raise AttributeError(f"module 'tasksim' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def _version() -> str:
    from tasksim.base.versions import version_of

    return version_of("tasksim") or "unknown"  # run from a checkout that is not installed
