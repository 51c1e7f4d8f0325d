"""Figures of studies, one module each; :mod:`.registry` lists them."""
