"""Bulk-synchronous programs: their time on many ranks, from counters and messages on few."""
