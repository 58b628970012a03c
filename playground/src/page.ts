// The page: an editor, two checkers, and what is known.

import { Checker, type Checked, type Problem, type Request } from './checker';
import { code, Editor, said } from './editor';
import { Results } from './results';
import { fragmentOf, type Shared, sharedIn } from './share';

interface Example {
  name: string;
  title: string;
  text: string;
}

const PAUSE = 250;
const NEWEST = 'protocol.cpl';
const STOPPED = 'it was stopped';

const $ = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;
const examples = $<HTMLSelectElement>('examples');
const verifyButton = $<HTMLButtonElement>('verify');
const status = $('status');
const channels = $<HTMLSelectElement>('channels');
const protocol = $<HTMLSelectElement>('protocol');
const engine = $<HTMLSelectElement>('engine');
const formula = $<HTMLInputElement>('formula');

let name = NEWEST;
let known: Example[] = [];
let running = false;
let checking = false;
let isStale = false;
let timer: ReturnType<typeof setTimeout> | undefined;

const editor = new Editor($('editor'), changed, explain);
const results = new Results($('results'), (line, column) => editor.go(editor.place(line, column)));

// One checks while somebody types; the other verifies, and is ended when it is to stop.
const typing = new Checker((state) => {
  // Whatever else was said in the meantime is of more use.
  const isLoading = status.textContent?.startsWith('Loading');
  if (state.loading && isLoading) status.textContent = `Loading: ${state.loading}…`;
  if (state.failed) status.textContent = `The checker cannot be loaded: ${state.failed}`;
  if (state.ready) {
    document.documentElement.dataset.ready = state.ready;
    if (isLoading) status.textContent = `Ready: ${state.ready}`;
    verifying.start();
  }
});
const verifying = new Checker((state) => {
  if (state.loading && running) status.textContent = `Loading: ${state.loading}…`;
  if (state.failed) status.textContent = `The checker cannot be loaded: ${state.failed}`;
});

// --- the request

function request(): Request {
  const parameters: Record<string, string> = {};
  for (const input of $('parameters').querySelectorAll('input')) parameters[input.name] = input.value.trim();
  return {
    name,
    text: editor.text,
    parameters,
    channels: channels.value,
    protocol: protocol.value,
    engine: engine.value,
  };
}

function changed(): void {
  if (results.age() && !running) status.textContent = 'These verdicts belong to an earlier version of the text.';
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE);
}

/** Check the text as it is; while one is checked, what is typed waits and is checked once. */
async function check(): Promise<void> {
  if (checking) {
    isStale = true;
    return;
  }
  checking = true;
  const asked = request();
  const checked = await typing.check(asked);
  checking = false;
  if (isStale) {
    isStale = false;
    void check();
  }
  if (!checked) {
    typing.start();
    return;
  }
  // Only what belongs to the text as it is now is shown.
  if (asked.text !== editor.text) return;
  show(checked.diagnostics);
  offer(checked);
  if (checked.end) status.textContent = checked.end;
}

function show(problems: Problem[]): void {
  editor.mark(problems);
  $('problems').replaceChildren(
    ...problems.map((problem) => {
      const row = document.createElement('div');
      row.append(where(problem), told(problem), code(problem, explain));
      return row;
    }),
  );
}

function where(problem: Problem): HTMLElement {
  const { place } = problem;
  if (!place) return said(problem.file.split('/').at(-1) ?? '', 'faint');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'place';
  button.textContent = `${place.line}:${place.column}`;
  button.addEventListener('click', () => editor.go(place));
  return button;
}

function told(problem: Problem): HTMLElement {
  const found = document.createElement('div');
  found.className = 'text';
  found.append(said(problem.message, problem.severity), ...problem.notes.map((note) => said(note.message, 'faint')));
  return found;
}

/** Offer what can be chosen of this text: its parameters, and its protocols if there are several. */
function offer(checked: Checked): void {
  if (!checked.ok && !checked.protocols.length) return;
  const fields = [...$('parameters').querySelectorAll('input')];
  const same = fields.map((field) => field.name).join() === checked.parameters.map((one) => one.name).join();
  if (same) {
    checked.parameters.forEach((one, index) => (fields[index]!.placeholder = one.default));
  } else {
    ask(checked.parameters.map((one) => [one.name, one.default, fields.find((field) => field.name === one.name)?.value ?? '']));
  }
  choose(checked.protocols, protocol.value);
}

function ask(parameters: [name: string, standard: string, value: string][]): void {
  $('parameters').replaceChildren(
    ...parameters.map(([name, standard, value]) => {
      const label = document.createElement('label');
      const input = document.createElement('input');
      Object.assign(input, { name, value, placeholder: standard, autocomplete: 'off' });
      input.addEventListener('input', changed);
      label.append(name, input);
      return label;
    }),
  );
}

