"""Footprints, against those in StarPU's own files."""

from __future__ import annotations

import numpy as np

from tasksim.formats.starpu import footprint


def test_three_square_matrices_as_in_chol_model_gemm():
    n = np.array([320, 640, 960])
    found = footprint.task([footprint.matrix(n, n)] * 3)
    assert [f"{value:08x}" for value in found.tolist()] == ["d46431bb", "f0ac7beb", "24c84a50"]


def test_sizes_as_in_codelets_with_a_function_for_them():
    found = footprint.of_size([1, 2, 25])  # func.mirage, add_scal.mirage
    assert [f"{value:08x}" for value in found.tolist()] == ["2669802c", "4cd30058", "50d9324f"]


def test_the_two_halves_of_a_size_count():
    big = footprint.of_size(2**32 + 1)
    assert big == footprint.crc(1, footprint.crc(1))
    assert big != footprint.of_size(1)


def test_shapes_and_orders_have_footprints_of_their_own():
    some = [footprint.matrix(8, 8), footprint.matrix(8, 16), footprint.matrix(16, 8)]
    assert len({int(value) for value in some}) == len(some)
    one, other = some[:2]
    assert footprint.task([one, other]) != footprint.task([other, one])
    assert footprint.task([]) == 0


def test_the_check_is_linear_as_every_crc():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2**32, (2, 100), dtype=np.uint32)
    assert (footprint.crc(a ^ b) == footprint.crc(a) ^ footprint.crc(b)).all()
    assert footprint.crc(0) == 0
    assert footprint.crc(1 << 24) == footprint.CRC_POLYNOMIAL
