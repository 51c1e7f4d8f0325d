"""No thread of a library outlives the commands that read tables.

A thread of Arrow's that drops memory of Python's while the interpreter ends is aborted with it, now
and then: exit code 134 after the message. Whether there is such a thread depends on nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from study_cases import SMALL_STUDY

from tasksim.cli.main import cli

TASKS = Path("/proc/self/task")
CODE = """
import json, sys
from contextlib import suppress
from pathlib import Path
from time import sleep
from tasksim.cli.main import cli

left = {}
for line in json.loads(sys.argv[1]):
    try:
        cli.main(line.split())
    except SystemExit as end:
        code = end.code
    # A thread that was joined may be there for a moment; those of a pool stay.
    for _ in range(100):
        names = []
        for thread in Path("/proc/self/task").iterdir():
            with suppress(OSError):
                names.append((thread / "comm").read_text().strip())
        # The one is this thread; the other is of Arrow's allocator, and knows nothing of Python.
        count = len(names) - 1 - names.count("jemalloc_bg_thd")
        if not count:
            break
        sleep(0.05)
    left[line] = [code, count]
Path("left.json").write_text(json.dumps(left))
"""


def threads_left(folder, lines):
    """Return the exit code of each command line, and how many threads there are after it."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(lines)],
        cwd=folder,
        # NumPy's threads only compute, and would be counted.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (folder / "left.json").exists(), done.stderr
    return json.loads((folder / "left.json").read_text())


def with_a_start_of_nan(folder):
    """Change a run so that every command refuses it."""
    import pyarrow
    import pyarrow.parquet

    path = folder / "tasks.parquet"
    table = pyarrow.parquet.read_table(path)
    starts = [float("nan"), *table["start_s"].to_pylist()[1:]]
    place = table.column_names.index("start_s")
    pyarrow.parquet.write_table(table.set_column(place, "start_s", pyarrow.array(starts)), path)


@pytest.mark.slow
@pytest.mark.skipif(not TASKS.is_dir(), reason="counts threads as Linux shows them")
def test_commands_that_read_tables_leave_no_thread(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    simulated = "simulate cholesky tiles=3 --workers 2 --durations potrf=1,trsm=3,syrk=3,gemm=6 -o"
    for name in ("run", "refused"):
        cli.main([*simulated.split(), name], standalone_mode=False)
    with_a_start_of_nan(tmp_path / "refused")
    (tmp_path / "small.yaml").write_text(SMALL_STUDY)
    ok = [
        "bounds run",
        "compare run run",
        "validate run",
        "simulate --from run",
        "export starvz run -o tables",
        "import trace tables -o again",
        "study run small.yaml -o study --executor serial",
        "study table study",
    ]
    wrong = ["bounds refused", "fit refused/tasks.parquet"]
    found = threads_left(tmp_path, [*ok, *wrong])
    assert found == {line: [0 if line in ok else 2, 0] for line in (*ok, *wrong)}
