"""Runs of Charm++, from logs for Projections in their true form."""

import gzip

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.formats.runs import read_trace

SYMBOL_TABLE = """PROJECTIONS_ID
VERSION 11.0
TOTAL_PHASES 1
MACHINE "multicore-linux-x86_64"
PROCESSORS 2
SMPMODE 2 1
TOTAL_CHARES 5
TOTAL_EPS 8
CHARE 0 "dummy_thread_chare" -1
CHARE 1 "SDAG" -1
CHARE 2 "CkReductionMgr" -1
CHARE 3 "Main" -1
CHARE 4 "Block" 2
ENTRY CHARE 0 "dummy_thread_ep" 0 0
ENTRY CHARE 1 "SDAG_RTS" 1 1
ENTRY CHARE 2 "RecvMsg(CkReductionMsg* impl_msg)" 2 8
ENTRY CHARE 3 "Main(CkArgMsg* impl_msg)" 3 0
ENTRY CHARE 4 "done()" 3 0
ENTRY CHARE 5 "ghost(int size, const double *values)" 4 11
ENTRY CHARE 6 "Block_compute" 4 0
ENTRY CHARE 7 "redn_wrapper_next(CkReductionMsg *impl_msg)" 4 11
MESSAGE 0 0
TOTAL_STATS 0
END
"""
# Main broadcasts ghosts at 110 us, and goes on to 130 us; PE 1 receives them meanwhile.
FIRST = """PROJECTIONS-RECORD 20
6 100
2 1 3 100 0 0 80 0 0 0 0 0 50
20 4 5 110 1 0 800 2 2
3 0 3 130 0 0 0 60
2 4 5 131 1 0 800 0 0 0 61
3 0 5 135 1 0 0 61
2 65535 1 135 -1 0 0 0 0 0 0 0 62
3 0 1 136 -1 0 0 62
2 65535 6 136 -1 0 0 0 0 0 63
3 0 6 150 -1 0 0 63
14 150 0
15 171 0
2 5 2 171 5 1 224 0 0 0 0 0 64
1 24 7 172 9 0 64 2
3 0 2 175 5 1 0 64
2 4 7 180 9 1 64 0 0 0 65
3 0 7 190 9 1 0 66
7 200
"""
SECOND = """PROJECTIONS-RECORD 12
6 101
2 4 5 120 1 0 800 0 1 0 50
3 0 5 125 1 0 0 51
2 4 5 126 1 0 800 0 1 1 52
3 0 5 140 1 0 0 52
2 65535 6 140 -1 1 0 0 1 1 53
1 5 2 160 5 1 224 3
13 7 161 2 1
3 0 6 165 -1 1 0 54
2 4 7 190 9 1 64 0 1 0 55
3 0 7 195 9 1 0 56
7 200
"""


def written(folder, *logs, table=SYMBOL_TABLE, end=".log"):
    (folder / "jacobi.sts").write_text(table)
    for pe, log in enumerate(logs):
        (folder / f"jacobi.{pe}{end}").write_text(log)
    return folder / "jacobi.sts"


def rows(trace):
    """Return worker, kernel, start and end in us, and the successors of each task."""
    run = trace.run
    tasksim.check_run(run, run.graph)
    return [
        (int(worker), run.kernel_names[kernel], round(start * 1e6), round(end * 1e6),
         run.graph.successors_of(task))
        for task, (worker, kernel, start, end) in enumerate(zip(
            run.tasks.worker.tolist(), run.tasks.kernel.tolist(), run.tasks.start_s.tolist(),
            run.tasks.end_s.tolist(), strict=True,
        ))
    ]  # fmt: skip


def after(trace, kernel, start):
    """Return the kernels and starts of the tasks after that of a kernel which starts at a time."""
    found = rows(trace)
    (successors,) = [row[4] for row in found if row[1:3] == (kernel, start)]
    return sorted((found[other][1], found[other][2]) for other in successors)


