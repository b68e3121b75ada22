"""Foundation of all other packages: arrays, text, files, names, seeds. Nothing here knows of bandits."""
