"""The table of the paper's sentences: whole, in order, and the same in the file, in the documentation and in the claims."""

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from bandstrap.paper.claims import CLAIMS
from bandstrap.paper.reproduce import errata
from bandstrap.paper.sentences import PaperSection, Sentence, read_sentences
from docs.making.sentences import as_markdown
from sampling import each

PAGE = Path(__file__).parents[2] / "docs" / "sentences.md"


def test_every_claim_tests_a_sentence_and_every_claim_named_exists():
    named = {name for sentence in read_sentences() for name in sentence.claims}
    assert named == {claim.name for claim in CLAIMS}


def test_claims_and_errata_that_reasons_speak_of_exist():
    reasons = " ".join(f"{sentence.reason} {sentence.note}" for sentence in read_sentences())
    spoken_of = re.findall(r"\bclaim ([\w-]+)", reasons)
    assert spoken_of
    assert set(spoken_of) <= {claim.name for claim in CLAIMS}
    assert set(re.findall(r"\bE\d+\b", reasons)) == {item["id"] for item in errata()}


def test_sentences_are_in_the_papers_order_and_no_part_is_left_out():
    order = [get_args(PaperSection).index(sentence.part) for sentence in read_sentences()]
    assert order == sorted(order)
    assert {get_args(PaperSection)[i] for i in order} == set(get_args(PaperSection))
    said = [(sentence.where, sentence.says) for sentence in read_sentences()]
    assert len(set(said)) == len(said)


def test_the_page_of_the_documentation_is_made_from_the_file():
    # If this fails: python -m docs.making.sentences docs/sentences.md
    assert PAGE.read_text(encoding="utf-8") == as_markdown(read_sentences())


def test_a_cell_stays_one_cell():
    row = as_markdown([Sentence(part="B.1", place="Step | One", says="a\n  b |x| c", reason="so")]).splitlines()[-1]
    assert row == "| supplement\N{NO-BREAK SPACE}B.1, Step \\| One | a b \\|x\\| c | so |"
    row = as_markdown([Sentence(part="1", says="a", claims=["x", "y"], note="b | c")]).splitlines()[-1]
    assert row == "| section\N{NO-BREAK SPACE}1 | a | `x`, `y`. b \\| c |"


@each(
    "wrong",
    [
        {"part": "1", "says": "so"},
        {"part": "1", "says": "so", "claims": ["gaps"], "reason": "both"},
        {"part": "1", "says": "so", "claims": []},
        {"part": "6", "says": "so", "reason": "no such part"},
        {"part": "1", "says": "", "reason": "says nothing"},
        {"says": "so", "reason": "nowhere"},
        {"part": "1", "says": "so", "reason": "so", "note": "beside a reason"},
    ],
)
def test_a_row_needs_a_part_and_either_claims_or_a_reason(wrong):
    with pytest.raises(ValidationError):
        Sentence.model_validate(wrong)


def test_errata_are_links():
    row = as_markdown([Sentence(part="1", says="a", claims=["x"], note="Not so (E12); see E1")]).splitlines()[-1]
    assert row.endswith("Not so ([E12](explanation/errata.md#e12)); see [E1](explanation/errata.md#e1) |")
