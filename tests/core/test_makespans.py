"""The runs that StarPU-SimGrid made: both engines replay each of them with the same bytes."""

from __future__ import annotations

import pytest
from compiled_core import needs_core
from equal import disagreement
from makespans import Questions, needs_table, rows
from tiers import LONG

pytestmark = needs_table

OTHER_SCHEDULERS = (
    "lws", "dm", "dmda", "dmdar", "dmdas", "dmdasd", "heteroprio", "graph_test",
    "modular-heft", "modular-eager", "modular-dmdas",
)  # fmt: skip
MAX_TILES, ROWS_OF_EACH = (24, 24) if LONG else (16, 20)


@pytest.fixture(scope="module", params=[needs_core("core")])
def questions(tmp_path_factory):
    return Questions(tmp_path_factory.mktemp("library"))


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", OTHER_SCHEDULERS)
def test_every_row_comes_out_the_same(questions, scheduler):
    asked = [row for row in rows(scheduler) if int(row["nblocks"]) <= MAX_TILES]
    assert len(asked) == ROWS_OF_EACH
    for question in map(questions.of, asked):
        assert disagreement(question) is None
