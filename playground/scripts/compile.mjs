// Compile a folder of Python with the Python of Pyodide, so that a browser need not: node compile.mjs FOLDER
import { loadPyodide } from 'pyodide';

const python = await loadPyodide();
python.FS.mkdir('/site');
python.FS.mount(python.FS.filesystems.NODEFS, { root: process.argv[2] }, '/site');
// The archive is unpacked with other times than it was packed with, so what was compiled is taken as it is.
const done = python.runPython(`
import compileall, py_compile
compileall.compile_dir("/site", quiet=1, stripdir="/site", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
`);
process.exit(done ? 0 : 1);
