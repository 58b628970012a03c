"""Only regular files of bounded size are read, imports stay in the project, and nothing from outside is quoted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cplc.compilation import load
from cplc.diagnostics.core import Diagnostic
from cplc.runtime.file_access import NotRegular, TooManyBytes, files_below, project_root, read_bytes

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and devices are others there")

_ROOT = Path(__file__).parents[1]
_HANGS = 120
"""Seconds after which a process counts as one that never ends; every one here takes about half a second."""
_SECRET = "PASSWORD=hunter2"
_PROTOCOL = "protocol P {{ role A role B A -> B : m }}"


def _cplc(*arguments: str, cwd: Path, given: bytes | None = None) -> subprocess.CompletedProcess[str]:
    limited = (
        "import resource, runpy, sys\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (2**30, 2**30))\n"  # an endless file must not take the machine along
        "sys.argv[0] = 'cplc'\n"
        "runpy.run_module('cplc', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
        stdin=subprocess.DEVNULL if given is None else None,
        input=given,
        capture_output=True,
        timeout=_HANGS,
        check=False,
    )
    text = (done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in text[0] + text[1]
    return subprocess.CompletedProcess(done.args, done.returncode, *text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a root of its own, and a secret beside it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.cpl").write_text(_SECRET, encoding="utf-8")
    (tmp_path / "project" / "protocols").mkdir(parents=True)
    (tmp_path / "project" / "cplc.toml").touch()
    return tmp_path / "project"


def _imports(project: Path, target: str) -> Path:
    path = project / "protocols" / "main.cpl"
    path.write_text(f'import "{target}"\nprotocol Q {{ role A role B A -> B : m }}\n', encoding="utf-8")
    return path


# --- reading


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/random", os.devnull])
def test_device_is_refused(path: str) -> None:
    with pytest.raises(NotRegular):
        read_bytes(path, 10)


def test_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotRegular):
        read_bytes(tmp_path / "pipe", 10)


def test_pipe_that_is_named_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"hello")
    os.close(writing)
    assert read_bytes(f"/dev/fd/{reading}", 5, or_pipe=True) == b"hello"
    os.close(reading)


def test_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bytes(tmp_path / "file", 5) == b"12345"
    with pytest.raises(TooManyBytes):
        read_bytes(tmp_path / "file", 4)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_file_without_a_size_is_bounded_too() -> None:
    assert os.stat("/proc/self/status").st_size == 0
    with pytest.raises(TooManyBytes):
        read_bytes("/proc/self/status", 10)


def test_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.cpl"
    with path.open("wb") as file:
        file.truncate(2**40)  # without a block on the disk
    loaded = load(str(path))
    assert isinstance(loaded, Diagnostic)
    assert loaded.code == "file-too-large"


# --- the root of a project


@pytest.mark.parametrize("marker", ["cplc.toml", ".git"])
def test_root_is_the_nearest_folder_with_a_marker(tmp_path: Path, marker: str) -> None:
    inner = tmp_path / "one" / "two" / "three"
    inner.mkdir(parents=True)
    (tmp_path / "cplc.toml").touch()
    (tmp_path / "one" / "two" / marker).touch()
    assert project_root(inner) == tmp_path.resolve() / "one" / "two"
    assert project_root(tmp_path / "one") == tmp_path.resolve()


def test_import_from_a_folder_above_stays_in_the_project(project: Path) -> None:
    (project / "parts.cpl").write_text(_PROTOCOL.format(), encoding="utf-8")
    done = _cplc("check", str(_imports(project, "../parts.cpl")), cwd=project)
    assert done.returncode == 0, done


def test_import_from_a_folder_above_without_a_project_is_refused(project: Path) -> None:
    (project / "cplc.toml").unlink()
    (project / "parts.cpl").write_text(_PROTOCOL.format(), encoding="utf-8")
    done = _cplc("check", str(_imports(project, "../parts.cpl")), "--format", "concise", cwd=project)
    assert done.returncode == 2
    assert "error[outside-project]: `../parts.cpl` leads out of the project" in done.stderr + done.stdout


# --- imports from outside


def _by_link(project: Path) -> str:
    (project / "protocols" / "link.cpl").symlink_to(project.parent / "outside" / "secret.cpl")
    return "link.cpl"


def _by_folder(project: Path) -> str:
    (project / "protocols" / "folder").symlink_to(project.parent / "outside")
    return "folder/secret.cpl"


def _by_other_name(project: Path) -> str:
    (project / ".env").write_text(_SECRET, encoding="utf-8")
    return "../.env"


def _by_link_to_other_name(project: Path) -> str:
    (project / ".env").write_text(_SECRET, encoding="utf-8")
    (project / "protocols" / "env.cpl").symlink_to("../.env")
    return "env.cpl"


_WAYS: dict[str, Callable[[Path], str]] = {
    "relative": lambda _: "../../outside/secret.cpl",
    "absolute": lambda project: str(project.parent / "outside" / "secret.cpl"),
    "link": _by_link,
    "link to a folder": _by_folder,
    "no protocol": _by_other_name,
    "link to no protocol": _by_link_to_other_name,
}


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("command", ["check", "verify", "stats", "sweep"])
def test_import_from_outside_quotes_nothing(project: Path, way: str, command: str) -> None:
    done = _cplc(command, str(_imports(project, _WAYS[way](project))), cwd=project)
    assert done.returncode == 2
    output = done.stdout + done.stderr
    assert "hunter2" not in output
    assert "error[outside-project]" in output or "error[unreadable-file]" in output


def test_refusal_does_not_say_what_is_outside(project: Path) -> None:
    outputs = []
    for name in ("secret.cpl", "missing.cpl", ".", "secret.cpl/below"):
        target = f"../../outside/{name}"
        done = _cplc("check", str(_imports(project, target)), cwd=project)
        outputs.append((done.stdout + done.stderr).replace(target, "TARGET").replace("^", ""))
    assert len({" ".join(text.split()) for text in outputs}) == 1, outputs


@pytest.mark.parametrize("kind", ["zero", "pipe", "large"])
@pytest.mark.parametrize("is_link", [False, True])
def test_import_that_is_no_ordinary_file_ends(project: Path, kind: str, is_link: bool) -> None:
    place = project / "protocols" / "odd.cpl"
    target = place.with_name("target.cpl") if is_link else place
    match kind:
        case "zero":
            place.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(target)
        case _:
            with target.open("wb") as file:
                file.truncate(2**40)
    if is_link and kind != "zero":
        place.symlink_to(target)
    done = _cplc("check", str(_imports(project, "odd.cpl")), cwd=project)
    assert done.returncode == 2
    code = {"zero": "outside-project", "pipe": "unreadable-file", "large": "file-too-large"}[kind]
    assert f"error[{code}]" in done.stdout + done.stderr


# --- what else is read


@pytest.mark.parametrize("command", ["check", "verify", "fmt", "stats", "lower"])
@pytest.mark.parametrize("name", ["/dev/zero", "zero.ispl"])
def test_named_device_is_refused(tmp_path: Path, command: str, name: str) -> None:
    (tmp_path / "zero.ispl").symlink_to("/dev/zero")
    done = _cplc(command, name, cwd=tmp_path)
    assert done.returncode == 2
    assert "bug in cplc" not in done.stderr


@pytest.mark.parametrize("command", ["check", "verify", "fmt"])
def test_endless_standard_input_is_refused(tmp_path: Path, command: str) -> None:
    done = _cplc(command, "-", cwd=tmp_path, given=b" " * 4_100_000)
    assert done.returncode == 2
    assert "file-too-large" in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["check", "fmt"])
def test_pipe_in_a_folder_is_left_out(tmp_path: Path, command: str) -> None:
    (tmp_path / "one.cpl").write_text("protocol P {\n  role A\n  role B\n  A -> B : m\n}\n", encoding="utf-8")
    os.mkfifo(tmp_path / "two.cpl")
    assert _cplc(command, str(tmp_path), cwd=tmp_path).returncode == 0


# --- walks through folders

_UNTIDY = "protocol P { role A   role B A -> B : m }\n"


@pytest.mark.parametrize("command", [["check"], ["fmt"], ["fmt", "--check"], ["fmt", "--diff"]])
@pytest.mark.parametrize("is_marked", [True, False])
def test_walk_leaves_out_links_that_lead_out_of_the_project(project: Path, command: list[str], is_marked: bool) -> None:
    if not is_marked:
        (project / "cplc.toml").unlink()
    text = "protocol P {\n  role A\n  role B\n\n  A -> B : m\n}\n"
    (project / "one.cpl").write_text(text, encoding="utf-8")
    untidy = project.parent / "outside" / "untidy.cpl"
    untidy.write_text(_UNTIDY, encoding="utf-8")
    for number, target in enumerate((untidy, project.parent / "outside" / "secret.cpl", Path("/etc/passwd"))):
        (project / f"link{number}.cpl").symlink_to(target)
    done = _cplc(*command, str(project), cwd=project.parent)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert untidy.read_text(encoding="utf-8") == _UNTIDY
    assert "hunter2" not in output
    assert "root:" not in output
    assert not any(f"link{number}.cpl" in output for number in range(3))


def test_walk_leaves_out_links_to_other_kinds_of_files(project: Path) -> None:
    (project / ".env").write_text(_SECRET, encoding="utf-8")
    (project / "env.cpl").symlink_to(".env")
    done = _cplc("check", ".", cwd=project)
    assert "hunter2" not in done.stdout + done.stderr


def test_link_that_is_named_is_followed(project: Path) -> None:
    untidy = project.parent / "outside" / "untidy.cpl"
    untidy.write_text(_UNTIDY, encoding="utf-8")
    (project / "link.cpl").symlink_to(untidy)
    assert _cplc("fmt", "link.cpl", cwd=project).returncode == 0
    assert untidy.read_text(encoding="utf-8") != _UNTIDY
    assert (project / "link.cpl").is_symlink()


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def test_walk_comes_once_to_a_file_with_several_names(project: Path) -> None:
    (project / "zoo.cpl").touch()
    (project / ".hidden").mkdir()
    (project / ".hidden" / "inner.cpl").touch()
    (project / "protocols" / "a.cpl").symlink_to("../zoo.cpl")
    (project / "a.cpl").symlink_to("zoo.cpl")
    (project / "b.cpl").symlink_to(".hidden/inner.cpl")
    (project / "c.cpl").symlink_to("b.cpl")
    (project / "gone.cpl").symlink_to("missing.cpl")

    def met(folder: Path) -> list[str]:
        return [os.path.relpath(path, project) for path in files_below(str(folder), (".cpl",), _is_hidden)]

    assert met(project) == ["b.cpl", "gone.cpl", "zoo.cpl"]
    assert met(project / "protocols") == ["protocols/a.cpl"]  # inside of the project, outside of the folder
    (project / "cplc.toml").unlink()
    assert met(project / "protocols") == []


def test_walk_through_a_link_to_a_folder_that_is_named(project: Path) -> None:
    (project / "protocols" / "one.cpl").touch()
    (project / "folder").symlink_to("protocols")
    assert list(files_below(str(project / "folder"), (".cpl",), _is_hidden)) == [str(project / "folder" / "one.cpl")]


def test_process_substitution_is_read(tmp_path: Path) -> None:
    script = f'"{sys.executable}" -m cplc check <(printf "%s" "protocol P {{ role A role B A -> B : m }}")'
    environment = {**os.environ, "PYTHONPATH": str(_ROOT / "src")}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, timeout=_HANGS, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("way", ["link", "pipe", "zero"])
def test_settings_from_outside_are_not_quoted(project: Path, way: str) -> None:
    place = project / "cplc.toml"
    place.unlink()
    match way:
        case "link":
            place.symlink_to(project.parent / "outside" / "secret.cpl")
        case "pipe":
            os.mkfifo(place)
        case _:
            place.symlink_to("/dev/zero")
    path = project / "main.cpl"
    path.write_text(_PROTOCOL.format(), encoding="utf-8")
    done = _cplc("check", str(path), cwd=project)
    output = done.stdout + done.stderr
    assert "hunter2" not in output
    assert "error[bad-settings]" in output
    assert done.returncode == 2


def test_settings_above_the_project_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "cplc.toml").write_text(_SECRET, encoding="utf-8")
    (tmp_path / "project" / ".git").mkdir(parents=True)
    path = tmp_path / "project" / "main.cpl"
    path.write_text(_PROTOCOL.format(), encoding="utf-8")
    done = _cplc("check", str(path), cwd=tmp_path)
    assert done.returncode == 0, done


@pytest.mark.parametrize("named", ["/etc/passwd", "../outside/secret.cpl", "pipe.cpl"])
def test_record_leads_to_files_of_the_project_only(project: Path, named: str) -> None:
    os.mkfifo(project / "pipe.cpl")
    (project / "main.cpl").write_text(_PROTOCOL.format(), encoding="utf-8")
    written = _cplc("simulate", "main.cpl", "--format", "json", cwd=project).stdout
    (project / "run.json").write_text(written.replace('"main.cpl"', f'"{named}"'), encoding="utf-8")
    done = _cplc("replay", "run.json", cwd=project)
    assert done.returncode == 2
    assert "which is not a protocol or model of this project" in done.stderr
    (project / "run.json").write_text(written, encoding="utf-8")
    assert _cplc("replay", "run.json", cwd=project).returncode == 0


@pytest.mark.parametrize("target", ["", " "])
def test_import_of_no_file_is_reported_as_such(project: Path, target: str) -> None:
    done = _cplc("check", str(_imports(project, target)), "--format", "concise", cwd=project)
    assert done.returncode == 2
    assert "error[unreadable-file]: the import names no file" in (done.stdout + done.stderr).replace("The", "the")


def test_too_large_files_are_measured_in_characters(tmp_path: Path) -> None:
    with (tmp_path / "large.cpl").open("wb") as file:
        file.truncate(2**30)
    for command in ("check", "fmt"):
        done = _cplc(command, "large.cpl", cwd=tmp_path)
        assert "The file has more than the 1,000,000 characters that can be read" in done.stdout + done.stderr


# --- files that a run goes on from, and files that it writes

_LOG = '{"case": "1", "message": "m", "sender": "A"}\n'


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    """A folder with a protocol, a log, a pipe and a link to a device."""
    (tmp_path / "p.cpl").write_text(_PROTOCOL.format(), encoding="utf-8")
    (tmp_path / "log.jsonl").write_text(_LOG, encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "null").symlink_to(os.devnull)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["monitor", "p.cpl", "log.jsonl", "--state", "pipe"],
        ["monitor", "p.cpl", "log.jsonl", "--state", "null"],
        ["monitor", "p.cpl", "log.jsonl", "--state", os.devnull],
        ["verify", "p.cpl", "--checkpoint", "pipe"],
        ["verify", "p.cpl", "--checkpoint", "null"],
        ["sweep", "p.cpl", "--resume", "pipe.csv"],
    ],
    ids=" ".join,
)
def test_pipe_or_device_is_no_file_to_go_on_from(place: Path, command: list[str]) -> None:
    before = sorted(place.iterdir())
    done = _cplc(*command, cwd=place)
    assert done.returncode == 2, done
    assert "bug in cplc" not in done.stderr
    assert sorted(place.iterdir()) == before
    assert (place / "pipe").is_fifo()


_WRITING = [["draw", "p.cpl", "--force", "-o"], ["simulate", "p.cpl", "--chart"], ["simulate", "p.cpl", "--log"]]


@pytest.mark.parametrize("command", _WRITING, ids=" ".join)
@pytest.mark.parametrize("is_link", [True, False])
def test_output_goes_through_a_pipe(place: Path, command: list[str], is_link: bool) -> None:
    name = {"--log": "out.jsonl", "--chart": "out.svg", "-o": "out.svg"}[command[-1]]
    os.mkfifo(place / ("target" if is_link else name))
    if is_link:
        (place / name).symlink_to("target")
    reading = os.open(place / name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        done = _cplc(*command, name, cwd=place)
        assert done.returncode == 0, done
        assert (place / name).is_fifo()
        assert os.read(reading, 2**16)
    finally:
        os.close(reading)
    assert not [path.name for path in place.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("command", _WRITING, ids=" ".join)
def test_output_to_a_device_does_not_replace_it(place: Path, command: list[str]) -> None:
    name = {"--log": "out.jsonl", "--chart": "out.svg", "-o": "out.svg"}[command[-1]]
    (place / name).symlink_to(os.devnull)
    done = _cplc(*command, name, cwd=place)
    assert done.returncode == 0, done
    assert (place / name).is_char_device()
