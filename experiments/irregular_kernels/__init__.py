"""Irregular kernels of the fast multipole method: how well models of them predict real runs here.

::

    python -m experiments.irregular_kernels --output irregular

It follows E. Agullo, B. Bramas, O. Coulaud, M. Khannouz, L. Stanisic, "Modeling irregular kernels
of task-based codes: illustration with the fast multipole method", Inria research report 9036,
2017, section 5 (figures 7 to 11), at this machine's scale.
"""
