"""One picture per file. Importing a plot imports matplotlib; nothing else in the package does."""

from bandstrap.basics.extras import need

need("bandstrap.plots", "matplotlib")
