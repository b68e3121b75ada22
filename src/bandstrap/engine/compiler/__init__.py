"""Plain Python functions as machine code: compiled on first need, known by content, kept on disk. Only it knows numba."""
