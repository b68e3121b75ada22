"""The words of public texts: summaries, help, refusals and pages speak the language of the field."""

import ast
import re

from pages import ROOT

# A summary begins with a verb or a noun phrase: a reader of a list of names sees nothing before it.
FIRST = re.compile(r"(What|Whether|Who|Whose|Where|How|When|Which|Why|Of|As|For|By|From|With|On|That|Those)\b")
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def trees():
    """Every source file with its syntax tree."""
    return [(path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES]


def summaries(tree):
    """The line, the name and the first sentence of every docstring of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "lineno", 1), " ".join(text.split("\n\n")[0].split())


def helps(tree):
    """The line and the text of every ``help=``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "help" and isinstance(node.value, ast.Constant):
            yield node.value.lineno, node.value.value


def test_summaries_and_helps_begin_with_a_verb_or_a_noun():
    found = [(path, *row) for path, tree in trees() for row in (*summaries(tree), *helps(tree))]
    assert len(found) > 4000
    assert [row for row in found if FIRST.match(row[2])] == []
