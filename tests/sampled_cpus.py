"""Machines without accelerators, as StarPU 1.3 and 1.4 sample them: two cores, ``plain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_BUS_13 = '<link id="Host" bandwidth="0.000000Bps" latency="0.000000s"/>'
_BUS_14 = """\
<link id="NUMA0" bandwidth="0.000000Bps" latency="0.000000s"/>
   <link id="Interconnect" bandwidth="0.000000Bps" latency="0.000000s"/>"""
XML = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM 'http://simgrid.gforge.inria.fr/simgrid/simgrid.dtd'>
<platform version="4">
 <AS id="AS0" routing="Full">
   <host id="MAIN" speed="1f"/>
   <host id="CPU0" speed="2000000000f"/>
   <host id="CPU1" speed="2000000000f"/>
   <host id="RAM" speed="1f"/>
   {bus}
 </AS>
</platform>
"""
_COUNTS_13 = {
    "CPUs": 2, "NUMA nodes": 1, "CUDA devices": 0, "OpenCL devices": 0, "MIC devices": 0,
    "MPI devices": 0,
}  # fmt: skip
_COUNTS_14 = {
    "CPUs": 2, "NUMA nodes": 1, "CUDA nodes": 0, "OpenCL nodes": 0, "FPGA nodes": 0,
    "Disk nodes": 0, "MPI_MS nodes": 0, "TCPIP_MS nodes": 0, "HIP nodes": 0, "SYCL nodes": 0,
}  # fmt: skip
_NODES = 4

NAMES_13 = {"potrf": "chol_model_11", "trsm": "chol_model_21", "gemm": "chol_model_22"}
NAMES_14 = {kernel: f"chol_model_{kernel}" for kernel in ("potrf", "trsm", "syrk", "gemm")}
LU_13 = {"getrf": "11", "trsm_ll": "12", "trsm_ru": "21", "gemm": "22"}
LU_14 = {kernel: kernel for kernel in LU_13}
"""Names of the performance models of StarPU's examples, or the ends of these names."""

DATA = {"potrf": 1, "getrf": 1, "syrk": 2, "gemm": 3}
"""Tiles that a task of a kernel works on, two if not given here."""
MEANS_US = {"potrf": 300.0, "getrf": 400.0, "syrk": 700.0, "gemm": 1000.0}
"""Durations of tasks; 800 us if not given here."""


def codelet(mean_us: float, sizes: dict[int, int]) -> str:
    """Return a codelet file of one CPU: size in bytes -> number of samples."""
    entries = "".join(
        f"{size:08x}\t{size}\t0.000000e+00\t{mean_us:e}\t1.000000e+00"
        f"\t{n * mean_us:e}\t{n * mean_us**2:e}\t{n}\n"
        for size, n in sizes.items()
    )
    return (
        "# Performance Model Version\n45\n# number of combinations\n1\n# number of types devices\n"
        "1\n# device type\n0\n# device id\n0\n# number of cores\n1\n# number of implementations\n"
        f"1\n# number of entries\n{len(sizes)}\n# sumlnx, ..., maxx\n"
        "0.0\t0.0\t0.0\t0.0\tnan\tnan\t0\t0\t0\n# a b c\nnan\tnan\tnan\n"
        f"# not multiple-regression-base\n0\n# hash, size, ..., n\n{entries}"
    )


def example(names: dict[str, str], item_bytes: int, tiles: dict[int, int]) -> dict[str, str]:
    """Return codelet files of an example that ran with *tiles*: tile size -> samples."""
    found = {}
    for kernel, name in names.items():
        data = DATA.get(kernel, 2)
        sizes = {data * b * b * item_bytes: n for b, n in tiles.items()}
        found[f"codelets/45/{name}.plain"] = codelet(MEANS_US.get(kernel, 800.0), sizes)
    return found


def lu(dtype: str, ends: dict[str, str], tiles: dict[int, int]) -> dict[str, str]:
    """Return codelet files of the LU example: ``d`` or ``s``, what names end in, tile sizes."""
    names = {kernel: f"starpu_{dtype}lu_lu_model_{end}" for kernel, end in ends.items()}
    return example(names, 8 if dtype == "d" else 4, tiles)


def bus(version: str, numa: int = 1) -> dict[str, str]:
    """Return the files in ``bus/`` as that version of StarPU writes them."""
    counts, links = (_COUNTS_13, _BUS_13) if version == "1.3" else (_COUNTS_14, _BUS_14)
    counts = counts | {"NUMA nodes": numa}
    rows = [
        ["0.000000e+00" if i == j < numa else "1000.0" if i < numa > j else "nan" for j in range(4)]
        for i in range(_NODES)
    ]
    matrix = "# to 0\t\tto 1\n" + "".join("\t".join(row) + "\n" for row in rows)
    config = "".join(f"{n} # Number of {kind}\n" for kind, n in counts.items())
    return {
        "bus/plain.platform.v4.xml": XML.format(bus=links),
        "bus/plain.config": f"# Current configuration\n{config}",
        "bus/plain.affinity": "# GPU\tNUMA0\t\n",
        "bus/plain.bandwidth": matrix,
        "bus/plain.latency": matrix,
    }


def write(folder: Path, files: dict[str, str]) -> None:
    """Write *files* into the sampling directory *folder*."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
