"""The manual is built without a warning, loads nothing from elsewhere, and leaves nothing out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.support.literate.blocks import blocks

from cplc.diagnostics.rules import DOCUMENTED

pytest.importorskip("material", reason="mkdocs-material is not installed")

_CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or ""
_ROOT = Path(__file__).parents[1]
_LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "embed": "src", "object": "data"}
_LOADED = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "manifest"}


def build_manual(site: Path) -> Path:
    """Build the manual into a folder; a warning is a failure."""
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)],
        cwd=_ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(_ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return site


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_manual(tmp_path_factory.mktemp("manual"))


class _Loads(HTMLParser):
    """Collects what a browser fetches for a page, and which pages it leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.classes |= set(given.get("class", "").split())
        if tag in _LOADING and _LOADING[tag] in given:
            self.loads.append(given[_LOADING[tag]])
        if tag == "link" and set(given.get("rel", "").split()) & _LOADED:
            self.loads.append(given.get("href", ""))
        if tag == "a":
            self.links.append(given.get("href", "").partition("#")[0])


def _pages(site: Path) -> Iterator[tuple[Path, _Loads]]:
    for path in sorted(site.glob("**/*.html")):
        parser = _Loads()
        parser.feed(path.read_text(encoding="utf-8"))
        yield path, parser


def test_manual_loads_nothing_from_the_network(built: Path) -> None:
    pages = list(_pages(built))
    foreign = [
        f"{path.name}: {address}"
        for path, page in pages
        for address in page.loads
        if re.match(r"(?i)[a-z][a-z+.-]*:|//", address) and not address.startswith("data:")
    ]
    assert foreign == []
    # What the theme's own scripts would fetch: Mermaid, where there is a diagram.
    assert not any("mermaid" in page.classes for _, page in pages)
    for sheet in built.glob("**/*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_linked_files_exist(built: Path) -> None:
    missing = [
        f"{path.name}: {address}"
        for path, page in _pages(built)
        for address in page.loads
        if path.name != "404.html"
        and not address.startswith("data:")
        and not (path.parent / address.split("?")[0]).is_file()
    ]
    assert missing == []


def test_every_page_can_be_reached_from_the_first(built: Path) -> None:
    pages = {path.resolve(): parser for path, parser in _pages(built)}
    met: set[Path] = set()
    queue = [(built / "index.html").resolve()]
    while queue:
        path = queue.pop()
        if path in met or path not in pages:
            continue
        met.add(path)
        queue += [(path.parent / link).resolve() for link in pages[path].links if link and ":" not in link]
    assert {path.name for path in pages.keys() - met} <= {"404.html"}
    assert {f"{rule.code}.html" for rule in DOCUMENTED} <= {path.name for path in met if path.parent.name == "rules"}


@pytest.mark.skipif(not _CHROMIUM, reason="there is no Chromium; CHROMIUM may name one")
def test_pages_are_searched_from_a_disk(built: Path, tmp_path: Path) -> None:
    command = [_CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    command += ["--virtual-time-budget=10000", "--dump-dom", f"{(built / 'index.html').as_uri()}?q=retaining"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    result_count = re.search(r'md-search-result__meta">(\d+) matching documents', ran.stdout)
    assert result_count, ran.stderr[-1000:]
    assert int(result_count[1]) >= 2
    assert re.search(r'href="file://[^"]*/language\.html[^"]*" class="md-search-result__link"', ran.stdout)


def test_fences_are_coloured(built: Path) -> None:
    """A fence whose words the highlighter does not know would be a paragraph of backquotes."""
    broken = [
        path.name
        for path, _ in _pages(built)
        if "```" in re.sub(r"<code.*?</code>", "", path.read_text("utf-8"), flags=re.DOTALL)
    ]
    assert broken == []
    language = (built / "language.html").read_text(encoding="utf-8")
    assert '<span class="kd">protocol</span>' in language


def test_workflows_give_the_action_what_it_takes() -> None:
    yaml = pytest.importorskip("yaml")
    takes = set(yaml.safe_load((_ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"])
    given: list[str] = []
    for page in (_ROOT / "docs").glob("**/*.md"):
        for block in blocks(page):
            if block.language == "yaml" and "uses: OWNER/cplc" in block.text:
                document = yaml.safe_load(block.text)
                jobs = document["jobs"].values() if "jobs" in document else [{"steps": document}]
                steps = [step for job in jobs for step in job["steps"]]
                given += [name for step in steps if "cplc@" in step.get("uses", "") for name in step.get("with", {})]
    assert set(given) <= takes
    assert len(given) >= 5
