"""Data on machines with several memories: copies, requests, links, room."""
