"""Files in TOML: read as a model says they must be, and what is wrong with one told in a sentence with its place."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bandstrap.errors import LARGEST_COUNT, InvalidInput

Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT, strict=True)]
TomlInteger = Annotated[int, Field(strict=True)]
TomlNumber = Annotated[float, Field(allow_inf_nan=False, strict=True)]
TomlFlag = Annotated[bool, Field(strict=True)]
# What pydantic calls things, and what a writer of TOML does.
IN_TOML = {
    "valid dictionary or instance of Panel": "table",
    "valid dictionary or instance of Curve": "table",
    "valid dictionary or instance of Sweep": "table",
    "valid dictionary": "table",
    "a valid tuple": "a list",
    "Tuple should": "the list should",
    " after validation, not 0": "",
}
Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """A table of the file: no unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_table(path: Path, model: type[Model]) -> Model:
    """A TOML file as a model says it must be."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise InvalidInput(f"{str(path)!r} is not a TOML file: {error}.") from None
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not a TOML file: {error}.") from None
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise InvalidInput(f"{path}: {first_problem(error, content, model)}") from None


def check_names(where: str | Path, key: str, names: Sequence[str]) -> None:
    """Refuse tables of one kind that share a name."""
    if len(set(names)) < len(names):
        raise InvalidInput(f"{where}: the names of the {key} must differ. Got {', '.join(names)} instead.")


def first_problem(error: ValidationError, content: object, model: type[BaseModel]) -> str:
    """The first thing pydantic found, as a sentence with the key and what is allowed."""
    problem = error.errors()[0]
    # pydantic names the variant of a union it tried; only keys and positions are the user's.
    place: list[str | int] = []
    value: Any = content
    for part in problem["loc"]:
        known: Any = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        if part in known:
            value = value[part]
            place.append(part)
    if problem["type"] in ("missing", "extra_forbidden"):
        key = repr(problem["loc"][-1])
        table = place[:-1] if problem["type"] == "extra_forbidden" else place
        where = f" of {as_key(table)}" if table else ""
        if problem["type"] == "missing":
            return f"the key {key}{where} is missing."
        return f"unknown key {key}{where}; allowed are {', '.join(allowed_keys(table, model))}."
    message = problem["msg"].removeprefix("Value error, ")
    for theirs, ours in IN_TOML.items():
        message = message.replace(theirs, ours)
    where = f"'{as_key(place)}': " if place else ""
    shown = f" Got {value!r} instead." if not isinstance(value, dict | list) else ""
    return f"{where}{message[0].lower()}{message[1:]}.{shown}"


def allowed_keys(table: list[str | int], model: type[BaseModel]) -> list[str]:
    """The keys of the table at a place in the file."""
    for key in table:
        if isinstance(key, str):
            model = inner_model(model.model_fields[key].annotation) or model
    return list(model.model_fields)


def inner_model(annotation: object) -> type[BaseModel] | None:
    """The model inside an annotation such as ``tuple[Panel, ...] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := inner_model(part)) is not None), None)


def as_key(place: list[str | int]) -> str:
    """``panels[0].curves[1].policy``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


def placed(where: str, build: Callable[..., Any]) -> Any:
    """Result of ``build``; a refusal names the file and the key."""
    try:
        return build()
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
    except ValueError as error:  # NumPy's or SciPy's
        raise InvalidInput(f"{where}: {error}.") from None
