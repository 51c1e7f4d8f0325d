"""What is said where models are asked beyond what they were fitted to."""

from __future__ import annotations

import pytest

from tasksim.models.bysize import SizeEntry, SizeHistory
from tasksim.models.coefficients import Entry, Machine, Measured
from tasksim.models.store import save_kernel


def test_models_by_size_say_which_sizes_were_measured(tasksim, tmp_path):
    entries = [SizeEntry(8 * n * n, 1e-3 * n, 0.0, 50) for n in (16, 32)]
    entry = Entry(SizeHistory.from_entries(entries), Measured("2025-01-31", "by hand"))
    save_kernel(tmp_path / "mine", "potrf", {"cpu": entry}, machine=Machine("laptop"))
    line = "simulate cholesky tiles=1 tile_size={} --workers 1 --models ./mine --json"
    measured = tasksim(line.format(32))
    assert measured.json["makespan_s"] == 0.032
    assert (measured.json["extrapolated"], measured.err) == ([], "")
    beyond = tasksim(line.format(64))
    assert beyond.json["extrapolated"] == [
        "potrf on cpu: extrapolated to size_bytes=32768; measured: size_bytes 2048, 8192"
    ]
    assert beyond.json["makespan_s"] == pytest.approx(0.064)
