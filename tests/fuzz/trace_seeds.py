"""Seeds of traces and workflows: valid inputs of every reader of other tools' runs and graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tasksim.run.record import Run

    from .inputs import Input

WFFORMAT = b"""{"name": "two", "schemaVersion": "1.5", "workflow": {
 "specification": {"tasks": [
  {"name": "a_1", "id": "a", "parents": [], "children": ["b"], "outputFiles": ["x"]},
  {"name": "b_2", "id": "b", "parents": ["a"], "children": [], "inputFiles": ["x"]}],
  "files": [{"id": "x", "sizeInBytes": 20}]},
 "execution": {"makespanInSeconds": 9, "executedAt": "2020", "tasks": [
  {"id": "a", "runtimeInSeconds": 2.5, "coreCount": 2, "machines": ["m"]},
  {"id": "b", "runtimeInSeconds": 1, "command": {"program": "p", "arguments": []}}]}}}
"""
PEGASUS_WORKFLOW = b"""pegasus: "5.0"
name: two
jobs:
- {type: job, name: make, id: A, profiles: {pegasus: {runtime: "2"}},
   uses: [{lfn: f, type: output, metadata: {size: "8"}}]}
- {type: pegasusWorkflow, file: g.yml, id: B, uses: [{lfn: f, type: input}, {lfn: t, type: none}]}
jobDependencies:
- {id: A, children: [B]}
"""
DAX = b"""<?xml version="1.0"?>
<adag version="2.1" name="two">
 <job id="ID0" name="make" runtime="3.5"><uses file="x" link="output" size="20"/></job>
 <job id="ID1" name="use" runtime="1"><uses file="x" link="input" size="20"/></job>
 <child ref="ID1"><parent ref="ID0"/></child>
</adag>
"""
DOT = b"""digraph G { // two
 node [shape=box];
 1 [size="2e9", alpha="0.1"]; "two" [size=5, label="x"];
 1 -> "two" -> 3 [size="8.5e8"]; /* more */ rankdir=LR
}
"""
WORKFLOWS = {
    "flow.json": {
        "wfformat": WFFORMAT,
        "estee": b'[{"d": 2, "e_d": null, "cpus": 1, "outputs": [{"s": 1}], "inputs": []},'
        b' {"d": 3, "e_d": 1, "cpus": 4, "outputs": [], "inputs": [[0, 0]]}]',
    },
    "flow.dax": {"dax": DAX},
    "flow.yml": {"pegasus": PEGASUS_WORKFLOW},
    "flow.dot": {"dot": DOT},
    "tests.xml": {
        "pytest": b'<testsuites><testsuite name="pytest"><testcase classname="a" name="b[1]"'
        b' time="1,000.5"/><testcase name="c" time="0.2"><skipped message="no"/></testcase>'
        b"</testsuite></testsuites>",
    },
    "flow.stg": {
        "new": b"  1\n 0 0 0\n 1 4 1 0\n 2 0 1 1\n# Edges : 2\n",
        "old": b"  2 3\n 1 4 0\n 2 3 1 1\n",
        "sends": b"  2\n 1 4 0\n 2 3 1\n 1 7\n",
    },
    "flow.td": {"ogra": b"2\n1 4 1 2 7\n2 6 0\n"},
}
"""By the name of the file, and then of the seed."""


def workflows(name: str) -> Callable[[Path], dict[str, Input]]:
    """Return what writes the seeds of a workflow's format."""

    def write(folder: Path) -> dict[str, Input]:
        return {seed: {name: data} for seed, data in WORKFLOWS[name].items()}

    return write


def traces(form: str, name: str) -> Callable[[Path], dict[str, Input]]:
    """Return what writes the seeds of a trace's format, as tasksim writes it."""

    def write(folder: Path) -> dict[str, Input]:
        import tasksim
        from tasksim.formats.registry import FORMATS

        found: dict[str, Input] = {}
        for machine, names in (("xeon-2c", None), ("h100-15c", "chol_model_{kernel}")):
            given = {"scheduler": "dmda", "model_names": names}
            run = tasksim.simulate("cholesky tiles=2", machine, **given)  # without and with copies
            place = folder / machine / name
            place.parent.mkdir()
            FORMATS.find(form).writes_run(run, place, True)
            files = place.iterdir() if place.is_dir() else [place]
            found[machine] = {path.name: path.read_bytes() for path in files}
        return found

    return write


