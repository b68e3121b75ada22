"""Run the notebooks and keep what they print and draw: ``make notebooks``.

Nothing that differs from run to run is kept, such as times and versions: a notebook that is run again is the same file,
unless what it prints has changed, or a library draws a picture with other bytes.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
DATA = sorted((HERE.parent / "data").glob("*.csv.gz"))
CELL = re.compile(r"\S*ipykernel_\d+/\d+\.py")
KERNEL = {
    "display_name": "Python 3",
    "language": "python",
    "name": "python3",
}


def execute(path):
    """The notebook as a new kernel leaves it, run from top to bottom in a folder with the data."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        for file in DATA:
            shutil.copy(file, folder)
        client = NotebookClient(
            notebook,
            timeout=600,
            coalesce_streams=True,  # one output, however its lines arrive
            resources={"metadata": {"path": folder}},
        )
        client.execute()
    notebook.metadata = {
        "kernelspec": KERNEL,
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            if output.output_type == "stream":  # a warning names a file
                output.text = CELL.sub("<cell>", output.text)
    return notebook


if __name__ == "__main__":
    for path in (
        map(Path, sys.argv[1:])
        if sys.argv[1:]
        else sorted(HERE.glob("*.ipynb"))
    ):
        nbformat.write(execute(path), path)
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB")
