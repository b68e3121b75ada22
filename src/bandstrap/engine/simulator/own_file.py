"""Classes in a user's own file: ``path/mine.py:Mine:key=value``, wherever a policy or an environment is named in text.

A file is identified by its content. It is loaded under a module name made of its place and a digest of what it and the
modules beside it say, so that two files of the same name do not clash, and one that was edited is loaded again.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
import sysconfig
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bandstrap.basics.calls import Options, parse_options
from bandstrap.basics.sources import PACKAGE, names_in, parse, reachable
from bandstrap.engine.work.dispatch import AHEAD
from bandstrap.errors import InvalidInput

# What begins with a name and a quote is a call about another, whose file that is.
FORM = re.compile(
    r"(?!\w+:(?:\w+=)?['\"])(?P<file>.+?\.py)(?::(?P<name>[A-Za-z_]\w*))?(?::(?P<options>.+))?", re.DOTALL
)


class FileCall(NamedTuple):
    """A class of a file: the file, the name of the class (``None`` for the only one there is) and the options."""

    file: str
    name: str | None
    options: Options


def parse_file_call(text: str) -> FileCall | None:
    """Parse ``file.py:Class:key=value,...``; ``None`` if the text names no file.

    >>> parse_file_call("./mine.py:Mine:sigma=2")
    FileCall(file='./mine.py', name='Mine', options={'sigma': 2})
    >>> parse_file_call("ucb1:sigma=2") is None
    True
    """
    match = FORM.fullmatch(text.strip())
    if match is None:
        return None
    return FileCall(match["file"], match["name"], parse_options(match["options"] or "", text))


def anchored(text: str, folder: Path) -> str:
    """A call whose file, if it names one, is looked for in ``folder`` unless its path is absolute."""
    call = parse_file_call(text)
    if call is None or Path(call.file).is_absolute():
        return text
    return str(folder / call.file) + text.strip()[len(call.file) :]


def find_class(call: FileCall, kind: str, is_kind: Callable[[type], bool]) -> type:
    """The class that a call names, or the only one of its kind in the file; ``kind`` is what a refusal calls it."""
    module = load_file(Path(call.file))
    candidates = {
        name: thing
        for name, thing in vars(module).items()
        if isinstance(thing, type) and thing.__module__ == module.__name__ and is_kind(thing)
    }
    if call.name is not None:
        thing = getattr(module, call.name, None)
        if isinstance(thing, type) and is_kind(thing):
            return thing
        there = f"it has {', '.join(candidates)}" if candidates else "it has none"
        raise InvalidInput(f"{call.file} has no {kind} {call.name!r}; {there}.")
    if not candidates:
        raise InvalidInput(f"{call.file} has no {kind}.")
    if len(candidates) > 1:
        several = ", ".join(candidates)
        raise InvalidInput(
            f"{call.file} has more than one {kind}, {several}; say which, as in {call.file}:{min(candidates)}."
        )
    return next(iter(candidates.values()))


def origin_of(call: FileCall, found: type) -> str:
    """Origin of a class, for the label of what is made of it."""
    return f"{call.file}:{found.__name__}"


def made(found: Any, call: FileCall) -> Any:
    """Object that a class makes of a call's options; an error of the user's constructor becomes one sentence."""
    origin = origin_of(call, found)
    with told_errors(lambda: f"{origin} cannot be made"):
        thing = found.from_call(**call.options)
        thing.origin = origin
        str(thing.label)  # which needs every parameter in an attribute
    return thing


def load_file(path: Path) -> types.ModuleType:
    """The file as a module, executed once for each content."""
    try:
        if not path.is_file():
            raise InvalidInput(f"{path} is not a file.")
        content = path.read_bytes()
    except OSError as error:  # also of a name that is too long
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    try:
        tree = parse(content, path)
        beside = reachable(names_in(tree, ""), path.resolve().parent)
    except SyntaxError as error:  # of the file, or of a module that it imports
        line = f", line {error.lineno}" if error.lineno else ""
        raise InvalidInput(f"{error.filename} is not Python{line}: {error.msg}.") from None
    sha = hashlib.sha256(content)
    for source in beside:
        sha.update(source.name.encode() + b"\0" + source.content)
    code = sha.hexdigest()
    place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()
    name = f"own_{re.sub(r'[^0-9a-zA-Z_]', '_', path.stem)}_{place[:12]}_{code[:16]}"
    if name not in sys.modules:
        module = types.ModuleType(name)
        module.__file__ = str(path.resolve())
        module.__dict__["__code_digest__"] = code
        sys.modules[name] = module
        try:
            with importing_from(path.resolve().parent):
                exec(compile(content, module.__file__, "exec"), module.__dict__)  # noqa: S102 - what the user asked for
        except BaseException as error:
            del sys.modules[name]
            if isinstance(error, Exception):
                raise InvalidInput(f"{path} cannot be loaded: {told(error, module.__file__)}") from error
            raise
    return sys.modules[name]


class LoadedFiles:
    """The files that this process has loaded by the time it is pickled; whoever unpickles it loads them, too.

    A process that is handed work finds classes by the names of their modules, which it cannot import by itself.
    """

    def __reduce__(self) -> tuple[Callable[..., LoadedFiles], tuple[dict[str, str]]]:
        modules = list(sys.modules.items())
        return load_files, ({name: str(module.__file__) for name, module in modules if is_loaded_file(name, module)},)


def is_loaded_file(name: str, module: types.ModuleType) -> bool:
    """Return whether a module was made by :func:`load_file`; a user may have called another one alike."""
    return name.startswith("own_") and "__code_digest__" in vars(module)


def load_files(files: Mapping[str, str]) -> LoadedFiles:
    """Load files that another process has loaded, given by the names of their modules.

    One that is gone, broken or edited by now is missed when it is needed.
    """
    for name, file in files.items():
        if name not in sys.modules:
            with contextlib.suppress(InvalidInput):
                load_file(Path(file))
    return LoadedFiles()


AHEAD.append(LoadedFiles())


@contextlib.contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Let imports find modules beside a file, and forget them afterwards: another folder may have namesakes.

    Python keeps no bytecode of them: it would take that for current after an edit in the same second to the same length.
    """
    before = dict(sys.modules)
    keeps_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.dont_write_bytecode = keeps_none
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name not in before and file and folder in Path(file).parents and not is_loaded_file(name, module):
                del sys.modules[name]


@contextlib.contextmanager
def told_errors(trouble: Callable[[], str]) -> Iterator[None]:
    """Tell an error of a user's code in one sentence that begins with what ``trouble`` gives; the error is its cause."""
    try:
        yield
    except (InvalidInput, MemoryError):
        raise
    except Exception as error:
        raise InvalidInput(f"{trouble()}: {told(error)}") from error


def told(error: Exception, file: str | None = None) -> str:
    """An exception in one sentence, with the last line it passed through of a file, by default of one that is not ours."""
    if isinstance(error, InvalidInput):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if (is_users(frame.filename) if file is None else frame.filename == file)]
    of_file = f" of {Path(theirs[-1].filename).name}" if theirs and file is None else ""
    where = f" in line {theirs[-1].lineno}{of_file}" if theirs else ""
    said = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}{where}: {said}." if said else f"{type(error).__name__}{where}."


def is_users(file: str) -> bool:
    """Return whether a file belongs to the user: neither to this package, nor to Python or a library."""
    folders = [PACKAGE, *(Path(sysconfig.get_path(kind)) for kind in ("stdlib", "purelib", "platlib"))]
    return Path(file).is_file() and not any(folder in Path(file).parents for folder in folders)
