import dataclasses
import itertools

import numpy as np
import pytest

from tasksim.base.units import duration_text, time_unit
from tasksim.view.colours import (
    COPY_REASONS,
    DARK_COLOURS,
    IDLE_COLOURS,
    KERNEL_COLOURS,
    PALETTE,
    UNLIMITED_COLOUR,
    kernel_colours,
    memory_colours,
)
from tasksim.view.names import run_names
from tasksim.view.style import run_title

# G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, IEEE TVCG 15(6), 2009: severity 1.
COLOUR_DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour, deficiency):
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(COLOUR_DEFICIENCIES[deficiency]) @ linear, 0, 1)
    x, y, z = np.cbrt(TO_XYZ @ seen / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


FAMILIES = [
    ("potrf", "trsm", "syrk", "gemm"),
    ("getrf", "trsm_ll", "trsm_ru", "gemm"),
    ("geqrt", "gemqrt", "tpqrt", "tpmqrt"),
]
COPY_AND_IDLE_COLOURS = [
    *(colour for _, colour in COPY_REASONS.values()),
    *(c for _, c in IDLE_COLOURS.values()),
    "#ffffff",
]


def distance(a, b, deficiency):
    return np.linalg.norm(lab(a, deficiency) - lab(b, deficiency))


@pytest.mark.parametrize("deficiency", COLOUR_DEFICIENCIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_of_a_factorisation_stay_apart(family, deficiency):
    for a, b in itertools.combinations(family, 2):
        # Barely visible is 2.3.
        assert distance(KERNEL_COLOURS[a], KERNEL_COLOURS[b], deficiency) > 25, (a, b)


@pytest.mark.parametrize("deficiency", COLOUR_DEFICIENCIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_of_a_factorisation_stay_apart_on_dark_pages(family, deficiency):
    colours = [DARK_COLOURS.get(KERNEL_COLOURS[name], KERNEL_COLOURS[name]) for name in family]
    for a, b in itertools.combinations(colours, 2):
        assert distance(a, b, deficiency) > 23, (a, b)


def test_kernels_are_as_vivid_on_dark_pages():
    for light, dark in DARK_COLOURS.items():
        chroma = [np.linalg.norm(lab(colour, "none")[1:]) for colour in (light, dark)]
        assert chroma[1] > 0.75 * chroma[0], light


def test_only_one_of_the_memories_without_a_size_is_grey():
    found = memory_colours([None, 1.0, None, None, 1.0])
    assert found[0] == UNLIMITED_COLOUR
    assert found[1:] == list(PALETTE[:4])
    assert len(set(memory_colours([1.0, 2.0, *[None] * 3]))) == 5


def grey(colour):
    """Return the lightness on paper without colours, from 0 to 100, as printers and screens say."""
    red, green, blue = (int(colour[i : i + 2], 16) / 2.55 for i in (1, 3, 5))
    return [lab(colour, "none")[0], 0.299 * red + 0.587 * green + 0.114 * blue]


@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_of_a_factorisation_are_told_apart_in_grey(family):
    for a, b in itertools.combinations(family, 2):
        ways = zip(grey(KERNEL_COLOURS[a]), grey(KERNEL_COLOURS[b]), strict=True)
        assert min(abs(one - other) for one, other in ways) > 9, (a, b)


@pytest.mark.parametrize("deficiency", COLOUR_DEFICIENCIES)
def test_colours_of_other_kernels_stay_apart(deficiency):
    for a, b in itertools.combinations(PALETTE, 2):
        assert distance(a, b, deficiency) > 14, (a, b)


@pytest.mark.parametrize("deficiency", COLOUR_DEFICIENCIES)
def test_kernels_are_told_from_copies_and_waits(deficiency):
    for kernel, state in itertools.product({*KERNEL_COLOURS.values()}, COPY_AND_IDLE_COLOURS):
        assert distance(kernel, state, deficiency) > 20, (kernel, state)
    for kernel, state in itertools.product(PALETTE, COPY_AND_IDLE_COLOURS):
        assert distance(kernel, state, deficiency) > 10, (kernel, state)


def test_kernels_are_never_red():
    for colour in kernel_colours(f"kernel{i}" for i in range(200)).values():
        red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        assert red < 1.6 * max(green, blue), colour


def test_unknown_kernels_get_colours_of_their_own():
    names = ["gemm", *(f"kernel{i}" for i in range(60))]
    colours = kernel_colours(names)
    assert list(colours) == names
    assert len(set(colours.values())) == len(names)
    assert kernel_colours(reversed(names)) == colours


def test_the_colour_of_a_kernel_does_not_depend_on_known_ones():
    assert kernel_colours(["p2p", "gemm"])["p2p"] == kernel_colours(["p2p"])["p2p"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (1.23456, "1.235 s"),
        (0.0567891, "56.79 ms"),
        (1.5e-5, "15 us"),
        (2e-9, "2 ns"),
        (12345.6, "12346 s"),
        (45270, "12 h 34 min"),
        (-0.25, "-250 ms"),
    ],
)
def test_duration_text(seconds, text):
    assert duration_text(seconds) == text


def test_time_units():
    assert [time_unit(t)[1] for t in (0.0, 1e-8, 1e-4, 0.5, 1.0, 1e6)] == [
        "s",
        "ns",
        "us",
        "ms",
        "s",
        "s",
    ]


def test_runs_are_named_by_what_differs(make):
    run = make.run()
    native = dataclasses.replace(run, kind="native")
    larger = dataclasses.replace(run, graph_arguments={"tiles": 20, "tile_size": 256})
    assert run_names([run]) == ["run"]
    assert run_names([run, native]) == ["simulated", "native"]
    assert run_names([run, larger]) == ["tiles=10", "tiles=20"]
    assert run_names([run, run]) == ["run (1)", "run (2)"]


def test_title(make):
    run = make.rows([(0, 0, 0.0, 1.5)], 2)
    assert run_title(run) == "simulated, lws, on identical-2: 1.5 s"
