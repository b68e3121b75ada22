"""States of policies: one kind per file."""
