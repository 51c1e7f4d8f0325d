"""Files of counters in tests: what perf stat, LIKWID and PAPI write of the same program."""

from __future__ import annotations

PERF = """\
# started on Sun Nov 22 20:00:00 2026

8250000,,instructions:u,3100000,100.00,2.10,insn per cycle
3928571,,cycles:u,3100000,100.00,,
2900000,,L1-dcache-loads:u,3100000,100.00,,
269000,,L1-dcache-load-misses:u,3100000,100.00,9.28,of all L1-dcache accesses
269000,,LLC-loads:u,3100000,100.00,,
17500,,LLC-load-misses:u,1400000,45.00,6.51,of all LL-cache accesses
1.20,msec,task-clock:u,1200000,100.00,1.000,CPUs utilized
"""
LIKWID = """\
--------------------------------------------------------------------------------
Group 1: MEM
+-----------------------+---------+------------+------------+
|         Event         | Counter | HWThread 0 | HWThread 1 |
+-----------------------+---------+------------+------------+
|   INSTR_RETIRED_ANY   |  FIXC0  |    8000000 |     250000 |
| CPU_CLK_UNHALTED_CORE |  FIXC1  |    3900000 |      28571 |
| MEM_LOAD_RETIRED_L1_HIT | PMC0  |    2631000 |          0 |
| MEM_LOAD_RETIRED_L2_HIT | PMC1  |     200000 |          0 |
| MEM_LOAD_RETIRED_L3_HIT | PMC2  |      51500 |          0 |
| MEM_LOAD_RETIRED_L3_MISS | PMC3 |      17500 |          0 |
+-----------------------+---------+------------+------------+
| INSTR_RETIRED_ANY STAT | FIXC0  |    8250000 |     250000 |
+-----------------------+------------+------------+
|  Runtime (RDTSC) [s]  |     0.0012 |     0.0012 |
+-----------------------+------------+------------+
"""
PAPI = """\
PAPI_TOT_INS: 8250000
PAPI_TOT_CYC = 3928571
PAPI_LST_INS   2900000
PAPI_L1_DCM\t269000
PAPI_L2_DCM: 69000
PAPI_L3_TCM: 17500
real_time_nsec: 1200000
"""
