"""Interactive page of runs for a browser, in one HTML file."""
