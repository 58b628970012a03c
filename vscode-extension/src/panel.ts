// A run beside its source. The page is the server's, and steps by itself; here the source follows it.

import * as vscode from 'vscode';
import { locationOf, type Place, type Shown } from './answers';

type Said = { what: 'open' | 'step' } & Place;

let panel: vscode.WebviewPanel | undefined;
let source: vscode.ViewColumn | undefined;
const marked = vscode.window.createTextEditorDecorationType({
  isWholeLine: true,
  backgroundColor: new vscode.ThemeColor('editor.stackFrameHighlightBackground'),
  overviewRulerColor: new vscode.ThemeColor('editor.stackFrameHighlightBackground'),
});

export function show(title: string, shown: Shown): void {
  source = vscode.window.activeTextEditor?.viewColumn ?? source ?? vscode.ViewColumn.One;
  if (panel === undefined) {
    const beside = { viewColumn: vscode.ViewColumn.Beside };
    panel = vscode.window.createWebviewPanel('cplc.run', title, beside, { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [] });
    panel.webview.onDidReceiveMessage((said: Said) => void follow(said));
    panel.onDidDispose(() => {
      panel = undefined;
      unmark();
    });
  }
  unmark();
  panel.title = title;
  panel.webview.html = shown.page ?? '';
  panel.reveal(undefined, false);
}

/** Show where a step comes from: mark it in what is shown already, or open the file if that was asked. */
async function follow(said: Said): Promise<void> {
  const { uri, range } = locationOf(said);
  const line = new vscode.Range(range.start.line, 0, range.start.line, Number.MAX_SAFE_INTEGER);
  if (said.what === 'open') {
    await vscode.window.showTextDocument(uri, { viewColumn: source, selection: range });
    return;
  }
  unmark();
  for (const editor of vscode.window.visibleTextEditors) {
    if (editor.document.uri.toString() === uri.toString()) {
      editor.setDecorations(marked, [line]);
      editor.revealRange(line, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
  }
}

function unmark(): void {
  for (const editor of vscode.window.visibleTextEditors) editor.setDecorations(marked, []);
}
