// The client: it starts the server and shows in views of the editor what the protocol has no words for.

import * as vscode from 'vscode';
import type { Middleware } from 'vscode-languageclient/node';
import type { Known, Shown, Verified } from './answers';
import * as panel from './panel';
import * as parameters from './parameters';
import * as server from './server';
import * as testing from './testing';

const middleware: Middleware = {
  async executeCommand(command, args, next) {
    const answer: unknown = await next(command, args);
    const [uri, protocol, name] = args as (string | null)[];
    if (command === 'cplc.verify' && uri !== null) testing.report(uri, protocol, answer as Verified);
    if (command === 'cplc.showRun') panel.show(`${protocol} ${name}`, answer as Shown);
    return answer;
  },
};

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand('cplc.restart', restart),
    vscode.commands.registerCommand('cplc.verifyFile', () => onFile('cplc.verify')),
    vscode.commands.registerCommand('cplc.cancelFile', () => onFile('cplc.cancel')),
    vscode.commands.registerCommand('cplc.showFileRun', chooseRun),
    vscode.commands.registerCommand('cplc.showTestRun', showTest),
    vscode.commands.registerCommand('cplc.askParameters', parameters.change),
    vscode.commands.registerCommand('cplc.changeFileParameters', () => onFile('cplc.askParameters')),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration('cplc.server.command')) await restart();
      else if (event.affectsConfiguration('cplc.parameters')) await server.configure();
    }),
  );
  testing.register(context);
  await server.start(middleware);
}

export async function deactivate(): Promise<void> {
  await server.stop();
}

async function restart(): Promise<void> {
  await server.stop();
  await server.start(middleware);
}

/** Run a command of the server on the file that is shown. */
async function onFile(name: string): Promise<void> {
  const uri = vscode.window.activeTextEditor?.document.uri.toString();
  if (uri !== undefined) await vscode.commands.executeCommand(name, uri, null, null);
}

/** Let one of the verdicts of the file that is shown be chosen, and show its run. */
async function chooseRun(): Promise<void> {
  const uri = vscode.window.activeTextEditor?.document.uri.toString();
  const known = (uri && (await server.ask<Known[]>('cplc.results', uri))) || [];
  const offered = known.map((one) => ({ label: one.name, description: one.results.map((result) => result.verdict).join(', '), detail: one.protocol }));
  if (offered.length === 0) {
    void vscode.window.showInformationMessage('Nothing of this file has been verified yet.');
    return;
  }
  const chosen = await vscode.window.showQuickPick(offered, { title: 'Show the run of' });
  if (chosen !== undefined) await vscode.commands.executeCommand('cplc.showRun', uri, chosen.detail, chosen.label);
}

/** Show the run of an item of the Testing view, or of a message there. */
async function showTest(given: vscode.TestItem | { test: vscode.TestItem }): Promise<void> {
  const asked = testing.questionOf('test' in given ? given.test : given);
  if (asked === undefined) return;
  try {
    await vscode.commands.executeCommand('cplc.showRun', asked.uri, asked.protocol, asked.name);
  } catch (error) {
    void vscode.window.showInformationMessage(error instanceof Error ? error.message : String(error));
  }
}
