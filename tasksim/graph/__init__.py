"""Task graphs, their builders, analysis, generators and files."""
