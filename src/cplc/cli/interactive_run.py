"""Interactive exploration of a run: commands from a terminal or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cplc.cli import output
from cplc.cli.command_run import CommandRun
from cplc.cli.exit_codes import Exit
from cplc.cli.load import compile_file
from cplc.cli.options import ModelOptions
from cplc.control_characters import json_text, printable
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.logic.expressions import value_text

if TYPE_CHECKING:
    from cplc.checking.results import Question
    from cplc.compilation import Compilation
    from cplc.logic.expressions import Value
    from cplc.report.layout import Layout, Part
    from cplc.simulation.interactive_session import Choice, RunVerdict, RunVerdicts, Session, Verdict
    from cplc.simulation.rng import RandomSource
    from cplc.simulation.run_replay import Replayed
    from cplc.system.model import System
    from cplc.system.trace import Run

_MAX_CHOICES_SHOWN: Final = 40
_HELP: Final = """\
  NUMBER or NAME     take this step: `3`, `pay[1]`, `send pay[1]`, or the beginning of a name
  NAME(FIELD=VALUE)  send a message with these values: `pay(amount = 12.50 USD)`
  ACTIONS            in a model in ISPL, take a round with these actions: `Gate: open, Train: stay`
  (an empty line)    take the next step of a run that was undone or recorded
  random [N]         take one step, or N, at random
  undo [N], redo [N] go back, and forward again
  jump N             go to state N; 0 is the first
  list, all          enabled steps: some, or all of them
  view [AGENT]       what an agent, or each agent, observes
  commitments        state of each commitment
  state              variables that differ from their initial values
  properties         verdict of the run so far on each property and check
  run                the run so far
  start [X=VALUE]    start again, with this value of a variable without initial value
  save FILE          save the run for `cplc replay`
  quit               end; so does the end of the input
