"""What policies remember of their arms: one kind of state per file."""
