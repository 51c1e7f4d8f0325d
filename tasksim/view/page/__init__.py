"""The page: runs to explore in a browser, in one HTML file."""
