// The text: colours, squiggles, and the keys that people know.

import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, indentUnit, StreamLanguage, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from '@codemirror/view';
import { tags as t } from '@lezer/highlight';
import { ispl } from 'built';
import type { Fix, Place, Problem } from './checker';
import { cpl } from './cpl';
import { parserOf } from './textmate';

const COLOURS = HighlightStyle.define([
  { tag: t.comment, color: 'var(--code-comment)', fontStyle: 'italic' },
  { tag: t.string, color: 'var(--code-string)' },
  { tag: [t.number, t.atom, t.escape], color: 'var(--code-number)' },
  { tag: t.keyword, color: 'var(--code-keyword)' },
  { tag: t.modifier, color: 'var(--code-modal)', fontWeight: '600' },
  { tag: t.operator, color: 'var(--faint)' },
  { tag: t.typeName, color: 'var(--code-type)' },
  { tag: t.definition(t.variableName), color: 'var(--code-name)' },
  { tag: t.standard(t.variableName), color: 'var(--code-modal)' },
]);

const LANGUAGES: Record<string, Extension> = { cpl, ispl: StreamLanguage.define(parserOf(ispl)) };

const LOOK = EditorView.theme({
  '&': { height: '100%', fontSize: '14px', backgroundColor: 'var(--paper)', color: 'var(--ink)' },
  '.cm-scroller': { fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--soft)', color: 'var(--faint)', border: 'none', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--message) 8%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--message) 28%, transparent)',
  },
  '.cm-tooltip, .cm-panels': { backgroundColor: 'var(--paper)', color: 'var(--ink)', border: '1px solid var(--line)' },
  '.cm-tooltip-lint': { maxWidth: 'min(40rem, 92vw)' },
  '.cm-diagnostic': { padding: '.4rem .6rem', font: '14px/1.45 system-ui, sans-serif' },
  '.cm-diagnosticAction': { backgroundColor: 'var(--message)', color: 'var(--paper)', marginLeft: '0', marginTop: '.3rem' },
  '.cm-textfield': { backgroundColor: 'var(--paper)', color: 'var(--ink)', border: '1px solid var(--line)' },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--soft)', color: 'var(--ink)', border: '1px solid var(--line)' },
});

export class Editor {
  private view: EditorView;
  private language = new Compartment();
  private isOpening = false;

  /** What changes is told, and whether somebody wrote it. */
  constructor(parent: HTMLElement, changed: (isWritten: boolean) => void, private explain: (code: string) => void) {
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          bracketMatching(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          highlightSelectionMatches(),
          indentUnit.of('  '),
          syntaxHighlighting(COLOURS),
          LOOK,
          this.language.of([]),
          // Tab leaves the editor, as it does any field: who has no mouse must be able to.
          keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap]),
          EditorView.contentAttributes.of({ 'aria-label': 'Protocol', spellcheck: 'false', autocapitalize: 'off' }),
          EditorView.updateListener.of((update) => update.docChanged && changed(!this.isOpening)),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Show another text; what was there can be brought back. */
  show(name: string, text: string): void {
    const language = LANGUAGES[name.split('.').at(-1) ?? ''] ?? [];
    this.isOpening = true;
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      effects: [this.language.reconfigure(language), EditorView.scrollIntoView(0)],
    });
    this.isOpening = false;
  }

  focus(): void {
    this.view.focus();
  }

  /** Put the cursor at a place, one that the text may have no more. */
  go(place: Place): void {
    const anchor = Math.min(place.from, this.view.state.doc.length);
    this.view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) });
    this.focus();
  }

  /** Return the place of a line and column, counted from one. */
  place(line: number, column: number): Place {
    const { doc } = this.view.state;
    const found = doc.line(Math.max(1, Math.min(line, doc.lines)));
    const from = Math.min(found.from + column - 1, found.to);
    return { from, to: from, line, column };
  }

  mark(problems: Problem[]): void {
    const marks = problems.flatMap((problem) => (problem.place ? [this.squiggle(problem, problem.place)] : []));
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  private squiggle(problem: Problem, place: Place): Diagnostic {
    const length = this.view.state.doc.length;
    const from = Math.min(place.from, length);
    return {
      from,
      to: Math.min(Math.max(place.to, from + 1), length),
      severity: problem.severity,
      message: problem.message,
      renderMessage: () => this.told(problem),
      actions: problem.fixes.map((fix) => ({
        name: fix.title.replaceAll('`', ''),
        apply: (view, from) => view.dispatch({ changes: changesOf(fix, from - place.from) }),
      })),
    };
  }

  private told(problem: Problem): HTMLElement {
    const told = document.createElement('div');
    told.append(said(problem.message));
    for (const note of problem.notes) told.append(said(note.message, 'faint'));
    told.append(code(problem, this.explain));
    return told;
  }
}

/** Return the edits of a fix, moved with the text since it was checked. */
function changesOf(fix: Fix, moved: number): { from: number; to: number; insert: string }[] {
  return fix.edits.flatMap(({ place, text }) =>
    place === null ? [] : [{ from: place.from + moved, to: place.to + moved, insert: text }],
  );
}

export function said(text: string, style = ''): HTMLElement {
  const found = document.createElement('div');
  found.textContent = text;
  found.className = style;
  return found;
}

/** Return the code of a problem as a button that explains it. */
export function code(problem: Problem, explain: (code: string) => void): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = `code ${problem.severity}`;
  button.textContent = problem.code;
  button.title = 'Explain this rule';
  button.addEventListener('click', () => explain(problem.code));
  return button;
}
