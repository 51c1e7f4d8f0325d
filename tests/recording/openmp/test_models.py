"""Kernel models of recorded OpenMP programs."""

from __future__ import annotations

import pytest

import tasksim
from tests.openmp_programs import EXAMPLES


@pytest.mark.slow
def test_kernels_of_an_openmp_program_have_models_by_the_size_of_their_data(
    compiled, recorded, tmp_path
):
    program = compiled(EXAMPLES / "cholesky.c")
    folders = []
    for size in (16, 24, 32, 48):
        folders.append(tmp_path / f"of-{size}")
        recorded(program, "4", str(size)).recording.save(folders[-1], force=False)
    found = tasksim.calibrate_from(folders, tmp_path / "lib", machine="here", search="all")
    rows = {row.kernel: row for row in found.kernels}
    updates = [row for row in rows.values() if row.parameters == ("bytes",)]
    assert sorted(row.samples for row in updates) == [16, 16, 24, 24]
    assert all(row.configurations == 4 and row.terms for row in updates)
    platform = tasksim.load_platform(found.platform_path)
    other = recorded(program, "4", "40").recording.run
    assert tasksim.simulate(other, platform).makespan_s > 0
