"""Pages of the manual that are generated from the program's own tables."""

from __future__ import annotations

from cplc.diagnostics.rules import RULES


def rules_page() -> str:
    """Return the page that lists every rule, in the order of the stages that report them."""
    lines = [
        "# Diagnostics: errors and warnings",
        "",
        "Each diagnostic of `cplc` has a code, in brackets after `error` or `warning`; `cplc explain CODE`",
        "shows its page.",
        "A file with an error has no meaning; a [warning](../settings.md) can be switched off.",
        "",
        "| Code | Subject | Severity |",
        "| --- | --- | --- |",
    ]
    lines += [f"| [`{rule.code}`]({rule.code}.md) | {rule.summary} | {rule.severity} |" for rule in RULES]
    return "\n".join(lines) + "\n"
