"""Parser of mapping files (TOML), with diagnostics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Final, cast, get_args

from cplc.diagnostics.core import Diagnostic, Note, did_you_mean
from cplc.diagnostics.rules import BAD_MAPPING
from cplc.diagnostics.toml import toml_document
from cplc.logs.json_documents import OBJECT, Notion
from cplc.logs.lines import Dialect, is_encoding
from cplc.logs.mapping import FIELDS, KINDS, Aspect, Kind, LogMapping, Rule, Vocabulary, family_of
from cplc.logs.timestamps import UNITS, zone
from cplc.records import dataclass
from cplc.source import Source, Span

_ASPECTS: Final = get_args(Aspect)
_WORDS: Final = (
    "separator",
    "encoding",
    "delimiter",
    "quote",
    "time_format",
    "time_zone",
    "case_type",
    "case_qualifier",
)
_TABLES: Final = ("messages", "participants", "indices", "payload", "values", "kinds")
_RULES: Final = "rules"
_KEYS: Final = (*_ASPECTS, "ignore", *_WORDS, *_TABLES, _RULES)
_RULE_KEYS: Final = ("when", "ignore", "message", "sender", "recipients", "case", "time", "kind", "payload", "set")
_KINDS: Final = get_args(Kind)


def parse_mapping(source: Source, vocabulary: Vocabulary | None) -> tuple[LogMapping, tuple[Diagnostic, ...]]:
    """Return the mapping and all errors; with a vocabulary, names must be those of the protocol."""
    document = toml_document(source, BAD_MAPPING)
    if isinstance(document, Diagnostic):
        return LogMapping(vocabulary=vocabulary), (document,)
    reading = _Reading(source, vocabulary)
    return reading.mapping(document), tuple(reading.problems)


def _fields_of(rule: Rule) -> Iterator[str]:
    """Yield the names of fields that a rule uses."""
    yield from (name for name, _ in rule.when)
    yield from (one for one in (rule.case, rule.time) if one is not None)
    yield from rule.payload.values()


def _flat(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the entries of nested tables: TOML has `a.b` without quotes as `b` in `a`."""
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


