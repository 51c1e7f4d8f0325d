"""Copies between memories in StarPU's paje.trace, beside a tasks.rec."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.formats.runs import read_trace
from tasksim.formats.traces.tracefolder import save_trace
from tasksim.platform.load import load
from tasksim.run.recordtables import TransferReason

TASKS_REC_TEXT = """\
Model: work
JobId: 1
WorkerId: 0
MemoryNode: 1
SubmitTime: 100.0
StartTime: 110.0
EndTime: 120.0
Handles: 55aa
Modes: RW
Sizes: 4000000
"""
ACTIVITY_TEXT = "name\t0\tCUDA 0\nname\t1\tCPU 0\nname\t2\tCPU 1\n"
EVENT_HEADS_TEXT = """\
%EventDef\tPajeDefineContainerType\t31
%\tAlias\tstring
%\tType\tstring
%\tName\tstring
%EndEventDef
%EventDef PajeDefineLinkType 35
%\tAlias\tstring
%\tType\tstring
%\tStartContainerType\tstring
%\tEndContainerType\tstring
%\tName\tstring
%EndEventDef
%EventDef\tPajeCreateContainer\t37
%\tTime\tdate
%\tAlias\tstring
%\tType\tstring
%\tContainer\tstring
%\tName\tstring
%EndEventDef
%EventDef\tPajeStartLink\t44
%\tTime\tdate
%\tType\tstring
%\tContainer\tstring
%\tValue\tstring
%\tStartContainer\tstring
%\tKey\tstring
%\tHandle\tstring
%\tHName\tstring
%EndEventDef
%EventDef\tPajeEndLink\t49
%\tTime\tdate
%\tType\tstring
%\tContainer\tstring
%\tValue\tstring
%\tEndContainer\tstring
%\tKey\tstring
%EndEventDef
31 Mn P "Memory Node"
31 Mm Mn "Memory Manager"
31 T Mn "Thread"
31 W T "Worker"
35 F P Mm Mm "Intra-node data Fetch"
35 IF P Mm Mm "Intra-node data IdleFetch"
35 WSL P W W "Work steal"
37 0.0 mn0 Mn p MEMNODE0
37 0.0 mm0 Mm mn0 MEMMANAGER0
37 0.0 mn1 Mn p MEMNODE1
37 0.0 mm1 Mm mn1 MEMMANAGER1
37 0.0 t7 T mn1 T0
37 0.0 w0 W t7 CUDA0_0
37 0.0 t8 T mn0 T1
37 0.0 w1 W t8 CPU0
"""
"""The numbers of the events are not StarPU's: only the heads give them a meaning."""
FETCH_LINES = '44 105.0 F p 4000000 mm0 com_1 55aa "a tile"\n49 107.0 F p 4000000 mm1 com_1\n'
WRITE_BACK_LINES = (
    '44 120.5 IF p 4000000 mm1 com_2 55aa "a tile"\n49 121.5 IF p 4000000 mm0 com_2\n'
)


@pytest.fixture
def trace(tmp_path):
    """Return a function that writes a paje.trace beside a tasks.rec, and reads both."""

    def read(arrows, **options):
        folder = tmp_path / "fxt"
        folder.mkdir(exist_ok=True)
        for name, text in (
            ("tasks.rec", TASKS_REC_TEXT),
            ("activity.data", ACTIVITY_TEXT),
            ("paje.trace", EVENT_HEADS_TEXT + arrows),
        ):
            (folder / name).write_text(text)
        return read_trace(folder, **options)

    return read


def test_arrows_between_memories_are_copies(trace):
    run = trace(FETCH_LINES + WRITE_BACK_LINES).run
    copies = run.transfers
    assert [memory.name for memory in run.memories] == ["ram", "gpu0"]
    assert copies.source.tolist() == [0, 1]
    assert copies.target.tolist() == [1, 0]
    assert copies.size_bytes.tolist() == [4_000_000, 4_000_000]
    assert copies.reason.tolist() == [TransferReason.FETCH, TransferReason.IDLE]
    assert copies.handle.tolist() == [0, 0]
    assert copies.start_s.tolist() == pytest.approx([0.005, 0.0205])
    assert copies.end_s.tolist() == pytest.approx([0.007, 0.0215])


def test_workers_that_executed_nothing_belong_to_the_run(trace):
    workers = trace(FETCH_LINES).run.workers
    assert [(one.name, one.architecture, one.memory) for one in workers] == [
        ("cpu0", "cpu", 0), ("cpu1", "cpu", 0), ("cuda0", "cuda", 1),
    ]  # fmt: skip


def test_the_platform_has_a_link_of_the_bandwidth_of_the_copies(trace, tmp_path):
    save_trace(trace(FETCH_LINES), tmp_path / "run")
    (link,) = load(tmp_path / "run" / "platform.yaml").links
    assert link.bandwidth_bytes_per_s == pytest.approx(2e9)


def test_the_account_does_not_say_0_s_for_data(trace, tmp_path):
    """Nothing says which task needed a copy, so nothing says which task waited for it."""
    save_trace(trace(FETCH_LINES), tmp_path / "run")
    lines = CliRunner().invoke(cli, ["report", "account", str(tmp_path / "run")]).output.split("\n")
    assert [line.split() for line in lines if "for data" in line] == [["for", "data", "unknown"]]
    said = CliRunner().invoke(cli, ["report", "account", str(tmp_path / "run"), "--json"]).output
    assert json.loads(said)["waiting_s"]["transfer"] is None


def test_without_copies_memories_are_left_out(trace):
    found = trace("44 1.0 WSL p 0 w0 steal_1 0 x\n")
    assert found.run.memories == ()
    assert "the trace has no copies between memories, so memories are left out" in found.notes


def test_a_copy_without_an_end_or_a_datum_is_noted(trace):
    start = WRITE_BACK_LINES.splitlines()[0] + "\n"
    notes = " ".join(trace(FETCH_LINES.replace(' 55aa "a tile"', "") + start).notes)
    assert "1 copies between 2 memories; 1 without an end are left out; 1 do not name" in notes


@pytest.mark.parametrize(
    ("arrows", "message"),
    [
        (
            FETCH_LINES.replace("mm1", "mm7"),
            "copy com_1: no memory is called 'mm7'; legal: mm0, mm1",
        ),
        (FETCH_LINES.splitlines()[1] + "\n", "copy com_1: it ends, but did not start"),
        (FETCH_LINES.replace("107.0", "104.0"), "copy com_1: it ends before its start in line"),
        (FETCH_LINES.replace("107.0", "soon"), "copy com_1: Time or Value is not a number"),
        (
            FETCH_LINES.replace("p 4000000 mm0", "p -4 mm0"),
            "copy com_1: Time or Value is out of range",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line_or_passed_over(trace, arrows, message):
    with pytest.raises(InputError, match=r"paje\.trace:\d+: ") as caught:
        trace(arrows)
    assert message in str(caught.value)
    assert trace(arrows, skip_bad=True).skipped
