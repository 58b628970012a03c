"""``cplc explain``: documentation of rules."""

from __future__ import annotations

import click

from cplc.cli import output
from cplc.cli.exit_codes import EXPLAINED, Exit


@click.command(
    "explain",
    short_help="Explain a rule, as in `error[CODE]`, or a check; or list them.",
    epilog=f"""{EXPLAINED}
\b
Examples:
  cplc explain
  cplc explain unknown-name
  cplc explain deadlock_free
""",
)
@click.argument("code", required=False)
def command(code: str | None) -> Exit:
    """Explain the rule or remark CODE, as in `error[CODE]`, or the check of that name; without CODE, list all."""
    from cplc.diagnostics.core import did_you_mean
    from cplc.diagnostics.rules import DOCUMENTED
    from cplc.language.words import CHECKS, EVERY_CHECK, WORD
    from cplc.runtime.file_access import shipped

    rules = {rule.code: rule for rule in DOCUMENTED}
    if code is None:
        width = max(map(len, (*rules, *EVERY_CHECK)))
        for rule in sorted(DOCUMENTED, key=lambda rule: rule.code):
            output.write_fitted(f"{rule.code:{width}}  {rule.severity:7}  {rule.summary}\n")
        for name in CHECKS:
            output.write_fitted(f"{name:{width}}  check    {WORD[name].meaning}\n")
        return Exit.EXPECTED
    if code not in rules and code not in EVERY_CHECK:
        hints = "".join(f"; {note.message}" for note in did_you_mean(code, (*rules, *EVERY_CHECK)))
        raise click.UsageError(f"there is no rule or check `{code}`{hints or '; `cplc explain` lists them'}")
    folder = shipped("rules" if code in rules else "checks")
    page = (folder / f"{code}.md").read_text(encoding="utf-8").rstrip("\n") + "\n"
    if output.is_terminal():  # another program gets the page as it is
        from cplc.report.layout import reflowed

        page = reflowed(page, output.report_columns())
    output.write(page)
    return Exit.EXPECTED