def chrome(folder: Path) -> dict[str, Input]:
    """Return Chrome's JSON: of tasksim, of another tool, compressed."""
    import gzip

    import tasksim
    from tasksim.formats.traces.chrome import write_chrome

    run = tasksim.simulate("cholesky tiles=2", "xeon-2c")
    write_chrome([run], folder / "run.json", arrows="all")
    own = (folder / "run.json").read_bytes()
    other = (
        b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":10,"dur":5},'
        b'{"ph":"B","name":"b","pid":1,"tid":2,"ts":20},{"ph":"E","pid":1,"tid":2,"ts":23},'
        b'{"ph":"s","id":1,"name":"f","cat":"x","pid":1,"tid":1,"ts":14.9},'
        b'{"ph":"f","bp":"e","id":1,"name":"f","cat":"x","pid":1,"tid":2,"ts":20}]'
    )
    seeds = {"own": own, "other": other, "packed": gzip.compress(own, mtime=0)}
    return {seed: {"run.json": data} for seed, data in seeds.items()}


TASKS_REC = b"""Name: a
JobId: 0_1
SubmitOrder: 1
Priority: 2
WorkerId: 0
MemoryNode: 0
SubmitTime: 1.0
ReadyTime: 1.2
StartTime: 2.0
EndTime: 3.0
Footprint: 1f
Handles: a0
Modes: RW
Sizes: 8
MPIRank: 0
EndDependencies: 1
Name: b
JobId: 1_1
DependsOn: 0_1
WorkerId: 0
SubmitTime: 1.0
StartTime: 5.0
EndTime: 6.0
MPIRank: 1
"""
STARPU_FILES = {
    "data.rec": b"Handle: a0\nHomeNode: 0\nMPIRank: 0\nSize: 8\n",
    "sched_tasks.rec": b"Type: push\nTime: 1.5\nPriority: 7\nJobId: 0_1\n\n"
    b"Type: pop\nTime: 1.7\nPriority: 7\nJobId: 0_1\n",
    "comms.rec": b"Src: 0\nDst: 1\nTag: 17\nSendTime: 3.1\nRecvTime: 4.1\nSendHandle: a0\n"
    b"RecvHandle: b0\nSendJobId: 0_1\nRecvJobId: 1_1\nSize: 8\n",
}


ONE_NODE = TASKS_REC.replace(b"0_1", b"1").replace(b"1_1", b"2")
ONE_NODE = ONE_NODE.replace(b"MPIRank: 0", b"MPIRank: -1").replace(b"MPIRank: 1", b"MPIRank: -1")
WORKERS = {
    "tasks.rec": ONE_NODE,
    "data.rec": b"Handle: a0\nHomeNode: 0\nName: A\nSize: 8\nCoordinates: 1 2\n",
    "activity.data": b"name\t0\tCPU 0\ncnt_ready\t1.0\t1\n0\t4.0\t3.5\t1.5\t1.0\n",
    "trace.rec": b"#\n# E: Event type\n#\n\n"
    b"E: SetState\nN: Sleeping\nC: Other\nW: 0\nT: 9\nS: 1.0\n\n"
    b"E: PushState\nN: a\nC: Task\nW: 0\nT: 9\nS: 2.0\n\nE: PopState\nW: 0\nT: 9\nS: 3.0\n",
}


def tasks_rec(folder: Path) -> dict[str, Input]:
    """Return what StarPU writes of ranks and of workers, and tasksim of a run with copies."""
    from tasksim.formats.registry import FORMATS

    FORMATS.find("tasks.rec").writes_run(_with_copies(), folder / "tasks.rec", True)
    own = {"tasks.rec": (folder / "tasks.rec").read_bytes()}
    return {"ranks": {"tasks.rec": TASKS_REC, **STARPU_FILES}, "workers": WORKERS, "own": own}


