"""Collectives: operations of all ranks, as rounds of messages; one file per operation."""
