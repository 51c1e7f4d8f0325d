"""Synonyms: words of other programs for what has another name here.

Messages about unknown names propose the name of this program, which may look quite different:
*nblocks* of StarPU's examples are *tiles*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["same_meaning"]

SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    # settings of graphs
    "alpha": ("fat",),
    "block": ("tile_size",),
    "block_size": ("tile_size",),
    "blocks": ("tiles",),
    "blocksize": ("tile_size",),
    "bs": ("tile_size",),
    "communication": ("ccr",),
    "depth": ("layers",),
    "levels": ("layers", "height"),
    "n": ("tasks", "tiles", "length"),
    "n_tasks": ("tasks", "length"),
    "nb": ("tile_size",),
    "nblocks": ("tiles",),
    "nodes": ("tasks",),
    "nt": ("tiles",),
    "ntasks": ("tasks", "length"),
    "num_tasks": ("tasks", "length"),
    "precision": ("dtype",),
    "size": ("tasks", "tiles", "length"),
    "ts": ("tile_size",),
    "type": ("shape", "dtype"),
    # options
    "cores": ("workers",),
    "cpus": ("workers",),
    "interval": ("uncertainty",),
    "intervals": ("uncertainty",),
    "j": ("workers",),
    "jobs": ("workers",),
    "machine": ("platform",),
    "n_jobs": ("workers",),
    "n_workers": ("workers",),
    "nthreads": ("workers",),
    "num_workers": ("workers",),
    "nworkers": ("workers",),
    "out": ("output",),
    "policy": ("scheduler",),
    "procs": ("workers",),
    "repeat": ("replications",),
    "repetitions": ("replications",),
    "runs": ("replications",),
    "sched": ("scheduler",),
    "threads": ("workers",),
    "trials": ("replications",),
    # commands
    "analyse": ("report",),
    "analyze": ("report",),
    "benchmark": ("calibrate",),
    "best": ("optimize",),
    "bound": ("bounds",),
    "diff": ("compare",),
    "draw": ("view",),
    "experiment": ("study",),
    "formats": ("list",),
    "gantt": ("view",),
    "generators": ("list",),
    "optimal": ("optimize",),
    "platforms": ("list",),
    "plot": ("view",),
    "schedulers": ("list",),
    "show": ("view",),
    "sweep": ("study",),
    "trace": ("record",),
    "uncertainty": ("simulate",),
    # schedulers
    "cilk": ("ws",),
    "fifo": ("eager",),
    "greedy": ("eager",),
    "lifo": ("dask",),
    "list": ("prio",),
    "priority": ("prio",),
    "stealing": ("ws",),
    "work-stealing": ("ws",),
    "work_stealing": ("ws",),
    # formats of 'tasksim import'
    "dax": ("workflow",),
    "fxt": ("trace",),
    "lstopo": ("hwloc",),
    "ompt": ("openmp",),
    "otf2": ("trace",),
    "paje": ("trace",),
    "paraver": ("trace",),
    "perfetto": ("trace",),
    "simgrid": ("network",),
    "wfcommons": ("workflow",),
}
"""Names of this program by the words of others, in lower case, the likeliest first."""


def same_meaning(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that another program calls *word*, if there is one.

    >>> same_meaning("nblocks", ["tiles", "tile_size", "dtype"])
    'tiles'
    >>> same_meaning("nblocks", ["width", "stages"]) is None
    True
    """
    known = set(candidates)
    return next((name for name in SYNONYMS.get(word.lower(), ()) if name in known), None)