def task_table(folder: Path) -> dict[str, Input]:
    """Return a table of tasks with the table of copies beside it."""
    from tasksim.formats.registry import FORMATS

    FORMATS.find("task-table").writes_run(_with_copies(), folder / "run.csv", True)
    return {"run": {name: (folder / name).read_bytes() for name in ("run.csv", "run.copies.csv")}}


JOB_LOGS = {
    "parallel": b"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
    b"1\t:\t1599839779.690\t     1.000\t0\t59014\t0\t0\tN=2 ./bin/fit 1\n"
    b"2\tnode7\t1599839779.692\t     2.000\t0\t59014\t1\t0\tconvert 2\n",
    "ninja": b"# ninja log v5\n0\t900\t1\told.o\taa\n0\t100\t1\ta.cpp.o\t1a\n90\t200\t1\tapp\t1b\n",
    "nextflow": b"task_id\thash\tname\tstatus\tsubmit\tduration\trealtime\n"
    b"1\tfb/cc\tQC (a)\tCOMPLETED\t2025-05-25 12:00:00.000\t1m 30s\t1m\n"
    b"2\tfb/cd\tQC (b)\tCACHED\t1748174400000\t2h 1.5s\t650ms\n",
    "taskflow": b'[{"executor":"0","data":[{"worker":1,"level":0,"data":['
    b'{"span":[5,9],"name":"a","type":"static"},{"span":[9,12],"name":"1_1","type":"async"}]},'
    b'{"worker":1,"level":1,"data":[{"span":[6,8],"name":"b","type":"module"}]}]}]',
    "taskflow-binary": b"TFPX\x01\x00\x00\x00\x02\x00\x00\x00"
    b"\x00\x00\x00\x00\x00\x00\x00\x00\x88\x13\x00\x00"
    b"\x00\x00\x00\x00\t\x00\x00\x00\x03\x00\x00\x00loadinner\x06\x00\x00"
    b"\x00\x00\x00\x00\x00\x02\x00\x00\x00\xa8\x01\x0e\x00\x00\x00\x00\x00\x14\x02\x00\x00\x00\x00D"
    b"\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00w)\x00\x00\x00\x00\x04\x07\x00\x00\x00\x01"
    b"\x00\x00\x00\x01\x00\x00\x00x\n\x04\x00\x00\x00\x05\x01\x00\x00\x00\x00\x00\x00\x00\xec\x13"
    b"\x00\x00\x00\x00\x00\x00\t\x00\x00\x00\x01\x00\x00\x00loadinner\x00"
    b"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\xc8\x01\xac\x02\x04\x00\x00\x00\x85",
    "cargo": b"<title>Cargo Build Timings - a</title><script>const UNIT_DATA = ["
    b'{"i":0,"name":"log","target":"","start":0.1,"duration":0.5,"unblocked_rmeta_units":[1],'
    b'"sections":[["frontend",{"start":0.0,"end":0.3}]]},'
    b'{"i":1,"name":"a","target":" a \\"bin\\"","start":0.4,"duration":0.2,"rmeta_time":null}];',
    "ci": b'[{"name":"a (1)","stage":"build","status":"success","created_at":null,'
    b'"started_at":"2026-02-01T00:00:00Z","finished_at":"2026-02-01T00:00:09.5Z"},'
    b'{"name":"b","stage":"test","status":"failed","created_at":"2026-02-01T00:00:00Z",'
    b'"started_at":"2026-02-01T00:00:10+01:00","finished_at":"2026-02-01T00:00:19"}]',
    "spark": b'{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":9,'
    b'"Stage Infos":[{"Stage ID":0}]}\n'
    b'{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":0,"Stage Attempt ID":0,'
    b'"Stage Name":"map at a.py:1","Parent IDs":[],"Submission Time":10}}\n'
    b'{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Info":{"Task ID":0,'
    b'"Launch Time":11,"Finish Time":20,"Executor ID":"1"},'
    b'"Task Metrics":{"Executor Run Time":5}}\n'
    b'{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":21}\n',
}


