// The part of TextMate's grammars that the one of ISPL uses: matches in a line, with captures.

import type { StreamParser } from '@codemirror/language';
import { tags as t, type Tag } from '@lezer/highlight';

interface Pattern {
  name?: string;
  match?: string;
  captures?: Record<string, { name: string }>;
  include?: string;
  patterns?: Pattern[];
}

export interface Grammar {
  patterns: Pattern[];
  repository: Record<string, Pattern>;
}

interface Rule {
  name: string | null;
  match: RegExp;
  captures: [number, string][];
}

/** Pieces of the last match that are still to be coloured: up to where, and with which scope. */
type State = [number, string | null][];

/** Tags of scopes, by their first words; the longest one that fits counts. */
export const LOOKS: Record<string, Tag> = {
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
    const name = words.slice(0, length).join('.');
    if (name in LOOKS) return name;
  }
  return null;
}

export function parserOf(grammar: Grammar): StreamParser<State> {
  const rules = (patterns: Pattern[]): Rule[] => patterns.flatMap(({ name = null, match, captures = {}, include, patterns = [] }) => {
    if (include) return rules([grammar.repository[include.slice(1)] ?? {}]);
    if (match === undefined) return rules(patterns);
    return [{ name, match: new RegExp(match, 'dg'), captures: Object.entries(captures).map(([group, { name }]) => [Number(group), name]) }];
  });
  const all = rules(grammar.patterns);
  // For the editor a dot in a name has a meaning of its own.
  const style = (name: string) => name.replaceAll('.', '-');

  return {
    startState: () => [],
    copyState: (state) => [...state],
    tokenTable: Object.fromEntries(Object.entries(LOOKS).map(([name, tag]) => [style(name), tag])),
    token(stream, state) {
      if (!state.length) state.push(...pieces(stream.string, stream.pos, all));
      const [end, scope] = state.shift() ?? [stream.string.length, null];
      stream.pos = end;
      const name = scope === null ? null : look(scope);
      return name === null ? null : style(name);
    },
  };
}

/** Return the text before the first match in the rest of a line and the match itself, as non-empty pieces. */
function pieces(line: string, from: number, all: Rule[]): State {
  const result: State = [];
  const add = (to: number, scope: string | null) => {
    if (to > (result.at(-1)?.[0] ?? from)) result.push([to, scope]);
  };
  let best: RegExpExecArray | null = null;
  let rule: Rule | null = null;
  for (const candidate of all) {
    candidate.match.lastIndex = from;
    const match = candidate.match.exec(line);
    if (match?.[0] && (!best || match.index < best.index)) [best, rule] = [match, candidate];
  }
  if (!best || !rule) return [[line.length, null]];
  add(best.index, null);
  for (const [group, name] of rule.captures) {
    const place = best.indices?.[group];
    if (!place) continue;
    add(place[0], rule.name);
    add(place[1], name);
  }
  add(best.index + best[0].length, rule.name);
  return result;
}
