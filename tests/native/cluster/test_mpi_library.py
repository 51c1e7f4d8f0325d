"""The MPI library that mpi4py has loaded, and another one that the environment has."""

import pytest

from tasksim.native.cluster.mpi_library import MpiLibrary, mpi_of_environment, probed_mpi


@pytest.fixture
def environment(tmp_path):
    """An environment with an MPI from a package: the name without a number is a text."""
    folder = tmp_path / "env" / "lib"
    folder.mkdir(parents=True)
    for name in ("libmpi.so", "libmpi.so.12", "libmpi_abi.so.1", "libmpicxx.so.12"):
        (folder / name).touch()
    return tmp_path / "env"


def test_another_mpi_than_the_environments_is_told(environment):
    loaded = "/usr/lib/x86_64-linux-gnu/libmpi.so.40"
    ignored = mpi_of_environment([environment], loaded)
    assert ignored == str(environment / "lib" / "libmpi.so.12")
    assert MpiLibrary("Open MPI v4.1.4", loaded, ignored).warning() == (
        f"mpi4py has loaded Open MPI v4.1.4 ({loaded}), not the MPI of the environment: "
        f"MPI4PY_LIBMPI={ignored} selects that"
    )


def test_the_environments_own_mpi_is_no_warning(environment, tmp_path):
    own = str(environment / "lib" / "libmpi.so.12")
    assert mpi_of_environment([environment], own) is None
    assert mpi_of_environment([tmp_path], "/usr/lib/libmpi.so.40") is None  # it has none
    assert mpi_of_environment([environment], None) is None
    assert MpiLibrary("MPICH 5.0.2", own, None).warning() is None


def test_another_process_says_what_mpi4py_loads():
    pytest.importorskip("mpi4py")
    found = probed_mpi()
    if isinstance(found, str):
        pytest.skip(f"mpi4py loads nothing here: {found}")
    assert found.name
    assert found.path is None or "libmpi" in found.path
