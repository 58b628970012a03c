// Properties and checks as tests: files, the protocols in them, what each asks. The server verifies them.

import * as vscode from 'vscode';
import { locationOf, type Asked, type Result, type Verified } from './answers';
import * as server from './server';

/** How long after an edit the list is made again, in milliseconds. */
const LATER = 500;

interface Question {
  uri: string;
  protocol: string;
  name: string;
}

const questions = new WeakMap<vscode.TestItem, Question>();
let controller: vscode.TestController;

export function register(context: vscode.ExtensionContext): void {
  controller = vscode.tests.createTestController('cplc', 'Commitment protocols');
  controller.createRunProfile('Verify', vscode.TestRunProfileKind.Run, run, true);
  controller.refreshHandler = listAll;
  const files = vscode.workspace.createFileSystemWatcher('**/*.cpl');
  const timers = new Map<string, NodeJS.Timeout>();
  const soon = (uri: vscode.Uri) => {
    clearTimeout(timers.get(uri.toString()));
    timers.set(uri.toString(), setTimeout(() => void list(uri), LATER));
  };
  const changed = (document: vscode.TextDocument) => document.languageId === 'cpl' && document.uri.scheme !== 'git' && soon(document.uri);
  context.subscriptions.push(
    controller,
    files,
    files.onDidCreate(soon),
    files.onDidChange(soon),
    files.onDidDelete((uri) => controller.items.delete(uri.toString())),
    vscode.workspace.onDidOpenTextDocument(changed),
    vscode.workspace.onDidChangeTextDocument((event) => changed(event.document)),
    server.onStarted(() => void listAll()),
  );
}

/** Show as a run of tests what was verified otherwise, from a lens or a command. */
export function report(uri: string, protocol: string | null, verified: Verified): void {
  const items = leaves(controller.items).filter((item) => {
    const asked = questions.get(item);
    return asked?.uri === uri && (protocol === null || asked.protocol === protocol) && resultsOf(item, verified).length > 0;
  });
  if (items.length === 0) return;
  const run = controller.createTestRun(new vscode.TestRunRequest(items), undefined, true);
  for (const item of items) judge(run, item, verified);
  run.end();
}

/** The question that an item of the list stands for. */
export function questionOf(item: vscode.TestItem): Question | undefined {
  return questions.get(item);
}

async function listAll(): Promise<void> {
  const found = await vscode.workspace.findFiles('**/*.cpl');
  const here = new Set(found.map((uri) => uri.toString()));
  const open = vscode.workspace.textDocuments.filter((document) => document.languageId === 'cpl').map((document) => document.uri);
  for (const uri of [...found, ...open.filter((one) => !here.has(one.toString()))]) await list(uri);
}

async function list(uri: vscode.Uri): Promise<void> {
  const address = uri.toString();
  const asked = await server.ask<Asked[]>('cplc.asked', address).catch(() => undefined);
  if (asked === undefined) return;
  if (asked.length === 0) {
    controller.items.delete(address);
    return;
  }
  const file = controller.items.get(address) ?? controller.createTestItem(address, vscode.workspace.asRelativePath(uri), uri);
  const protocols = new Map<string, vscode.TestItem[]>();
  for (const one of asked) {
    const inside = protocols.get(one.protocol) ?? [];
    const item = controller.createTestItem(`${address}#${one.protocol}.${one.name}`, one.name, uri);
    item.range = new vscode.Range(one.range.start.line, one.range.start.character, one.range.end.line, one.range.end.character);
    item.sortText = String(inside.length).padStart(5, '0');
    questions.set(item, { uri: address, protocol: one.protocol, name: one.name });
    protocols.set(one.protocol, [...inside, item]);
  }
  file.children.replace(
    [...protocols].map(([name, inside], index) => {
      const item = controller.createTestItem(`${address}#${name}`, name, uri);
      item.sortText = String(index).padStart(5, '0');
      item.children.replace(inside);
      return item;
    }),
  );
  controller.items.add(file);
}

async function run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
  const excluded = new Set(request.exclude?.flatMap(leavesOf));
  const wanted = (request.include?.flatMap(leavesOf) ?? leaves(controller.items)).filter((item) => !excluded.has(item));
  const run = controller.createTestRun(request);
  for (const item of wanted) run.enqueued(item);
  for (const together of byProtocol(wanted)) {
    if (token.isCancellationRequested) {
      for (const item of together.items) run.skipped(item);
    } else {
      await verify(run, together, token);
    }
  }
  run.end();
}

