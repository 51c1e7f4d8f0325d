"""ctypes interface of the core, with its structures and functions.

It mirrors ``tasksim_core.h``, in the same order. The creator of a structure keeps the arrays that
it points to alive for as long as the core may use them.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import (
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    c_char_p,
    c_double,
    c_int8,
    c_int32,
    c_int64,
    c_uint64,
    c_void_p,
    py_object,
)
from enum import IntEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from tasksim.core.library import library

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "COUNTS",
    "CallStatus",
    "Callbacks",
    "Called",
    "CalledBack",
    "Cluster",
    "Contention",
    "Decisions",
    "Drafts",
    "Effort",
    "Graph",
    "Log",
    "Member",
    "Outcome",
    "PlanMade",
    "Planning",
    "Platform",
    "Program",
    "Python",
    "Question",
    "Scheduler",
    "Selection",
    "Tasks",
    "Totals",
    "address",
    "functions",
    "locked_functions",
    "with_lock",
]

Library = TypeVar("Library", bound=ctypes.CDLL)


class CallStatus(IntEnum):
    """Status of a call of the core; ``tasksim_core.h`` describes each value."""

    DONE = 0
    MORE = 1
    BAD_ARRAYS = 2
    NO_MEMORY = 3
    DROPPED = 4
    ILLEGAL_POP = 5
    LIVELOCK = 6
    STUCK = 7
    TOO_LARGE = 8
    NOBODY = 9
    CALLBACK = 10
    UNKNOWN = 11
    BUG = 12
    TOO_LATE = 13
    KERNEL = 14


COUNTS: Final = {"": 0, "own": 1, "path": 2, "profile": 3, "share": 4}
"""Values of ``tasksim_counts`` in ``tasksim_core.h``, by their names in policies."""

_FIELD_TYPES: Final = {"i": c_int64, "u": c_uint64, "d": c_double, "p": c_void_p, "s": c_char_p}


def _fields(text: str) -> list[tuple[str, Any]]:
    """Return the fields of a structure from *text*, such as ``i:tasks,edges p:kernel``.

    Kinds are ``i`` and ``u``, signed and unsigned integers, ``d``, doubles, ``p``, pointers to
    arrays, and ``s``, strings.
    """
    words = (word.split(":") for word in text.split())
    return [(name, _FIELD_TYPES[kind]) for kind, names in words for name in names.split(",")]


class Graph(ctypes.Structure):
    """A task graph as arrays."""

    _fields_ = _fields(
        "i:tasks,handles,kernels,hints,edges,accesses,waits,apart"
        " p:kernel,priority,successor_ptr,successors,access_ptr,"
        "access_handle,access_mode,handle_size,handle_home,hint_after,hint_handle,"
        "hint_ptr,hint_waits,hint_drops,at_once"
        " i:starts"
    )


class Platform(ctypes.Structure):
    """A platform, with workers, memories, links and the costs of the runtime."""

    _fields_ = _fields(
        "i:workers,classes,memories,links p:class_of,memory_of,node_of,pipeline,nominal_speed"
        " d:submission_s,task_s,wakeup_s"
        " i:submission,task,wakeup,push,fetch,progress,kernel,copy,start,allocate,free"
        " d:unit_bytes,chunk_bytes,largest_bytes,usable,pin_s p:memory_bytes"
        " i:fetches,prefetches,idle,serialised p:fixed_s,per_byte_s,direct,path i:paths,path_links"
        " p:path_latency,path_weight,path_limit,path_ptr,path_link,path_times,capacity"
    )


class Scheduler(ctypes.Structure):
    """A policy of the core, with its named numbers and tables."""

    _fields_ = _fields(
        "s:name i:numbers p:number_names,number_values i:tables"
        " p:table_names,table_values,table_lengths,twister u:seed"
    )


Call0 = CFUNCTYPE(c_int64)
Call1 = CFUNCTYPE(c_int64, c_int64)
Call2 = CFUNCTYPE(c_int64, c_int64, c_int64)


class Callbacks(ctypes.Structure):
    """A scheduler that is not a policy of the core."""

    _fields_ = [
        ("attach", Call0),
        ("push", Call1),
        ("choose", Call1),
        ("commit", Call1),
        ("pop", Call1),
        ("started", Call2),
        ("finished", Call2),
    ]


class Python(ctypes.Structure):
    """Functions and objects of Python that the core uses; see :func:`locked_functions`."""

    _fields_ = _fields(
        "p:call,call_method,get_item,type_of,from_int,from_double,as_int,as_mask,as_index,"
        "new_tuple,set_tuple_item,new_function,new_capsule,capsule_pointer,keep,let_go,"
        "error,set_error,clear_error,none,yes,no,int_type,index_error,value_error,runtime_error"
    )


class Called(ctypes.Structure):
    """A scheduler written in Python, as addresses of objects."""

    _fields_ = _fields(
        "p:scheduler,push,pop,started,finished,choose,commit,number,workers,tasks,handles,memories"
    )


class Contention(ctypes.Structure):
    """Contention between tasks, by memory domain and kind of task."""

    _fields_ = _fields(
        "i:domains,kinds p:domain_of,kind_of,curve_ptr,curve,demand,share,beside_ptr,beside"
        " i:numa,placement d:cache_bytes p:ratio,limit,room"
    )


class Far(ctypes.Structure):
    """Cost of far data, by class of workers and task."""

    _fields_ = _fields("p:near_bytes,reach_bytes,read_s_per_byte,written_s_per_byte,cache_of")


class Question(ctypes.Structure):
    """A replay to run, with its costs, estimates and rules."""

    _fields_ = _fields(
        "p:costs,estimates,far,alone,submitted,contention"
        " i:machine,blind,threads,uses_priorities,looks_at_data,chooses_apart"
        ",hears_started,hears_finished,decisions"
    )


class Member(ctypes.Structure):
    """A node of a cluster, with its tasks and its scheduler."""

    _fields_ = _fields("p:graph,visible,platform,question,scheduler,order,message i:first_ready")


class Cluster(ctypes.Structure):
    """A cluster, with its nodes, its network and its messages."""

    _fields_ = _fields(
        "i:nodes p:member i:links,ways,uses,messages p:capacity,way_limit,way_weight,way_ptr"
        ",use_link,use_of_byte,envelope_latency d:envelope_factor,envelope_bytes i:in_flight"
        " p:source,target,priority,send,receive,way,eager,detached,latency,factor,bytes"
        ",isend,received,lands i:cores"
    )


class Outcome(ctypes.Structure):
    """The end of a replay, and the sizes of its records."""

    _fields_ = _fields("i:worker,task,number d:now_s i:events,evictions,copies,changes")


class Tasks(ctypes.Structure):
    """Columns of tasks, filled by the core."""

    _fields_ = _fields(
        "p:submitted_s,ready_s,popped_s,start_s,end_s,worker,released_by,state,cpu_s,preemptions,"
        "pulse,beat"
    )


class Reading(ctypes.Structure):
    """The state of a core."""

    _fields_ = _fields("d:pulse,beat_s")


class Totals(ctypes.Structure):
    """Totals of a replay."""

    _fields_ = _fields("d:makespan_s i:copies,copied_bytes,evictions")


class Log(ctypes.Structure):
    """Columns of copies and of the use of memory, owned by the core."""

    _fields_ = _fields(
        "p:handle,task,source,target,requested_s,start_s,end_s,reason,time_s,memory,used_bytes"
    )


class Decisions(ctypes.Structure):
    """Columns of the decisions of a scheduler, owned by the replay."""

    _fields_ = _fields(
        "i:rows p:time_s,task,step,worker,queue,position"
        ",free_s,transfer_s,duration_s,energy_s,end_s,cost_s"
    )


CalledBack = CFUNCTYPE(c_int32, c_int64, c_int64, POINTER(c_double))
"""Callback for a task in Python, with its number, its worker's number, and the place for its times.
"""


class Program(ctypes.Structure):
    """The calls of the tasks of a native run."""

    _fields_ = [
        *_fields("i:functions p:address,tells,reals,function,argument_ptr,arguments,own_ptr,own"),
        ("call_back", CalledBack),
    ]


class Selection(ctypes.Structure):
    """The choice of executed tasks, and the charges of the others."""

    _fields_ = _fields(
        "i:kernels,quantile_count,least,counts,spread,company,rehearse,draws d:tolerance"
        " p:of_task,quantiles,sample_ptr,sample_s,told_s,profile,twister,measured,measured_task"
        ",measured_s,safe_ptr,safe_target,safe_source,safe_bytes,idle,crowding_weights"
        " d:max_pulse,max_twin_pulse,max_beat,busy_pulse,idle_beat_exponent,busy_beat_exponent"
    )


class Effort(ctypes.Structure):
    """The amount of executed work."""

    _fields_ = _fields("i:executed,accompanied,skipped,rehearsed d:executed_s,busiest_s")


class Drafts(ctypes.Structure):
    """A scheduling problem whose schedules are judged by an estimate of their makespan."""

    _fields_ = _fields(
        "i:tasks,workers,classes,memories p:cost,class_of,memory_of,before_ptr,before,copies,"
        "size_bytes,next_ptr,next,latency_s,seconds_per_byte,initial_s,lag d:tick_s"
    )


class Planning(ctypes.Structure):
    """A static scheduling problem."""

    _fields_ = _fields(
        "i:tasks,workers,classes,memories,edges,initials,handles"
        " p:cost,class_of,memory_of,latency_s,seconds_per_byte,ptr,source,target,copies,size,"
        "by_target,target_ptr,initial_task,initial_home,initial_size,"
        "commuting_ptr,commuting_handle,stop"
    )


class PlanMade(ctypes.Structure):
    """The arrays of a static plan."""

    _fields_ = _fields("p:worker,start,end")


_PROCESS_SIGNATURE: Final = (
    None,
    [c_void_p, c_int64, c_int64, c_void_p, c_void_p, c_int64, c_void_p],
)
_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    # replays
    "graph_new": (c_void_p, [POINTER(Graph), POINTER(c_int32)]),
    "graph_free": (None, [c_void_p]),
    "platform_new": (c_void_p, [POINTER(Platform), POINTER(c_int32)]),
    "platform_free": (None, [c_void_p]),
    "replay_new": (
        c_void_p,
        [
            c_void_p, c_void_p, POINTER(Question), POINTER(Scheduler), POINTER(Called),
            POINTER(c_int32), POINTER(Outcome),
        ],
    ),
    "replay_go_on": (c_int32, [c_void_p, c_int64]),
    "replay_outcome": (None, [c_void_p, POINTER(Outcome)]),
    "replay_tasks": (None, [c_void_p, POINTER(Tasks)]),
    "replay_log": (c_void_p, [c_void_p, POINTER(Log)]),
    "replay_decisions": (None, [c_void_p, POINTER(Decisions)]),
    "replay_numa": (None, [c_void_p, c_void_p, c_void_p]),
    "log_free": (None, [c_void_p]),
    "replay_totals": (None, [c_void_p, c_void_p, POINTER(Totals)]),
    "replay_free": (None, [c_void_p]),
    "cluster_new": (c_void_p, [POINTER(Cluster), POINTER(c_int32), POINTER(Outcome)]),
    "cluster_outcome": (None, [c_void_p, c_int64, POINTER(Outcome)]),
    "cluster_tasks": (None, [c_void_p, c_int64, POINTER(Tasks)]),
    "cluster_log": (c_void_p, [c_void_p, c_int64, POINTER(Log)]),
    "cluster_numa": (None, [c_void_p, c_int64, c_void_p, c_void_p]),
    "cluster_messages": (None, [c_void_p, c_void_p, c_void_p]),
    # native runs
    "native_new": (
        c_void_p,
        [
            c_void_p, c_void_p, POINTER(Program), c_void_p, POINTER(Scheduler), POINTER(Callbacks),
            c_int32, POINTER(c_int32),
        ],
    ),
    "native_attach": (c_int32, [c_void_p]),
    "native_begin": (None, [c_void_p, c_double]),
    "native_submit": (c_int32, [c_void_p, c_double]),
    "native_wait": (c_int32, [c_void_p, c_double]),
    "native_stop": (None, [c_void_p]),
    "native_finish": (c_int32, [c_void_p, c_double]),
    "native_work": (c_int32, [c_void_p, c_int64]),
    "native_left": (c_int64, [c_void_p]),
    "native_outside": (None, [c_void_p, c_void_p]),
    "native_handed_out": (c_int64, [c_void_p, c_double, c_double, c_void_p]),
    "native_completed": (c_int32, [c_void_p, c_int64, c_void_p, c_void_p, c_void_p]),
    "native_outcome": (c_int32, [c_void_p, POINTER(Outcome)]),
    "native_tasks": (None, [c_void_p, POINTER(Tasks)]),
    "native_keep_paths": (c_int32, [c_void_p, c_void_p, c_int64]),
    "native_path": (None, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "native_keep_processor_times": (None, [c_void_p, c_void_p]),
    "pulse": (Reading, []),
    "pulses": (c_int64, [c_double, c_double, c_int64, c_void_p, POINTER(c_double)]),
    "cold_reads": (c_int64, [c_int64, c_double, c_int64, c_void_p]),
    "passes": (c_int64, [c_void_p, c_int32, c_int64, c_double, c_void_p]),
    "native_free": (None, [c_void_p]),
    "native_sleepers": (POINTER(c_int8), [c_void_p]),
    "native_pusher": (c_int64, [c_void_p]),
    "native_wake": (None, [c_void_p, c_int64]),
    "native_wake_any": (None, [c_void_p, c_int64]),
    "native_wake_all": (None, [c_void_p, c_int64]),
    "timed_new": (c_void_p, [POINTER(Program), c_int64, c_int64, POINTER(c_int32)]),
    "timed_call": (c_int64, [c_void_p, c_int64, c_int64, POINTER(c_double)]),
    "timed_free": (None, [c_void_p]),
    "gate_new": (c_void_p, []),
    "gate_set": (None, [c_void_p, c_int32]),
    "gate_free": (None, [c_void_p]),
    # selective runs
    "selective_new": (
        c_void_p,
        [
            c_void_p, c_void_p, POINTER(Program), c_void_p, POINTER(Scheduler), POINTER(Selection),
            c_int32, POINTER(c_int32),
        ],
    ),
    "selective_attach": (c_int32, [c_void_p]),
    "selective_submit": (None, [c_void_p]),
    "selective_wait": (c_int32, [c_void_p, c_double]),
    "selective_stop": (None, [c_void_p]),
    "selective_work": (c_int32, [c_void_p, c_int64]),
    "selective_left": (c_int64, [c_void_p]),
    "selective_outcome": (c_int32, [c_void_p, POINTER(Outcome)]),
    "selective_tasks": (None, [c_void_p, POINTER(Tasks)]),
    "selective_effort": (None, [c_void_p, POINTER(Effort)]),
    "selective_path": (None, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "selective_free": (None, [c_void_p]),
    # kernel models
    "process_float32": _PROCESS_SIGNATURE,
    "process_float64": _PROCESS_SIGNATURE,
    "products_float32": _PROCESS_SIGNATURE,
    "products_float64": _PROCESS_SIGNATURE,
    "forest": (
        c_int32,
        [
            c_void_p, c_int64, c_int64, c_int64, c_void_p, c_void_p, c_int64, c_void_p, c_void_p,
            c_void_p,
        ],
    ),
    "questions": (
        c_int32,
        [c_int64, c_int64, c_void_p, c_void_p, c_void_p, c_double, c_void_p],
    ),
    # searches for schedules
    "drafts_new": (c_void_p, [POINTER(Drafts)]),
    "drafts_walk": (
        c_int32,
        [c_void_p, c_void_p, c_void_p, c_int64, c_double, c_uint64, c_void_p],
    ),
    "drafts_learn": (c_int32, [c_void_p] * 5),
    "drafts_free": (None, [c_void_p]),
    # static plans
    "plan": (
        c_int32,
        [POINTER(Planning), c_char_p, c_void_p, c_int64, POINTER(PlanMade)],
    ),
}  # fmt: skip
_LOCKED_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "python_is": (None, [POINTER(Python)]),
    "replay_go_on": (c_int32, [c_void_p, c_int64]),
    "replay_seen": (None, [c_void_p, POINTER(c_void_p), POINTER(c_void_p)]),
    "replay_owner": (py_object, [c_void_p]),
    "replay_function": (py_object, [py_object, c_char_p]),
}
"""Functions that keep Python's lock, because they call Python or create its objects."""

