"""The settings of a project as a table: their names, types and meanings, and the JSON schema made of it."""

from __future__ import annotations

from typing import Final, Literal

from cplc.records import dataclass

Kind = Literal["rules", "globs", "duration", "size", "flag", "choice", "text", "parameters", "names"]

DURATION: Final = r"\s*(\d+\.?\d*|\.\d+)\s*([smh]?)\s*"
"""Pattern of a time limit."""
SIZE: Final = r"\s*(\d+\.?\d*|\.\d+)\s*([mM][bB]?|[gG][bB]?)?\s*"
"""Pattern of a memory limit."""
SCHEMA_ADDRESS: Final = "https://json.schemastore.org/cplc-1.json"


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of a table."""

    name: str
    kind: Kind
    meaning: str
    example: str
    choices: tuple[str, ...] = ()


Table = tuple[Setting, ...]

ROOT: Final[Table] = (Setting("ignore", "rules", "Warnings to suppress, by their codes.", '["unused"]'),)
PROJECT: Final[Table] = (
    Setting(
        "files",
        "globs",
        "Files of the project: patterns relative to the folder of this file; `**` stands for any folders.",
        '["protocols/**/*.cpl"]',
    ),
    Setting("exclude", "globs", "Patterns of files that do not belong to the project.", '["protocols/drafts/**"]'),
)
VERIFY: Final[Table] = (
    Setting("timeout", "duration", "Time limit for each file: seconds, or a text such as `90s`, `5m`, `1h`.", '"5m"'),
    Setting("memory", "size", "Memory limit for each file: megabytes, or a text such as `500MB`, `2GB`.", '"2GB"'),
    Setting("strict", "flag", "Treat warnings as unexpected.", "true"),
    Setting(
        "engine",
        "choice",
        "Engine that explores the states.",
        '"auto"',
        ("auto", "symbolic", "explicit", "onthefly", "reduced"),
    ),
    Setting(
        "format",
        "choice",
        "Output format.",
        '"text"',
        ("text", "concise", "json", "github", "junit", "sarif", "html"),
    ),
)
OVERRIDES: Final[Table] = (
    Setting(
        "files", "globs", "Files to which this table applies; every file if it is missing.", '["protocols/net*.cpl"]'
    ),
    Setting(
        "protocol",
        "text",
        "Protocol to which this table applies; the last one of a file if it is missing.",
        '"NetBill"',
    ),
    Setting("parameters", "parameters", "Values of parameters, as with `-D`.", "{ customers = 3 }"),
    Setting("channels", "choice", "Deliver messages at once (sync) or later (async).", '"async"', ("sync", "async")),
    Setting(
        "assuming",
        "names",
        "Roles assumed to make progress (fairness), for `--formula`; a property declares its own.",
        '["Mer"]',
    ),
)
TABLES: Final[dict[str, Table]] = {"project": PROJECT, "verify": VERIFY, "overrides": OVERRIDES}
"""The tables of a settings file; `overrides` is an array of tables."""


def json_schema() -> dict[str, object]:
    """Return the JSON schema of `cplc.toml`, for editors of TOML."""
    tables = {name: _table_schema(table) for name, table in TABLES.items()}
    meanings = {
        "project": "The files of the project, which `cplc verify` verifies without arguments.",
        "verify": "Defaults of the options of `cplc verify`; the command line takes precedence.",
    }
    properties: dict[str, object] = {one.name: _setting_schema(one) for one in ROOT}
    properties |= {name: {**tables[name], "description": meaning} for name, meaning in meanings.items()}
    properties["overrides"] = {
        "type": "array",
        "items": tables["overrides"],
        "description": "Options of some files and protocols; a later table takes precedence over an earlier one.",
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": SCHEMA_ADDRESS,
        "title": "Settings of cplc",
        "description": "cplc.toml, or the table [tool.cplc] of pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


def _table_schema(table: Table) -> dict[str, object]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {one.name: _setting_schema(one) for one in table},
    }


def _setting_schema(setting: Setting) -> dict[str, object]:
    return {"description": setting.meaning, **_type_schema(setting)}


def _type_schema(setting: Setting) -> dict[str, object]:
    match setting.kind:
        case "rules":
            return {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
        case "globs" | "names":
            return {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
        case "duration":
            return _number_or_text(DURATION)
        case "size":
            return _number_or_text(SIZE)
        case "flag":
            return {"type": "boolean"}
        case "choice":
            return {"type": "string", "enum": list(setting.choices)}
        case "text":
            return {"type": "string", "minLength": 1}
        case "parameters":
            return {"type": "object", "additionalProperties": {"type": ["string", "integer", "boolean"]}}


def _number_or_text(pattern: str) -> dict[str, object]:
    return {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": f"^{pattern}$"}]}
