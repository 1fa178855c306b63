"""What mkdocs does beside the pages of this folder: the files of the repository's root become pages too.

Links are written for a reader of the repository. Here those that leave ``docs`` lead to the page of that file, or lose
their address where there is none.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
ELSEWHERE = {**PAGES, "CITATION.cff": "citation.md"}
_LINK = re.compile(r"(!?)\[((?:[^][]|\[[^][]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)|(src|href)=\"([^\"#]+)\"")
_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root, and the pictures outside of ``docs`` that pages show."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.png")):
        files.append(File.generated(config, f"benchmarks/results/{path.name}", content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page with links that lead somewhere within the site."""
    source = {there: here for here, there in PAGES.items()}.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    parts = _CODE.split(markdown)
    parts[::2] = [_LINK.sub(lambda found: _link(found, source, page.file.src_uri), part) for part in parts[::2]]
    return "".join(parts)


def _link(found: re.Match[str], source: str, page: str) -> str:
    address = found[3] if found[5] is None else found[6]
    if not address or "://" in address or address.startswith(("mailto:", "data:")):
        return found[0]
    there = _within_site(_resolved(PurePosixPath(source).parent, address))
    if found[5] is not None:
        return found[0] if there is None else f'{found[5]}="{_relative(there, page)}"'
    if there is None:
        return found[2]
    return f"{found[1]}[{found[2]}]({_relative(there, page)}{found[4] or ''})"


def _resolved(folder: PurePosixPath, address: str) -> str:
    parts: list[str] = list(folder.parts)
    for part in PurePosixPath(address).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def _within_site(path: str) -> str | None:
    """Where a file of the repository is in the site, or None."""
    if path in ELSEWHERE:
        return ELSEWHERE[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path if path.startswith("benchmarks/results/") and path.endswith(".png") else None


def _relative(path: str, page: str) -> str:
    return "../" * page.count("/") + path
