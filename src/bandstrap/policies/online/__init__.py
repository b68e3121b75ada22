"""The object a user holds: ``select``, ``update``, labels, locks, probabilities of arms."""
