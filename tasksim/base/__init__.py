"""What every room needs: errors, names, units, files, the library of data."""
