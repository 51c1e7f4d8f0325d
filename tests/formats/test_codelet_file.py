"""Codelet files of StarPU: what is read, what is written, what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.formats.starpu.codelet_file import (
    Codelet,
    Combination,
    HistoryEntry,
    Implementation,
    ModelledDevice,
    Regression,
    read_codelet,
    write_codelet,
)

SHIPPED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "starpu"
CODELETS = SHIPPED / "sampling" / "codelets" / "45"

TEXT = """\
##################
# Performance Model Version
45

####################
# COMBs
# number of combinations
1
####################
# COMB_0
# number of types devices
1
####################
# DEV_0
# device type (CPU - 0, CUDA - 1, OpenCL - 2, FPGA - 4, MPI_SC - 5, TCPIP_SC - 6, HIP - 7, SYCL - 8)
1
####################
# DEV_0
# device id 
2
####################
# DEV_0
# number of cores 
1
##########
# number of implementations
1
#####
# Model for cuda2_cores1_impl0 (Comb0)
# number of entries
2
# sumlnx	sumlnx2		sumlny		sumlnxlny	alpha		beta		n	minx		maxx
0.000000e+00   	0.000000e+00   	0.000000e+00   	0.000000e+00   	nan            	nan            	0	0              	0              
# a		b		c
nan            	nan            	nan            
# not multiple-regression-base
0
# hash		size		flops		mean (us or J)	dev (us or J)	sum		sum2		n
d46431bb	1228800        	6.553600e+07   	2.011248e+02   	1.498037e+01   	1.633334e+06   	3.303264e+08   	8121
000000ff	12             	nan            	5.000000e-01   	0.000000e+00   	1.000000e+00   	5.000000e-01   	2

