"""Known terms decide where samples do not, and give way where these speak against them."""

from __future__ import annotations

import numpy as np
import pytest
from tiers import few

from tasksim.calibration.fit_kernels import KNOWN_TERMS, fit_searched
from tasksim.graph.apps.registry import generate
from tasksim.models.samples import Samples


def particles(duration_s, *, low=1000, high=1300, seed=0, name="NbParticles"):
    """Twenty groups with this many particles, timed three times, 3 % off."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.integers(low, high, 20), 3).astype(float)
    noisy = duration_s(rows) * rng.lognormal(0, 0.03, len(rows))
    return Samples((name,), rows[:, None], noisy, np.tile(np.arange(3), 20))


def line(particles):
    return 1e-6 + 1e-8 * particles


def test_where_samples_leave_it_open_known_terms_are_taken():
    for seed in range(few(20)):
        model = fit_searched("L2P", particles(line, seed=seed))
        assert set(model.terms_) <= {"1", "NbParticles"}


@pytest.mark.slow
def test_what_is_known_of_other_kernels_does_not_count():
    names = {fit_searched("mine", particles(line, seed=seed)).terms_ for seed in range(20)}
    assert any("NbParticles^" in term for terms in names for term in terms)


def test_samples_refute_what_is_known():
    model = fit_searched("L2P", particles(lambda n: 1e-12 * n**2, low=100, high=3000))
    assert model.terms_[-1] == "NbParticles^2"
    assert model.predict([[6000.0]]) == pytest.approx([36e-6], rel=0.05)


def test_samples_of_other_parameters_are_searched_as_ever():
    model = fit_searched("L2P", particles(line, low=100, high=3000, name="n"))
    assert model.terms_ == ("1", "n")


def test_known_parameters_that_never_change_are_none():
    rows = np.array([[100.0, n] for n in range(1, 9)])
    samples = Samples(("NbParticles", "Order"), rows, 1e-6 * rows[:, 1] ** 2)
    assert fit_searched("L2P", samples).terms_ == ("Order^2",)


def test_the_fmm_has_the_parameters_of_its_known_terms():
    graph = generate("fmm", particles=2000, height=4, group_size=10)
    for kernel, table in KNOWN_TERMS.items():
        at = graph.kernels.index(kernel)
        task = int(np.flatnonzero(graph.kernel == at)[0])
        assert set(table.split(" + ")) <= graph.parameters_of(task).keys()
    assert KNOWN_TERMS.keys() == set(graph.kernels)
