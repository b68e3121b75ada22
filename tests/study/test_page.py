"""The page is what its command makes of the committed file."""

from pathlib import Path

from study.findings import Study
from study.page import as_markdown, span, wrapped

DOCS = Path(__file__).parents[2] / "docs"
FILE = DOCS / "study" / "study.parquet"


def test_the_page_is_made_from_the_file():
    # If this fails: python -m study.page docs/study/study.parquet docs/which-bound.md
    assert (DOCS / "which-bound.md").read_text(encoding="utf-8") == as_markdown(Study.read(FILE))


def test_paragraphs_are_filled_and_tables_are_not():
    text = "## A\n\nfirst\nsecond\n\n| a |\n| b |\n\n```\nx\ny\n```"
    assert wrapped(text) == "## A\n\nfirst second\n\n| a |\n| b |\n\n```\nx\ny\n```\n"


def test_a_span_is_one_number_where_it_is():
    assert span([1.0, 1.001, float("inf")]) == "1.00"
    assert span([2.0, 1.0]) == "1.00 to 2.00"
    assert span([]) == "-"
