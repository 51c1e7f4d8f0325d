"""The ``tasksim doctor`` command, which checks the installation and this machine."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from typing import Any

import click

import tasksim
from tasksim.base.errors import TasksimError
from tasksim.base.extras import EXTRAS
from tasksim.base.versions import version_of
from tasksim.cli.command import command
from tasksim.cli.options import graph_argument, json_option
from tasksim.cli.output import print_json, print_result

__all__ = ["doctor"]

REQUIRED_PACKAGES = (
    "click",
    "matplotlib",
    "networkx",
    "numpy",
    "pyarrow",
    "pyyaml",
    "rich",
    "scipy",
    "simpy",
    "threadpoolctl",
)
OPTIONAL_PACKAGES = ("numba", "pandas", "statsmodels")
"""Packages of the extra ``all``."""


@command(
    "doctor",
    examples=[
        "tasksim doctor",
        "tasksim doctor --report",
        "tasksim doctor --json",
        "tasksim doctor mylib:stencil n=1024",
    ],
)
@graph_argument(required=False)
@click.option(
    "--report",
    is_flag=True,
    help="Print a text to paste into an issue: also the compilers, how tasksim was installed and"
    " environment variables, but no names of the user or the machine.",
)
@json_option
@click.pass_context
def doctor(
    ctx: click.Context, graph: str | None, settings: tuple[str, ...], report: bool, as_json: bool
) -> None:
    """Report what is installed, what this machine can do, and where files are searched.

    Measures for a second whether threads really run in parallel. Exits with 1 if a package that
    tasksim needs is missing.

    With a GRAPH whose kernels execute, names the kernels that hold Python's lock and so cannot run
    in parallel. For Python functions this is measured, on some of the tasks.
    """
    if report and (as_json or graph is not None):
        other = "--json" if as_json else "a GRAPH"
        raise click.UsageError(f"--report is a text by itself; got {other}, too")
    if graph is not None:
        from tasksim.formats.graphs import load_graph
        from tasksim.kernels.program import bind
        from tasksim.native.lock_share import locks

        held = locks(bind(load_graph(graph, settings), workers=1))
        kernels = {name: asdict(lock) for name, lock in held.items()}
        width = max(map(len, held), default=0)
        lines = (f"{name:{width}}  {lock}" for name, lock in held.items())
        print_result({"kernels": kernels}, lines, as_json=as_json)
        return
    from tasksim.base.library import libraries
    from tasksim.core.library import status, wasm_status

    wasm = wasm_status()
    gil_enabled = getattr(sys, "_is_gil_enabled", lambda: True)  # since Python 3.13
    packages = {name: version_of(name) for name in REQUIRED_PACKAGES}
    missing = [name for name in REQUIRED_PACKAGES if packages[name] is None]
    found: dict[str, Any] = {
        "tasksim": tasksim.__version__,
        "python": sys.version.split()[0],
        "gil": bool(gil_enabled()),
        "packages": packages,
        "missing": missing,
        "optional_packages": {name: version_of(name) for name in OPTIONAL_PACKAGES},
        "core": asdict(status()),
        "wasm": {"available": wasm.available, "why": wasm.why, "path": wasm.path},
        **({} if missing else _machine()),
        "openmp": _openmp(),
        "mpi": _mpi(),
        "libraries": [str(path) for path in libraries()],
    }
    if as_json:
        print_json(found)
    elif report:
        from tasksim.cli.doctor_report import issue_report

        machine = _machine_rows(found) if "machine" in found else []
        click.echo(issue_report(found, [*_compiled_rows(found), *machine]))
    else:
        click.echo(_text(found))
    ctx.exit(1 if missing else 0)


def _openmp() -> dict[str, Any]:
    """Return the recorder and the runtime for OpenMP programs, or why there are none."""
    from tasksim.core.library import status
    from tasksim.native.this_machine import is_virtual
    from tasksim.recording.openmp.runtime import find_recorder, find_runtime

    try:
        recorder, runtime = str(find_recorder()), str(find_runtime())
    except TasksimError as error:
        found = {"available": False, "why": str(error), "recorder": None, "runtime": None}
        return {**found, "pulses": False}
    found = {"available": True, "why": None, "recorder": recorder, "runtime": runtime}
    return {**found, "pulses": is_virtual() and status().available}


def _mpi() -> dict[str, Any]:
    """Return the MPI that mpi4py loads, or why there is none."""
    from tasksim.native.cluster.mpi_library import probed_mpi

    nothing = {"name": None, "path": None, "ignored": None}
    if version_of("mpi4py") is None:
        why = f"mpi4py is not installed: pip install 'tasksim[{EXTRAS['mpi4py']}]'"
        return {"available": False, "why": why, **nothing}
    found = probed_mpi()
    if isinstance(found, str):
        return {"available": False, "why": f"mpi4py cannot be imported: {found}", **nothing}
    return {"available": True, "why": None, **asdict(found)}


def _mpi_text(found: dict[str, Any]) -> str:
    if not found["available"]:
        return f"none: {found['why']}"
    text = f"{found['name']}" + (f", {found['path']}" if found["path"] else "")
    if found["ignored"] is None:
        return text
    return f"{text}, not the environment's: MPI4PY_LIBMPI={found['ignored']} selects that"


def _machine() -> dict[str, Any]:
    from tasksim.kernels.threads import blas_info
    from tasksim.native.this_machine import machine_name, processor, usable_cores

    cores = usable_cores()
    blas = ("internal_api", "version", "architecture", "threading_layer", "num_threads")
    return {
        "machine": machine_name(),
        "processor": processor(),
        "cores": cores,
        "pinning": _can_pin(cores[0]),
        "accounts": _accounts(),
        "blas": [{key: library.get(key) for key in blas} for library in blas_info()],
        "hwloc": _hwloc(),
        "parallelism": _parallelism(len(cores)),
    }


def _can_pin(core: int) -> bool:
    """Return whether a thread can be kept on one core."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        return False
    os.sched_setaffinity(0, before)
    return True


