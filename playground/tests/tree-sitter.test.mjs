// The grammar for tree-sitter, without tree-sitter: rules that are used are defined, and every word is there.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import test from 'node:test';

const require = createRequire(import.meta.url);
const used = new Set();
const literals = new Set();

/** Note the rules and texts in what a rule is made of. */
function note(part) {
  if (typeof part === 'string') literals.add(part);
  else if (Array.isArray(part)) part.forEach(note);
  return part;
}

const $ = new Proxy({}, { get: (_, name) => (used.add(name), { rule: name }) });
const combine = (...parts) => note(parts.filter((part) => typeof part !== 'number'));
const precedence = Object.assign(combine, { left: combine, right: combine, dynamic: combine });
for (const name of ['alias', 'choice', 'optional', 'repeat', 'repeat1', 'seq', 'token']) globalThis[name] = combine;
Object.assign(globalThis, { prec: precedence, field: (_, part) => note([part]), grammar: (definition) => definition });
const definition = require('../../grammar/tree-sitter/grammar.js');
for (const rule of Object.values(definition.rules)) rule($);
definition.conflicts($);
definition.extras($).forEach(note);

test('every rule that is used is defined, and every rule is used', () => {
  const defined = Object.keys(definition.rules);
  assert.deepEqual([...used].filter((name) => !defined.includes(name)), []);
  assert.deepEqual(defined.filter((name) => !used.has(name)), ['source_file']);
});

test('every word of the language is in it', () => {
  const words = JSON.parse(fs.readFileSync(new URL('../../grammar/words.json', import.meta.url), 'utf8'));
  const expected = ['declarations', 'clauses', 'contextual', 'types', 'quantifiers', 'prefixes', 'infixes'].flatMap((kind) => words[kind]);
  assert.deepEqual([...expected, 'cpl', 'ticks'].filter((word) => word !== 'all' && !literals.has(word)), []);
});
