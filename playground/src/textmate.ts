// The part of TextMate's grammars that ours use: matches with captures, and stretches from a begin to an end.

import type { StreamParser } from '@codemirror/language';
import { tags as t, type Tag } from '@lezer/highlight';

interface Pattern {
  name?: string;
  match?: string;
  captures?: Record<string, { name: string }>;
  begin?: string;
  end?: string;
  include?: string;
  patterns?: Pattern[];
}

export interface Grammar {
  patterns: Pattern[];
  repository: Record<string, Pattern>;
}

interface Rule {
  name: string | null;
  start: RegExp;
  end: RegExp | null;
  captures: [number, string][];
  inside: Rule[];
}

export interface State {
  within: Rule | null;
  /** Pieces of what was matched last that are still to be said: up to where, and what it is. */
  pending: [number, string | null][];
}

/** What the first words of a scope look like; the longest one that fits counts. */
const LOOKS: Record<string, Tag> = {
  comment: t.comment,
  string: t.string,
  'constant.character': t.escape,
  'constant.numeric': t.number,
  'constant.language': t.atom,
  'storage.type': t.keyword,
  keyword: t.keyword,
  'keyword.operator': t.operator,
  'keyword.operator.temporal': t.modifier,
  'keyword.operator.modal': t.modifier,
  'keyword.operator.quantifier': t.modifier,
  'entity.name.type': t.typeName,
  'entity.name.function': t.definition(t.variableName),
  'support.function': t.standard(t.variableName),
  variable: t.variableName,
  punctuation: t.punctuation,
};

export function look(scope: string): string | null {
  const words = scope.split('.');
  for (let length = words.length; length; length--) {
    const found = words.slice(0, length).join('.');
    if (found in LOOKS) return found.replaceAll('.', '-');
  }
  return null;
}

export function parserOf(grammar: Grammar): StreamParser<State> {
  const regex = (source: string) => new RegExp(source, 'dg');
  const rules = (patterns: Pattern[]): Rule[] => patterns.flatMap(rule);
  const rule = (pattern: Pattern): Rule[] => {
    if (pattern.include) {
      const found = grammar.repository[pattern.include.slice(1)];
      return found ? rule(found) : [];
    }
    const start = pattern.match ?? pattern.begin;
    if (start === undefined) return rules(pattern.patterns ?? []);
    return [
      {
        name: pattern.name ?? null,
        start: regex(start),
        end: pattern.end === undefined ? null : regex(pattern.end),
        captures: Object.entries(pattern.captures ?? {}).map(([group, { name }]) => [Number(group), name]),
        inside: rules(pattern.patterns ?? []),
      },
    ];
  };
  const all = rules(grammar.patterns);

  return {
    startState: () => ({ within: null, pending: [] }),
    copyState: ({ within, pending }) => ({ within, pending: [...pending] }),
    // For the editor a dot in a name has a meaning of its own.
    tokenTable: Object.fromEntries(Object.entries(LOOKS).map(([name, tag]) => [name.replaceAll('.', '-'), tag])),
    token(stream, state) {
      if (!state.pending.length) state.pending = pieces(stream.string, stream.pos, state, all);
      const [end, scope] = state.pending.shift() ?? [stream.string.length, null];
      stream.pos = end;
      return scope === null ? null : look(scope);
    },
  };
}

/** Find what comes next in a line, and say it and what is before it in pieces; at least one of them is not empty. */
function pieces(line: string, from: number, state: State, all: Rule[]): [number, string | null][] {
  const { within } = state;
  const found: [number, string | null][] = [];
  const say = (to: number, scope: string | null) => {
    if (to > (found.at(-1)?.[0] ?? from)) found.push([to, scope]);
  };
  let best: RegExpExecArray | null = null;
  let which: Rule | null = null;
  const candidates: [RegExp, Rule | null][] = (within?.inside ?? all).map((rule) => [rule.start, rule]);
  if (within?.end) candidates.unshift([within.end, null]);
  for (const [regex, rule] of candidates) {
    regex.lastIndex = from;
    const match = regex.exec(line);
    if (match && (!best || match.index < best.index)) [best, which] = [match, rule];
  }
  if (!best) {
    say(line.length, within?.name ?? null);
    return found;
  }
  const end = best.index + best[0].length;
  say(best.index, within?.name ?? null);
  if (which === null) {
    state.within = null;
    say(end, within?.name ?? null);
  } else {
    for (const [group, name] of which.captures) {
      const place = best.indices?.[group];
      if (!place) continue;
      say(place[0], which.name);
      say(place[1], name);
    }
    say(end, which.name);
    if (which.end && !endsAt(which.end, line, end)) state.within = which;
  }
  return found.length ? found : [[Math.min(from + 1, line.length), within?.name ?? null]];
}

/** Whether a stretch that begins at the end of a line is over there: the editor asks nothing more of this line. */
function endsAt(end: RegExp, line: string, from: number): boolean {
  end.lastIndex = from;
  return from === line.length && end.exec(line) !== null;
}
