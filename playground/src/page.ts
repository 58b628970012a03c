// The page: an editor, a checker for each kind of work, and what is known.

import { Checker, type Checked, type Problem, type Request } from './checker';
import { code, Editor, said } from './editor';
import { Results } from './results';
import { fragmentOf, type Shared, sharedIn } from './share';
import { Tabs } from './tabs';

interface Example {
  name: string;
  title: string;
  text: string;
}

interface Start {
  tour: Example[];
  topics: { title: string; names: string[] }[];
}

const PAUSE = 250;
/** How long a verification may take that nobody asked for, in milliseconds. */
const MOST = 20_000;
const OWN = 'own';
const STOPPED = 'it was stopped';
const CHANGED = 'the text has changed';
const TOO_LONG = 'stopped after 20 s; the button Verify has no limit';

const $ = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;
const examples = $<HTMLSelectElement>('examples');
const verifyButton = $<HTMLButtonElement>('verify');
const status = $('status');
const channels = $<HTMLSelectElement>('channels');
const protocol = $<HTMLSelectElement>('protocol');
const engine = $<HTMLSelectElement>('engine');
const formula = $<HTMLInputElement>('formula');

let name = `${OWN}.cpl`;
/** The text as it was opened, if it is not the user's own. */
let opened: string | null = null;
let start: Start = { tour: [], topics: [] };
/** The request that the verdicts answer. */
let answered = '';
let isAutomatic = false;
let known: Example[] = [];
let running = false;
let checking = false;
let isStale = false;
let timer: ReturnType<typeof setTimeout> | undefined;

const editor = new Editor($('editor'), changed, explain);
const tabs = new Tabs(request);
const automatic = $<HTMLInputElement>('automatic');
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
    keepForNextVisit();
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

function changed(isWritten = false): void {
  if (isWritten && opened !== null) own();
  if (isWritten) store('text', JSON.stringify({ name, text: editor.text }));
  if (running && isAutomatic) verifying.stop(CHANGED);
  if (!running) status.textContent = results.age() ? 'These verdicts belong to an earlier version of the text.' : '';
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE);
}

/** What is written belongs to the writer: it has the name of no example. */
function own(): void {
  opened = null;
  rename(`${OWN}.${name.split('.').at(-1) ?? 'cpl'}`);
  if (location.hash) history.replaceState(null, '', location.pathname);
}

function rename(to: string): void {
  name = to;
  examples.options[0]!.textContent = opened === null ? name : 'own text';
  examples.value = opened !== null && known.some((one) => one.name === name) ? name : '';
  document.title = `${name} · cplc playground`;
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
  else if (!checked.ok) refuse(checked.diagnostics);
  else if (automatic.checked) void verify(true);
  if (checked.ok) tabs.refresh();
}

