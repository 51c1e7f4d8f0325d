"""Non-negative least squares: of problems that SciPy's does not end with, too."""

import numpy as np
import pytest
import scipy.optimize

from tasksim.models.terms.leastsquares import non_negative


def test_columns_that_are_nearly_alike():
    x = np.geomspace(1, 10, 40)
    design = np.column_stack([x**power for power in np.linspace(0, 3, 30)]) / 10**1.5
    found = non_negative(design, design @ np.linspace(0, 1, 30))
    assert (found >= 0).all()
    assert design @ found == pytest.approx(design @ np.linspace(0, 1, 30), rel=1e-3)


def test_one_that_goes_in_circles(monkeypatch):
    def circles(*_, **__):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(scipy.optimize, "nnls", circles)
    found = non_negative(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 1.0]))
    assert found == pytest.approx([1.5, 0.0], abs=1e-6)
