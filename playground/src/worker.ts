// The checker, in a thread of its own: it is asked in JSON, and says each answer as soon as it has it.

import type { PyodideAPI } from 'pyodide';

interface Asked {
  id: number;
  what: 'check' | 'verify';
  request: string;
}

interface Checker {
  prepare(): string;
  checked(request: string): string;
  verified(request: string): Iterable<string>;
}

const at = (name: string) => new URL(name, location.href).href;
const say = (message: object) => postMessage(message);

async function fetched(name: string): Promise<Response> {
  const reply = await fetch(at(name));
  if (!reply.ok) throw new Error(`${name} cannot be loaded: ${reply.status}`);
  return reply;
}

async function load(): Promise<Checker> {
  const archive = fetched('python.zip').then((reply) => reply.arrayBuffer());
  const { loadPyodide } = (await import(at('pyodide/pyodide.mjs'))) as typeof import('pyodide');
  const python: PyodideAPI = await loadPyodide({ indexURL: at('pyodide/') });
  say({ loading: 'unpacking the checker' });
  const folder = python.runPython('import site; site.getsitepackages()[0]') as string;
  python.unpackArchive(await archive, 'zip', { extractDir: folder });
  say({ loading: 'starting the checker' });
  return python.pyimport('playground.checker') as Checker;
}

const checker = load();
checker.then(
  (loaded) => say({ ready: loaded.prepare() }),
  (problem: unknown) => say({ failed: String(problem) }),
);

onmessage = async (event: MessageEvent<Asked>) => {
  const { id, what, request } = event.data;
  try {
    const loaded = await checker;
    if (what === 'check') say({ id, said: JSON.parse(loaded.checked(request)) });
    else for (const line of loaded.verified(request)) say({ id, said: JSON.parse(line) });
    say({ id, done: true });
  } catch (problem) {
    // Python has caught what is its own: this is the end of the stack or of the memory of the browser.
    say({ id, broken: String(problem) });
  }
};
