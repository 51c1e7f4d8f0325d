"""A machine that StarPU has sampled, ``laptop``: its files, four cores and two GPUs."""

from __future__ import annotations

CONFIG = "4 # Number of CPUs\n2 # Number of CUDA devices\n0 # Number of OpenCL devices\n"
BANDWIDTH = "0\t6000\t5000\tnan\n6500\t0\t3000\tnan\n5500\t3500\t0\tnan\nnan\tnan\tnan\tnan\n"
LATENCY = "0\t10.5\t11\tnan\n12\t0\t20\tnan\n13\t21\t0\tnan\nnan\tnan\tnan\tnan\n"
AFFINITY = "# GPU\tNUMA0\tNUMA1\t\n0\t1\t0\t\n1\t0\t1\t\n"
XML = """\
<?xml version='1.0'?>
<platform version="4">
 <AS id="AS0" routing="Full">
   <host id="MAIN" speed="1f"/>
   <host id="CPU0" speed="1f"/><host id="CPU1" speed="1f"/>
   <host id="CPU2" speed="1f"/><host id="CPU3" speed="1f"/>
   <host id="CUDA0" speed="1f">
     <prop id="model" value="Tesla M2070"/><prop id="memsize" value="3221225472"/>
   </host>
   <host id="CUDA1" speed="1f">
     <prop id="model" value="Tesla M2070"/><prop id="memsize" value="3221225472"/>
   </host>
   <host id="OpenCL0" speed="1f"/>
   <host id="RAM" speed="1f"/>
   <host id="DISK0" speed="1f"/>
   <link id="Host" bandwidth="6400000000Bps" latency="0s"/>
   <link id="RAM-CUDA0" bandwidth="5900000000Bps" latency="0.000010s"/>
   <link id="CUDA0-RAM" bandwidth="6400000000Bps" latency="0.000012s"/>
   <link id="RAM-CUDA1" bandwidth="4900000000Bps" latency="0.000011s"/>
   <link id="CUDA1-RAM" bandwidth="5400000000Bps" latency="0.000013s"/>
   <link id="CUDA0-CUDA1" bandwidth="2900000000Bps" latency="0.000020s"/>
   <link id="PCI:0000:06:00.0 up" bandwidth="7000000000Bps" latency="0s"/>
   <link id="PCI:06:00.0 up" bandwidth="7100000000Bps" latency="0s"/>
   <link id="RAM-DISK0" bandwidth="400000000Bps" latency="0.002s"/>
   <route src="RAM" dst="CUDA0" symmetrical="NO">
     <link_ctn id="RAM-CUDA0"/><link_ctn id="Host"/>
   </route>
   <route src="CUDA0" dst="RAM" symmetrical="NO">
     <link_ctn id="CUDA0-RAM"/><link_ctn id="Host"/>
   </route>
   <route src="RAM" dst="CUDA1" symmetrical="NO">
     <link_ctn id="RAM-CUDA1"/><link_ctn id="Host"/>
   </route>
   <route src="CUDA1" dst="RAM" symmetrical="NO">
     <link_ctn id="CUDA1-RAM"/><link_ctn id="Host"/>
   </route>
   <route src="CUDA0" dst="CUDA1" symmetrical="NO">
     <link_ctn id="CUDA0-CUDA1"/><link_ctn id="PCI:0000:06:00.0 up"/>
     <link_ctn id="PCI:06:00.0 up"/><link_ctn id="Host"/><link_ctn id="Host"/>
   </route>
   <route src="RAM" dst="DISK0" symmetrical="NO">
     <link_ctn id="RAM-DISK0"/><link_ctn id="Host"/>
   </route>
 </AS>
</platform>
"""
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
1
# sumlnx	sumlnx2		sumlny		sumlnxlny	alpha		beta		n	minx		maxx
0.000000e+00   	0.000000e+00   	0.000000e+00   	0.000000e+00   	nan	nan	0	0	0
# a		b		c
nan            	nan            	nan
# not multiple-regression-base
0
# hash		size		flops		mean (us)	dev (us)	sum		sum2		n
617e5fe6	3686400	2.953730e+08	{mean:e}	1.000000e+00	{sum:e}	{sum2:e}	50
"""


def codelet(means: dict[tuple[int, int], float]) -> str:
    """Return the file of a codelet with one matrix of 960 × 960: (type, id) -> microseconds."""
    head = f"# Performance Model Version\n45\n# number of combinations\n{len(means)}\n"
    return head + "".join(
        COMBINATION.format(type=t, id=i, mean=m, sum=50 * m, sum2=50 * m * m)
        for (t, i), m in means.items()
    )


FILES = {
    "bus/laptop.config": CONFIG,
    "bus/laptop.bandwidth": BANDWIDTH,
    "bus/laptop.latency": LATENCY,
    "bus/laptop.affinity": AFFINITY,
    "bus/laptop.platform.v4.xml": XML,
    "codelets/45/chol_model_potrf.laptop": codelet({(0, 0): 900.0, (1, 0): 200, (1, 1): 250}),
    "codelets/45/work.laptop": codelet({(0, 0): 1800.0}),
    "codelets/45/work.other": "another machine's",
    "codelets/tmp/mlr.out": "",
}
"""By their paths in a sampling directory."""
