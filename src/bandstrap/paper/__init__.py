"""The paper, reproduced: its figures as experiments, its claims as checks, and a list of its errata."""