@dataclass
class _Reading:
    source: Source
    vocabulary: Vocabulary | None
    problems: list[Diagnostic] = field(default_factory=list)

    def mapping(self, document: Mapping[str, object]) -> LogMapping:
        for key in document:
            if key not in _KEYS:
                notes = did_you_mean(key, _KEYS) or (Note("there are " + ", ".join(f"`{one}`" for one in _KEYS)),)
                self._report(key, f"A mapping has no `{key}`", *notes)
        fields = dict(FIELDS)
        for aspect in _ASPECTS:
            if aspect in document and (names := self._names(document[aspect], aspect)):
                fields[cast(Aspect, aspect)] = names
        words = {word: text for word in _WORDS if (text := self._word(document, word)) is not None}
        mapping = LogMapping(
            fields=fields,
            messages=dict(self._messages(self._table(document, "messages"))),
            ignored=self._names(document.get("ignore", []), "ignore"),
            participants=dict(self._participants(self._table(document, "participants"))),
            indices=dict(self._texts(self._table(document, "indices"), "indices")),
            payload=dict(self._payload(self._table(document, "payload"))),
            values=dict(self._values(self._table(document, "values"), "values")),
            kinds={**KINDS, **dict(self._kinds(self._table(document, "kinds")))},
            rules=tuple(self._rules(document.get(_RULES, []))),
            separator=words.get("separator") or ",",
            dialect=self._dialect(words),
            vocabulary=self.vocabulary,
        )
        used = [
            *(name for names in fields.values() for name in names),
            *mapping.indices.values(),
            *mapping.payload.values(),
            *(name for rule in mapping.rules for name in _fields_of(rule)),
        ]
        types = frozenset(name.removeprefix(OBJECT) for name in used if name.startswith(OBJECT))
        notion = Notion(words.get("case_type"), words.get("case_qualifier"), types)
        return self._with_text(replace(mapping, notion=notion), words)

    def _with_text(self, mapping: LogMapping, words: Mapping[str, str]) -> LogMapping:
        """Return the mapping with the formats of texts and times."""
        if "encoding" in words:
            if is_encoding(words["encoding"]):
                mapping = replace(mapping, encoding=words["encoding"])
            else:
                self._report(words["encoding"], f"There is no encoding `{words['encoding']}`")
        if "time_zone" in words:
            try:
                mapping = replace(mapping, zone=zone(words["time_zone"]))
            except ValueError as problem:
                text = f"{problem}; zones are called `Europe/Berlin` or `UTC`"
                self._report(words["time_zone"], text[0].upper() + text[1:])
        if "time_format" in words:
            form = words["time_format"]
            if "%" not in form and form != "iso" and form not in UNITS:
                formats = ("iso", *UNITS)
                notes = did_you_mean(form, formats) or (Note("or one with fields such as `%d.%m.%Y %H:%M`"),)
                text = f"A time format is one of {', '.join(f'`{one}`' for one in formats)}, not `{form}`"
                self._report(form, text, *notes)
            else:
                mapping = replace(mapping, time_format=form)
        return mapping

    def _dialect(self, words: Mapping[str, str]) -> Dialect:
        for word in ("delimiter", "quote"):
            if word in words and (len(words[word]) != 1 or words[word] in "\n\r\0"):
                self._report(word, f"`{word}` is one character")
                return Dialect()
        if "delimiter" in words and words["delimiter"] == words.get("quote", '"'):
            self._report("delimiter", "What separates fields cannot be what is around them")
            return Dialect()
        return Dialect(words.get("delimiter"), words.get("quote", '"'))

    # --- tables

    def _messages(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        for called, message in self._texts(table, "messages"):
            if self._is_word(message, self.vocabulary.messages if self.vocabulary else None, "message", "messages"):
                yield called, message

    def _participants(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        vocabulary = self.vocabulary
        role_names = vocabulary.roles | vocabulary.participants if vocabulary else None
        for called, role in self._texts(table, "participants"):
            if self._is_word(role, role_names, "role", "participants"):
                yield called, role

    def _is_word(self, word: str, words: frozenset[str] | None, kind: str, table: str) -> bool:
        """Tell whether the protocol has this name; names with placeholders are checked by their family."""
        if words is None or word in words or (family_of(word) in words and "{" in word):
            return True
        if family_of(word) in words:
            self._report(word, f"The {kind} `{family_of(word)}` has no `{word}`", table=table)
            return False
        families = sorted({family_of(name) for name in words})
        notes = did_you_mean(word, families) or (Note("there are " + ", ".join(f"`{name}`" for name in families[:20])),)
        self._report(word, f"The protocol has no {kind} `{word}`", *notes, table=table)
        return False

    def _payload(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        for name, of in self._texts(table, "payload"):
            message, _, parameter = name.rpartition(".")
            if self.vocabulary is not None:
                payloads = self.vocabulary.payloads
                carried = payloads.get(message, {}) if message else [one for each in payloads.values() for one in each]
                if parameter not in carried:
                    whose = f"the message `{message}` carries" if message else "any message carries"
                    notes = did_you_mean(parameter, carried)
                    self._report(name, f"There is no `{parameter}` that {whose}", *notes, table="payload")
                    continue
            yield name, of

    def _values(self, table: Mapping[str, object], key: str) -> Iterator[tuple[str, int | bool | str]]:
        for called, value in table.items():
            if isinstance(value, int | str):
                yield called, value
            else:
                self._report(called, f"`{called}` stands for a number, a truth value or a name", table=key)

    def _kinds(self, table: Mapping[str, object]) -> Iterator[tuple[str, Kind]]:
        for called, kind in self._texts(table, "kinds"):
            if kind in _KINDS:
                yield called, cast(Kind, kind)
            else:
                kinds = ", ".join(f"`{one}`" for one in _KINDS)
                self._report(
                    kind, f"A kind is one of {kinds}, not `{kind}`", *did_you_mean(kind, _KINDS), table="kinds"
                )

    # --- rules

    def _rules(self, value: object) -> Iterator[Rule]:
        """Yield the conditional mappings, in their order."""
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            self._report(_RULES, "`rules` are tables: write `[[rules]]` and what belongs to each below")
            return
        for table in cast("list[dict[str, object]]", value):
            for key in table:
                if key not in _RULE_KEYS:
                    notes = did_you_mean(key, _RULE_KEYS) or (
                        Note("there are " + ", ".join(f"`{one}`" for one in _RULE_KEYS)),
                    )
                    self._report(key, f"A rule has no `{key}`", *notes, table=f"[{_RULES}]")
            if (rule := self._rule(table)) is not None:
                yield rule

    def _rule(self, table: Mapping[str, object]) -> Rule | None:
        words = {key: self._word(table, key) for key in ("message", "sender", "case", "time", "kind")}
        message, sender, kind = words["message"], words["sender"], words["kind"]
        ignored = table.get("ignore", False)
        if not isinstance(ignored, bool):
            self._report("ignore", "`ignore` of a rule is true or false", table=f"[{_RULES}]")
            return None
        vocabulary = self.vocabulary
        role_names = vocabulary.roles | vocabulary.participants if vocabulary else None
        recipients = self._names(table["recipients"], "recipients") if "recipients" in table else ()
        payload = self._table(table, "payload")
        named = [one for one in (sender, *recipients) if one is not None]
        is_right = all(self._is_word(one, role_names, "role", f"[{_RULES}]") for one in named)
        if message is not None:
            messages = vocabulary.messages if vocabulary else None
            is_right &= self._is_word(message, messages, "message", f"[{_RULES}]")
        if kind is not None and kind not in _KINDS:
            self._report(kind, f"A kind is one of {', '.join(f'`{one}`' for one in _KINDS)}, not `{kind}`")
            return None
        if not is_right:
            return None
        whose = f"{family_of(message)}." if message is not None and "{" not in family_of(message) else ""
        sources = dict(self._payload({f"{whose}{name}": of for name, of in payload.items()}))
        constants = dict(self._values(self._table(table, "set"), f"[{_RULES}]"))
        carried = dict(self._payload({f"{whose}{name}": "set" for name in constants}))
        return Rule(
            tuple(self._conditions(self._table(table, "when"))),
            ignored,
            message,
            sender,
            recipients,
            words["case"],
            words["time"],
            cast(Kind | None, kind),
            {name.rpartition(".")[2]: of for name, of in sources.items()},
            {name: value for name, value in constants.items() if f"{whose}{name}" in carried},
        )

    def _conditions(self, table: Mapping[str, object]) -> Iterator[tuple[str, tuple[str, ...]]]:
        for name, value in _flat(table):
            patterns = value if isinstance(value, list) else [value]
            if patterns and all(isinstance(one, str | int) for one in patterns):
                yield name, tuple(str(one).lower() if isinstance(one, bool) else str(one) for one in patterns)
            else:
                self._report(name, f"`{name}` is compared with a text, a number or a truth value, or a list of such")

    # --- forms

    def _table(self, document: Mapping[str, object], key: str) -> dict[str, object]:
        value = document.get(key, {})
        if isinstance(value, dict):
            return value
        self._report(key, f"`{key}` is a table: write `[{key}]` and what belongs to it below")
        return {}

    def _texts(self, table: Mapping[str, object], key: str) -> Iterator[tuple[str, str]]:
        for called, text in table.items():
            if isinstance(text, str) and text:
                yield called, text
            else:
                notes = (Note(f'write a name with points in quotes: `"{called}.…"`'),) if isinstance(text, dict) else ()
                self._report(called, f"`{called}` is a name in quotes", *notes, table=key)

    def _names(self, value: object, key: str) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) and value else value
        if isinstance(names, list) and all(isinstance(name, str) and name for name in names):
            return tuple(cast(Iterable[str], names))
        self._report(key, f"`{key}` is a name in quotes, or a list of such")
        return ()

    def _word(self, document: Mapping[str, object], key: str) -> str | None:
        value = document.get(key)
        if value is None or (isinstance(value, str) and value):
            return value
        self._report(key, f"`{key}` is a text in quotes")
        return None

    # --- places

    def _report(self, word: str, message: str, *notes: Note, table: str | None = None) -> None:
        self.problems.append(BAD_MAPPING.at(self._place(word, table), message, *notes))

    def _place(self, word: str, table: str | None) -> Span:
        """Return the place of a word outside of comments; the beginning of the file if it is written otherwise."""
        begin = (
            re.search(rf"^[ \t]*\[[ \t]*{re.escape(table)}[ \t]*\]", self.source.text, re.MULTILINE) if table else None
        )
        pattern = re.compile(rf"^[^#\n]*?(?<![\w-])({re.escape(word)})(?![\w-])", re.MULTILINE)
        match = pattern.search(self.source.text, begin.end() if begin else 0)
        return Span(self.source, match.start(1), match.end(1)) if match else Span(self.source, 0, 0)
