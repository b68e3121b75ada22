"""Files named after replications of a lane: which of them have some replications, against sets of numbers."""

from hypothesis import given
from hypothesis import strategies as st

from bandstrap.experiments.lanes import Kept, Listing, file_of, lane_of, name_of

LANE = lane_of({"policy": "x"})
SPANS = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(SPANS, unique=True, max_size=8), SPANS)
def test_some_replications_are_covered_if_each_is_in_a_file(tmp_path_factory, spans, wanted):
    folder = tmp_path_factory.getbasetemp() / "lanes"
    listing = Listing(folder)
    listing.look()
    for span in spans:
        listing.add(Kept(folder / name_of(LANE, *span), *span))
    there = {r for first, last in spans for r in range(first, last)}
    found = listing.cover(LANE, *wanted)
    assert (found is not None) == (set(range(*wanted)) <= there)
    if found is not None:
        assert [r for each in found for r in range(each.first, each.last)] == list(range(*wanted))
        assert all(each.kept.first <= each.first and each.last <= each.kept.last for each in found)
        assert len(found) <= len({each.kept for each in found})  # no file twice


def test_names_are_found_again_and_others_passed_over(tmp_path):
    about = {"policy": "x", "first": 5, "last": 30}
    for name in (file_of(about), name_of(LANE, 30, 40), "stray.parquet", ".bandstrap-1.part", f"{LANE[:32]}.json"):
        (tmp_path / name).touch()
    listing = Listing(tmp_path)
    assert [(each.kept.file.name, each.first, each.last) for each in listing.cover(LANE, 6, 31) or ()] == [
        (file_of(about), 6, 30),
        (name_of(LANE, 30, 40), 30, 31),
    ]
    assert listing.cover(LANE, 4, 6) is None
    listing.forget(tmp_path / file_of(about))
    assert listing.cover(LANE, 6, 31) is None
    listing.look()
    assert listing.cover(LANE, 6, 31) is not None
    assert Listing(tmp_path / "nowhere").cover(LANE, 0, 1) is None
