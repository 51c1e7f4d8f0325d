"""The threads of BLAS itself."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from tasksim.kernels import blas_info, single_threaded_blas


def test_one_thread_within_the_block_and_as_before_after_it():
    with threadpool_limits(limits=2, user_api="blas"):
        before = [library["num_threads"] for library in blas_info()]
        with single_threaded_blas():
            assert {library["num_threads"] for library in blas_info()} == {1}
        assert [library["num_threads"] for library in blas_info()] == before


def test_blas_info_names_the_library():
    libraries = blas_info()
    assert libraries
    for library in libraries:
        assert library["user_api"] == "blas"
        assert {"internal_api", "version", "num_threads", "filepath"} <= library.keys()
