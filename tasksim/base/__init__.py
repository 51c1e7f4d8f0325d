"""Foundation of all rooms: errors, names, units, files, libraries of data."""
