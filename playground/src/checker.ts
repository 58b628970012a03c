// Workers that check, as the page sees them: they are asked, they can be stopped, and they come back.

export interface Place {
  from: number;
  to: number;
  line: number;
  column: number;
}

export interface Note {
  message: string;
  place: Place | null;
}

export interface Fix {
  title: string;
  edits: { place: Place | null; text: string }[];
}

export interface Problem {
  severity: 'error' | 'warning';
  code: string;
  message: string;
  notes: Note[];
  fixes: Fix[];
  file: string;
  place: Place | null;
}

export interface Checked {
  diagnostics: Problem[];
  protocols: string[];
  parameters: { name: string; default: string }[];
  ok: boolean;
  end: string | null;
}

export type Standing = 'as expected' | 'with a warning' | 'not as expected' | 'unknown';

export interface Row {
  name: string;
  kind: string;
  title: string;
  assuming: string[];
  formula: string;
  verdict: 'holds' | 'fails' | 'vacuous' | 'unknown';
  expected: 'holds' | 'fails';
  as_expected: boolean;
  standing: Standing;
  engine: string;
  reason: string;
  place: Place | null;
}

/** One thing that is said while a text is verified: exactly one of these, but for a result and what shows it. */
export interface Said {
  asked?: string[];
  result?: Row;
  shown?: string;
  diagnostics?: Problem[];
  formula?: string[];
  end?: string | null;
}

/** Part of the content of a tab. The last part has `end`: the reason of an incomplete answer, or null. */
export interface Explored {
  summary?: string;
  text?: string;
  svg?: string;
  choices?: string[];
  chosen?: string;
  names?: string[];
  shown?: string;
  end?: string | null;
}

/** A text and how it is to be read, as `playground/checker.py` takes it. */
export interface Request {
  name: string;
  text: string;
  parameters: Record<string, string>;
  channels: string;
  protocol: string;
  engine: string;
  formula?: string;
  /** Of a simulated run. */
  seed?: string;
  steps?: string;
  /** Title of the drawing. */
  drawing?: string;
}

interface Heard {
  id?: number;
  ready?: string;
  loading?: string;
  failed?: string;
  said?: unknown;
  done?: boolean;
  broken?: string;
}

interface Waiting {
  hear(said: unknown): void;
  end(problem: string | null): void;
}

export class Checker {
  private worker: Worker | null = null;
  private waiting = new Map<number, Waiting>();
  private last = 0;

  /** Nothing is loaded before it is asked for. */
  constructor(private tell: (state: { ready?: string; loading?: string; failed?: string }) => void) {}

  start(): void {
    if (this.worker) return;
    const worker = (this.worker = new Worker('worker.js', { type: 'module' }));
    worker.onmessage = (event: MessageEvent<Heard>) => this.hear(event.data);
    worker.onerror = (event) => this.tell({ failed: event.message || 'the checker cannot be loaded' });
  }

  /** End the current request; its promise is rejected. */
  stop(why: string): void {
    this.worker?.terminate();
    this.worker = null;
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const one of waiting) one.end(why);
  }

  check(request: Request): Promise<Checked | null> {
    return new Promise((resolve) => {
      let checked: Checked | null = null;
      this.ask('check', request, { hear: (said) => (checked = said as Checked), end: () => resolve(checked) });
    });
  }

  /** Verify, and hear each answer as it comes; the promise is for why it ended, null if all was answered. */
  verify(request: Request, hear: (said: Said) => void): Promise<string | null> {
    return new Promise((resolve) => {
      let end: string | null = null;
      const listen = (said: Said) => (said.end === undefined ? hear(said) : (end = said.end));
      this.ask('verify', request, { hear: (said) => listen(said as Said), end: (problem) => resolve(problem ?? end) });
    });
  }

  /** Simulate, draw or analyze; hear each answer as it comes. The promise is for why it ended, null if all was said. */
  explore(what: string, request: Request, hear: (said: Explored) => void): Promise<string | null> {
    return new Promise((resolve) => {
      let end: string | null = null;
      const listen = (said: Explored) => (said.end === undefined ? hear(said) : (end = said.end));
      this.ask(what, request, { hear: (said) => listen(said as Explored), end: (problem) => resolve(problem ?? end) });
    });
  }

  private ask(what: string, request: Request, waiting: Waiting): void {
    this.start();
    const id = ++this.last;
    this.waiting.set(id, waiting);
    this.worker?.postMessage({ id, what, request: JSON.stringify(request) });
  }

  private hear(heard: Heard): void {
    if (heard.id === undefined) {
      this.tell(heard);
      if (heard.failed) this.stop(heard.failed);
      return;
    }
    const waiting = this.waiting.get(heard.id);
    if (heard.said !== undefined) waiting?.hear(heard.said);
    if (heard.done) {
      this.waiting.delete(heard.id);
      waiting?.end(null);
    }
    if (heard.broken !== undefined) {
      this.stop(`this is too much for a browser: ${heard.broken}`);
      this.start();
    }
  }
}