interface Together {
  uri: string;
  protocol: string;
  /** Null if all that the protocol asks is wanted, which is then verified at once. */
  name: string | null;
  items: vscode.TestItem[];
}

function byProtocol(items: vscode.TestItem[]): Together[] {
  const found = new Map<string, Together>();
  for (const item of items) {
    const { uri, protocol, name } = questions.get(item)!;
    const isWhole = leavesOf(item.parent!).every((one) => items.includes(one));
    const key = JSON.stringify([uri, protocol, isWhole ? null : name]);
    const together = found.get(key) ?? { uri, protocol, name: isWhole ? null : name, items: [] };
    together.items.push(item);
    found.set(key, together);
  }
  return [...found.values()];
}

async function verify(run: vscode.TestRun, { uri, protocol, name, items }: Together, token: vscode.CancellationToken): Promise<void> {
  for (const item of items) run.started(item);
  const cancelling = token.onCancellationRequested(() => void server.ask('cplc.cancel', uri));
  try {
    const verified = await server.ask<Verified>('cplc.verify', uri, protocol, name);
    for (const item of items) {
      if (token.isCancellationRequested && (verified === undefined || resultsOf(item, verified).length === 0)) run.skipped(item);
      else judge(run, item, verified ?? { end: 'the language server does not run; see the message that says why', results: [] });
    }
  } catch (error) {
    for (const item of items) run.errored(item, new vscode.TestMessage(String(error)));
  } finally {
    cancelling.dispose();
  }
}

/** A property in a `for` has a result for each member, and an analysis of a participant one for each figure. */
function resultsOf(item: vscode.TestItem, verified: Verified): Result[] {
  const name = questions.get(item)?.name;
  return verified.results.filter((result) => result.asked === name);
}

function judge(run: vscode.TestRun, item: vscode.TestItem, verified: Verified): void {
  const results = resultsOf(item, verified);
  item.description = undefined;
  const milliseconds = 1000 * results.reduce((sum, result) => sum + result.seconds, 0);
  const unknown = results.filter((result) => result.verdict === 'unknown');
  const bad = results.filter((result) => !result.as_expected && !result.advisory && result.verdict !== 'unknown');
  for (const result of results) run.appendOutput(textOf(result, item).replaceAll('\n', '\r\n'), undefined, item);
  if (bad.length > 0) {
    run.failed(item, bad.map((result) => messageOf(result, item)), milliseconds);
  } else if (unknown.length > 0 || results.length === 0) {
    const why = unknown.map((result) => `${result.name} is unknown: ${result.reason ?? 'no engine could say'}`);
    run.errored(item, new vscode.TestMessage(why.join('\n') || verified.end || 'no verdict was given'), milliseconds);
  } else {
    // A test can only pass or fail: beside its tick stands that the property fails.
    if (results.every((result) => result.verdict === 'fails' && result.as_expected)) item.description = 'fails, as expected';
    run.passed(item, milliseconds);
  }
}

/** What the command line says, at the property; the steps of the run, the last one first, lead to their source. */
function messageOf(result: Result, item: vscode.TestItem): vscode.TestMessage {
  const message = new vscode.TestMessage(textOf(result, item).trim());
  if (item.uri !== undefined && item.range !== undefined) message.location = new vscode.Location(item.uri, item.range);
  message.contextValue = result.story === null ? undefined : 'run';
  message.stackTrace = result.story?.steps
    .flatMap((step, index) => {
      if (step.place === null) return [];
      const { uri, range } = locationOf(step.place);
      return [new vscode.TestMessageStackFrame(`${index + 1}. ${step.text}`, uri, range.start)];
    })
    .reverse();
  return message;
}

/** The file that the item is in is named without its folder. */
function textOf(result: Result, item: vscode.TestItem): string {
  const path = item.uri?.fsPath ?? '';
  return result.text.replaceAll(path, path.split(/[\\/]/).at(-1)!);
}

function leavesOf(item: vscode.TestItem): vscode.TestItem[] {
  return item.children.size === 0 ? [item] : leaves(item.children);
}

function leaves(items: vscode.TestItemCollection): vscode.TestItem[] {
  return [...items].flatMap(([, item]) => leavesOf(item));
}
