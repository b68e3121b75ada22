"""The pages of the project as a reader follows them: code and commands in order, in one folder.

``>>>`` is compared with what it prints; other Python is run. A command of a block is run in this process. One that would
take long is run smaller: the same command, with the sizes of ``SMALLER`` after its own, of which the last counts.
"""

import doctest
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from docs.making.texts import read_errata

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Blocks that are run by a test of their own: which page, which language, how many, by what.
ELSEWHERE = {
    ("docs/live.md", "python"): (4, "tests/live/test_shop.py"),
    ("docs/live.md", "sql"): (1, "tests/live/test_shop.py"),
    ("docs/howto/rights.md", "sql"): (1, "tests/live/test_read_only.py"),
    ("docs/howto/backup.md", "sh"): (4, "tests/live/test_files.py"),
    ("docs/howto/service.md", "sh"): (5, "tests/serve/test_page.py"),
    ("docs/howto/service.md", "js"): (1, "tests/serve/test_page.py"),
    ("docs/howto/edge.md", "js"): (1, "tests/serve/test_edge.py"),
}
# Blocks that need what a test has not, by page and a word in them: Python is compiled, not run, and sh is parsed: by the
# shell, and what it has of this package by its command line.
NOT_HERE = {
    ("docs/executors.md", "SLURMCluster"): "a Slurm to ask for nodes",
    ("docs/executors.md", "SBATCH"): "a Slurm to ask for nodes",
    ("docs/executors.md", "dask scheduler"): "several machines",
    ("docs/executors.md", "dask ssh"): "several machines",
    ("docs/executors.md", "mpiexec"): "an MPI library",
    ("docs/howto/deploy.md", "docker build"): "a Docker daemon",
    ("docs/howto/deploy.md", "docker compose"): "a Docker daemon",
    ("docs/howto/deploy.md", "systemctl"): "a machine that systemd runs",
}
# Smaller twins, by command, and by what it plays.
SMALLER = {
    "simulate": ["--horizon", "40", "--replications", "2"],
    "league": ["--horizon", "40", "--replications", "2", "--policy", "UCB1", "--environment", "Gaussian"],
    "league --contexts": ["--horizon", "40", "--replications", "2", "--policy", "greedy", "--environment", "wheel .5"],
    "coverage": ["--replications", "40"],
    "paper": ["--replications", "10"],
}
# Flags that choose sizes, and give way to these.
SIZES = ("--quick",)
RUN = ("bandstrap", "make", "pip", "python")
# Programs that blocks of sh alone may call: a block without a language that calls one would not be run.
SHELL = ("cd", "curl", "dask", "docker", "git", "kill", "mkdir", "mpiexec", "pg_dump", "psql", "srun")


class Block(NamedTuple):
    """A fenced block of a page, and its line."""

    language: str
    code: str
    line: int


def pages():
    """Every page that is written by hand, by its path in the project."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *DOCS.rglob("*.md")]
    generated = [DOCS / "policies", DOCS / "built"]
    return sorted(
        str(path.relative_to(ROOT)) for path in found if not any(path.is_relative_to(folder) for folder in generated)
    )


def blocks(page):
    """The fenced blocks of a page, directives left out."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(match[1], match[2], text[: match.start()].count("\n") + 1)
        for match in re.finditer(r"^```([^\n`]*)\n(.*?)^```$", text, re.S | re.M)
        if not match[1].startswith("{")
    ]


def lacking(page, block):
    """What a block needs that a test has not; nothing for most."""
    return next((what for (where, word), what in NOT_HERE.items() if where == page and word in block.code), "")


def commands(code):
    """The commands of a block, one per line, without comments."""
    lines = (line.strip() for line in code.replace("\\\n", " ").splitlines())
    return [shlex.split(line, comments=True) for line in lines if line.partition(" ")[0] in RUN]


def is_commands(block):
    """Whether a block is what a reader types, not what is printed."""
    return block.language in ("", "bash", "console") and bool(commands(block.code))


def strangers(block):
    """Lines of a block that call a program which is not run, in a block of commands or of what is printed."""
    return [line for line in block.code.splitlines() if line.strip().partition(" ")[0] in SHELL]


def doctest_of(code, names, place, line):
    """Failures of the examples of a block, as text; ``names`` are those of the page."""
    from _pytest.doctest import _get_checker, _get_number_flag  # the flag that the suite's doctests have

    flags = doctest.NORMALIZE_WHITESPACE | _get_number_flag()
    examples = doctest.DocTestParser().get_doctest(code, names, place, place, line)
    runner = doctest.DocTestRunner(checker=_get_checker(), optionflags=flags, verbose=False)
    said = []
    runner.run(examples, out=said.append, clear_globs=False)
    names.update(examples.globs)
    return "".join(said)


def slug(heading):
    """The anchor of a heading, as GitHub and the site make it."""
    kept = re.sub(r"[^\w\- ]", "", re.sub(r"`|\*|\[|\]\([^)]*\)", "", heading).strip().lower())
    return kept.replace(" ", "-")


def anchors(page):
    """The anchors of a page's headings, and of the errata where they are written."""
    whole = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", whole, flags=re.S | re.M)
    found = {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)}
    return found | ({entry["id"].lower() for entry in read_errata()} if "{written} errata" in whole else set())


def links(page):
    """Where a page's links and pictures lead in the project: paths and anchors."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    for target in re.findall(r"(?:\]\(|<img src=\")([^)\"\s]+)", text):
        if not target.startswith(("http://", "https://", "mailto:")):
            path, _, anchor = target.partition("#")
            yield ((ROOT / page).parent / path if path else ROOT / page), anchor


def in_contents():
    """The pages that a table of contents lists, by their paths in docs/."""
    found = set()
    for path in (ROOT / page for page in pages() if page.startswith("docs/")):
        for options in re.findall(r"^```\{toctree\}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.S | re.M):
            entries = [line for line in options.splitlines() if line and not line.startswith(":")]
            found |= {str((path.parent / entry).resolve().relative_to(DOCS)) for entry in entries}
    return found


def mentioned(page):
    """Every ``bandstrap ...`` between backticks or in a block that is not run, whole, without dots for what is left out."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    inline = [" ".join(code.split()) for code in re.findall(r"`(bandstrap [a-z][^`]*)`", text)]
    indented = [line.strip() for line in re.findall(r"^    (bandstrap .*)$", text, re.M)]
    shell = [
        line
        for block in blocks(page)
        if block.language == "sh"
        for line in block.code.replace("\\\n", " ").splitlines()
    ]
    parsed = [match[1] for line in shell if (match := re.search(r"(?:^|-m )(bandstrap [a-z].*?)[ &]*$", line))]
    return [shlex.split(line) for line in [*inline, *indented, *parsed] if "..." not in line]