"""  # noqa: E501, W291

MULTIPLE = "45 1 1 0 0 1 1 0\n0 0 0 0 nan nan 0 0 0\nnan nan nan\n{comment}{coefficients}\n"

SHARED_FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
"""All examples write to the same folder; and a busy machine is no fault of them."""


@pytest.fixture
def file(tmp_path):
    def write(text, name="axpy.laptop"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def shipped():
    if not CODELETS.is_dir():
        pytest.skip("no files of StarPU in the folder `shared` beside the checkout")
    return sorted(CODELETS.iterdir())


def error_of(path) -> str:
    with pytest.raises(InputError) as error:
        read_codelet(path)
    return str(error.value).removeprefix(f"{path}:")


def test_what_a_file_says(file):
    codelet = read_codelet(file(TEXT))
    assert (codelet.symbol, codelet.host, codelet.type) == ("axpy", "laptop", "history")
    (combination,) = codelet.combinations
    assert combination.devices == (ModelledDevice(1, 2, 1),)
    assert combination.name == "cuda2"
    (implementation,) = combination.implementations
    first, second = implementation.entries
    assert first == HistoryEntry(
        0xD46431BB, 1228800, 6.5536e7, 201.1248, 14.98037, 1633334.0, 330326400.0, 8121
    )
    assert math.isnan(second.flops)
    assert implementation.coefficients == ()


def test_it_is_written_as_starpu_does_to_the_byte(file, tmp_path):
    path = tmp_path / "again"
    write_codelet(read_codelet(file(TEXT)), path)
    assert path.read_text() == TEXT


def test_white_space_and_comments_do_not_matter(file):
    loose = [line for line in TEXT.replace("\t", "  ").split("\n") if not line.startswith("#")]
    for text in (TEXT.replace("\n", "\r\n"), "\n\n  ".join(loose), TEXT.rstrip("\n")):
        assert repr(read_codelet(file(text))) == repr(read_codelet(file(TEXT, "axpy.laptop")))


def test_entries_of_older_versions_have_no_flop(file):
    text = TEXT.replace("6.553600e+07   \t", "").replace("nan            \t5.0", "5.0")
    first, second = read_codelet(file(text)).combinations[0].implementations[0].entries
    assert (first.flops, first.mean_us, first.n) == (0.0, 201.1248, 8121)
    assert (second.flops, second.mean_us, second.n) == (0.0, 0.5, 2)


def of_version_44(text):
    """The text of a file as StarPU 1.2 has written it: without multiple regressions."""
    return text.replace("\n45\n", "\n44\n").replace("# not multiple-regression-base\n0\n", "")


def test_files_of_starpu_1_2_have_no_multiple_regression(file):
    old, new = read_codelet(file(of_version_44(TEXT), "old")), read_codelet(file(TEXT, "old"))
    assert repr(old) == repr(new)
    assert "expected a history entry" in error_of(file(TEXT.replace("\n45\n", "\n44\n")))


def test_a_type_of_device_that_was_another_in_version_44_is_refused(file):
    text = of_version_44(TEXT).replace(" 8)\n1\n", " 8)\n4\n")
    assert error_of(file(text)) == (
        "16:1: combination 1: expected a type of device (0 cpu, 1 cuda, 2 opencl, 3 mic), found '4'"
    )


def test_a_name_with_a_dot_ends_in_the_machine_and_one_without_has_none(file):
    assert read_codelet(file(TEXT, "axpy")).host == ""
    assert read_codelet(file(TEXT, "axpy.node.cluster")).host == "node.cluster"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({}, None),
        ({"entries": (HistoryEntry(1, 8, 0.0, 2.0, 0.0, 2.0, 4.0, 1),)}, "history"),
        ({"regression": Regression(alpha=1.0, beta=1.5)}, "regression"),
        ({"regression": Regression(alpha=1.0)}, None),
        ({"nonlinear": (1.0, 2.0, 3.0), "regression": Regression(alpha=1, beta=1)}, "nl"),
        ({"nonlinear": (1.0, math.nan, 3.0)}, None),
        ({"nonlinear": (1.0, 2.0, 3.0), "coefficients": (1.0, 2.0)}, "mlr"),
    ],
)
def test_the_type_of_model_is_found_out_as_starpus_tools_do(values, kind):
    known = Combination((ModelledDevice(0, 0, 1),), (Implementation(**values),))
    nothing = Combination((ModelledDevice(1, 0, 1),), (Implementation(),))
    assert Codelet("axpy", "", (nothing, known)).type == kind


def test_coefficients_and_the_names_in_the_comment_above_them(file):
    text = MULTIPLE.format(
        comment="# n\tintercept\tM^2*N\t\tN^3*K\t\t\n", coefficients="3\t1.25e+02\t3.1e-04\t8.7e-06"
    )
    (implementation,) = read_codelet(file(text)).combinations[0].implementations
    assert implementation.coefficients == (125.0, 3.1e-4, 8.7e-6)
    assert implementation.coefficient_names == ("M^2*N", "N^3*K")
    bare = MULTIPLE.format(comment="", coefficients="1\tnan")
    (implementation,) = read_codelet(file(bare)).combinations[0].implementations
    assert implementation.coefficient_names == ()
    assert math.isnan(implementation.coefficients[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("45", "42"), "3:1: expected version 45 or 44, found '42'"),
        (("45", "x"), "3:1: expected the version of the file, 45 or 44, found 'x'"),
        (("\n2\n#", "\n-2\n#"), "20:1: combination 1: expected the number of a device (a whole"),
        (
            ("0              \t0 ", "0 -1 "),
            "33:101: combination 1 (cuda2): expected a whole number",
        ),
        (
            ("nan            \tnan            \tnan", "nan nan"),
            "35:1: combination 1 (cuda2): expected 3 numbers on a line, a, b and c of the "
            "non-linear regression, found 2: 'nan nan'",
        ),
        (
            ("base\n0\n", "base\n2 1.0\n"),
            "37:1: combination 1 (cuda2): expected 2 coefficients after their number, "
            "found 1 on this line",
        ),
        (
            ("d46431bb", "g46431bb"),
            "39:1: combination 1 (cuda2): expected a hash of up to 8 hexadecimal digits, "
            "found 'g46431bb'",
        ),
        (("2.011248e+02", "-2.0"), "39:42: combination 1 (cuda2): expected a mean in us, not "),
        (("2.011248e+02", "1e999"), "39:42: combination 1 (cuda2): expected a mean in us, not "),
        # Seven numbers are an entry without flop: the sum of squares is no number of samples.
        (("\t8121", ""), "39:90: combination 1 (cuda2): expected a number of samples, found"),
        (
            ("\t8121", " 1 2"),
            "39:1: combination 1 (cuda2): expected a history entry of 8 numbers (or 7, without "
            "flop), found 9 numbers, from 'd46431bb'",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(file, change, message):
    old, new = change
    assert old in TEXT
    assert message in error_of(file(TEXT.replace(old, new, 1)))


def test_unknown_types_of_devices_are_refused_with_the_known_ones(file):
    message = error_of(file(TEXT.replace(" 8)\n1\n", " 8)\n9\n")))
    assert message == (
        "16:1: combination 1: expected a type of device (0 cpu, 1 cuda, 2 opencl, 3 mic, 4 fpga, "
        "5 mpi_sc, 6 tcpip_sc, 7 hip, 8 sycl), found '9'"
    )


def test_files_that_end_early_or_late_are_refused(file):
    assert "expected the version of the file, 45 or 44, found the end" in error_of(file(""))
    assert error_of(file("45\n1\n1\n0")) == (
        "4:2: combination 1: expected the number of a device (a whole number), "
        "found the end of the file"
    )
    assert error_of(file(TEXT.replace("\n2\n# sum", "\n1\n# sum"))) == (
        "40:1: expected the end of the file after 1 combination(s), found '000000ff'"
    )
    assert "expected a history entry: hash, size" in error_of(
        file(TEXT.replace("\n2\n# sum", "\n3\n# sum"))
    )
    assert error_of(file("45\n99999999999999999999999\n")).startswith("2:1: expected the number")


def test_lines_that_are_swapped_are_found():
    folder = SHIPPED / "malformed"
    if not folder.is_dir():
        pytest.skip("no files of StarPU in the folder `shared` beside the checkout")
    for path in folder.iterdir():
        assert error_of(path) == (
            "274:1: combination 8 (cuda5): expected 3 numbers on a line, a, b and c of the "
            "non-linear regression, found 1: '0'"
        )


def test_starpus_own_files_come_back_from_a_copy(shipped, tmp_path):
    for path in shipped:
        codelet = read_codelet(path)
        write_codelet(codelet, tmp_path / path.name)
        assert repr(read_codelet(tmp_path / path.name)) == repr(codelet)


def test_starpus_newer_files_are_written_to_the_byte_but_for_a_comment(shipped, tmp_path):
    newer = [path for path in shipped if "us or J" in path.read_text()]
    assert newer
    for path in newer:
        write_codelet(read_codelet(path), tmp_path / path.name)
        pairs = zip(
            path.read_text().split("\n"),
            (tmp_path / path.name).read_text().split("\n"),
            strict=True,
        )
        assert [old for old, new in pairs if old != new and "# device type" not in old] == []


# Garbage


@settings(max_examples=150, suppress_health_check=SHARED_FIXTURE)
@given(data=st.data())
def test_garbage_is_refused_with_an_error_or_read(file, data):
    lines = TEXT.split("\n")
    kind = data.draw(st.sampled_from(["truncated", "shuffled", "binary", "changed", "words"]))
    if kind == "truncated":
        garbage = TEXT[: data.draw(st.integers(0, len(TEXT)))]
    elif kind == "shuffled":
        garbage = "\n".join(data.draw(st.permutations(lines)))
    elif kind == "changed":
        at = data.draw(st.integers(0, len(TEXT) - 1))
        garbage = TEXT[:at] + data.draw(st.characters(codec="utf-8")) + TEXT[at + 1 :]
    elif kind == "words":
        words = st.sampled_from(["45", "1", "0", "-1", "nan", "1e999", "x", "\n", "#", "9" * 30])
        garbage = "45 " + " ".join(data.draw(st.lists(words, max_size=40)))
    else:
        garbage = data.draw(st.binary(max_size=300))
    path = file(garbage)
    try:
        codelet = read_codelet(path)
    except InputError as refused:
        error = str(refused)
    else:
        error = f"{path}: nothing"
        assert isinstance(codelet, Codelet)
    assert error.startswith(f"{path}:")


numbers = st.floats(0, 1e300) | st.just(math.nan)
whole = st.integers(0, 2**63 - 1)
entries = st.builds(
    HistoryEntry,
    st.integers(0, 2**32 - 1),
    whole,
    numbers,
    numbers,
    numbers,
    numbers,
    numbers,
    whole,
)
regressions = st.builds(Regression, *[numbers] * 6, whole, whole, whole)
implementations = st.builds(
    Implementation,
    entries=st.lists(entries, max_size=3).map(tuple),
    regression=regressions,
    nonlinear=st.tuples(numbers, numbers, numbers),
    coefficients=st.lists(numbers, max_size=3).map(tuple),
)
combinations = st.builds(
    Combination,
    st.lists(
        st.builds(
            ModelledDevice, st.sampled_from(range(9)), st.integers(0, 99), st.integers(0, 99)
        ),
        min_size=1,
        max_size=2,
    ).map(tuple),
    st.lists(implementations, max_size=2).map(tuple),
)


@settings(max_examples=60, suppress_health_check=SHARED_FIXTURE)
@given(found=st.lists(combinations, max_size=3).map(tuple))
def test_everything_comes_back_from_a_file(tmp_path, found):
    path = tmp_path / "axpy.laptop"
    write_codelet(Codelet("axpy", "laptop", found), path)
    for one, other in zip(read_codelet(path).combinations, found, strict=True):
        assert one.devices == other.devices
        for a, b in zip(one.implementations, other.implementations, strict=True):
            assert repr((a.entries, a.regression, a.nonlinear, a.coefficients)) == repr(
                (b.entries, b.regression, b.nonlinear, b.coefficients)
            )