def test_executions_wait_for_the_senders_of_their_messages_and_for_their_chare(tmp_path):
    """Times count from the begin of PE 0, 100 us; what the runtime does between blocks is none."""
    trace = read_trace(written(tmp_path, FIRST, SECOND))
    assert sorted((*row[:4],) for row in rows(trace)) == [
        (0, "Block::ghost", 31, 35),
        (0, "Block::redn_wrapper_next", 80, 90),
        (0, "Block_compute", 36, 50),
        (0, "CkReductionMgr::RecvMsg", 71, 75),
        (0, "Main::Main", 0, 10),
        (0, "Main::Main (resumed)", 10, 30),
        (0, "reduction", 75, 75),
        (1, "Block::ghost", 20, 25),
        (1, "Block::ghost", 26, 40),
        (1, "Block::redn_wrapper_next", 90, 95),
        (1, "Block_compute", 40, 65),
        (1, "reduction", 65, 65),
    ]
    ghosts = [("Block::ghost", 20), ("Block::ghost", 26), ("Block::ghost", 31)]
    assert after(trace, "Main::Main", 0) == [*ghosts, ("Main::Main (resumed)", 10)]
    # The chare (0, 0): ghost, the block after it, and the result of the reduction.
    assert after(trace, "Block::ghost", 31) == [("Block_compute", 36)]
    assert ("Block::redn_wrapper_next", 80) in after(trace, "Block_compute", 36)
    # The chare (1, 0) contributed on PE 1, though (1, 1) sent the message.
    assert ("reduction", 65) in after(trace, "Block::ghost", 20)
    assert after(trace, "reduction", 65) == [("CkReductionMgr::RecvMsg", 71)]
    # Both results name PE 1 as their sender, which sent no such message: PE 0 did.
    nexts = [("Block::redn_wrapper_next", 80), ("Block::redn_wrapper_next", 90)]
    assert after(trace, "reduction", 75) == nexts
    notes = "\n".join(trace.notes)
    assert "2 executions with a wrong sender" in notes
    assert "1 execution sent messages that were executed before their end" in notes
    assert "2 reductions on a PE" in notes
    assert "1 execution without a message in the logs" in notes  # Main's own
    assert "not used: 1 events of the user" in notes


def test_messages_are_data_with_their_sizes(tmp_path):
    graph = read_trace(written(tmp_path, FIRST, SECOND)).run.graph
    assert sorted(graph.handle_size.tolist()) == [64, 224, 800]
    assert "bytes" in graph.parameter_names[graph.kernels.index("Block::ghost")]


def test_a_log_or_the_folder_names_the_symbol_table(tmp_path):
    """Logs may be compressed, and in folders of their own (``+trace-subdirs``)."""
    table = written(tmp_path, FIRST)
    (tmp_path / "jacobi.projdir.1").mkdir()
    (tmp_path / "jacobi.projdir.1" / "jacobi.1.log.gz").write_bytes(
        gzip.compress(SECOND.encode(), mtime=0)
    )
    whole = rows(read_trace(table))
    assert rows(read_trace(tmp_path)) == whole
    assert rows(read_trace(tmp_path / "jacobi.0.log")) == whole
    assert rows(read_trace(tmp_path / "jacobi.projdir.1" / "jacobi.1.log.gz")) == whole


def test_nodes_are_processes_with_threads(tmp_path):
    """A thread of each process only communicates; its number comes after all PEs."""
    table = SYMBOL_TABLE.replace("PROCESSORS 2\nSMPMODE 2 1", "PROCESSORS 4\nSMPMODE 1 2")
    nothing = "PROJECTIONS-RECORD 2\n6 100\n7 200\n"
    run = read_trace(written(tmp_path, FIRST, SECOND, nothing, nothing, table=table)).run
    assert [(each.name, each.node) for each in run.workers] == [
        ("node0/comm0", 0), ("node0/cpu0", 0), ("node1/comm0", 1), ("node1/cpu0", 1),
    ]  # fmt: skip