"""
_COMMAND_NAMES: Final = (
    "random", "undo", "redo", "jump", "list", "all", "view", "views", "commitments", "state", "properties", "run",
    "start", "save", "help", "quit", "exit",
)  # fmt: skip


def run_interactive(file: str, options: ModelOptions, seed: int, run: CommandRun) -> Exit:
    """Let the user choose each step of a run."""

    def work() -> tuple[Compilation | None, tuple[Diagnostic, ...]]:
        compilation, diagnostics = compile_file(file, options)
        if compilation is not None:
            _ = compilation.system
        return compilation, diagnostics

    compilation = run.compute(work, "compiling")
    if compilation is None:
        run.write_interruption()
        return run.exit_code()
    from cplc.simulation.interactive_session import begin
    from cplc.simulation.rng import RandomSource

    dice = RandomSource(seed)
    output.write_fitted(f"{printable(file)}: seed {seed}; `help` lists the commands\n")
    session = begin(compilation.system, dice)
    assert session is not None
    _InteractiveRun(compilation, compilation.system, session, dice, run.layout).loop()
    return Exit.EXPECTED


def explore_recorded_run(compilation: Compilation, system: System, replayed: Replayed, layout: Layout) -> None:
    """Let the user explore a recorded run, as far as it fits, and diverge from it."""
    from cplc.simulation.interactive_session import Session, choice_table
    from cplc.simulation.rng import RandomSource
    from cplc.system.trace import Run

    if replayed.run is not None:
        moves = tuple(move for move in replayed.run.moves if move.step is not None or move.actions)
        whole = Run(replayed.run.start, moves)
        output.write_fitted(
            f"a run of {len(whole.moves)} steps; an empty line takes the next step, `help` lists the commands\n"
        )
        _InteractiveRun(compilation, system, Session(choice_table(system), whole), RandomSource(0), layout).loop()
    if replayed.misfit is not None:
        at = f"at step {replayed.misfit.at}" if replayed.misfit.at else "from the beginning"
        output.write_fitted(f"the record does not fit {at}: {replayed.misfit.message}\n")
        output.write_fitted("".join(f"  {reason}\n" for reason in replayed.misfit.reasons))


class _InteractiveRun:
    """The interactive loop. Queries change nothing; steps replace the session."""

    def __init__(
        self,
        compilation: Compilation,
        system: System,
        session: Session,
        dice: RandomSource,
        layout: Layout,
    ) -> None:
        self._compilation = compilation
        self._system = system
        self._session = session
        self._dice = dice
        self._layout = layout
        self._style = layout.style
        self._run_verdicts: dict[int, RunVerdicts] = {}

    def loop(self) -> None:
        self._show(_MAX_CHOICES_SHOWN)
        for line in _lines():
            word, _, rest = line.partition(" ")
            if word in ("quit", "exit", "q"):
                return
            self._answer(line, word, rest.strip())

    def _answer(self, line: str, word: str, rest: str) -> None:
        actions: dict[str, Callable[[], None]] = {
            "": lambda: self._go(self._session.at + 1),
            "help": lambda: output.write_fitted(_HELP),
            "?": lambda: output.write_fitted(_HELP),
            "random": lambda: self._counted(rest, self._random),
            "undo": lambda: self._counted(rest, lambda count: self._go(self._session.at - count)),
            "redo": lambda: self._counted(rest, lambda count: self._go(self._session.at + count)),
            "jump": lambda: self._jump(rest),
            "list": lambda: self._show(_MAX_CHOICES_SHOWN),
            "all": lambda: self._show(len(self._session.choices)),
            "view": lambda: self._view(rest),
            "views": lambda: self._view(""),
            "commitments": self._commitments,
            "state": self._state,
            "properties": self._properties,
            "run": self._run,
            "start": lambda: self._start(rest),
            "save": lambda: self._save(rest),
        }
        # A message may have the name of a command: then its step is chosen by number or by its longer name.
        (actions.get(word) or (lambda: self._step(line)))()

    # --- steps

    def _show(self, most: int) -> None:
        from cplc.report.run_report import choices_text

        session = self._session
        self._say(f"state {session.at}" + (" (the first)" if not session.at else ""))
        if not session.choices:
            self._say("  no step is enabled here")
        for line in choices_text(self._system, session.state, session.choices, most, output.report_columns()):
            self._say(line)
        ahead = len(session.whole.moves) - session.at
        if ahead:
            name = self._name(session.at)
            self._say(f"  the run continues from here, {ahead} step{'' if ahead == 1 else 's'}, with {name}")

    def _name(self, at: int) -> str:
        from cplc.report.step_text import step_text

        move = self._session.whole.moves[at]
        if move.step is not None:
            return self._system.steps[move.step].name
        return step_text(self._system, self._session.whole.states[at], move) if move.actions else "nothing"

    def _go(self, at: int) -> None:
        target = self._session.jump(at)
        if target.at == self._session.at:
            self._say("this is the first state" if at < target.at else "the run ends here")
            return
        if target.at == self._session.at + 1:
            self._tell(target)
        self._session = target
        self._show(_MAX_CHOICES_SHOWN)

    def _tell(self, target: Session) -> None:
        """Print the last step and its effects."""
        from cplc.report.layout import list_lines
        from cplc.report.step_text import changes, step_text

        before, move = target.jump(target.at - 1).state, target.whole.moves[target.at - 1]
        self._say(f"{target.at}. {step_text(self._system, before, move)}")
        self._say_all(list_lines(list(changes(self._system, before, move)), output.report_columns(), "     "))

    def _step(self, text: str) -> None:
        session = self._session
        if text.isdecimal() and len(text) < 10:
            number = int(text)
            if not 1 <= number <= len(session.choices):
                self._say(f"there is no choice {number} here; `list` shows the enabled steps")
                return
            self._take(session.choices[number - 1])
            return
        matches = session.named(text)
        if not matches and self._send(text):
            return
        if len(matches) == 1:
            self._take(matches[0])
        elif matches:
            numbers = [str(n) for n, choice in enumerate(session.choices, 1) if choice in matches]
            self._say(f"`{text}` is ambiguous: type one of the numbers {', '.join(numbers)}")
        else:
            self._say(self._unknown(text))

    def _send(self, text: str) -> bool:
        """Send a message with typed values, any that its fields can have; return whether the text names a message."""
        from cplc.compilation import PayloadRefused
        from cplc.simulation.interactive_session import Session, carried_over, choice_table
        from cplc.simulation.run_replay import failing
        from cplc.simulation.typed_messages import open_fields, sendings, steps_of, typed_message

        typed = typed_message(text, self._system)
        if typed is None:
            return False
        try:
            compilation, payload = self._compilation.with_payload(typed.name, typed.payload)
        except PayloadRefused as problem:
            self._say(str(problem))
            return True
        session = self._session
        if compilation is not self._compilation:
            run = carried_over(session.run, self._system, compilation.system)
            assert run is not None, "a domain with more values has all runs"
            session = Session(choice_table(compilation.system), run, len(run.moves))
        choices = sendings(session, typed.name, payload)
        if len(choices) == 1:
            if compilation is not self._compilation:
                self._compilation, self._system, self._session = compilation, compilation.system, session
                self._run_verdicts.clear()
            self._take(choices[0])
        elif choices:
            fields = [f"`{name}`" for name in open_fields(session, choices, payload)]
            self._say(f"`{text}` is ambiguous: give {' and '.join(fields)} a value, too")
        elif not (steps := steps_of(session.system, typed.name, payload)):
            self._say(f"`{typed.name}` has no such payload")
        else:
            self._say(f"`{text}` is not enabled here")
            reasons = [list(failing(step.guard, session.state)) for step in steps]
            self._say_all(f"  {reason}" for reason in min(reasons, key=len, default=[]))
        return True

    def _unknown(self, text: str) -> str:
        """Return the error message for unknown input: no such step, or a step that is not enabled."""
        from cplc.simulation.interactive_session import agents_acting
        from cplc.system.interpreter import holds

        about = [step for step in self._system.steps if step.name == text or step.event.startswith(text)]
        if about and not any(holds(step.guard, self._session.state) for step in about):
            return f"`{text}` is not enabled here"
        if self._system.players:
            for part in text.split(","):
                owners, action = agents_acting(self._system, part)
                if len(owners) > 1:
                    return f"`{action}` is an action of {', '.join(owners)}; choose one: `{owners[0]}: {action}`"
                if not owners:
                    break
            else:
                return f"`{text}` is not possible here"
        moves = (choice.move.step for choice in self._session.choices)
        candidates = [*(self._system.steps[step].name for step in moves if step is not None), *_COMMAND_NAMES]
        candidates += [action.name for player in self._system.players for action in player.actions]
        hints = [note.message for note in did_you_mean(text, candidates)]
        return f"`{text}` is neither a step nor a command; {hints[0] if hints else '`help` lists the commands'}"

    def _take(self, choice: Choice) -> None:
        self._session = self._session.take(choice)
        self._tell(self._session)
        self._show(_MAX_CHOICES_SHOWN)

    def _random(self, count: int) -> None:
        before = self._session.at
        self._session = self._session.at_random(self._dice, count)
        if self._session.at == before:
            self._say("no step is enabled here")
            return
        if self._session.at == before + 1:
            self._tell(self._session)
        self._show(_MAX_CHOICES_SHOWN)

    def _counted(self, rest: str, act: Callable[[int], None]) -> None:
        if rest and not (rest.isdecimal() and len(rest) < 5 and int(rest) > 0):
            self._say(f"`{rest}` is not a number of steps from 1 to 9999")
            return
        act(int(rest or "1"))

    def _jump(self, rest: str) -> None:
        last = len(self._session.whole.moves)
        if not rest.isdecimal() or len(rest) > 9 or int(rest) > last:
            self._say(f"`jump` needs the number of a state, from 0 to {last}")
            return
        self._session = self._session.jump(int(rest))
        self._show(_MAX_CHOICES_SHOWN)

    def _start(self, rest: str) -> None:
        from cplc.simulation.interactive_session import begin

        given: dict[str, Value] = {}
        for part in rest.split():
            name, _, text = part.partition("=")
            variable = self._system.variable.get(name)
            values = {value_text(value): value for value in variable.initial} if variable is not None else {}
            if text not in values:
                among = f"it is initially {' or '.join(values)}" if values else "there is no such variable"
                self._say(f"`{part}` is not an initial value; {among}")
                return
            given[name] = values[text]
        session = begin(self._system, self._dice, given)
        if session is None:
            self._say("no initial state has these values")
            return
        self._session = session
        self._show(_MAX_CHOICES_SHOWN)

    # --- queries

    def _view(self, agent: str) -> None:
        from cplc.report.run_report import view_text

        if agent and agent not in self._system.agent:
            self._say(f"there is no agent `{agent}`; there are {', '.join(self._system.agent)}")
            return
        for name in [agent] if agent else self._system.agent:
            self._say_all(view_text(self._system, name, self._session.state, self._style))

    def _commitments(self) -> None:
        from cplc.report.run_report import commitments_text

        self._say_all(commitments_text(self._system, self._session.state, self._style))

    def _state(self) -> None:
        from cplc.report.run_report import state_text

        lines = list(state_text(self._system, self._session.state))
        self._say_all(lines or ["  every variable has its initial value"])

    def _run(self) -> None:
        from cplc.report.run_report import run_text

        self._say_all(run_text(self._system, self._session.run, self._layout))

    def _properties(self) -> None:
        questions = [one for one in self._compilation.questions() if one.question.kind in ("property", "check")]
        if not questions:
            self._say("the file declares no property")
        width = max(map(len, _VERDICTS.values()))
        for one in questions:
            question = one.question
            shown = self._verdict(one.system if question.system is None else question.system, question)
            if question.is_usual and shown.verdict != "fails":
                continue
            verdict = self._style(f"{_VERDICTS[shown.verdict]:<{width}}", _PARTS[shown.verdict])
            reason = f"  ({shown.reason})" if shown.reason else ""
            assuming = f" assuming {question.assumed}" if question.assumed else ""
            self._say(f"  {verdict}  {question.name}{assuming}{reason}")

    def _verdict(self, system: System, question: Question) -> RunVerdict:
        from cplc.simulation.interactive_session import RunVerdict, RunVerdicts, carried_over

        run: Run | None = self._session.run
        if system is not self._system:
            run = carried_over(self._session.run, self._system, system)
            if run is None:
                return RunVerdict("unknown", "it is verified in a system with other steps")
        assert run is not None
        verdicts = self._run_verdicts.setdefault(id(system), RunVerdicts(system))
        return verdicts.verdict(question.formula, question.assuming, run)

    # --- saving

    def _save(self, rest: str) -> None:
        if not rest:
            self._say("`save` needs the name of a file: `save run.json`")
            return
        try:
            output.write_file(Path(rest), self._document())
        except OSError as problem:
            self._say(f"cannot write `{rest}`: {problem.strerror or problem}")
            return
        self._say(f"written to {rest}")

    def _document(self) -> str:

        from cplc.report.json_data import run_data

        compilation = self._compilation
        document = {
            "format_version": output.FORMAT_VERSION,
            "command": "simulate",
            "file": compilation.source.name,
            **compilation.options,
            "runs": [run_data(self._system, self._session.run)],
        }
        return json_text(document, 2) + "\n"

    def _say(self, line: str) -> None:
        output.write_fitted(f"{line}\n")

    def _say_all(self, lines: Iterator[str] | Sequence[str]) -> None:
        for line in lines:
            self._say(line)


_PARTS: Final[dict[Verdict, Part]] = {"holds": "good", "undecided": "faint", "fails": "bad", "unknown": "faint"}
_VERDICTS: Final[dict[Verdict, str]] = {
    "holds": "holds", "fails": "fails", "undecided": "not decided by this run", "unknown": "unknown",
}  # fmt: skip


def _lines() -> Iterator[str]:
    """Yield the input lines; lines from a pipe are echoed, so that the output is self-contained."""
    if sys.stdin is None:
        return
    typed = sys.stdin.isatty()
    if typed:
        with suppress(ImportError):
            import readline  # noqa: F401  # gives the prompt a history
    while True:
        if typed:
            try:
                line = input("> ")
            except EOFError:
                output.write("\n")
                return
        else:
            line = sys.stdin.readline()
            if not line:
                return
            output.write(f"> {line.strip()}\n")
        yield line.strip()
