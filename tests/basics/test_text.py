"""Text from outside: nothing that is shown holds a control character, and everything else is kept."""

import unicodedata
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from bandstrap.basics.text import listed, shortened, visible
from bandstrap.errors import LONGEST, InvalidInput, brief, requirement
from sampling import each

ANYTHING = st.text(st.characters(exclude_categories=[]))  # halves of surrogate pairs, too
# Marks and overrides of direction, as Unicode calls them (UAX 9).
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_control(character):
    return unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs") or (
        unicodedata.bidirectional(character) in DIRECTIONS or character in "\u200e\u200f\u061c"
    )


def test_every_character_that_steers_is_written_out_and_no_letter_is():
    for code in range(0x110000):
        character = chr(code)
        shown = visible(character)
        assert not any(map(is_control, shown)), hex(code)
        if unicodedata.category(character)[0] in "LMNPS" or character == " ":
            assert shown == character, hex(code)


@given(ANYTHING)
def test_visible_text_can_be_encoded_stands_in_one_line_and_in_xml(text):
    shown = visible(text)
    shown.encode()
    assert len(shown.splitlines()) <= 1
    assert visible(shown) == shown
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert (ElementTree.fromstring(f"<a>{escaped}</a>").text or "") == shown  # noqa: S314 - our own


def test_what_is_to_be_kept_stays():
    assert visible("a\tb\nc\x07", keep="\n\t") == "a\tb\nc\\x07"


@given(ANYTHING, st.integers(5, 40))
def test_shortened_text_keeps_both_ends(text, most):
    short = shortened(text, most)
    assert short == text if len(text) <= most else len(short) == most
    assert short[:1] == text[:1]
    assert short[-1:] == text[-1:]


def test_a_long_list_says_how_long_it_is():
    assert listed(["a", "b"]) == "a, b"
    assert listed(range(10**5)).endswith("38, 39, ... (100000 in all)")
    assert len(listed(["x" * 10**6])) < 100


class Silent:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("\x1b[31m")


HOSTILE = {
    "escapes": "\x1b[2J" * 10**5,
    "silent": Silent(),
    "digits": 10**5000,
    "bytes": b"\0" * 10**6,
    "direction": "\n\u202e",
    "digits in a list": [10**4999] * 3,
}


@each("value", HOSTILE.values(), ids=HOSTILE)
def test_a_refusal_is_one_bounded_line_whatever_was_received(value):
    for refusal in (
        requirement("p", "owner", "a number", brief(value)),
        InvalidInput(f"{'x' * 10**6}{brief(value)}\n"),
    ):
        message = str(refusal)
        assert len(message) <= LONGEST
        assert not any(map(is_control, message))
    assert len(brief(value)) <= 60
    assert str(requirement("p", "owner", "a number", "v" * 10**6)).endswith("v instead.")
