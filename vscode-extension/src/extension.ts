// The client: it starts the server, says what to do if there is none, and leaves everything else to it.

import { execFile } from 'node:child_process';
import * as vscode from 'vscode';
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from 'vscode-languageclient/node';

const OLDEST = [0, 1, 0];
const LANGUAGES = ['cpl', 'ispl'];

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand('cplc.restart', restart),
    vscode.commands.registerCommand('cplc.verifyFile', () => run('cplc.verify')),
    vscode.commands.registerCommand('cplc.cancelFile', () => run('cplc.cancel')),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration('cplc.server.command')) await restart();
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

function command(): string[] {
  return vscode.workspace.getConfiguration('cplc').get<string[]>('server.command', ['cplc', 'lsp']);
}

async function restart(): Promise<void> {
  await client?.stop().catch(() => undefined);
  client = undefined;
  await start();
}

async function start(): Promise<void> {
  const [program, ...args] = command();
  const wrong = await problem(program);
  if (wrong !== undefined) {
    void explain(wrong);
    return;
  }
  const server: ServerOptions = { command: program, args };
  const options: LanguageClientOptions = { documentSelector: LANGUAGES.map((language) => ({ language })) };
  client = new LanguageClient('cplc', 'Cplc', server, options);
  try {
    await client.start();
  } catch (error) {
    void explain(`\`${command().join(' ')}\` does not start: ${error}`);
  }
}

/** Say why the program cannot be the server: it is missing, fails, or is too old. */
function problem(program: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, ['--version'], { timeout: 20_000 }, (error, out) => {
      const found = /^cplc (\d+)\.(\d+)\.(\d+)/.exec(out)?.slice(1).map(Number);
      if (error !== null && (error as NodeJS.ErrnoException).code === 'ENOENT') {
        resolve(`\`${program}\` is not installed, or not on the PATH. Install cplc, or say where it is.`);
      } else if (error !== null || found === undefined) {
        resolve(`\`${program} --version\` does not answer as cplc does: ${error?.message ?? out}`);
      } else {
        const differs = found.findIndex((part, index) => part !== OLDEST[index]);
        const isOld = differs >= 0 && found[differs] < OLDEST[differs];
        resolve(isOld ? `cplc ${found.join('.')} is too old: this extension needs ${OLDEST.join('.')}.` : undefined);
      }
    });
  });
}

async function explain(message: string): Promise<void> {
  const settings = 'Open Settings';
  const again = 'Try Again';
  const chosen = await vscode.window.showErrorMessage(message, settings, again);
  if (chosen === settings) await vscode.commands.executeCommand('workbench.action.openSettings', 'cplc.server.command');
  if (chosen === again) await restart();
}

/** Run a command of the server on the file that is shown. */
async function run(name: string): Promise<void> {
  const uri = vscode.window.activeTextEditor?.document.uri.toString();
  if (uri !== undefined && client !== undefined) await vscode.commands.executeCommand(name, uri, null, null);
}
