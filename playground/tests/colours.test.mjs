// The colours of the editor against those of VS Code, in the snapshots of the extension. Protocols are parsed by the
// grammar of Lezer, without an error; models in ISPL are coloured by our reading of their TextMate grammar.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { highlightTree, tagHighlighter } from '@lezer/highlight';
import { build } from 'esbuild';
import { lezer } from '../scripts/lezer.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..', '..');
const extension = path.join(root, 'vscode-extension');
const snapshots = path.join(extension, 'tests', 'snapshots');
const folder = fs.mkdtempSync(path.join(here, 'built-')); // here, where the modules of node are found
const entryPoints = ['textmate', 'cpl'].map((name) => path.join(here, '..', 'src', `${name}.ts`));
try {
  await build({ entryPoints, outdir: folder, bundle: true, format: 'esm', packages: 'external', outExtension: { '.js': '.mjs' }, plugins: [lezer] });
  var { parserOf, look, LOOKS } = await import(pathToFileURL(path.join(folder, 'textmate.mjs')).href);
  var { cplParser } = await import(pathToFileURL(path.join(folder, 'cpl.mjs')).href);
} finally {
  fs.rmSync(folder, { recursive: true });
}
const ispl = parserOf(JSON.parse(fs.readFileSync(path.join(extension, 'syntaxes', 'ispl.tmLanguage.json'), 'utf8')));

/** One name for each tag: several scopes may have the same one. */
const names = new Map(Object.entries(LOOKS).map(([scope, tag]) => [tag, scope]));
const nameOf = (tag) => (tag ? names.get(tag) : null);
const highlighter = tagHighlighter([...names].map(([tag, name]) => ({ tag, class: name })));

/** Return the name of the tag of each character of a protocol. */
function protocolColours(text) {
  const colours = Array(text.length).fill(null);
  highlightTree(cplParser.parse(text), highlighter, (from, to, name) => colours.fill(name, from, to));
  return colours;
}

/** Return the name of the tag of each character of a model in ISPL. */
function modelColours(text) {
  const colours = [];
  const state = ispl.startState();
  for (const line of text.split('\n')) {
    const stream = { string: line, pos: 0 };
    while (stream.pos < line.length) {
      const from = stream.pos;
      const style = ispl.token(stream, state);
      assert.ok(stream.pos > from, `stands still at ${from} of ${line}`);
      for (let at = from; at < stream.pos; at++) colours.push(nameOf(ispl.tokenTable[style]));
    }
    colours.push(null);
  }
  return colours;
}

/** Return the lines of a snapshot, each with the name of the tag of each of its characters in VS Code. */
function linesOf(snapshot) {
  const lines = [];
  for (const row of snapshot.split('\n')) {
    if (row.startsWith('>')) lines.push([row.slice(1), Array(row.length - 1).fill(null)]);
    if (!row.startsWith('#')) continue;
    const [, before, marked, scopes] = /^#( *)(\^+) (.*)$/.exec(row);
    const scope = scopes.split(' ').map(look).filter(Boolean).at(-1);
    lines.at(-1)[1].fill(nameOf(LOOKS[scope]), before.length, before.length + marked.length);
  }
  return lines;
}

function errorsOf(text) {
  const errors = [];
  cplParser.parse(text).iterate({ enter: (node) => void (node.type.isError && errors.push(text.slice(node.from, node.from + 40))) });
  return errors;
}

for (const name of fs.readdirSync(snapshots)) {
  test(`colours of ${name}`, () => {
    const lines = linesOf(fs.readFileSync(path.join(snapshots, name), 'utf8'));
    const text = lines.map(([line]) => line).join('\n');
    const colours = name.endsWith('.cpl.snap') ? protocolColours(text) : modelColours(text);
    let start = 0;
    for (const [line, expected] of lines) {
      const wrong = [...line].findIndex((char, at) => /\S/.test(char) && (colours[start + at] ?? null) !== (expected[at] ?? null));
      assert.equal(wrong, -1, `${line}\n${' '.repeat(Math.max(wrong, 0))}^ ${colours[start + wrong]}, not ${expected[wrong]}`);
      start += line.length + 1;
    }
  });
}

for (const folder of ['examples', 'stdlib', 'tests/cases', 'benchmarks/protocols', 'src/cplc/cli/starters']) {
  const inside = path.join(root, folder);
  if (!fs.existsSync(inside)) continue;
  for (const name of fs.readdirSync(inside).filter((name) => name.endsWith('.cpl'))) {
    test(`${folder}/${name} is parsed without errors`, () => assert.deepEqual(errorsOf(fs.readFileSync(path.join(inside, name), 'utf8')), []));
  }
}

test('errors are found', () => assert.notDeepEqual(errorsOf('protocol { role }'), []));
