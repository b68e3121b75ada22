"""Tasks and who does them: threads, processes, clusters; signals, progress and memory on the way."""
