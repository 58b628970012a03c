"""Pages of the manual that are made of what the program knows of itself."""

from __future__ import annotations

from cplc.diagnostics.rules import RULES


def rules_page() -> str:
    """Return the page that lists every rule, in the order of the stages that report them."""
    lines = [
        "# Mistakes and warnings",
        "",
        "What `cplc` reports has a code, in brackets after `error` or `warning`; `cplc explain CODE` shows its page.",
        "An error keeps a file from meaning anything; a [warning](../settings.md) can be switched off.",
        "",
        "| Code | Is about |  |",
        "| --- | --- | --- |",
    ]
    lines += [f"| [`{rule.code}`]({rule.code}.md) | {rule.summary} | {rule.severity} |" for rule in RULES]
    return "\n".join(lines) + "\n"
