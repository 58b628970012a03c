// What the server answers, as far as it is used here: `cplc verify --format json` and docs/editor.md say the rest.

import * as vscode from 'vscode';

/** Lines and columns from one. */
export interface Place {
  file: string;
  line: number;
  column: number;
}

export interface Result {
  name: string;
  /** By which name it was asked for. */
  asked: string;
  title: string | null;
  formula: string;
  verdict: 'holds' | 'fails' | 'vacuous' | 'unknown';
  as_expected: boolean;
  advisory: boolean;
  seconds: number;
  reason: string | null;
  text: string;
  story: { steps: { text: string; place: Place | null }[] } | null;
}

export interface Verified {
  end: string | null;
  results: Result[];
}

export interface Asked {
  protocol: string;
  name: string;
  kind: 'property' | 'check' | 'analysis';
  range: { start: { line: number; character: number }; end: { line: number; character: number } };
}

export interface Known {
  protocol: string;
  name: string;
  time: string;
  results: Result[];
}

/** Types and values as they are written. */
export interface Parameter {
  name: string;
  type: string;
  default: string | null;
  given: string | null;
}

export interface Shown {
  text: string;
  results: Result[];
  page?: string;
}

/** The address of a file as the server names it: a path, or an address already. */
export function addressOf(file: string): vscode.Uri {
  return /^[a-z][a-z0-9+.-]+:/i.test(file) ? vscode.Uri.parse(file) : vscode.Uri.file(file);
}

export function locationOf(place: Place): vscode.Location {
  return new vscode.Location(addressOf(place.file), new vscode.Position(place.line - 1, place.column - 1));
}
