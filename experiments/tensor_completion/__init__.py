"""Tensor completion: errors, sizes and extrapolation of kernel models on six applications.

::

    python -m experiments.tensor_completion

After E. Hutter and E. Solomonik, "Application performance modeling via tensor completion", SC 2023.
"""