def job_logs(folder: Path) -> dict[str, Input]:
    """Return logs and reports of programs that run jobs, a single file each."""
    return {name: {"jobs.log": text} for name, text in JOB_LOGS.items()}


def _with_copies() -> Run:
    """Return a small run on two memories."""
    import tasksim

    seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    return tasksim.simulate("cholesky tiles=2", "two-nodes", durations=seconds, scheduler="dm")


PJ_DUMP = b"""Container, 0, MPI Program, 0, 36.9, 36.9, root
State, CPU0, Worker State, 0.000000, 0.092450, 0.092450, 0.000000, Idle
State, CPU0, Worker State, 0.09, 0.33, 0.24, 0.0, potrf, 0, 0, 1f, 0, 1, 1, 16, 0.5, 0, 0, 3, -1
Variable, scheduler, Number of Ready Tasks, 0.0, 0.1, 0.1, 1.0
Link, program, Intra-node data Fetch, 0.1, 0.2, 0.1, d1, ram, gpu0, c0_h1_b8_t0_q100_r0_m0_m1
Container, program, Memory Node, 0, 1, 1, ram
Container, program, Memory Node, 0, 1, 1, gpu0
"""
STARVZ = {
    "rec.tasks.csv": b"Name,JobId,SubmitOrder,Priority,WorkerId,MemoryNode,SubmitTime,StartTime,"
    b"EndTime,Footprint,Handles,Modes,Sizes,DependsOn\n"
    b"a,1,1,0,1,0,5.5,6.5,7.5,b405,55e3,RW,8,\nsync,2,2,0,,,6,,,0,,,,1\n"
    b"b,3,3,0,0,0,6,8,9,b405,55e3,R,8,2\n",
    "dag.csv": b"Dependent,JobId\n1,3\ntag_1,1\n",
    "rec.data_handles.csv": b"Handle,HomeNode,Size,Description\n55e3,0,8,M1x1\n",
    "paje.worker_state.csv": b"Nature, ResourceId, Type, Start, End, Duration, Depth, Value, "
    b"JobId\nState, CPU1, Worker State, 6.5, 7.5, 1.0, 0.0, a, 1\n",
}


def pj_dumps(folder: Path) -> dict[str, Input]:
    return {"states": {"run.csv": PJ_DUMP}}


def starvz(folder: Path) -> dict[str, Input]:
    states = {"paje.worker_state.csv": STARVZ["paje.worker_state.csv"]}
    return {"phase1": dict(STARVZ), "states": states}


PRV = """#Paraver (26/11/2026 at 10:20):1000_ns:1(2):1:1(2:1),1
c:1:1:2:1:2
2:1:1:1:1:100:9000000:7:9200011:5:9200002:2:9200038:3:35:1:36:2:60000023:4
1:1:1:1:1:100:400:1
2:1:1:1:1:400:9000000:5:9200011:0:9200002:0:9200038:0:35:0:36:0:60000023:0
3:1:1:1:1:400:400:2:1:1:2:410:410:3:4294967041
2:2:1:1:2:410:9000000:7:9200011:6:9200002:3:9200038:1:35:2:36:2:60000023:5
2:2:1:1:2:900:9000000:5:9200011:0:9200002:0:9200038:0:35:0:36:0:60000023:0
"""
PCF = """STATES
0    Idle
1    Running

EVENT_TYPE
9    9200011    Running Name
VALUES
5      potrf
6      trsm [chol.c:12]
"""
PCF_OF_OVNI = "EVENT_TYPE\n0 35 Nanos6 task ID of the RUNNING thread\n\nEVENT_TYPE\n0 36 type\n"
ROW = "LEVEL NODE SIZE 1\nhost\n\nLEVEL THREAD SIZE 2\nmain\nCUDA-D1.S1-host\n"


