"""The words of public texts: summaries, help, refusals and pages speak the language of the field."""

import ast
import inspect
import re
from functools import cache

from bandstrap.policies import LINEAR_POLICIES, POLICIES
from pages import ROOT, pages

# A summary begins with a verb or a noun phrase: a reader of a list of names sees nothing before it.
FIRST = re.compile(r"(What|Whether|Who|Whose|Where|How|When|Which|Why|Of|As|For|By|From|With|On|That|Those)\b")
SOURCES = sorted((ROOT / "src").rglob("*.py"))


@cache
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


def test_every_public_method_of_a_policy_is_described_by_its_class_or_a_base():
    for cls in {**POLICIES, **LINEAR_POLICIES}.values():
        for name, value in vars(cls).items():
            if not name.startswith("_") and inspect.isfunction(value):
                assert inspect.getdoc(getattr(cls, name)), (cls.__name__, name)


def test_no_docstring_says_nothing_but_where_to_look():
    empty = re.compile(r"(See :\w+:`[^`]*`\.|Numbers for the kernel\.)$")
    found = [(path, *row) for path, tree in trees() for row in summaries(tree) if empty.match(row[1])]
    assert found == []


# Words of our own where the field has one: the field's is said instead.
INSTEAD = {
    r"laws?(?! of large numbers| of the iterated)": "distribution",
    r"told (?:nothing|anything|the truth)": "needs no parameters, not given",
    r"worlds?": "environment",
    r"tapes?": "reward table",
    r"lanes?": "series",
    r"seals?": "checksum",
    r"doubts?": "diagnostic, assumption check",
    r"errands?|parcels?|pieces? of work": "task",
    r"stretch(?:es)? of time": "time interval",
    r"walks? through": "is sequential",
    r"heartbeats?": "report of a run",
    r"ceilings?": "upper limit, upper confidence bound",
}
# Where a word of that table is right, and why: part of a path, and what is said there.
RIGHT = {
    "src/bandstrap/policies/states/ceilings.py": "upper limits of an index until a later moment, no confidence bounds",
    "src/bandstrap/policies/edgeworth_ucb.py if in doubt": "the idiom",
    "CONTRIBUTING.md in doubt": "the idiom",
    "docs/contexts.md benefit of the doubt": "the idiom",
}
QUOTED = re.compile(
    r"""[\w/]+\.py|``.*?``|`[^`\n]*`|:\w+:`[^`]*`|\{[^{}]*\}|"[\w.=-]+"|^\s*(?:>>>|\.\.\.) .*$|^\s*\w+(?: :.*)?$""",
    re.S | re.M,
)


def prose():
    """Every public text by its path, without code: docstrings, sentences in strings, pages, and what has changed."""
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield path, node.value
    for page in pages():
        yield page, re.sub(r"^```.*?^```$|<!--.*?-->", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    yield "CHANGELOG.md", changes.split("\n## ")[1]


def test_texts_use_the_words_of_the_field():
    said = re.compile(rf"\b(?:{'|'.join(INSTEAD)})\b", re.I)
    found = []
    for path, text in prose():
        if not said.search(text) or re.search(r"\b(?:SELECT|INSERT|CREATE)\b", text):
            continue
        plain = " ".join(QUOTED.sub("", text).split())
        for match in said.finditer(plain):
            around = plain[max(0, match.start() - 40) : match.end() + 20]
            if not any(path == place.split(" ")[0] and place.partition(" ")[2] in around.lower() for place in RIGHT):
                found.append((path, around))
    assert found == []
