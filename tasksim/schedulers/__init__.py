"""Schedulers: who runs which ready task; the same objects under both clocks."""
