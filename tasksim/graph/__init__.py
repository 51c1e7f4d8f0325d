"""Task graphs: the graph, its builder, analysis, generators, files."""
