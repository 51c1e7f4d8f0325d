"""Live pages: a scenario in a file, with sliders, replayed in the browser."""
