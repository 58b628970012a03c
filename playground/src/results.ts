// Verdicts as they come. What shows one is a part of the HTML report, with the style and the script that it has there.

import { enliven, reportStyle, tip } from 'built';
import type { Row } from './checker';

const STYLES = { 'as expected': 'good', 'with a warning': 'warning', 'not as expected': 'bad', unknown: 'warning' } as const;
const SIGNS = { 'as expected': '✓', 'with a warning': '!', 'not as expected': '✗', unknown: '?' } as const;

/** The report in the page: its heading says what the row above says already. */
const HERE = `
:host { font: 14px/1.5 system-ui, sans-serif; color: var(--ink); }
section, section:focus { border: none; outline: none; padding: .2rem .2rem .6rem; margin: 0; }
section:focus-visible { outline: 2px solid var(--message); border-radius: 6px; }
h2 { display: none; }
[role=link] { cursor: pointer; text-decoration: underline; }
`;

export class Results {
  private rows: HTMLDetailsElement[] = [];
  private known: Row[] = [];

  constructor(private list: HTMLElement, private go: (line: number, column: number) => void) {}

  /** Show a row for each question, before its answer is known. */
  ask(names: string[]): void {
    this.known = [];
    this.rows = names.map((name) => {
      const row = document.createElement('details');
      row.append(summary(name, '…', 'faint', 'waiting'));
      row.dataset.name = name;
      return row;
    });
    this.list.replaceChildren(...this.rows);
    this.list.classList.remove('old');
  }

  clear(): void {
    this.ask([]);
  }

  /** Say that what is shown belongs to an older text; false if nothing is shown. */
  age(): boolean {
    this.list.classList.toggle('old', this.rows.length > 0);
    return this.rows.length > 0;
  }

  /** Say that what is shown belongs to the text as it is. */
  renew(): void {
    this.list.classList.remove('old');
  }

  take(result: Row, shown: string): void {
    const row = this.rows[this.known.length];
    if (!row) return;
    this.known.push(result);
    const fails = result.verdict === 'fails' && result.standing === 'as expected';
    const sign = fails ? 'fails' : `${SIGNS[result.standing]} ${result.verdict}`;
    const beside = [
      result.expected === 'fails' ? (fails ? 'as expected' : 'expected to fail') : '',
      result.assuming.length ? `assuming ${result.assuming.join(', ')}` : '',
      result.title,
      result.verdict === 'unknown' ? result.reason : '',
    ];
    row.replaceChildren(summary(result.name, sign, fails ? 'expected' : STYLES[result.standing], beside.filter(Boolean).join(' · ')));
    row.dataset.verdict = result.verdict;
    row.dataset.standing = result.standing;
    if (shown) row.append(this.report(shown));
    if (result.standing === 'not as expected' && !this.rows.some((one) => one.open)) row.open = true;
  }

  /** Nothing more comes: what is not known is unknown, for this reason. */
  end(why: string): void {
    for (const row of this.rows.slice(this.known.length)) {
      row.replaceChildren(summary(row.dataset.name ?? '', '? unknown', 'warning', why));
      row.dataset.verdict = 'unknown';
    }
  }

  get progress(): string {
    return `${this.known.length} of ${this.rows.length}`;
  }

  /** Count the answers, those that are as expected first. */
  get counts(): string {
    const missing = this.rows.length - this.known.length;
    const kinds = Object.keys(STYLES) as Row['standing'][];
    const count = (kind: Row['standing']) =>
      this.known.filter((row) => row.standing === kind).length + (kind === 'unknown' ? missing : 0);
    const failing = this.known.filter((row) => row.verdict === 'fails' && row.standing === 'as expected').length;
    const note = (kind: Row['standing']) => (kind === 'as expected' && failing ? ` (${failing} fail${failing > 1 ? '' : 's'})` : '');
    const said = kinds.flatMap((kind) => (count(kind) ? [`${count(kind)} ${kind}${note(kind)}`] : []));
    return said.join(', ') || 'Nothing was asked';
  }

  private report(shown: string): HTMLElement {
    const host = document.createElement('div');
    const root = reportIn(host, shown);
    for (const place of root.querySelectorAll<HTMLElement>('[data-line]')) {
      const name = place.textContent ?? '';
      if (name.startsWith('/')) {
        // A file of the standard library, in the file system of the worker: there is nothing to go to.
        place.textContent = name.split('/').slice(-2).join('/');
        continue;
      }
      place.textContent = `line ${place.dataset.line}`;
      const follow = () => this.go(Number(place.dataset.line), Number(place.dataset.column));
      place.tabIndex = 0;
      place.setAttribute('role', 'link');
      place.addEventListener('click', follow);
      place.addEventListener('keydown', (event) => event.key === 'Enter' && follow());
    }
    return host;
  }
}

/** Show a part of the HTML report with its own style and script. */
export function reportIn(host: HTMLElement, shown: string, style = HERE): ShadowRoot {
  const root = host.attachShadow({ mode: 'open' });
  root.innerHTML = `<style>${reportStyle}${style}</style>${tip}${shown}`;
  enliven(root);
  return root;
}

function summary(name: string, verdict: string, style: string, beside: string): HTMLElement {
  const found = document.createElement('summary');
  for (const [kind, text] of [[`verdict ${style}`, verdict], ['name', name], ['faint beside', beside]] as const) {
    const part = document.createElement('span');
    part.className = kind;
    part.textContent = text;
    found.append(part);
  }
  return found;
}
