// The language server: started with the command that is set, or else said why it cannot be and what to do.

import { execFile } from 'node:child_process';
import * as vscode from 'vscode';
import { LanguageClient, type LanguageClientOptions, type Middleware, type ServerOptions } from 'vscode-languageclient/node';

const OLDEST = [0, 1, 0];
const LANGUAGES = ['cpl', 'ispl'];

let client: LanguageClient | undefined;
const started = new vscode.EventEmitter<void>();

/** Says whenever a server has begun to answer. */
export const onStarted = started.event;

export async function start(middleware: Middleware): Promise<void> {
  const [program, ...args] = command();
  const wrong = await problem(program);
  if (wrong !== undefined) {
    void explain(wrong);
    return;
  }
  const server: ServerOptions = { command: program, args };
  const options: LanguageClientOptions = {
    documentSelector: LANGUAGES.map((language) => ({ language })),
    initializationOptions: { panel: true, asksParameters: true, parameters: parameters() },
    middleware,
  };
  const starting = new LanguageClient('cplc', 'Cplc', server, options);
  client = starting;
  try {
    await starting.start();
    started.fire();
  } catch (error) {
    client = undefined;
    void explain(`\`${command().join(' ')}\` does not start: ${error}`);
  }
}

export async function stop(): Promise<void> {
  const stopping = client;
  client = undefined;
  await stopping?.stop().catch(() => undefined);
}

/** Let the server execute a command of its own; undefined if there is no server. */
export async function ask<Answer>(name: string, ...args: unknown[]): Promise<Answer | undefined> {
  return client?.sendRequest<Answer>('workspace/executeCommand', { command: name, arguments: args });
}

/** Send the parameter values of the settings to the server. */
export async function configure(): Promise<void> {
  await client?.sendNotification('workspace/didChangeConfiguration', { settings: { cplc: { parameters: parameters() } } });
}

function parameters(): unknown {
  return vscode.workspace.getConfiguration('cplc').get('parameters', {});
}

function command(): string[] {
  return vscode.workspace.getConfiguration('cplc').get<string[]>('server.command', ['cplc', 'lsp']);
}

/** Say why the program cannot be the server: it is missing, fails, or is too old. */
function problem(program: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, ['--version'], { timeout: 20_000 }, (error, out) => {
      const found = /^cplc (\d+)\.(\d+)\.(\d+)/.exec(out)?.slice(1).map(Number);
      if (error !== null && (error as NodeJS.ErrnoException).code === 'ENOENT') {
        resolve(`\`${program}\` is not installed, or not on the PATH. Install cplc, or say in the settings where it is.`);
      } else if (error !== null || found === undefined) {
        resolve(`\`${program} --version\` does not answer as cplc does: ${error?.message ?? out}`);
      } else {
        const differs = found.findIndex((part, index) => part !== OLDEST[index]);
        const isOld = differs >= 0 && found[differs] < OLDEST[differs];
        const needed = `this extension needs ${OLDEST.join('.')} or later. Upgrade cplc, or say in the settings where a newer one is.`;
        resolve(isOld ? `cplc ${found.join('.')} is too old: ${needed}` : undefined);
      }
    });
  });
}

async function explain(message: string): Promise<void> {
  const settings = 'Open Settings';
  const again = 'Try Again';
  const chosen = await vscode.window.showErrorMessage(message, settings, again);
  if (chosen === settings) await vscode.commands.executeCommand('workbench.action.openSettings', 'cplc.server.command');
  if (chosen === again) await vscode.commands.executeCommand('cplc.restart');
}
