"""Calibration of a network: what messages take between ranks, by size, and the pieces of it."""
