"""Evidence on which a sentence of the paper is false, a module per module of claims.

Each world is a claim, what is changed in evidence that agrees with the paper, and the verdict that the claim must get.
"""

import importlib
import pkgutil

MODULES = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
WORLDS = [world for module in MODULES for world in module.WORLDS]
