"""Profiles of any program: its functions, from samples or from counted instructions."""
