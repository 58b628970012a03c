// Further tabs (a random run, drawings, guarantees of participants). The content of each is computed on demand.

import { Checker, type Explored, type Request } from './checker';
import { said } from './editor';
import { reportIn } from './results';

export type Tab = 'start' | 'verdicts' | 'simulate' | 'draw' | 'analyze';

const TABS: Tab[] = ['start', 'verdicts', 'simulate', 'draw', 'analyze'];
const CHANGED = 'the text has changed';
const $ = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;

/** A participant's part of the report, without the frame that a page needs. */
const PLAIN = ':host { font: 14px/1.5 system-ui, sans-serif; color: var(--ink); } section { border: none; padding: 0; margin: 0 0 1.2rem; } svg { max-width: 100%; height: auto; }';

export class Tabs {
  shown: Tab = 'start';
  private checker = new Checker((state) => {
    if (state.loading && this.busy) this.say(`Loading: ${state.loading}…`);
    if (state.failed) this.say(`The checker cannot be loaded: ${state.failed}`);
  });
  private busy = false;
  /** What each tab shows, by the request that it was made for. */
  private made = new Map<Tab, string>();
  private address = '';

  constructor(private request: () => Request) {
    for (const tab of TABS) $(`tab-${tab}`).addEventListener('click', () => this.show(tab));
    $('tabs').addEventListener('keydown', (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = TABS[(TABS.indexOf(this.shown) + step + TABS.length) % TABS.length]!;
      this.show(next);
      $(`tab-${next}`).focus();
    });
    $('another').addEventListener('click', () => {
      $<HTMLInputElement>('seed').value = String(Number($<HTMLInputElement>('seed').value || 0) + 1);
      this.refresh();
    });
    for (const id of ['seed', 'steps', 'drawing']) $(id).addEventListener('change', () => this.refresh());
    this.show('start');
  }

  show(tab: Tab): void {
    this.shown = tab;
    for (const one of TABS) {
      $(one).hidden = one !== tab;
      $(`tab-${one}`).setAttribute('aria-selected', String(one === tab));
      $(`tab-${one}`).tabIndex = one === tab ? 0 : -1;
    }
    this.refresh();
  }

  /** Compute what the tab shows, unless it shows that already. */
  refresh(): void {
    const tab = this.shown;
    if (tab === 'start' || tab === 'verdicts') return;
    const wanted = this.request();
    if (tab === 'simulate') Object.assign(wanted, { seed: number('seed', '1'), steps: number('steps', '30') });
    if (tab === 'draw') wanted.drawing = $<HTMLSelectElement>('drawing').value;
    const key = JSON.stringify(wanted);
    if (this.made.get(tab) === key) return;
    this.made.set(tab, key);
    void this.compute(tab, wanted, key);
  }

  private async compute(tab: Tab, wanted: Request, key: string): Promise<void> {
    if (this.busy) this.checker.stop(CHANGED);
    this.busy = true;
    this.say('…');
    const isCurrent = () => this.made.get(tab) === key && this.shown === tab;
    let isFirst = true;
    const end = await this.checker.explore(tab, wanted, (heard) => {
      if (!isCurrent()) return;
      if (isFirst) this.place.replaceChildren();
      isFirst = false;
      this.take(tab, heard, wanted);
    });
    if (end === CHANGED) return;
    this.busy = false;
    if (end !== null && isCurrent()) this.say(end);
  }

  private get place(): HTMLElement {
    return $(this.shown).querySelector<HTMLElement>('.shown')!;
  }

  private say(text: string): void {
    if (this.shown !== 'start' && this.shown !== 'verdicts') this.place.replaceChildren(said(text, 'faint'));
  }

  private take(tab: Tab, heard: Explored, wanted: Request): void {
    if (heard.summary) this.place.append(said(heard.summary));
    if (heard.svg) {
      const frame = drawing(heard.svg);
      this.place.append(frame);
      frame.scrollLeft = tab === 'draw' ? (frame.scrollWidth - frame.clientWidth) / 2 : 0;
    }
    if (heard.text) {
      const text = document.createElement('pre');
      text.textContent = heard.text;
      this.place.append(text);
    }
    if (tab === 'draw' && heard.choices) this.offer(heard, wanted);
    if (heard.names && !heard.names.length) {
      this.place.append(said('The text declares no agent with an analyze line. Agents have beliefs about others and goals of their own; ecommerce.cpl shows one.', 'faint'));
    } else if (heard.names) {
      this.place.append(said(`Participants: ${heard.names.join(', ')}`, 'faint'));
    }
    if (heard.shown) {
      const host = document.createElement('div');
      reportIn(host, heard.shown, PLAIN);
      this.place.append(host);
    }
  }

  private offer(heard: Explored, wanted: Request): void {
    const select = $<HTMLSelectElement>('drawing');
    select.replaceChildren(...heard.choices!.map((one) => new Option(one)));
    select.value = heard.chosen ?? '';
    this.made.set('draw', JSON.stringify({ ...wanted, drawing: select.value }));
    const save = $<HTMLAnchorElement>('save');
    URL.revokeObjectURL(this.address);
    this.address = URL.createObjectURL(new Blob([heard.svg ?? ''], { type: 'image/svg+xml' }));
    Object.assign(save, { href: this.address, download: `${wanted.name.replace(/\.\w+$/, '')}-${select.value.toLowerCase().replaceAll(/\W+/g, '-')}.svg`, hidden: !heard.svg });
  }
}

function number(id: string, standard: string): string {
  const { value } = $<HTMLInputElement>(id);
  return /^\d{1,9}$/.test(value) ? value : standard;
}

/** A drawing of ours: all texts in it are escaped. It is as wide as the page, or scrolls. */
function drawing(svg: string): HTMLElement {
  const frame = document.createElement('div');
  frame.className = 'drawing';
  frame.innerHTML = svg;
  return frame;
}