function choose(protocols: string[], chosen: string): void {
  const offered = [...protocol.options].map((option) => option.value).filter(Boolean);
  $('protocol-label').hidden = protocols.length < 2;
  if (offered.join() === protocols.join() && protocol.value === chosen) return;
  protocol.replaceChildren(new Option(`last (${protocols.at(-1) ?? ''})`, ''), ...protocols.map((one) => new Option(one)));
  protocol.value = protocols.includes(chosen) ? chosen : '';
}

// --- verdicts

async function verify(): Promise<void> {
  const asked: Request = { ...request(), formula: formula.value.trim() };
  running = true;
  verifyButton.textContent = 'Stop';
  verifyButton.classList.add('stop');
  status.textContent = 'Verifying…';
  results.clear();
  let wrong = '';
  const end = await verifying.verify(asked, (heard) => {
    if (heard.asked) results.ask(heard.asked);
    if (heard.result) results.take(heard.result, heard.shown ?? '');
    if (heard.formula) wrong = `The formula is wrong: ${heard.formula.join('; ')}`;
    if (heard.diagnostics) {
      if (asked.text === editor.text) show(heard.diagnostics);
      wrong = 'The text has errors, so nothing is verified.';
    }
    status.textContent = `Verifying: ${results.progress} known`;
  });
  running = false;
  verifyButton.textContent = 'Verify';
  verifyButton.classList.remove('stop');
  if (end !== null) results.end(end);
  status.textContent = wrong || (end === null ? results.counts : `${end === STOPPED ? 'Stopped' : end}: ${results.progress} known`);
  if (asked.text !== editor.text) results.age();
  verifying.start();
}

$('options').addEventListener('submit', (event) => {
  event.preventDefault();
  if (running) verifying.stop(STOPPED);
  else void verify();
});

// --- texts

function open(shared: Shared): void {
  name = shared.name;
  if (running) verifying.stop(STOPPED);
  ask(Object.entries(shared.parameters).map(([name, value]) => [name, '', value]));
  channels.value = shared.channels;
  choose(shared.protocol ? [shared.protocol] : [], shared.protocol);
  formula.value = '';
  results.clear();
  examples.value = known.some((one) => one.name === name) ? name : '';
  editor.show(name, shared.text);
  document.title = `${name} · cplc playground`;
  show([]);
  clearTimeout(timer);
  void check();
}

const plain = (example: Example): Shared => ({ ...example, parameters: {}, channels: '', protocol: '' });

examples.addEventListener('change', () => {
  const example = known.find((one) => one.name === examples.value);
  if (!example) return;
  history.replaceState(null, '', `#example=${example.name}`);
  open(plain(example));
});

/** Show what the address asks for; false if it asks for nothing. */
async function follow(): Promise<boolean> {
  const fragment = location.hash.slice(1);
  const example = known.find((one) => fragment === `example=${one.name}`);
  if (example) open(plain(example));
  if (!fragment.startsWith('p=')) return example !== undefined;
  try {
    open(await sharedIn(fragment));
    return true;
  } catch (problem) {
    status.textContent = (problem as Error).message;
    return false;
  }
}

window.addEventListener('hashchange', () => void follow());

$('share').addEventListener('click', async () => {
  const { name, text, parameters, channels, protocol } = request();
  history.replaceState(null, '', `#${await fragmentOf({ name, text, parameters, channels, protocol })}`);
  const dialog = $<HTMLDialogElement>('link');
  const field = dialog.querySelector('input')!;
  field.value = location.href;
  dialog.showModal();
  field.select();
  const copied = navigator.clipboard ? navigator.clipboard.writeText(location.href) : Promise.reject();
  $('linked').textContent = await copied.then(
    () => 'The link is copied. It contains the text as it is now.',
    () => 'Copy this link. It contains the text as it is now.',
  );
});

// --- what rules mean

async function explain(code: string): Promise<void> {
  const dialog = $<HTMLDialogElement>('explanation');
  const pages = (await (await fetch('rules.json')).json()) as Record<string, string>;
  dialog.querySelector('article')!.innerHTML = pages[code] ?? '';
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

// --- the rest

const THEMES = ['auto', 'light', 'dark'];

function paint(theme: string): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  $('theme').textContent = `Theme: ${theme}`;
}

/** Storage may be switched off. */
function remembered(theme?: string): string {
  try {
    if (theme !== undefined) localStorage.setItem('theme', theme);
    return localStorage.getItem('theme') ?? 'auto';
  } catch {
    return theme ?? 'auto';
  }
}

let theme = remembered();
paint(theme);
$('theme').addEventListener('click', () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
  paint(theme);
  remembered(theme);
});

document.addEventListener(
  'keydown',
  (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!running) void verify();
  },
  { capture: true },
);
for (const select of [channels, protocol]) select.addEventListener('change', changed);

async function begin(): Promise<void> {
  typing.start();
  known = (await (await fetch('examples.json')).json()) as Example[];
  examples.replaceChildren(new Option('—', ''), ...known.map((one) => new Option(one.name, one.name)));
  for (const [index, one] of known.entries()) examples.options[index + 1]!.title = one.title;
  const first = known.find((one) => one.name === 'netbill.cpl') ?? known[0];
  if (!(await follow()) && first) open(plain(first));
}

void begin();
