"""Hooks of the manual: MkDocs calls these functions while it builds the pages of `docs/`.

Fences with the words that tests go by become those that the highlighter knows; lists in the navigation are found in the
folders; drawings come from playing what the pages tell; pages that live elsewhere, and the list of rules, are put in.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.lexers import LEXERS

_ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

from manual.tables import rules_page  # noqa: E402
from tests.support.literate.page_sequences import play, steps, tales  # noqa: E402

_ELSEWHERE = {"architecture.md": "ARCHITECTURE.md", "contributing.md": "CONTRIBUTING.md"}
"""Pages of the manual that stand at the root of the repository, where contributors look for them."""

_SEARCH_BOOSTS = {
    "analysis.md": 2,
    "architecture.md": 0.02,
    "contributing.md": 0.02,
    "glossary.md": 0.2,
    "examples.md": 0.3,
    "export/": 0.3,
    "papers.md": 0.3,
    "rules/": 0.3,
    "tutorial/": 0.3,
}
"""Factor on the score of pages in the manual's search, by page or folder: pages for users come first."""

_FENCE = re.compile(r"^( *)(`{3,})([a-z]+)((?: +[^\s`]+)+) *$", re.MULTILINE)
_DRAWING = re.compile(r"\]\(([\w-][\w./-]*\.svg)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let the highlighter know our languages, and find what the navigation lists by folder."""
    for name, words in (("CplLexer", "cpl"), ("IsplLexer", "ispl")):
        LEXERS[name] = ("manual.lexers", words.upper(), (words,), (f"*.{words}",), ())
    pages = sorted(path.relative_to(config.docs_dir).as_posix() for path in Path(config.docs_dir).glob("**/*.md"))
    config.nav = _expanded(config.nav, pages)
    forgotten = sorted(set(pages) - set(_named(config.nav)))
    if forgotten:
        config.nav.append({"More": forgotten})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put in the pages that are kept or made elsewhere, and the drawings that pages show."""
    for name, path in _ELSEWHERE.items():
        text = (_ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_moved(text)))
    files.append(File.generated(config, "rules/index.md", content=rules_page()))
    for name, content in _drawings(Path(config.docs_dir)):
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Translate the words of fences to those of the highlighter, and set how the search ranks the page.

    Architecture decision records are for contributors, so the search leaves them out.
    """
    path = page.file.src_uri
    if path.startswith("adr/"):
        page.meta["search"] = {"exclude": True}
    for prefix, boost in _SEARCH_BOOSTS.items():
        if path.startswith(prefix):
            page.meta["search"] = {"boost": boost}
    return _FENCE.sub(_plain_fence, markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Leave the index of the search where a page that is opened from a disk can read it: in a script."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    index.with_suffix(".js").write_text(f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8")


def _plain_fence(found: re.Match[str]) -> str:
    indent, ticks, language, words = found.groups()
    title = re.search(r" file=(\S+)", words)
    return f'{indent}{ticks}{language} title="{title[1]}"' if title else f"{indent}{ticks}{language}"


def _expanded(nav: Any, pages: list[str]) -> Any:
    match nav:
        case str() if nav.endswith("/*"):
            folder = nav[:-1]
            index = [f"{folder}index.md"] if folder == "rules/" else []
            return index + [page for page in pages if page.startswith(folder)]
        case dict():
            return {name: _expanded(value, pages) for name, value in nav.items()}
        case list():
            expanded = [_expanded(one, pages) for one in nav]
            return [one for part in expanded for one in (part if isinstance(part, list) else [part])]
        case _:
            return nav


def _named(nav: Any) -> Iterator[str]:
    match nav:
        case str():
            yield nav
        case dict():
            for value in nav.values():
                yield from _named(value)
        case list():
            for one in nav:
                yield from _named(one)
        case _:
            raise TypeError(f"the navigation names pages, not {nav!r}")


def _moved(text: str) -> str:
    """Return a page of the repository's root with its links as they are from `docs/`."""
    return text.replace("](docs/", "](")


def _drawings(docs: Path) -> Iterator[tuple[str, bytes]]:
    """Play what pages tell where they show drawings, and yield these."""
    for _, pages in tales():
        shown = {
            (page.parent / name).relative_to(docs).as_posix(): name
            for page in pages
            for name in _DRAWING.findall(page.read_text(encoding="utf-8"))
        }
        if not shown:
            continue
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            (directory / "examples").symlink_to(_ROOT / "examples", target_is_directory=True)
            play(steps(pages), directory)
            for target, drawing in sorted(shown.items()):
                yield target, (directory / drawing).read_bytes()
