"""``cplc explain``: documentation of rules."""

from __future__ import annotations

import click

from cplc.cli import output
from cplc.cli.exit_codes import EXPLAINED, Exit


@click.command(
    "explain",
    short_help="Explain a rule, as in `error[CODE]`, or list all rules.",
    epilog=f"""{EXPLAINED}
\b
Examples:
  cplc explain
  cplc explain unknown-name
""",
)
@click.argument("code", required=False)
def command(code: str | None) -> Exit:
    """Explain the rule or remark CODE, as in `error[CODE]`; without CODE, list all."""
    from cplc.diagnostics.core import did_you_mean
    from cplc.diagnostics.rules import DOCUMENTED
    from cplc.runtime.file_access import shipped

    if code is None:
        width = max(len(rule.code) for rule in DOCUMENTED)
        for rule in sorted(DOCUMENTED, key=lambda rule: rule.code):
            output.write(f"{rule.code:{width}}  {rule.severity:7}  {rule.summary}\n")
        return Exit.EXPECTED
    if code not in {rule.code for rule in DOCUMENTED}:
        hints = "".join(f"; {note.message}" for note in did_you_mean(code, (rule.code for rule in DOCUMENTED)))
        raise click.UsageError(f"there is no rule `{code}`{hints}")
    output.write((shipped("rules") / f"{code}.md").read_text(encoding="utf-8").rstrip("\n") + "\n")
    return Exit.EXPECTED
