"""Scenarios: which graph, on which platform, with which models, under which scheduler."""
