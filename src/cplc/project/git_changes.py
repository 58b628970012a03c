"""Files that a change in a git repository can affect: the file itself, its imports, and its settings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from cplc.compilation import load
from cplc.diagnostics.core import Diagnostic
from cplc.settings import settings_paths

_QUIET: Final = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
_GIT_SECONDS: Final = 60


class GitError(Exception):
    """The changes are not known; the text gives the reason and a remedy."""


def changed_paths(folder: Path, revision: str) -> frozenset[Path]:
    """Return the files that differ from a revision, with those that are not committed; deleted ones are among them.

    The comparison is with the common ancestor of the revision and the present commit: what others have changed since
    is no change of this branch.
    """
    root = Path(_git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    commit = _commit(folder, revision)
    base = _output(folder, "merge-base", commit, "HEAD").strip() or commit
    names = [
        *_git(root, "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", base, "--").split("\0"),
        *_git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0"),
    ]
    return frozenset(place for name in names if name for place in (root / name, _real(root / name)))


def affected_files(files: Iterable[str], changed: frozenset[Path]) -> tuple[str, ...]:
    """Return the files whose verdicts the change of these paths can affect."""
    imports: dict[Path, tuple[Path, ...] | None] = {}
    return tuple(file for file in files if _is_affected(Path(file), changed, imports))


def _is_affected(file: Path, changed: frozenset[Path], imports: dict[Path, tuple[Path, ...] | None]) -> bool:
    """Return whether the verification of a file reads a changed path, or would read it if it existed."""
    if any(_is_changed(place, changed) for place in settings_paths(file.parent)):
        return True
    reached, todo = set(), [Path(os.path.abspath(file))]
    while todo:
        one = todo.pop()
        if one in reached:
            continue
        reached.add(one)
        if _is_changed(one, changed):
            return True
        if one not in imports:
            imports[one] = _imports(one)
        targets = imports[one]
        if targets is None:
            return True
        todo += targets
    return False


def _is_changed(path: Path, changed: frozenset[Path]) -> bool:
    """Return whether a path, or a folder around it, has changed: a submodule, or a link."""
    forms = {path, _real(path), _real(path.parent) / path.name}
    return any(place in changed for form in forms for place in (form, *form.parents))


def _imports(path: Path) -> tuple[Path, ...] | None:
    """Return the paths that a file imports, present or missing; None if its text has syntax errors."""
    loaded = load(str(path))
    if isinstance(loaded, Diagnostic):
        return ()
    targets = loaded.direct_imports
    return None if targets is None else tuple(Path(os.path.normpath(target)) for target in targets)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _commit(folder: Path, revision: str) -> str:
    commit = _output(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    if not commit:
        raise GitError(f"git does not know the revision `{revision}`; in a shallow clone, fetch it first")
    return commit


def _output(folder: Path, *arguments: str) -> str:
    """Return the output of git, nothing if it fails."""
    return _run(folder, arguments).stdout


def _git(folder: Path, *arguments: str) -> str:
    done = _run(folder, arguments)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or ["git failed"]
        raise GitError(f"--changed needs a git repository: {reason[0]}")
    return done.stdout


def _run(folder: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", *_QUIET, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise GitError(f"--changed needs git: {problem}") from None
