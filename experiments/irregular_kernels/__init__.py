"""Irregular kernels of the fast multipole method: models that predict real runs.

After E. Agullo, B. Bramas, O. Coulaud, L. Stanisic, S. Thibault, "Modeling irregular kernels of
task-based codes: illustration with the fast multipole method" (Inria research report 9036, 2017).
"""
