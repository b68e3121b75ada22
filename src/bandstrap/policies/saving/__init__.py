"""A live policy as JSON, and back."""
