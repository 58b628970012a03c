// Start the checker once and write the memory of its Python, from which each browser goes on: node image.mjs PYODIDE SITE FILE
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';

const [folder, site, file] = process.argv.slice(2).map((name) => path.resolve(name));
const { loadPyodide } = await import(path.join(folder, 'pyodide.mjs'));
const python = await loadPyodide({ indexURL: `${folder}/`, _makeSnapshot: true, env: { HOME: '/home/web_user' } });
const room = python._module.HEAPU8.length;
// Files are no part of the image. They are mounted: unpacking would leave its working memory in it.
python.FS.mount(python.FS.filesystems.NODEFS, { root: site }, python.runPython('import site; site.getsitepackages()[0]'));
python.runPython('import playground.checker as checker; checker.prepare(); import gc; gc.collect()');
const image = python.makeMemorySnapshot();
const used = python._module.HEAPU8.length;
// A browser reads it into the memory that Python has when it starts.
if (used > room) throw new Error(`the image has ${used} bytes, and there is room for ${room}`);
fs.writeFileSync(file, zlib.gzipSync(image, { level: 9 }));
process.exit(0);
