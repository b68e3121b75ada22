"""The simulator: rewards drawn ahead, policies played against them, what came of it."""
