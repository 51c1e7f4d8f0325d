"""Study files, their grids of cells, the store of the answers, and the table."""
