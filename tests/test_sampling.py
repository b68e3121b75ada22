"""What is left out by ``make test`` is marked, and what is tried in one test fails like many."""

import pytest

from sampling import each, telling


def test_all_but_the_telling_values_are_marked():
    kept = telling("name", ["a", "b", pytest.param("c", id="see")], {"a", "c"}).args[1]
    assert [[mark.name for mark in one.marks] for one in kept] == [[], ["exhaustive"], []]
    pairs = telling(("name", "n"), [("a", 1), ("b", 2)], lambda name, n: n == 2).args[1]
    assert [[mark.name for mark in one.marks] for one in pairs] == [["exhaustive"], []]
    for nothing in ({"d"}, lambda name: False):
        with pytest.raises(AssertionError, match="to be kept is not there"):
            telling("name", ["a", "b"], nothing)


def test_every_value_is_tried_and_all_that_fail_are_told():
    tried = []

    @each("n", [1, 2, 3, 4])
    @each(("word", "length"), [("a", 1), pytest.param("bb", 2, id="two")])
    def check(n, word, length):
        tried.append((n, word))
        assert len(word) == length
        assert n % 2 == 0, n

    with pytest.raises(ExceptionGroup, match="2 of 4 fail") as caught:
        check()
    assert tried == [(n, word) for n in range(1, 5) for word in ("a", "bb")]
    assert [group.__notes__ for group in caught.value.exceptions] == [["with {'n': 1}"], ["with {'n': 3}"]]
    assert caught.value.exceptions[0].exceptions[1].__notes__ == ["with two"]


def test_what_pytest_raises_is_told_too():
    @each("error", [ValueError, KeyError])
    def check(error):
        with pytest.raises(error):
            raise KeyError

    with pytest.raises(KeyError) as caught:
        check()
    assert "ValueError" in caught.value.__notes__[0]


def test_mistakes_in_a_list_of_values_are_found():
    with pytest.raises(AssertionError, match="nothing to try"):
        each("n", [])
    with pytest.raises(AssertionError, match="takes no"):
        each("m", [1])(lambda n: None)
    with pytest.raises(AssertionError, match="marks"):
        each("n", [pytest.param(1, marks=pytest.mark.xfail)])


@pytest.mark.parametrize("letter", "ab")
@each("n", [1, 2])
def test_other_parameters_and_fixtures_are_as_ever(letter, n, tmp_path):
    assert letter in "ab"
    assert n in (1, 2)
    assert (tmp_path / str(n)).write_text(letter) == 1
    assert len(list(tmp_path.iterdir())) == n
