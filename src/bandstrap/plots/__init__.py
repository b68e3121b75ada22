"""One picture a file. Importing a plot imports matplotlib; nothing else in the package does."""
