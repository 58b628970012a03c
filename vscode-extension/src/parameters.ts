// The values of parameters: asked for here, kept by the server for as long as it runs and the file is open.

import * as vscode from 'vscode';
import type { Parameter } from './answers';
import * as server from './server';

/** Let one parameter of a protocol, the last one of the file unless it is named, have another value. */
export async function change(uri: string, protocol: string | null): Promise<void> {
  const known = (await server.ask<Parameter[]>('cplc.parameters', uri, protocol)) ?? [];
  if (known.length === 0) {
    void vscode.window.showInformationMessage('This protocol has no parameters.');
    return;
  }
  const chosen = known.length === 1 ? known[0] : await choose(known);
  if (chosen === undefined) return;
  for (let tried = chosen.given ?? chosen.default ?? ''; ; ) {
    const value = await vscode.window.showInputBox({
      title: `${chosen.name}: ${chosen.type}`,
      prompt: chosen.default === null ? 'It has no default.' : `Nothing for the default, ${chosen.default}.`,
      value: tried,
    });
    if (value === undefined) return;
    const given = known.filter((one) => one.name !== chosen.name && one.given !== null).map((one) => [one.name, one.given]);
    if (value.trim() !== '') given.push([chosen.name, value.trim()]);
    try {
      await server.ask('cplc.setParameters', uri, protocol, Object.fromEntries(given));
      return;
    } catch (error) {
      void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
      tried = value;
    }
  }
}

async function choose(known: Parameter[]): Promise<Parameter | undefined> {
  const offered = known.map((one) => ({ label: one.name, description: one.given ?? one.default ?? '', detail: one.type, one }));
  return (await vscode.window.showQuickPick(offered, { title: 'Change which parameter?' }))?.one;
}
