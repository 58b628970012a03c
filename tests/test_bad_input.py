"""Whatever is given to it, `cplc` says what is wrong, exits with 2 within seconds, and shows no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_SECONDS = 30
"""Far more than it takes, so that a busy machine is no failure."""

_MODEL = """protocol P {
  role A
  role B
  A -> B : m
  property p: EF m
}
"""


def _cplc(
    *arguments: str, cwd: Path, given: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "cplc", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src"), **(environment or {})},
        input=given,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _is_refused(done: subprocess.CompletedProcess[str]) -> None:
    output = done.stdout + done.stderr
    assert "Traceback" not in output
    assert "bug in cplc" not in output
    assert done.returncode == 2, output[-2000:]
    assert "error" in output.lower()
    assert max(map(len, output.splitlines())) < 1000


def _nested(opening: str, inside: str, closing: str) -> Callable[[], bytes]:
    text = f"protocol P {{ role A role B A -> B : m property p: {opening * 10_000}{inside}{closing * 10_000} }}"
    return lambda: text.encode()


_TEXTS: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "blank": lambda: b" \n\t\n",
    "only a comment": lambda: b"// nothing\n",
    "binary": lambda: bytes(range(256)) * 40,
    "latin-1": lambda: "protocol Caf\u00e9 { }".encode("latin-1"),
    "utf-16": lambda: _MODEL.encode("utf-16"),
    "zeros": lambda: b"\0" * 1000,
    "truncated": lambda: _MODEL[:40].encode(),
    "open string": lambda: b'protocol P "never closed {',
    "open comment": lambda: b"protocol P { /* never closed",
    "10 MB of garbage": lambda: b"x -> y : z ( \n" * 750_000,
    "10 MB in one line": lambda: b"a" * 10_000_000,
    "10 MB of a role": lambda: b"protocol P { role " + b"a" * 10_000_000,
    "parentheses": _nested("(", "m", ")"),
    "open parentheses": _nested("(", "m", ""),
    "negations": _nested("!", "m", ""),
    "next": _nested("AX ", "m", ""),
    "implications": _nested("m -> ", "m", ""),
    "commitments": _nested("C(A -> B, ", "m", ")"),
    "braces": lambda: b"protocol P " + b"{" * 10_000,
    "loops": lambda: b"protocol P { role A[2] " + b"for i in A { " * 10_000 + b"}" * 10_001,
    "a family of a million": lambda: b"protocol P { role A role B[1000000] for b in B { A -> b : m } }",
    "a huge range": lambda: b"protocol P { role A { var x: 0..1000000000000 } role B A -> B : m }",
    "a huge number": lambda: b"protocol P { role A[" + b"9" * 10_000 + b"] }",
    "a missing import": lambda: b'import "./gone.cpl"\n' + _MODEL.encode(),
    "a missing library": lambda: b"import std.nothing\n" + _MODEL.encode(),
    "an import of itself": lambda: b'import "./bad.cpl"\n' + _MODEL.encode(),
    "an import of a directory": lambda: b'import "./."\n' + _MODEL.encode(),
    "escape sequences": lambda: b"protocol \x1b[31m P { \x1b]0;title\x07 }",
}


@pytest.mark.parametrize("text", _TEXTS.values(), ids=_TEXTS)
def test_a_bad_file_is_refused(text: Callable[[], bytes], tmp_path: Path) -> None:
    (tmp_path / "bad.cpl").write_bytes(text())
    done = _cplc("verify", "bad.cpl", cwd=tmp_path)
    _is_refused(done)
    assert "bad.cpl" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


_LAMP = """Agent Lamp
  Vars: on : boolean; end Vars
  Actions = {press};
  Protocol: Other : {press}; end Protocol
  Evolution: on=true if Action=press; end Evolution
