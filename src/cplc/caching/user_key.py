"""The user's secret key: it authenticates entries of the cache, so that nobody else can forge a verdict.

The key is outside the folder of the cache. So a process that writes the cache, or restores an old one on a build
server, cannot write an entry that is believed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from cplc.runtime.file_access import open_regular

VARIABLE: Final = "CPLC_CACHE_KEY"
"""Environment variable with a secret that several machines share."""
MIN_SECRET_CHARACTERS: Final = 16
_KEY_BYTES: Final = 32


def user_key() -> bytes | None:
    """Return the key: of the environment, or else of the user's file, which is created; None if there can be none."""
    secret = os.environ.get(VARIABLE)
    if secret is not None:
        secret = secret.strip()
        return hashlib.sha256(secret.encode()).digest() if len(secret) >= MIN_SECRET_CHARACTERS else None
    path = key_path()
    if path is None:
        return None
    with suppress(OSError):
        return _read(path) or _created(path)
    return None


def key_path() -> Path | None:
    """Return the path of the key: in the folder of the operating system for the state of programs."""
    with suppress(RuntimeError):  # no home directory
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            return (Path(local) if local else Path.home() / "AppData" / "Local") / "cplc" / "cache.key"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / "cplc" / "cache.key"
        base = os.environ.get("XDG_STATE_HOME", "")
        return (Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state") / "cplc" / "cache.key"
    return None


def _read(path: Path) -> bytes | None:
    """Return the key in a file; None if there is none, or if others could have read or written it."""
    try:
        handle = open_regular(path, follow=False)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(stream.fileno())
        key = stream.read(_KEY_BYTES + 1)
    is_private = not hasattr(os, "geteuid") or (
        status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    )
    if is_private and len(key) == _KEY_BYTES:
        return key
    path.unlink()  # entries under it are not believed any more
    return None


def _created(path: Path) -> bytes | None:
    """Create the key, and return it; of several processes that do so at once, all return the same."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".cache.key-")  # with permissions for the user alone
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_bytes(_KEY_BYTES))
        with suppress(FileExistsError):
            if hasattr(os, "link"):
                os.link(name, path)  # fails if another process was first
            else:
                os.rename(name, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)
    return _read(path)
