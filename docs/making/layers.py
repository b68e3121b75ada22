"""The layers that import-linter enforces, as pyproject.toml has them."""

import tomllib
from pathlib import Path

CONTRACTS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"]["importlinter"]
LAYERS = [
    [module.strip().removeprefix("bandstrap.") for module in layer.split("|")]
    for layer in CONTRACTS["contracts"][0]["layers"]
]
NAMES = {name for layer in LAYERS for name in layer}


def layer_of(module):
    """The package or file of a module that the layers name; none for ``bandstrap`` itself."""
    _, _, rest = module.partition(".")
    name = rest.partition(".")[0]
    return name if name in NAMES else None