def _accounts() -> dict[str, bool]:
    """Return which accounts of processor time the system keeps."""
    from tasksim.base.threadclock import has_thread_clock
    from tasksim.native.machine_account import MachineAccount
    from tasksim.native.processor_time import ThreadAccount
    from tasksim.native.pulse import idle_cores

    machine = MachineAccount.now()
    return {
        "threads": has_thread_clock(),
        "waiting": ThreadAccount.now().waited_s >= 0,  # else NaN
        "host": machine.steal_s is not None,
        "limit": machine.throttled_s is not None,
        "pressure": machine.pressure_s is not None,
        "pulses": idle_cores(1) is not None,
    }


def _hwloc() -> dict[str, Any]:
    """Return this machine as hwloc describes it, or why hwloc cannot."""
    from tasksim.formats.hwloc.machine_fields import machine_fields
    from tasksim.formats.hwloc.topology import topology_here

    try:
        topology = topology_here()
        if topology is None:
            return {"available": False, "why": "lstopo is not installed (Debian: hwloc)"}
        found = machine_fields(topology)
    except TasksimError as error:
        return {"available": False, "why": str(error).partition("\n")[0]}
    levels = found.fields["memory_hierarchy"]
    return {
        "available": True,
        "version": topology.root.infos.get("hwlocVersion"),
        "packages": found.packages,
        "numa_nodes": found.domains,
        "cores": found.cores,
        "hyper_threads": found.units,
        "caches": {name: level for name, level in levels.items() if name != "memory"},
        "co_processors": [gpu.model or gpu.architecture for gpu in found.gpus],
        "summary": found.summary(),
    }