def test_chares_without_an_index_wait_only_for_their_message(tmp_path):
    """Two of ``done`` may be of one chare or of two; a local call cuts what it interrupts."""
    log = FIRST.replace("2 65535 6 136 -1 0 0 0 0 0 63\n3 0 6 150 -1 0 0 63\n", (
        "2 4 4 137 20 0 8 0 0 0 0 0 63\n3 0 4 138 20 0 0 63\n"
        "2 65535 4 138 -1 0 0 0 0 0 0 0 63\n3 0 4 139 -1 0 0 63\n"
        "2 4 4 139 20 0 8 0 0 0 0 0 63\n3 0 4 140 20 0 0 63\n"
        "2 4 4 141 21 0 8 0 0 0 0 0 63\n3 0 4 142 21 0 0 63\n"
    ))  # fmt: skip
    trace = read_trace(written(tmp_path, log, SECOND))
    assert ("Main::done", 38) in after(trace, "Main::done", 37)
    assert after(trace, "Main::done", 38) == [("Main::done", 39)]
    assert after(trace, "Main::done", 39) == after(trace, "Main::done", 41) == []
    assert any("are of chares without an index" in note for note in trace.notes)


def test_logs_that_are_cut_short_are_told(tmp_path):
    cut = SECOND.partition("3 0 7 195")[0]
    trace = read_trace(written(tmp_path, FIRST, cut))
    assert "jacobi.1.log has no end: the program did not exit, or the log is cut" in trace.notes
    assert (1, "Block::redn_wrapper_next", 90, 90) in [(*row[:4],) for row in rows(trace)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2 4 5 126 1 0", "2 4 5 12x 1 0", r"1\.log:5:7: got '12x'; legal: a whole number of up"),
        ("1 5 2 160 5 1 224 3", "1 5 2 160", r"1\.log:8:10: got 3 numbers after the type; legal:"),
        ("3 0 5 140", "3 0 5 120", r"log:6:7: an execution ends \(120 us\) before it begins \(126"),
        ("2 4 5 126", "2 4 99 126", r"1\.log:5:5: entry method 99 is not in jacobi\.sts"),
        ("13 7 161", "77 7 161", r"1\.log:9:1: got type '77'; legal: an event of Projections"),
        ("PROJECTIONS-RECORD", "\x0c\0\0\0", r"1\.log:1: does not begin with PROJECTIONS-RECORD"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_log_is_said(tmp_path, old, new, message):
    table = written(tmp_path, FIRST, SECOND.replace(old, new))
    with pytest.raises(InputError, match=message):
        read_trace(table)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("VERSION 11.0", "", r"sts:1: no line VERSION; legal: a symbol table for Projections"),
        ("VERSION 11.0", "VERSION 6.6", r"sts:2: version 6\.6 of the logs; legal: 7 and newer"),
        ("VERSION 11.0", "VERSION 1.1.1", r"sts:2: got '1\.1\.1'; legal: a number"),
        ("PROCESSORS 2", "PROCESSORS 0", r"sts:5: PROCESSORS: got 0; legal: 1 to"),
        ("PROCESSORS 2", "PROCESSORS 3", r"no log of PE 2 beside it; legal: jacobi\.2\.log"),
    ],
)
def test_what_is_wrong_in_a_symbol_table_is_said(tmp_path, old, new, message):
    table = written(tmp_path, FIRST, SECOND, table=SYMBOL_TABLE.replace(old, new))
    with pytest.raises(InputError, match=message):
        read_trace(table)


def test_a_log_without_a_symbol_table_and_two_tables_are_refused(tmp_path):
    table = written(tmp_path, FIRST, SECOND)
    (tmp_path / "other.sts").write_text(SYMBOL_TABLE)
    with pytest.raises(InputError, match=r"2 symbol tables \(jacobi\.sts, other\.sts\); name one"):
        read_trace(tmp_path)
    table.unlink()
    with pytest.raises(InputError, match=r"0\.log: no symbol table jacobi\.sts beside it"):
        read_trace(tmp_path / "jacobi.0.log")


def test_malformed_events_are_skipped_if_that_is_wanted(tmp_path):
    table = written(tmp_path, FIRST, SECOND.replace("2 4 5 126", "2 4 99 126"))
    trace = read_trace(table, skip_bad=True)
    assert trace.skipped == (f"{tmp_path}/jacobi.1.log:5:5: entry method 99 is not in jacobi.sts",)
    assert any("1 execution without a beginning: left out" in note for note in trace.notes)
