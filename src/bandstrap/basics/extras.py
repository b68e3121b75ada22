"""Packages that only some parts of the library need, and the extra of ``pip install`` that brings each."""

from __future__ import annotations

from importlib.util import find_spec

from bandstrap.errors import InvalidInput

# The extra of pyproject.toml that brings a package, by the name it is imported under.
EXTRAS = {
    "polars": "sim",
    "pydantic": "sim",
    "typer": "cli",
    "rich": "cli",
    "matplotlib": "plots",
    "jinja2": "plots",
    "psycopg": "postgres",
    "fastapi": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "httpx": "client",
    "distributed": "dask",
    "mpi4py": "mpi",
}


class MissingPackage(InvalidInput, ImportError):
    """A package of an extra is not installed; the message says which command installs it."""

    def __init__(self, module: str, user: str) -> None:
        super().__init__(f"{user} needs {module}: pip install 'bandstrap[{EXTRAS[module]}]'.")


def is_installed(module: str) -> bool:
    """Return whether a package can be imported; it is not imported."""
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def need(user: str, *modules: str) -> None:
    """Refuse with :class:`MissingPackage` unless all packages that ``user`` needs are installed.

    >>> need("Result.plot", "matplotlib")
    """
    for module in modules:
        if not is_installed(module):
            raise MissingPackage(module, user)
