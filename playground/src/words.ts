// The words of the grammar: keywords where the parser can take them, and else names that look as in the TextMate
// grammar. Lookahead ends with the line, as it does there.

import { ExternalTokenizer, type InputStream } from '@lezer/lr';
import * as terms from './cpl.grammar.terms';
import table from '../../grammar/words.json';

const WORD = /\w/;
const term = terms as Record<string, number>;

const keywords = [...table.declarations, ...table.clauses, ...table.contextual, ...table.types, ...table.open_types, 'cpl'];
const KEYWORD = new Map(keywords.map((word) => [word, term[`kw${word[0]!.toUpperCase()}${word.slice(1)}`]]));
const RESERVED = new Set([...table.declarations, ...table.clauses]);

/** Kinds of words, each with what follows such a word in its line, and with its token. */
const KINDS: [Set<string>, RegExp, number][] = [
  [new Set(table.contextual), /^(?!\s*(->|:(?!=)))/, terms.Contextual],
  [new Set(table.types), /^/, terms.TypeWord],
  [new Set(table.constants), /^/, terms.Constant],
  [new Set(table.quantifiers), /^/, terms.Quantifier],
  [new Set(table.checks), /^/, terms.CheckName],
  [new Set(table.modalities), /^(?=\s*\()/, terms.Modality],
  [new Set(table.prefixes), /^(?!\s*([.@,)]|->))/, terms.Prefix],
  [new Set(table.infixes), /^(?!\s*([.@,)]|->|>>))/, terms.Infix],
  [new Set(table.predicates), /^(?=\s*\()/, terms.State],
  [new Set(table.operations), /^(?=\s+[A-Za-z_])/, terms.Operation],
];

/** What a prefix operator applies to begins so; before anything else, or at the end of a line, it is one too. */
const NO_OPERAND = /^\s*[:}\]=]/;

/** A point or a length of time, or an amount of money. */
const DURATION = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)(?!\w)|^\d+([ \t]*(us|ms|s|min|h|d|w)|(\.\d+)?[ \t]*[A-Z]{3}(?!\w)(?!\s*(->\s*\w+(\[[^\]]*\])?\s*[,:]|[.[])))(?!\w)/;

function wordAt(input: InputStream): string {
  let word = '';
  for (let at = 0; input.peek(at) >= 0 && WORD.test(String.fromCharCode(input.peek(at))); at++) word += String.fromCharCode(input.peek(at));
  return word;
}

function restOfLine(input: InputStream, from: number): string {
  let rest = '';
  for (let at = from; input.peek(at) >= 0 && input.peek(at) !== 10; at++) rest += String.fromCharCode(input.peek(at));
  return rest;
}

export const words = new ExternalTokenizer((input, stack) => {
  const word = wordAt(input);
  if (!word) return;
  if (/\d/.test(word[0]!)) {
    const duration = DURATION.exec(restOfLine(input, 0));
    if (duration) input.acceptToken(terms.Duration, duration[0].length);
    return;
  }
  const rest = restOfLine(input, word.length);
  const take = (token: number) => input.acceptToken(token, word.length);
  const keyword = KEYWORD.get(word);
  if (keyword !== undefined && stack.canShift(keyword) && !/^\s*->/.test(rest) && (word !== 'cpl' || /^\s+\d/.test(rest)) && (word !== 'each' || /^\s+\w+\s*:/.test(rest))) return take(keyword);
  if (RESERVED.has(word)) return;
  if (word === 'ticks' && stack.canShift(terms.ticks) && /^\s*[\w(!]/.test(rest)) return take(terms.ticks);
  const kind = KINDS.find(([all, follows]) => all.has(word) && follows.test(rest));
  if (!kind) return take(terms.Word);
  const [, , token] = kind;
  if ((token === terms.Prefix && NO_OPERAND.test(rest)) || (token > terms.TypeWord && !stack.canShift(token))) return take(terms.OperatorName);
  take(token);
});
