"""The replay on machines with devices: nodes, their workers, submission."""
