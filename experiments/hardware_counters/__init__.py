"""Hardware counters: how well counts on few ranks predict programs on many.

::

    python -m experiments.hardware_counters

It follows N. Ding, V. W. Lee, W. Xue, W. Zheng, "APMT: an automatic hardware counter-based
performance modeling tool for HPC applications", CCF Transactions on High Performance Computing 2,
2020.
"""
