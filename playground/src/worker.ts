// The checker, in a thread of its own: it is asked in JSON, and says each answer as soon as it has it.

import type { PyodideAPI } from 'pyodide';

interface Asked {
  id: number;
  what: 'check' | 'verify' | 'simulate' | 'draw' | 'analyze';
  request: string;
}

interface Checker {
  prepare(): string;
  checked(request: string): string;
  verified(request: string): Iterable<string>;
  simulated(request: string): Iterable<string>;
  drawn(request: string): Iterable<string>;
  analyzed(request: string): Iterable<string>;
}

const at = (name: string) => new URL(name, location.href).href;
const say = (message: object) => postMessage(message);

async function fetched(name: string): Promise<Response> {
  const reply = await fetch(at(name));
  if (!reply.ok) throw new Error(`${name} cannot be loaded: ${reply.status}`);
  return reply;
}

/** Return the memory of a Python that has started the checker already: neither is done again in each browser. */
async function image(): Promise<Uint8Array> {
  const packed = (await fetched('python.image')).body!;
  return new Uint8Array(await new Response(packed.pipeThrough(new DecompressionStream('gzip'))).arrayBuffer());
}

async function load(): Promise<Checker> {
  const archive = fetched('python.zip').then((reply) => reply.arrayBuffer());
  const memory = image();
  const { loadPyodide } = (await import(at('pyodide/pyodide.mjs'))) as typeof import('pyodide');
  const python: PyodideAPI = await loadPyodide({ indexURL: at('pyodide/'), _loadSnapshot: await memory });
  say({ loading: 'unpacking the checker' });
  const folder = python.runPython('import site; site.getsitepackages()[0]') as string;
  python.unpackArchive(await archive, 'zip', { extractDir: folder });
  return python.pyimport('playground.checker') as Checker;
}

const checker = load();
checker.then(
  (loaded) => say({ ready: loaded.prepare() }),
  (problem: unknown) => say({ failed: String(problem) }),
);

function answers(loaded: Checker, what: Asked['what'], request: string): Iterable<string> {
  switch (what) {
    case 'check':
      return [loaded.checked(request)];
    case 'simulate':
      return loaded.simulated(request);
    case 'draw':
      return loaded.drawn(request);
    case 'analyze':
      return loaded.analyzed(request);
    case 'verify':
      return loaded.verified(request);
  }
}

onmessage = async (event: MessageEvent<Asked>) => {
  const { id, what, request } = event.data;
  try {
    for (const line of answers(await checker, what, request)) say({ id, said: JSON.parse(line) });
    say({ id, done: true });
  } catch (problem) {
    // Python has caught what is its own: this is the end of the stack or of the memory of the browser.
    say({ id, broken: String(problem) });
  }
};
