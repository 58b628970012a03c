// The scopes that the grammars give every file of examples/ and stdlib/, in tests/snapshots. A snapshot holds the text
// that it was made of, so a change of an example is no failure here, but a change of its colours is.
// usage: node tests/snapshots.mjs [update]

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const here = path.dirname(new URL(import.meta.url).pathname);
const kept = path.join(here, 'snapshots');
const update = process.argv[2] === 'update';
const files = ['examples', 'stdlib'].flatMap((folder) => {
  const inside = path.join(here, '..', '..', folder);
  return fs.readdirSync(inside).filter((name) => /\.(cpl|ispl)$/.test(name)).map((name) => ({ name: `${folder}.${name}`, text: fs.readFileSync(path.join(inside, name), 'utf8') }));
});

/** The text that a snapshot was made of. */
function textOf(snapshot) {
  return snapshot.split('\n').filter((line) => line.startsWith('>')).map((line) => line.slice(1)).join('\n');
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cplc-grammar-'));
try {
  if (update) {
    fs.rmSync(kept, { recursive: true, force: true });
    fs.mkdirSync(kept);
    for (const { name, text } of files) fs.writeFileSync(path.join(folder, name), text);
  } else {
    for (const name of fs.readdirSync(kept)) {
      const snapshot = fs.readFileSync(path.join(kept, name), 'utf8');
      fs.writeFileSync(path.join(folder, name), snapshot);
      fs.writeFileSync(path.join(folder, name.replace(/\.snap$/, '')), textOf(snapshot));
    }
  }
  const tool = path.join(here, '..', 'node_modules', '.bin', 'vscode-tmgrammar-snap');
  const done = spawnSync(tool, [`${folder}/*.{cpl,ispl}`], { encoding: 'utf8', cwd: path.join(here, '..') });
  if (done.status !== 0) console.log(done.stdout, done.stderr);
  process.exitCode = done.status ?? 1;
  if (update) {
    for (const name of fs.readdirSync(folder).filter((one) => one.endsWith('.snap'))) fs.copyFileSync(path.join(folder, name), path.join(kept, name));
  }
  const stale = files.filter(({ name, text }) => {
    const file = path.join(kept, `${name}.snap`);
    return !fs.existsSync(file) || textOf(fs.readFileSync(file, 'utf8')).trimEnd() !== text.trimEnd();
  });
  console.log(`${fs.readdirSync(kept).length} snapshots; ${stale.length} to be made again with \`npm run snapshots\``);
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
