"""Collective operations of all ranks, as rounds of messages."""
