"""Every code block and command of the pages runs; every link leads somewhere."""

import contextlib
import io
import json
import re
import shutil
import subprocess
import tomllib
import warnings
from pathlib import Path

import pytest
import typer

from bandstrap.cli.commands import app
from pages import (
    DOCS,
    ELSEWHERE,
    NOT_HERE,
    ROOT,
    SIZES,
    SMALLER,
    blocks,
    commands,
    doctest_of,
    is_commands,
    lacking,
    mentioned,
    pages,
    strangers,
)
from sampling import each, telling

DATA = "variant,revenue\n" + "".join(
    f"{variant},{(7 * i % 11) * scale:.1f}\n" for variant, scale in (("red", 1.0), ("green", 1.4)) for i in range(30)
)

# Pages with much to compile, or with many commands.
LONG = {
    *(f"docs/howto/{name}.md" for name in ("export", "late-rewards", "linear", "restarts")),
    *(
        f"docs/{name}.md"
        for name in ("contexts", "executors", "experiments", "own-environment", "own-policy", "start/researcher")
    ),
    *(f"docs/explanation/{name}.md" for name in ("correction", "drift", "saturation")),
    "docs/start/researcher.md",
    "docs/tutorials/figure.md",
}
# Figures of the paper take seconds even when small, and nothing on the pages follows from their files: once is enough.
FOLLOWED = set()


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A folder with the files that the pages speak of."""
    (tmp_path / "data.csv").write_text(DATA)
    for name in ("mine.py", "buyers.py"):
        shutil.copy(DOCS / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def smaller_file(path):
    """The sizes of an experiment's file, cut down."""
    text = Path(path).read_text()
    text = re.sub(r"^horizon = .*$", "horizon = 40", text, flags=re.M)
    Path(path).write_text(re.sub(r"^replications = .*$", "replications = 2", text, flags=re.M))


def follow(command, run):
    """Run a command as a page has it, smaller if it would take long."""
    program, *arguments = command
    if program == "make":
        subprocess.run([shutil.which("make"), "-n", *arguments], cwd=ROOT, check=True, capture_output=True)
    elif program == "bandstrap":
        name = arguments[0]
        files = [argument for argument in arguments if argument.endswith(".toml")]
        if name == "simulate" and files:
            smaller_file(files[0])
        else:
            kind = f"{name} --contexts" if "--contexts" in arguments else name
            arguments = [argument for argument in arguments if argument not in SIZES] + SMALLER.get(kind, [])
        if name == "paper" and tuple(arguments) in FOLLOWED:
            return
        done = run(*arguments)
        assert done.returncode == 0, (command, done.stderr)
        FOLLOWED.add(tuple(arguments))
    elif program == "pip":
        assert arguments[0] == "install"
        assert arguments[1].startswith((".", "dist/"))
    else:
        assert arguments[0] == "-m"
        __import__(arguments[1])


@telling("page", [page for page in pages() if page != "README.md" and blocks(page)], lambda page: page not in LONG)
def test_a_page_can_be_followed(page, reader, run):
    names = {"__name__": "page"}
    for block in blocks(page):
        if (page, block.language) in ELSEWHERE:
            continue
        if block.language == "sh":
            assert lacking(page, block), f"{page}:{block.line} is run by no test"
            subprocess.run([shutil.which("bash"), "-n"], input=block.code, text=True, check=True, capture_output=True)
        elif lacking(page, block):
            assert compile(block.code, page, "exec")
        elif block.language == "python" and ">>>" in block.code:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert doctest_of(block.code, names, page, block.line) == ""
        elif block.language == "python":
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("error")
                exec(compile(block.code, page, "exec"), names)
        elif block.language == "toml":
            name = re.match(r"# (\S+\.toml)\n", block.code)
            (reader / (name[1] if name else "experiment.toml")).write_text(whole(block.code))
            assert run("check", name[1] if name else "experiment.toml").returncode == 0
        elif is_commands(block):
            assert not strangers(block), f"{page}:{block.line} has commands that are not run"
            for command in commands(block.code):
                follow(command, run)
        else:
            assert not strangers(block), f"{page}:{block.line} has commands that are not run"
            assert block.language in ("", "text"), block  # what is printed


def test_each_block_that_is_run_elsewhere_is_counted():
    """A block that is added to a page with tests of its own is run by them, or is missed here."""
    for (page, language), (n_blocks, test) in ELSEWHERE.items():
        assert sum(block.language == language for block in blocks(page)) == n_blocks, (page, language)
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")
    assert all(any(word in block.code for block in blocks(page)) for page, word in NOT_HERE)


@each("page", [page for page in pages() if mentioned(page)])
def test_every_command_that_is_mentioned_is_understood(page):
    for _, *words in mentioned(page):
        command = typer.main.get_command(app)
        while words and hasattr(command, "commands"):
            assert words[0] in command.commands, (page, words)
            name = words.pop(0)
            command = command.commands[name]
        if words:
            assert command.make_context(name, words).args == []  # parsed, not run


def test_the_commands_of_the_readme_run(reader, run):
    found = [commands(block.code) for block in blocks("README.md") if is_commands(block)]
    named = {command[1] for example in found for command in example if command[0] == "bandstrap"}
    assert named >= {"bound", "compare", "coverage", "league"}
    for example in found:
        for command in example:
            follow(command, run)
        shutil.rmtree(reader / "results", ignore_errors=True)  # each example begins with an empty folder


def test_a_command_that_fails_would_be_found(reader, run):
    with pytest.raises(AssertionError, match="no-such-file"):
        follow(["bandstrap", "bound", "no-such-file.csv", "--column", "revenue"], run)
    with pytest.raises(subprocess.CalledProcessError):
        follow(["make", "no-such-target"], run)


def test_the_table_of_the_tutorial_is_what_its_file_gives(reader, run):
    page = "docs/tutorials/figure.md"
    (code,) = [block.code for block in blocks(page) if block.language == "toml"]
    Path("scale.toml").write_text(code)
    assert run("simulate", "scale.toml", "--seed", "1", "--out", "scale").returncode == 0
    rows = json.loads(run("results", "scale", "--format", "json").stdout)
    found = {row["curve"]: f"{row['mean']:.0f} ± {2 * row['standard_error']:.0f}" for row in rows}
    text = (ROOT / page).read_text()
    for policy in ("UCB", "bootstrapped UCB"):
        assert (
            f"| {policy} | {' | '.join(found[f'{policy}, sigma = {sigma}'] for sigma in ('0.54', '1', '2'))} |" in text
        )
    assert f"and {found['Edgeworth UCB']} for Edgeworth UCB" in text


def whole(code):
    """An experiment of which a page may show the curves alone."""
    table = tomllib.loads(code)
    return code if "panels" in table else f'title = "a part"\n[[panels]]\nname = "a"\nenvironment = "gaussian"\n{code}'
