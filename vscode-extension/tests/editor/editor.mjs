// VS Code in a browser, and what a person does with it. Waits for what must appear, never for time to pass.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';

const SLOW = 15_000;
const WIDGET = '.quick-input-widget:visible';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const SETTINGS = {
  'chat.disableAIFeatures': true,
  'editor.accessibilitySupport': 'off',
  'editor.minimap.enabled': false,
  'extensions.ignoreRecommendations': true,
  'telemetry.telemetryLevel': 'off',
  'window.menuBarVisibility': 'hidden',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
};

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function answers(port) {
  return new Promise((resolve) => {
    http.get(`http://127.0.0.1:${port}/healthz`, (reply) => resolve(reply.resume() !== undefined)).on('error', () => resolve(false));
  });
}

const plain = (text) => text.replaceAll('\u00a0', ' ');

export class Editor {
  /** Start VS Code from a fresh profile with the packaged extension, a copy of the workspace, and these settings. */
  static async start({ home, vsix, workspace, pictures, settings }) {
    const editor = new Editor();
    editor.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cplc-editor-'));
    editor.workspace = path.join(editor.folder, 'workspace');
    editor.pictures = pictures;
    fs.rmSync(pictures, { recursive: true, force: true });
    editor.outside = new Set();
    fs.mkdirSync(pictures, { recursive: true });
    fs.cpSync(workspace, editor.workspace, { recursive: true });
    const profile = path.join(editor.folder, 'profile');
    editor.settings = settings;
    editor.configure(settings);
    fs.mkdirSync(path.join(profile, 'User'), { recursive: true });
    fs.writeFileSync(path.join(profile, 'User', 'settings.json'), JSON.stringify(SETTINGS));
    const require = createRequire(path.join(home, 'node_modules', 'x.js'));
    const entry = require.resolve('code-server/out/node/entry.js');
    const places = ['--user-data-dir', profile, '--extensions-dir', path.join(editor.folder, 'extensions')];
    const env = { ...process.env, EXTENSIONS_GALLERY: '{"serviceUrl":""}', XDG_CONFIG_HOME: editor.folder, XDG_DATA_HOME: editor.folder };
    const log = fs.openSync(path.join(pictures, 'server.log'), 'w');
    const run = (args) => spawn(process.execPath, [entry, ...places, ...args], { env, stdio: ['ignore', log, log] });
    await new Promise((resolve, reject) => {
      run(['--install-extension', vsix]).on('exit', (code) => (code === 0 ? resolve() : reject(new Error('the extension is not installed'))));
    });
    const port = await freePort();
    const quiet = ['--disable-telemetry', '--disable-update-check', '--disable-workspace-trust', '--disable-getting-started-override'];
    editor.server = run(['--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, ...quiet]);
    for (let tries = 0; !(await answers(port)); tries++) {
      if (tries > 240) throw new Error('VS Code does not answer');
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    const { chromium } = require('playwright-core');
    editor.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
    const page = (editor.page = await editor.browser.newPage({ viewport: { width: 1360, height: 1000 } }));
    page.setDefaultTimeout(SLOW);
    page.on('request', (request) => {
      const { host } = new URL(request.url());
      if (host !== '' && !host.startsWith('127.0.0.1')) editor.outside.add(host);
    });
    await page.goto(`http://127.0.0.1:${port}/?folder=${editor.workspace}`, { waitUntil: 'domcontentloaded', timeout: 90_000 });
    await page.waitForSelector('.explorer-folders-view .monaco-list-row', { timeout: 90_000 });
    return editor;
  }

  async stop() {
    await this.browser?.close();
    const gone = new Promise((resolve) => this.server?.on('exit', resolve));
    if (this.server?.kill('SIGTERM')) await gone;
    fs.cpSync(path.join(this.folder, 'profile', 'logs'), path.join(this.pictures, 'logs'), { recursive: true, force: true });
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** Settings of the workspace: VS Code notices when they change, as it does not with those of a profile here. */
  configure(settings) {
    const folder = path.join(this.workspace, '.vscode');
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'settings.json'), JSON.stringify(settings));
  }

  /** Make a program that does what these lines of a shell say. */
  program(name, lines) {
    const file = path.join(this.folder, name);
    fs.writeFileSync(file, `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
    return file;
  }

  /** Choose a command by its name. */
  async command(name) {
    await this.page.keyboard.press('F1');
    await this.page.waitForSelector(WIDGET);
    await this.page.fill(`${WIDGET} input`, `>${name}`);
    await this.page.locator(`${WIDGET} .monaco-list-row`).first().filter({ hasText: name.split(': ').at(-1) }).waitFor();
    await this.page.keyboard.press('Enter');
  }

  /** Open a file of the workspace, all others closed without saving. */
  async open(name) {
    for (let tries = 0; (await this.page.$('.editor-instance .view-line')) !== null && tries < 9; tries++) {
      await this.command('File: Revert and Close Editor');
      await this.page.waitForTimeout(300);
    }
    await this.command('View: Close All Editors');
    if (await this.page.isVisible('.part.panel')) await this.command('View: Toggle Panel Visibility');
    await this.page.keyboard.press('Control+p');
    await this.page.waitForSelector(WIDGET);
    await this.page.fill(`${WIDGET} input`, name);
    await this.page.locator(`${WIDGET} .monaco-list-row`).first().filter({ hasText: name }).waitFor();
    await this.page.keyboard.press('Enter');
    await this.page.waitForSelector(`.tab.active:has-text("${name}")`);
    await this.page.waitForSelector('.editor-instance .view-line');
  }

  /** Put the cursor at a line and column. */
  async goto(line, column) {
    await this.page.keyboard.press('Control+g');
    await this.page.waitForSelector(WIDGET);
    await this.page.fill(`${WIDGET} input`, `:${line}:${column}`);
    await this.page.keyboard.press('Enter');
    await this.until(async () => (await this.place()) === `${line}:${column}`, `the cursor is at ${line}:${column}`);
  }

  /** Put the cursor at a word of the text. */
  async at(word, after = 0) {
    const lines = await this.lines();
    const line = lines.findIndex((text) => text.includes(word));
    if (line < 0) throw new Error(`"${word}" is nowhere in ${JSON.stringify(lines)}`);
    await this.goto(line + 1, lines[line].indexOf(word) + 1 + after);
  }

  async place() {
    const found = /Ln (\d+), Col (\d+)/.exec(await this.page.textContent('#status\\.editor\\.selection'));
    return found === null ? '' : `${found[1]}:${found[2]}`;
  }

  /** The text as it is shown, without what the editor writes between its words. */
  async lines() {
    return this.page.$$eval('.editor-instance .view-line', (found) =>
      found
        .map((line) => {
          const copy = line.cloneNode(true);
          for (const hint of copy.querySelectorAll('[class*="dyn-rule"], [class*="ced-"]')) hint.remove();
          return { top: parseFloat(line.style.top), text: copy.textContent.replaceAll('\u00a0', ' ') };
        })
        .sort((one, other) => one.top - other.top)
        .map((line) => line.text),
    );
  }

  async texts(selector) {
    return (await this.page.$$eval(selector, (found) => found.map((one) => one.getAttribute('aria-label') ?? one.textContent))).map(plain);
  }

  async shows(selector, text, timeout = SLOW) {
    await this.until(async () => (await this.texts(selector)).some((one) => one.includes(text)), `${selector} shows "${text}"`, timeout, () => this.texts(selector));
  }

  /** Wait until something is so; if it never is, say what was so instead. */
  async until(isSo, what, timeout = SLOW, instead = () => '') {
    for (const end = Date.now() + timeout; Date.now() < end; await this.page.waitForTimeout(100)) {
      if (await isSo()) return;
    }
    throw new Error(`not so: ${what}; instead: ${JSON.stringify(await instead())}`);
  }

  /** Click a lens by its title. */
  async lens(title) {
    await this.shows('.codelens-decoration a', title);
    await this.page.locator('.codelens-decoration a', { hasText: title }).first().click();
  }

  /** Return the innermost frame that shows something. */
  async frame(selector) {
    let found;
    await this.until(async () => {
      for (const frame of this.page.frames()) {
        if ((await frame.$(selector).catch(() => null)) !== null) found = frame;
      }
      return found !== undefined;
    }, `a frame has ${selector}`);
    return found;
  }

  async picture(name) {
    await this.page.screenshot({ path: path.join(this.pictures, `${name}.png`) });
  }
}
