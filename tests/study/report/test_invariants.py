"""Invariants of what is said of schedulers: neither the order of rows nor the unit matters."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from study_tables import frame_of, names
from tiers import few

from tasksim.study.report import differences
from tasksim.study.report.findings import examine
from tasksim.study.report.folder import _plain
from tasksim.study.report.table import StudyTable


@pytest.fixture(autouse=True, scope="module")
def quick():
    """Resample less: it is not the digits that are asked for here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differences, "RESAMPLES", 999)
        yield


MAKESPANS = st.floats(1e-6, 1e6)
FEW_VALUES = st.sampled_from([1.0, 1.5, 2.0])


@st.composite
def frames(draw):
    """Tables of two to four schedulers, some configurations and seeds, some of them failed."""
    count, seeds = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    values = draw(st.sampled_from([MAKESPANS, FEW_VALUES]))
    failing = st.none() | values if draw(st.booleans()) else values
    schedulers = ["dm", "eager", "lws", "prio"][: draw(st.integers(2, 4))]
    graphs = [name for name in names(count) for _ in range(seeds)]
    makespans = {
        s: draw(st.lists(failing, min_size=len(graphs), max_size=len(graphs))) for s in schedulers
    }
    frame = frame_of(makespans, graphs, list(range(seeds)) * count)
    frame["makespan_s"] = frame["makespan_s"].astype(float)
    return frame


def said(frame):
    return examine(StudyTable.of(frame))


@settings(deadline=None, max_examples=few(25))
@given(frames(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(frame, random):
    order = list(range(len(frame)))
    random.shuffle(order)
    shuffled = frame.iloc[order].reset_index(drop=True)
    assert _plain(said(frame).to_json()) == _plain(said(shuffled).to_json())


@settings(deadline=None, max_examples=few(25))
@given(frames(), st.floats(1e-3, 1e3))
def test_the_unit_of_time_changes_no_rank_and_no_verdict(frame, factor):
    before = said(frame)
    after = said(frame.assign(makespan_s=factor * frame["makespan_s"]))
    assert before.verdict.kind == after.verdict.kind
    assert before.verdict.winner == after.verdict.winner
    if before.ranks is not None:
        assert before.ranks.schedulers == after.ranks.schedulers
        assert before.ranks.ranks == after.ranks.ranks
    wins = [{s.scheduler: (s.wins, s.ties) for s in f.standings} for f in (before, after)]
    assert wins[0] == wins[1]
    for a, b in zip(before.verdict.differences, after.verdict.differences, strict=True):
        assert (a.faster, a.slower) == (b.faster, b.slower)
        numbers = [(d.relative, d.low, d.high) for d in (a, b)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-6, abs=1e-9)


@settings(deadline=None, max_examples=few(25))
@given(frames())
def test_wins_and_ties_add_up(frame):
    found = said(frame)
    groups, wins = len(found.pairs), sum(s.wins for s in found.standings)
    ties = sum(s.ties for s in found.standings)
    assert wins <= groups
    assert wins == groups or ties >= 2 * (groups - wins)
    assert all(1.0 <= s.mean_ratio <= s.worst_ratio * (1 + 1e-12) for s in found.standings)
    if found.ranks is not None:
        k = len(found.pairs.schedulers)
        assert sum(found.ranks.ranks) == pytest.approx(k * (k + 1) / 2)


@settings(deadline=None, max_examples=few(25))
@given(frames())
def test_a_copy_of_the_winner_leaves_no_winner(frame):
    found = said(frame)
    if found.verdict.winner is None:
        return
    copy = frame[frame["scheduler"] == found.verdict.winner].assign(scheduler="zcopy")
    copy["cell"] = "copy-" + copy["cell"]
    both = pd.concat([frame, copy], ignore_index=True)
    assert said(both).verdict.kind == "no winner"
    assert np.isin(["zcopy", found.verdict.winner], said(both).verdict.alike).all()
