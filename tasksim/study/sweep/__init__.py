"""Sweeps: study files, their grids of cells, the store of the answers, the table."""
