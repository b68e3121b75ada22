"""The paper, redone: its figures as experiments, its sentences as checks, its misprints as a list."""
