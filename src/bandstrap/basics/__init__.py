"""What every other package stands on: arrays, text, files, names, seeds. Nothing here knows of bandits."""