_PYTHON_FUNCTIONS: Final = {
    "call": "PyObject_Vectorcall",
    "call_method": "PyObject_VectorcallMethod",
    "get_item": "PyObject_GetItem",
    "type_of": "PyObject_Type",
    "from_int": "PyLong_FromLongLong",
    "from_double": "PyFloat_FromDouble",
    "as_int": "PyLong_AsLongLongAndOverflow",
    "as_mask": "PyLong_AsUnsignedLongLong",
    "as_index": "PyNumber_AsSsize_t",
    "new_tuple": "PyTuple_New",
    "set_tuple_item": "PyTuple_SetItem",
    "new_function": "PyCFunction_NewEx",
    "new_capsule": "PyCapsule_New",
    "capsule_pointer": "PyCapsule_GetPointer",
    "keep": "Py_IncRef",
    "let_go": "Py_DecRef",
    "error": "PyErr_Occurred",
    "set_error": "PyErr_SetString",
    "clear_error": "PyErr_Clear",
}
"""Functions of Python's C interface; all have existed, unchanged, since Python 3.9."""
_PYTHON_OBJECTS: Final = {
    "none": None,
    "yes": True,
    "no": False,
    "int_type": int,
    "index_error": IndexError,
    "value_error": ValueError,
    "runtime_error": RuntimeError,
}


