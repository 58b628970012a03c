// The checker in Pyodide, without a page: node verdicts.mjs FOLDER tells the verdicts of every example as JSON.

import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = path.resolve(process.argv[2]);
const { loadPyodide } = await import(pathToFileURL(path.join(folder, 'pyodide', 'pyodide.mjs')).href);
const python = await loadPyodide({ indexURL: path.join(folder, 'pyodide') + path.sep });
const archive = new Uint8Array(fs.readFileSync(path.join(folder, 'python.zip')));
python.unpackArchive(archive.buffer, 'zip', { extractDir: python.runPython('import site; site.getsitepackages()[0]') });
const checker = python.pyimport('playground.checker');
checker.prepare();
const told = {};
for (const { name, text } of JSON.parse(fs.readFileSync(path.join(folder, 'examples.json'), 'utf8'))) {
  told[name] = [];
  for (const line of checker.verified(JSON.stringify({ name, text }))) {
    const { result, end } = JSON.parse(line);
    if (result) told[name].push([result.name, result.verdict]);
    if (end) told[name].push(['ended', end]);
  }
}
process.stdout.write(JSON.stringify(told));
process.exit(0);
