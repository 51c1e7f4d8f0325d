from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.samples import Samples


def make(**changes):
    given = {
        "names": ("m", "n"),
        "parameters": [[1, 2], [3, 4], [1, 2]],
        "durations_s": [0.1, 0.2, 0.3],
        "runs": [0, 0, 1],
    }
    return Samples(**(given | changes))


def test_columns_have_their_types_and_cannot_be_changed():
    samples = make()
    assert samples.parameters.dtype == samples.durations_s.dtype == np.float64
    assert samples.runs.dtype == np.int64
    for column in (samples.parameters, samples.durations_s, samples.runs):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_what_is_given_is_copied():
    table = np.array([[1.0], [2.0]])
    samples = Samples(("n",), table, [0.1, 0.2])
    table[0] = 7
    assert samples.parameters.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"durations_s": [0.1, 0.0, 0.3]}, "sample 1: duration 0.0 s: .* finite and positive"),
        ({"durations_s": [0.1, 0.2, float("nan")]}, "sample 2: duration nan s"),
        ({"durations_s": [0.1, 0.2]}, "parameters: 3 rows, but there are 2 durations"),
        ({"durations_s": [[0.1], [0.2], [0.3]]}, r"durations must be one column.*\(3, 1\)"),
        ({"durations_s": ["a", "b", "c"]}, "durations must be numbers"),
        ({"parameters": [[1, 2], [3, -4], [1, 2]]}, "sample 1: n=-4.0: parameters must be finite"),
        ({"parameters": [[1, 2], [3, 4], [np.inf, 2]]}, "sample 2: m=inf"),
        (
            {"parameters": [[1], [3], [1]]},
            r"2 column\(s\), \(m, n\); got an array of shape \(3, 1\)",
        ),
        ({"names": ("m", "m")}, "parameter 'm' is given twice"),
        ({"names": ("m", "")}, "parameter 1 needs a name, got ''"),
        ({"names": "mn"}, "must be a tuple of texts, got 'mn'"),
        ({"runs": [0]}, "runs: 1 rows, but there are 3 durations"),
    ],
)
def test_what_is_wrong_is_named(changes, message):
    with pytest.raises(InputError, match=message):
        make(**changes)


def test_from_columns():
    samples = Samples.from_columns(
        {"m": [1, 2], "duration_s": [0.1, 0.2], "k": [5, 6], "run": [0, 1]}
    )
    assert samples.names == ("m", "k")
    assert samples.parameters.tolist() == [[1.0, 5.0], [2.0, 6.0]]
    assert samples.runs.tolist() == [0, 1]
    alone = Samples.from_columns({"duration_s": [0.1, 0.2]})
    assert alone.parameters.shape == (2, 0)
    assert alone.runs is None


def test_from_columns_names_what_is_missing_or_uneven():
    with pytest.raises(InputError, match=r"did you mean 'duration'\? \(columns: m, duration\)"):
        Samples.from_columns({"m": [1], "duration": [0.1]})
    with pytest.raises(InputError, match="column 'm': 1 rows, but there are 2 durations"):
        Samples.from_columns({"m": [1], "duration_s": [0.1, 0.2]})


def test_select_and_concat():
    samples = make()
    assert samples.select([2]).durations_s.tolist() == [0.3]
    assert samples.select(samples.runs == 0).parameters.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    swapped = Samples(("n", "m"), [[20, 10]], [0.4])
    both = Samples.concat([samples, swapped])
    assert both.parameters.tolist()[-1] == [10.0, 20.0]
    assert both.runs.tolist() == [0, 0, 1, -1]
    assert Samples.concat([swapped, swapped]).runs is None


def test_concat_of_different_kernels_is_refused():
    with pytest.raises(InputError, match=r"\(m, n\) and \(m\)"):
        Samples.concat([make(), Samples(("m",), [[1]], [0.1])])
    with pytest.raises(InputError, match="the list is empty"):
        Samples.concat([])


def test_configurations_are_in_lexicographic_order():
    rows, inverse = make(parameters=[[3, 1], [1, 2], [3, 1]]).configurations()
    assert rows.tolist() == [[1.0, 2.0], [3.0, 1.0]]
    assert inverse.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("accessed", "message"),
    [
        ([[1.0, 2.0]] * 3, r"accessed_bytes: got shape \(3, 2\); legal: columns data_read_bytes"),
        (
            [[8, 8, 0, 0], [8, 8, 9, 0], [8, 8, 0, 0]],
            "sample 1: far_read_bytes: got 9; legal: a number from 0 up to data_read_bytes",
        ),
    ],
)
def test_impossible_accesses_are_refused(accessed, message):
    with pytest.raises(InputError, match=message):
        make(accessed_bytes=accessed)


def test_columns_need_names():
    with pytest.raises(InputError, match="legal: a mapping from names to columns"):
        Samples.from_columns([[1, 2], [0.1, 0.2]])