end Agent
Evaluation lit if Lamp.on=true; end Evaluation
InitStates Lamp.on=false; end InitStates
Formulae EF lit; end Formulae
"""


def _said(old: str, new: str) -> Callable[[], bytes]:
    """Return the model with something else in it."""
    assert old in _LAMP
    return lambda: _LAMP.replace(old, new).encode()


_MODELS: dict[str, Callable[[], bytes]] = {
    **{name: _TEXTS[name] for name in ("empty", "blank", "binary", "latin-1", "utf-16", "zeros", "10 MB of garbage")},
    "a protocol": lambda: _MODEL.encode(),
    "truncated": lambda: _LAMP[:100].encode(),
    "only a comment": lambda: b"-- nothing",
    "parentheses": _said("EF lit", "(" * 10_000 + "lit" + ")" * 10_001),
    "open parentheses": _said("EF lit", "(" * 10_000 + "lit"),
    "negations": _said("EF lit", "!" * 10_000 + "lit"),
    "next": _said("EF lit", "EX " * 10_000 + "lit"),
    "implications": _said("EF lit", "lit -> " * 10_000 + "lit"),
    "sums": _said("on=false", "on" + "+1" * 10_000 + "=1"),
    "complements": _said("on=false", "on=" + "~" * 10_000 + "Lamp.on"),
    "agents": lambda: b"Agent P Vars: x : boolean; end Vars\n" * 20_000,
    "ends": lambda: b"end " * 200_000,
    "a huge range": _said("boolean", "0..99999999999"),
    "a huge number": _said("boolean", "0.." + "9" * 10_000),
    "many values": _said("boolean", "{" + ", ".join(f"v{i}" for i in range(100_000)) + "}"),
    "a long name": _said("Lamp.on=true", "Lamp." + "o" * 100_000 + "=true"),
    "a long agent": _said("Agent Lamp", "Agent " + "L" * 100_000),
    "a long section": _said("Evaluation lit", "Evaluation" * 10_000 + " lit"),
    "a long end": _said("end Vars", "end " + "V" * 100_000),
    "a long line": _said("Lamp.on=true", " ".join(["Lamp.on=true and"] * 1000)),
    "escape sequences": _said("lit;", "lit \x1b[31m;"),
}


@pytest.mark.parametrize("text", _MODELS.values(), ids=_MODELS)
def test_a_bad_model_is_refused(text: Callable[[], bytes], tmp_path: Path) -> None:
    (tmp_path / "bad.ispl").write_bytes(text())
    done = _cplc("check", "bad.ispl", cwd=tmp_path)
    _is_refused(done)
    assert "bad.ispl" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["analyze", "draw"])
def test_command_for_protocols_refuses_ispl_model(command: str, tmp_path: Path) -> None:
    (tmp_path / "lamp.ispl").write_text(_LAMP, encoding="utf-8")
    assert _cplc("verify", "lamp.ispl", cwd=tmp_path).returncode == 0
    done = _cplc(command, "lamp.ispl", cwd=tmp_path)
    _is_refused(done)
    assert "model in ISPL" in done.stderr


def test_a_directory_is_refused(tmp_path: Path) -> None:
    _is_refused(_cplc("verify", ".", cwd=tmp_path))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    _is_refused(_cplc("verify", "gone.cpl", cwd=tmp_path))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.cpl").write_text(_MODEL, encoding="utf-8")
    (tmp_path / "secret.cpl").chmod(0)
    _is_refused(_cplc("verify", "secret.cpl", cwd=tmp_path))


def test_bad_standard_input_is_refused(tmp_path: Path) -> None:
    _is_refused(_cplc("verify", "-", cwd=tmp_path, given=b"\xff\xfe"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["verify"],
        ["verify", "m.cpl", "other.cpl"],
        ["verify", "m.cpl", "--engine", "magic"],
        ["verify", "m.cpl", "--timeout", "soon"],
        ["verify", "m.cpl", "--timeout", "0"],
        ["verify", "m.cpl", "--memory", "-1"],
        ["verify", "m.cpl", "-D", "n"],
        ["verify", "m.cpl", "-D", "n=1"],
        ["verify", "m.cpl", "--property", "q"],
        ["verify", "m.cpl", "--formula", "EF"],
        ["verify", "m.cpl", "--formula", "EF nothing"],
        ["verify", "m.cpl", "--formula", "EF m", "--assuming", "Nobody"],
        ["verify", "m.cpl", "--formula", "EF m", "--property", "p"],
        ["verify", "m.cpl", "--assuming", "A"],
        ["explain", "no-such-rule"],
        ["explain", "../adr/0001"],
    ],
    ids=" ".join,
)
def test_a_bad_command_is_refused(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "m.cpl").write_text(_MODEL, encoding="utf-8")
    _is_refused(_cplc(*arguments, cwd=tmp_path))
