// Our reading of the TextMate grammar against that of VS Code, which is kept in the snapshots of the extension.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const extension = path.join(here, '..', '..', 'vscode-extension');
const snapshots = path.join(extension, 'tests', 'snapshots');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cplc-colours-'));
const bundled = path.join(folder, 'textmate.mjs');
buildSync({ entryPoints: [path.join(here, '..', 'src', 'textmate.ts')], outfile: bundled, bundle: true, format: 'esm' });
const { parserOf, look } = await import(pathToFileURL(bundled).href);
fs.rmSync(folder, { recursive: true });
const parser = parserOf(JSON.parse(fs.readFileSync(path.join(extension, 'syntaxes', 'cpl.tmLanguage.json'), 'utf8')));

/** Say of each character of a line what it looks like. */
function looks(line, state) {
  const found = [];
  const stream = { string: line, pos: 0 };
  while (stream.pos < line.length) {
    const from = stream.pos;
    const style = parser.token(stream, state);
    assert.ok(stream.pos > from, `stands still at ${from} of ${line}`);
    for (let at = from; at < stream.pos; at++) found.push(style);
  }
  return found;
}

/** Return the lines of a snapshot, each with what VS Code makes of its characters. */
function* linesOf(snapshot) {
  let line = null;
  let expected = [];
  for (const row of snapshot.split('\n')) {
    if (row.startsWith('>')) {
      if (line !== null) yield [line, expected];
      [line, expected] = [row.slice(1), []];
    } else if (row.startsWith('#')) {
      const [, before, marked, scopes] = /^#( *)(\^+) (.*)$/.exec(row);
      const style = scopes.split(' ').map(look).filter(Boolean).at(-1) ?? null;
      for (let at = before.length; at < before.length + marked.length; at++) expected[at] = style;
    }
  }
  if (line !== null) yield [line, expected];
}

test('every grammar of the extension can be read here', () => {
  for (const name of fs.readdirSync(path.join(extension, 'syntaxes'))) {
    const found = parserOf(JSON.parse(fs.readFileSync(path.join(extension, 'syntaxes', name), 'utf8')));
    const state = found.startState();
    const stream = { string: 'Agent A -- x "y" 1 end', pos: 0 };
    for (let steps = 0; stream.pos < stream.string.length; steps++) {
      assert.ok(steps < 100, name);
      found.token(stream, state);
    }
  }
});

for (const name of fs.readdirSync(snapshots)) {
  test(name, () => {
    const state = parser.startState();
    for (const [line, expected] of linesOf(fs.readFileSync(path.join(snapshots, name), 'utf8'))) {
      const found = looks(line, state);
      const wrong = [...line].findIndex((char, at) => /\S/.test(char) && (found[at] ?? null) !== (expected[at] ?? null));
      assert.equal(wrong, -1, `${line}\n${' '.repeat(Math.max(wrong, 0))}^ ${found[wrong]}, not ${expected[wrong]}`);
    }
  });
}