/** A text with errors has no verdicts: those that are shown are older. */
function refuse(problems: Problem[]): void {
  const count = problems.filter((problem) => problem.severity === 'error').length;
  results.age();
  if (!running) status.textContent = `${count} error${count === 1 ? '' : 's'}: nothing is verified.`;
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
      input.addEventListener('input', () => changed());
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

async function verify(isUnasked = false): Promise<void> {
  const asked: Request = { ...request(), formula: formula.value.trim() };
  const key = JSON.stringify(asked);
  if (isUnasked && running) return;
  if (isUnasked && key === answered) {
    results.renew();
    status.textContent = results.counts;
    return;
  }
  if (!isUnasked) tabs.show('verdicts');
  answered = key;
  isAutomatic = isUnasked;
  const limit = isUnasked ? setTimeout(() => verifying.stop(TOO_LONG), MOST) : undefined;
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
  clearTimeout(limit);
  verifyButton.textContent = 'Verify';
  verifyButton.classList.remove('stop');
  if (end !== null) results.end(end);
  verifying.start();
  if (end === CHANGED) {
    answered = '';
    status.textContent = '';
    results.age();
    void check();
    return;
  }
  status.textContent = wrong || (end === null ? results.counts : `${end === STOPPED ? 'Stopped' : end}: ${results.progress} known`);
  if (asked.text !== editor.text) changed();
}

$('options').addEventListener('submit', (event) => {
  event.preventDefault();
  if (running) verifying.stop(STOPPED);
  else void verify();
});

// --- texts

function open(shared: Shared): void {
  opened = shared.text;
  if (running) verifying.stop(STOPPED);
  ask(Object.entries(shared.parameters).map(([name, value]) => [name, '', value]));
  channels.value = shared.channels;
  choose(shared.protocol ? [shared.protocol] : [], shared.protocol);
  formula.value = '';
  results.clear();
  answered = '';
  name = shared.name;
  editor.show(name, shared.text);
  // A text that is no example, though it has the name of one, is somebody's own.
  if (![...known, ...start.tour].some((one) => one.name === name && one.text === shared.text)) opened = null;
  rename(opened === null && known.some((one) => one.name === name) ? `${OWN}.${name.split('.').at(-1)}` : name);
  status.textContent = '';
  show([]);
  clearTimeout(timer);
  void check();
}

const plain = (example: Example): Shared => ({ ...example, parameters: {}, channels: '', protocol: '' });

function chooseExample(wanted: string): void {
  const example = [...known, ...start.tour].find((one) => one.name === wanted);
  if (!example) return;
  history.replaceState(null, '', `#example=${example.name}`);
  if (tabs.shown === 'start') tabs.show('verdicts');
  notice('');
  open(plain(example));
}

examples.addEventListener('change', () => {
  if (examples.value) return chooseExample(examples.value);
  history.replaceState(null, '', location.pathname);
  open(plain(stored()));
});

/** Return what was written last, or the beginning of a text. */
function stored(): Example {
  try {
    const { name, text } = JSON.parse(remembered('text') ?? '') as Example;
    if (typeof name === 'string' && typeof text === 'string') return { name, text, title: '' };
  } catch {
    // Nothing was written yet, or the storage is switched off.
  }
  return { name: `${OWN}.cpl`, text: 'protocol Mine {\n  role A\n  role B\n  A -> B : hello\n}\n', title: '' };
}

/** Say what is wrong with a link: it stays, whatever becomes of the text that is shown instead. */
function notice(text: string): void {
  $('notice').textContent = text;
}

/** Show what the address asks for; false if it asks for nothing. */
async function follow(): Promise<boolean> {
  notice('');
  const fragment = location.hash.slice(1);
  const example = [...known, ...start.tour].find((one) => fragment === `example=${one.name}`);
  if (example) open(plain(example));
  if (example || fragment.startsWith('p=')) tabs.show('verdicts');
  if (!fragment.startsWith('p=')) return example !== undefined;
  try {
    open(await sharedIn(fragment));
    return true;
  } catch (problem) {
    notice((problem as Error).message);
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
function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Then it is not remembered.
  }
}

function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

let theme = remembered('theme') ?? 'auto';
paint(theme);
$('theme').addEventListener('click', () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
  paint(theme);
  store('theme', theme);
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
for (const select of [channels, protocol, engine]) select.addEventListener('change', () => changed());
formula.addEventListener('input', () => changed());
automatic.addEventListener('change', () => automatic.checked && void check());

// --- the beginning

function welcome(): void {
  $('tour').replaceChildren(
    ...start.tour.map((one) => {
      const row = document.createElement('li');
      row.append(link(one), withCode(introductionOf(one.text)));
      return row;
    }),
  );
  $('topics').replaceChildren(
    ...start.topics.flatMap(({ title, names }) => {
      const term = document.createElement('dt');
      term.textContent = title;
      const texts = names.flatMap((name) => known.filter((one) => one.name === name));
      return [
        term,
        ...texts.map((one) => {
          const row = document.createElement('dd');
          row.append(link({ ...one, title: one.name }), ` ${one.title}`);
          return row;
        }),
      ];
    }),
  );
}

/** Return the introductory comment of a file except its first line, the title. */
function introductionOf(text: string): string {
  const lines = text.split('\n').slice(1);
  const end = lines.findIndex((line) => !line.startsWith('// '));
  return lines.slice(0, end).map((line) => line.slice(3)).join(' ');
}

/** What stands in backquotes is code. */
function withCode(text: string): HTMLElement {
  const shown = said('', 'faint');
  for (const [index, part] of text.split('`').entries()) {
    if (index % 2) shown.append(Object.assign(document.createElement('code'), { textContent: part }));
    else shown.append(part);
  }
  return shown;
}

function link(example: Example): HTMLElement {
  const anchor = document.createElement('a');
  anchor.href = `#example=${example.name}`;
  anchor.textContent = example.title;
  return anchor;
}

/** List the texts by topic; a text of no topic is an own one. */
function list(): void {
  examples.replaceChildren(
    new Option('own text', ''),
    ...[{ title: 'First steps', names: start.tour.map((one) => one.name) }, ...start.topics].map(({ title, names }) => {
      const group = document.createElement('optgroup');
      group.label = title;
      for (const name of names) {
        const example = [...start.tour, ...known].find((one) => one.name === name);
        if (example) group.append(Object.assign(new Option(name, name), { title: example.title }));
      }
      return group;
    }),
  );
}

async function fetched<T>(name: string): Promise<T> {
  return (await (await fetch(name)).json()) as T;
}

async function begin(): Promise<void> {
  typing.start();
  [known, start] = await Promise.all([fetched<Example[]>('examples.json'), fetched<Start>('start.json')]);
  list();
  welcome();
  const first = known.find((one) => one.name === 'netbill.cpl') ?? known[0];
  if (!(await follow()) && first) open(plain(first));
}

/** On the next visit everything comes from this machine. */
function keepForNextVisit(): void {
  if ('serviceWorker' in navigator) void navigator.serviceWorker.register('sw.js').catch(() => undefined);
}

void begin();
