import pytest

from bandstrap.storage import whole_file, write_text


def test_a_file_appears_whole_and_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b.txt"
    write_text(path, "one")
    write_text(path, "two")
    assert path.read_text() == "two"
    assert list(path.parent.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_no_part(tmp_path):
    path = tmp_path / "kept.txt"
    write_text(path, "old")

    def write_half():
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