def _hwloc_text(found: dict[str, Any]) -> str:
    if not found["available"]:
        return f"not known: {found['why']}"
    caches = [
        f"{name} {level.get('size', 'of unknown size')}"
        + (f" for {level['cores']} cores" if level["cores"] > 1 else "")
        for name, level in found["caches"].items()
    ]
    return "; ".join([found["summary"], *([", ".join(caches)] if caches else [])])


def _parallelism(workers: int) -> dict[str, Any] | None:
    """Return the speed of a kernel alone and on all workers at once; None if it cannot run."""
    from tasksim.calibration.parallelism import measure_parallelism

    try:
        measured = measure_parallelism(workers)
    except TasksimError:
        return None
    return {
        "workers": workers,
        "alone_s": measured.alone_s,
        "together_s": measured.together_s,
        "ratio": measured.ratio,
        "speedup": measured.speedup,
        "disturbed_by": measured.disturbed_by,
    }


def _text(found: dict[str, Any]) -> str:
    rows = [
        ("tasksim", found["tasksim"]),
        ("python", f"{found['python']}, GIL {'on' if found['gil'] else 'off'}"),
        *((name, version or "MISSING") for name, version in found["packages"].items()),
        *(
            (name, version or f"not installed: pip install 'tasksim[{EXTRAS[name]}]'")
            for name, version in found["optional_packages"].items()
        ),
        *_compiled_rows(found),
        *(_machine_rows(found) if "machine" in found else []),
        ("libraries", ", ".join(found["libraries"])),
    ]
    if found["missing"]:
        rows.append(("missing", f"pip install {' '.join(found['missing'])}"))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {text}" for name, text in rows)


def _compiled_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    core, wasm, openmp = found["core"], found["wasm"], found["openmp"]
    where = "" if core["path"] is None else f" ({core['path']})"
    return [
        (
            "core",
            f"version {core['version']}, by {core['compiler']}: {core['path']}"
            if core["available"]
            else f"missing, simulations are slower: {core['why']}{where}",
        ),
        (
            "wasm",
            f"pages replay by {wasm['path']}"
            if wasm["available"]
            else f"pages cannot replay: the core as WebAssembly is {wasm['why']}",
        ),
        (
            "openmp",
            f"programs are recorded on {openmp['runtime']}"
            + (", with pulses of their threads' cores" if openmp["pulses"] else "")
            if openmp["available"]
            else f"programs cannot be recorded: {openmp['why']}",
        ),
        ("mpi", _mpi_text(found["mpi"])),
    ]


def _machine_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    from tasksim.calibration.parallelism import Parallelism

    cores = found["cores"]
    rows = [
        ("machine", f"{found['machine']}: {found['processor']}"),
        ("cores", f"{len(cores)} usable ({', '.join(map(str, cores))})"),
        ("pinning", "possible" if found["pinning"] else "not possible"),
        ("hwloc", _hwloc_text(found["hwloc"])),
        ("accounts", _accounts_text(found["accounts"])),
    ]
    for library in found["blas"]:
        name = f"{library['internal_api']} {library['version']}"
        text = f"{name}, {library['architecture']}, {library['num_threads']} threads"
        rows.append(("blas", text))
    measured = found["parallelism"]
    if measured is None:
        return [*rows, ("threads", "could not be measured")]
    numbers = (measured[name] for name in ("workers", "alone_s", "together_s"))
    return [*rows, ("threads", Parallelism(*numbers).text())]


def _accounts_text(accounts: dict[str, bool]) -> str:
    """Return which accounts of other programs the system keeps, and which it does not."""
    if not accounts["threads"]:
        return "no processor time of threads: other programs on this machine falsify measurements"
    words = {
        "waiting": "waiting for a core",
        "host": "what the host took",
        "limit": "limits",
        "pressure": "pressure on the cores",
        "pulses": "others on the same processor",
    }
    told = ["processor time of threads", *(text for name, text in words.items() if accounts[name])]
    untold = [text for name, text in words.items() if not accounts[name]]
    return ", ".join(told) + (f"; missing: {', '.join(untold)}" if untold else "")
