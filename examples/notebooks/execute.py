"""Executes the notebooks of this folder from the first cell to the last; a cell that raises is an error.

python examples/notebooks/execute.py [--write]    # with --write the outputs are kept in the files
"""

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent


def main(arguments: list[str]) -> None:
    """Execute each."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        book, begin = nbformat.read(path, as_version=4), time.perf_counter()
        NotebookClient(book, timeout=300, kernel_name="python3").execute(cwd=str(FOLDER))
        shown = [output for cell in book.cells for output in cell.get("outputs", ())]
        slides = sum("text/html" in output.get("data", {}) for output in shown)
        seconds = time.perf_counter() - begin
        print(f"{path.name}: {len(book.cells)} cells, {slides} games with sliders, {seconds:.0f} s")
        if "--write" in arguments:
            nbformat.write(book, path)


if __name__ == "__main__":
    main(sys.argv[1:])
