"""Scaling predictions for bulk-synchronous programs, from counters and messages on few ranks."""
