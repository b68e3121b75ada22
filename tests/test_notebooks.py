"""The notebooks run from top to bottom and print what they did when their text was written, which says what they print."""

import importlib.util
import re
from pathlib import Path

import nbformat
import pytest

from sampling import exhaustive

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def printed(notebook):
    """What each cell of code prints."""
    return [
        "".join(output.text for output in cell.outputs if output.output_type == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def execute(path):
    spec = importlib.util.spec_from_file_location("notebooks_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.execute(path)


def test_there_is_one_for_each_reader_and_one_on_contexts():
    assert [path.stem for path in NOTEBOOKS] == ["practitioner", "researcher", "routing", "statistician"]


@exhaustive
@pytest.mark.filterwarnings("default")  # of what runs the notebooks; within them a warning would be printed
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_did(path):
    kept = nbformat.read(path, as_version=4)
    found = execute(path)
    assert printed(found) == printed(kept)
    for before, after in zip(kept.cells, found.cells, strict=True):
        kinds = [[sorted(output.get("data", ())) for output in cell.get("outputs", ())] for cell in (before, after)]
        assert kinds[0] == kinds[1]  # as many pictures, in the same places
    assert sum("image/png" in output.get("data", ()) for cell in found.cells for output in cell.get("outputs", ())) >= 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_numbers_in_bold_are_printed(path):
    notebook = nbformat.read(path, as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    numbers = re.findall(r"\*\*(-?[\d.]+%?)\*\*", text)
    assert numbers or path.stem in ("practitioner", "routing")  # whose text leaves its numbers to the code
    shown = re.findall(r"-?\d+(?:\.\d+)?%?", "\n".join(printed(notebook)))
    assert set(numbers) <= set(shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_fits_a_phone(path):
    assert path.stat().st_size < 200_000
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert max(map(len, cell.source.splitlines())) <= 72
            assert all(output.output_type != "error" for output in cell.outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_to_files(path):
    for cell in nbformat.read(path, as_version=4).cells:
        for target in re.findall(r"\]\(([^)#]+)", cell.source if cell.cell_type == "markdown" else ""):
            assert (FOLDER / target).is_file()
