"""The threads of BLAS itself."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from tasksim.kernels import blas_info, single_threaded_blas, threads


def test_one_thread_within_the_block_and_as_before_after_it():
    with threadpool_limits(limits=2, user_api="blas"):
        before = [library["num_threads"] for library in blas_info()]
        with single_threaded_blas():
            assert {library["num_threads"] for library in blas_info()} == {1}
        assert [library["num_threads"] for library in blas_info()] == before


@pytest.mark.skipif(not threads.THREADS_FOLDER.exists(), reason="nobody tells which threads run")
def test_threads_of_blas_that_look_for_work_are_waited_for(monkeypatch):
    looks = iter([True, True, False])
    monkeypatch.setattr(threads, "_libraries_are_busy", lambda: next(looks))
    with single_threaded_blas():
        assert next(looks, None) is None
    monkeypatch.undo()
    square = np.ones((600, 600))
    with threadpool_limits(limits=2, user_api="blas"):
        square @ square
        with single_threaded_blas():
            assert not threads._libraries_are_busy()


def test_threads_that_never_sleep_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(threads, "LONGEST_SPIN_S", 0.0)
    monkeypatch.setattr(threads, "_libraries_are_busy", lambda: True)
    with single_threaded_blas():
        pass


def test_blas_info_names_the_library():
    libraries = blas_info()
    assert libraries
    for library in libraries:
        assert library["user_api"] == "blas"
        assert {"internal_api", "version", "num_threads", "filepath"} <= library.keys()