def paraver(folder: Path) -> dict[str, Input]:
    """Return traces of Paraver of several tools, with the files beside them."""
    import gzip

    beside = {"run.pcf": PCF.encode(), "run.row": ROW.encode()}
    openmp = PRV.replace(":9200011:", ":1:").replace(":9200002:", ":2:")
    states = openmp.replace(":60000023:", ":3:")
    return {
        "ompss": {"run.prv": PRV.encode(), **beside},
        "ovni": {"run.prv": PRV.encode(), **beside, "run.pcf": PCF_OF_OVNI.encode()},
        "openmp": {"run.prv": openmp.encode()},
        "states": {"run.prv": states.encode(), **beside},
        "packed": {"run.prv": gzip.compress(PRV.encode(), mtime=0)},
    }


SYMBOL_TABLE = b"""PROJECTIONS_ID
VERSION 11.0
PROCESSORS 2
SMPMODE 1 1
CHARE 0 "SDAG" -1
CHARE 1 "Block" 1
ENTRY CHARE 0 "SDAG_RTS" 0 0
ENTRY CHARE 1 "next(CkReductionMsg* impl_msg)" 1 8
ENTRY CHARE 2 "Block_work" 1 0
END
"""
PROJECTIONS_LOG = b"""PROJECTIONS-RECORD 9
6 10
2 4 1 11 -7 0 80 0 3 12
1 4 1 12 1 0 80 2
13 5 12 2 0
3 0 1 15 -7 0 0 13
2 65535 2 15 -1 0 0 0 3 13
3 0 2 19 -1 0 0 14
14 20 0
15 21 0
2 4 1 22 1 0 80 0 4 15
3 0 1 23 1 0 0 15
7 30
"""


def projections(folder: Path) -> dict[str, Input]:
    """Return logs of Charm++, the second one of a thread that communicates or of a PE."""
    second = PROJECTIONS_LOG.replace(b" 1 0 80 ", b" 1 1 80 ")
    logs = {"run.0.log": PROJECTIONS_LOG, "run.1.log": second}
    one_process = SYMBOL_TABLE.replace(b"SMPMODE 1 1", b"TOTAL_PAPI_EVENTS 0")
    return {"threads": {"run.sts": SYMBOL_TABLE, **logs}, "one": {"run.sts": one_process, **logs}}


OTF2 = """
=== OTF2-PRINT ===

=== Global Definitions =========================================================

CLOCK_PROPERTIES                          Ticks per Seconds: 10000, Global Offset: 1000, L
REGION                                 0  Name: "a task" <5> (Aka. "a task" <5>), Descr.: "" <0>, \
Role: TASK, Paradigm: OPENMP, Flags: NONE, File: "" <0>, Begin: 0, End: 0
REGION                                 1  Name: "wait" <6> (Aka. "wait" <6>), Descr.: "" <0>, \
Role: TASK_WAIT, Paradigm: OPENMP, Flags: NONE, File: "" <0>, Begin: 0, End: 0
LOCATION_GROUP                         0  Name: "main" <8>, Type: PROCESS, Parent: "host" <0>, Cr
LOCATION                               4  Name: "t0" <9>, Type: CPU_THREAD, # Events: 8, \
Group: "m" <0>
=== Events =====================================================================
THREAD_TASK_CREATE            4    1010  Thread Team: "" <0>, Creating Thread: 0 ("t0" <1>), \
Generation Number: 1
THREAD_TASK_SWITCH            4    1020  Thread Team: "" <0>, Creating Thread: 0 ("t0" <1>), \
Generation Number: 1
ENTER                         4    1020  Region: "a task" <0>
                                         ADDITIONAL ATTRIBUTES: ("GUID" <0>; UINT64; 77)
ENTER                         4    1025  Region: "wait" <1>
LEAVE                         4    1028  Region: "wait" <1>
LEAVE                         4    1030  Region: "a task" <0>
THREAD_TASK_COMPLETE          4    1030  Thread Team: "" <0>, Creating Thread: 0 ("t0" <1>), \
Generation Number: 1
"""


def otf2(folder: Path) -> dict[str, Input]:
    """Return what otf2-print prints of tasks of OpenMP, of regions, and of a thread's code."""
    regions = OTF2.replace("THREAD_TASK_", "THREAD_")
    texts = {"openmp": OTF2, "regions": regions, "code": regions.replace("TASK,", "FUNCTION,")}
    return {seed: {"run.txt": text.encode()} for seed, text in texts.items()}
