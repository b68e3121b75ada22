"""The page with every sentence of the paper: ``python -m docs.making.sentences docs/sentences.md`` writes it.

The verdicts are those of a whole run, ``bandstrap paper``: with its ``claims.json`` as a second argument they are taken anew.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from bandstrap.basics.storage import write_text
from bandstrap.paper.sentences import Sentence, read_sentences
from docs.making.markup import with_formulas

VERDICTS = Path(__file__).parents[1] / "verdicts.json"
HEAD = """\
# Every sentence of the paper

What *Bootstrapping Upper Confidence Bound* (Hao, Abbasi-Yadkori, Wen and Cheng, NeurIPS 2019) states and could be wrong
about, in the paper's order, from the abstract to supplement F: {n} sentences, {tested} of them put to the test by a claim
of `bandstrap paper` (`src/bandstrap/paper/claims/`), the others with the reason why not. E1, E2 and so on are
[errata](explanation/errata.md). Definitions, notation and what other papers are said to do are not listed.

The verdicts are those of `bandstrap paper`: {summary}. Its report has the numbers behind each, with the error rate of the test and what
it would have detected.

The list is kept in `src/bandstrap/paper/sentences.toml`. This page is made from it, and from the `claims.json` of that run, by

```
python -m docs.making.sentences docs/sentences.md paper-results/claims.json
```

| where | the paper says | tested by, or why not |
| --- | --- | --- |
"""


def as_markdown(sentences: Sequence[Sentence]) -> str:
    """The page of the documentation."""
    run = json.loads(VERDICTS.read_text(encoding="utf-8"))
    rows = [
        f"| {cell(one.where)} | {cell(one.says)} | {linked(cell(answer(one, run['verdicts'])))} |\n" for one in sentences
    ]
    tested = sum(bool(one.claims) for one in sentences)
    return HEAD.format(n=len(sentences), tested=tested, summary=run["summary"]) + "".join(rows)


def answer(sentence: Sentence, verdicts: dict[str, str]) -> str:
    """The claims of a sentence, each with its verdict, and its note; or its reason."""
    tested = "; ".join(f"`{name}` {verdicts[name]}" for name in sentence.claims)
    return f"{tested}. {sentence.note}" if sentence.note else tested or sentence.reason


def linked(text: str) -> str:
    """Text whose errata are links to them."""
    return re.sub(r"\bE(\d+)\b", r"[E\1](explanation/errata.md#e\1)", text)


def keep_verdicts(claims: Path) -> None:
    """Keep what this page needs of a whole run of ``bandstrap paper``."""
    found = json.loads(claims.read_text(encoding="utf-8"))
    if found["not_checked"]:
        sys.exit(f"{claims} is of a part of the paper: run bandstrap paper without a figure.")
    verdicts = {claim["name"]: claim["verdict"] for claim in found["claims"]}
    write_text(VERDICTS, json.dumps({"summary": found["summary"], "verdicts": verdicts}, indent=2, ensure_ascii=False) + "\n")


def cell(text: str) -> str:
    """Text in a cell of a table in Markdown, its formulas set."""
    return with_formulas(" ".join(text.split())).replace("|", r"\|")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        keep_verdicts(Path(sys.argv[2]))
    write_text(Path(sys.argv[1]), as_markdown(read_sentences()))