@lru_cache(maxsize=8)
def _declared(core: ctypes.CDLL) -> ctypes.CDLL:
    return _declare(core, _SIGNATURES)


@lru_cache(maxsize=8)
def _locked(core: ctypes.CDLL) -> ctypes.PyDLL:
    return _declare(ctypes.PyDLL(core._name), _LOCKED_SIGNATURES)


def _declare(core: Library, signatures: dict[str, tuple[Any, list[Any]]]) -> Library:
    for name, (result, arguments) in signatures.items():
        function = getattr(core, f"tasksim_{name}")
        function.restype, function.argtypes = result, arguments
    return core


def functions() -> ctypes.CDLL | None:
    """Return the library, whose functions release Python's lock; None if there is no library."""
    core = library()
    return None if core is None else _declared(core)


def locked_functions() -> ctypes.PyDLL | None:
    """Return the library for calls that keep Python's lock, in which it may call Python.

    None if there is no library, or if this Python is not CPython, whose C interface it needs.
    """
    core = library()
    if core is None or sys.implementation.name != "cpython":
        return None
    locked = _locked(core)
    locked.tasksim_python_is(ctypes.byref(_python()))
    return locked


@cache
def with_lock(core: ctypes.CDLL, name: str) -> Any:
    """Return the function *name* of *core* for short calls from callbacks, with Python's lock."""
    result, arguments = _SIGNATURES[name]
    return PYFUNCTYPE(result, *arguments)((f"tasksim_{name}", core))


@lru_cache(maxsize=1)
def _python() -> Python:
    functions = {
        field: ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p)
        for field, name in _PYTHON_FUNCTIONS.items()
    }
    return Python(**functions, **{field: id(what) for field, what in _PYTHON_OBJECTS.items()})


def address(values: NDArray[Any] | None, dtype: type[np.generic]) -> int | None:
    """Return the address of *values*, for a structure that points to them.

    Raises :exc:`TypeError` if they are not a contiguous, aligned array of *dtype*.
    """
    if values is None:
        return None
    flags = values.flags
    if values.dtype != dtype or not (flags.c_contiguous and flags.aligned):
        layout = "a misaligned" if not flags.aligned else "a contiguous"
        if not flags.c_contiguous:
            layout = "a strided"
        raise TypeError(
            f"got {layout} array of {values.dtype}; legal: a contiguous one of {np.dtype(dtype)}"
        )
    return values.ctypes.data
