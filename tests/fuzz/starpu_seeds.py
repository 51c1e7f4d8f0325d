"""Seeds of StarPU's files: valid inputs of every reader of a calibration of StarPU's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .inputs import Input

CODELET_HEAD = "# Performance Model Version\n45\n# number of combinations\n{count}\n"
COMBINATION = """\
# number of types devices
1
# device type
{type}
# device id
{id}
# number of cores
1
# number of implementations
1
# number of entries
{entries}
# sumlnx	sumlnx2		sumlny		sumlnxlny	alpha		beta		n	minx		maxx
1.1e+01	2.2e+02	3.3e+01	4.4e+02	{alpha}	{beta}	6	100	40000
# a		b		c
{nonlinear}
{coefficients}
# hash		size		flops		mean (us)	dev (us)	sum		sum2		n
"""
ENTRY = "617e5fe{n}	{size}	2.95e+08	{mean:e}	1.0e+00	{sum:e}	{sum2:e}	50\n"
XML = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "http://simgrid.gforge.inria.fr/simgrid/simgrid.dtd">
<platform version="4">
 <config id="General"><prop id="network/crosstraffic" value="0"></prop></config>
 <AS id="AS0" routing="Full">
   <host id="MAIN" speed="1f"/><host id="CPU0" speed="1f"/><host id="CPU1" speed="1f"/>
   <host id="CUDA0" speed="1f">
     <prop id="model" value="Tesla M2070"/><prop id="memsize" value="3221225472"/>
     <prop id="memcpy_peer" value="1"/>
   </host>
   <host id="RAM" speed="1f"/>
   <link id="Host" bandwidth="6517450307.894589Bps" latency="0.000000s"/>
   <link id="RAM-CUDA0" bandwidth="6.5GBps" latency="10us"/>
   <route src="RAM" dst="CUDA0" symmetrical="NO">
     <link_ctn id="RAM-CUDA0"/><link_ctn id="Host"/>
   </route>
   <route src="CUDA0" dst="RAM" symmetrical="NO"><link_ctn id="RAM-CUDA0"/></route>
 </AS>
</platform>
"""
XML_3 = (
    XML.replace('version="4"', 'version="3"').replace("6.5GBps", "6.5e9").replace("10us", "1e-5")
)
CONFIG = "2 # Number of CPUs\n1 # Number of NUMA nodes\n1 # Number of CUDA devices\n"
OLD_CONFIG = "# This configuration file\n2\n1\n0\n0\n"
BANDWIDTH = "# to 0\n0\t6000\n6500\t0\n"
LATENCY = "0\t10.5\n12\t0\n"
AFFINITY = "# GPU\tNUMA0\t\n0\t0\t\n"


def starpu_samples(folder: Path) -> dict[str, Input]:
    text = "Duration, M, N, K\n12.5, 64, 32, 16\n25.25, 128, 32, 16\n0, 1, 1, 1\n"
    return {"two": {"samples.out": text.encode()}}


def starpu_bus(folder: Path) -> dict[str, Input]:
    texts = {"bandwidth": BANDWIDTH, "latency": LATENCY, "affinity": AFFINITY}
    return {
        name: {"config": config.encode(), **{n: text.encode() for n, text in texts.items()}}
        for name, config in {"new": CONFIG, "old": OLD_CONFIG}.items()
    }


def _codelet() -> str:
    entries = "".join(
        ENTRY.format(n=n, size=100 * 4**n, mean=m, sum=50 * m, sum2=50 * m * m)
        for n, m in enumerate((9.0, 20.0, 41.0))
    )
    nan, none = "nan nan nan", "# not multiple-regression-base\n0"
    named = "# n\tintercept\tM^2*N\t\tN^3*K\n3\t1.5e+00\t2.5e-01\t1e-05"
    kinds = [
        (0, 0, 3, "nan", "nan", nan, none, entries),
        (1, 0, 3, "0.5", "1.1", nan, none, entries),
        (1, 1, 0, "nan", "nan", "0.1 1.2 3.4", none, ""),
        (1, 2, 0, "nan", "nan", nan, named, ""),
    ]
    return CODELET_HEAD.format(count=len(kinds)) + "".join(
        COMBINATION.format(
            type=t, id=i, entries=n, alpha=a, beta=b, nonlinear=nl, coefficients=c
        ) + body
        for t, i, n, a, b, nl, c, body in kinds
    )  # fmt: skip


def starpu_codelets(folder: Path) -> dict[str, Input]:
    names = ("45", "44")
    texts = (_codelet(), _codelet_of_version_44())
    return {name: {"work.laptop": text.encode()} for name, text in zip(names, texts, strict=True)}


def _codelet_of_version_44() -> str:
    """Return a codelet as StarPU 1.2 has written it: without multiple regressions."""
    named = "# n\tintercept\tM^2*N\t\tN^3*K\n3\t1.5e+00\t2.5e-01\t1e-05\n"
    without = _codelet().replace("# not multiple-regression-base\n0\n", "").replace(named, "")
    return without.replace("\n45\n", "\n44\n")


def starpu_xml(folder: Path) -> dict[str, Input]:
    texts = {"4": XML, "3": XML_3}
    return {name: {"laptop.platform.v4.xml": text.encode()} for name, text in texts.items()}


def starpu_machines(folder: Path) -> dict[str, Input]:
    texts = {
        "bus/laptop.config": CONFIG,
        "bus/laptop.bandwidth": BANDWIDTH,
        "bus/laptop.latency": LATENCY,
        "bus/laptop.affinity": AFFINITY,
        "bus/laptop.platform.v4.xml": XML,
        "codelets/45/chol_model_potrf.laptop": _codelet(),
        "codelets/44/chol_model_trsm.laptop": _codelet_of_version_44(),
        "codelets/tmp/chol_model_potrf.out": "Duration, M, N, K\n12.5, 4, 2, 6\n25, 8, 2, 6\n",
    }
    return {"laptop": {name: text.encode() for name, text in texts.items()}}
