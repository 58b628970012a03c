"""Patterns of paths: `*` and `?` stand for characters of one name, `**` for any number of folders."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_SPECIAL: Final = re.compile(r"[*?\[]")


def problem_of(pattern: str) -> str | None:
    """Return why this text is not a pattern of paths below a folder; None if it is one."""
    parts = pattern.split("/")
    if not pattern or pattern.startswith("/") or re.match(r"[A-Za-z]:", pattern) or "\\" in pattern:
        return "is not a path below the folder of this file, with `/` between its parts"
    if ".." in parts:
        return "leads out of the folder of this file"
    if any("**" in part and part != "**" for part in parts):
        return "uses `**` for a part of a name; it stands for whole folders, as in `**/*.cpl`"
    return None


def literal_prefix(pattern: str) -> str:
    """Return the folders, or the whole path, before the first part with a special character."""
    parts = pattern.split("/")
    count = next((at for at, part in enumerate(parts) if _SPECIAL.search(part)), len(parts))
    return "/".join(parts[:count])


def matches(pattern: str, path: str) -> bool:
    """Return whether a path with `/` between its parts matches the pattern as a whole."""
    return _regex(pattern).fullmatch(path) is not None


@lru_cache(maxsize=256)
def _regex(pattern: str) -> re.Pattern[str]:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    written = []
    for at, part in enumerate(parts):
        is_last = at == len(parts) - 1
        if part == "**":
            written.append(".+" if is_last else r"(?:[^/]+/)*")
        else:
            written.append(_name_regex(part) + ("" if is_last else "/"))
    return re.compile("".join(written), re.DOTALL)


def _name_regex(part: str) -> str:
    """Return the regular expression of one name; a class such as `[a-c]` stands for one character."""
    written, at = "", 0
    while at < len(part):
        char = part[at]
        closing = part.find("]", at + 2) if char == "[" else -1
        if char == "*":
            written += "[^/]*"
        elif char == "?":
            written += "[^/]"
        elif closing > 0:
            inside = part[at + 1 : closing].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
            written += f"(?!/)[{'^' + inside[1:] if inside[0] == '!' else inside}]"
            at = closing
        else:
            written += re.escape(char)
        at += 1
    return written
