"""Data on machines with several memories, with copies, requests, links and capacity."""
