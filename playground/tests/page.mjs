// The page in a headless Chromium, served from a folder below the root of a server on this machine.

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { chromium } from 'playwright-core';

const SLOW = 30_000;
const LOADING = 90_000;
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.mjs': 'text/javascript', '.json': 'application/json', '.wasm': 'application/wasm' };

/** Python alone, as its makers start it. */
const BARE = `<!doctype html><link rel="icon" href="data:,"><script type="module">
import { loadPyodide } from './pyodide/pyodide.mjs';
await loadPyodide({ indexURL: new URL('pyodide/', location.href).href });
document.documentElement.dataset.ready = 'yes';
</script>`;

function serve(folder, count) {
  const server = http.createServer((request, reply) => {
    count();
    const name = decodeURIComponent(new URL(request.url, 'http://localhost').pathname).replace(/^\/try\//, '') || 'index.html';
    if (name === 'bare.html') {
      reply.writeHead(200, { 'content-type': 'text/html' });
      reply.end(BARE);
      return;
    }
    fs.readFile(path.join(folder, name), (error, data) => {
      reply.writeHead(error ? 404 : 200, { 'content-type': TYPES[path.extname(name)] ?? 'application/octet-stream' });
      reply.end(data);
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

export class Playground {
  static async start({ folder, pictures, flags = [] }) {
    const it = new Playground();
    it.folder = folder;
    it.pictures = pictures;
    it.asked = [];
    it.wrong = [];
    fs.mkdirSync(pictures, { recursive: true });
    it.served = 0;
    it.server = await serve(folder, () => (it.served += 1));
    it.address = `http://127.0.0.1:${it.server.address().port}/try/`;
    it.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: [...FLAGS, ...flags] });
    it.page = await it.open();
    return it;
  }

  /** Open the page as somebody does who was never there; what is not asked for is then not verified. */
  async open(fragment = '', { automatic = false, ...options } = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 860 }, serviceWorkers: 'block', ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(SLOW);
    await context.route('**/*', (route) => {
      const request = route.request();
      this.asked.push({ url: request.url(), method: request.method() });
      return request.url().startsWith(this.address) || request.url().startsWith('data:') ? route.continue() : route.abort();
    });
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && this.wrong.push(message.text()));
    page.on('pageerror', (error) => this.wrong.push(String(error)));
    await page.goto(this.address + fragment);
    await page.waitForSelector('html[data-ready]', { timeout: LOADING });
    if (!automatic) {
      await page.evaluate(() => document.querySelector('#automatic').click());
      await page.evaluate(() => document.querySelector('#verify.stop')?.click());
      await this.over(page);
    }
    return page;
  }

  /** Start another browser, one in which a page gets so much memory, in pages of 64 kB. */
  small(memory) {
    return Playground.start({ ...this, flags: [`--js-flags=--wasm-max-mem-pages=${memory}`] });
  }

  async stop() {
    await this.browser?.close();
    this.server?.close();
  }

  /** Take a picture of what is seen. */
  picture(name, page = this.page) {
    return page.screenshot({ path: path.join(this.pictures, `playground-${name}.png`) });
  }

  tab(name, page = this.page) {
    return page.click(`#tab-${name}`);
  }

  async example(name, page = this.page) {
    await page.selectOption('#examples', name);
    await page.waitForFunction((wanted) => document.title.startsWith(wanted), name);
  }

  /** Write another text; it is checked when this comes back. */
  async write(text, page = this.page) {
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text);
  }

  /** Verify, and return what became of each question. */
  async verify(page = this.page) {
    await page.click('#verify');
    await this.over(page);
    return this.verdicts(page);
  }

  over(page = this.page) {
    return page.waitForFunction(() => document.querySelector('#verify').textContent === 'Verify', null, { timeout: LOADING });
  }

  verdicts(page = this.page) {
    return page.$$eval('#results > details', (rows) => rows.map((row) => [row.dataset.name, row.dataset.verdict ?? null]));
  }

  status(page = this.page) {
    return page.textContent('#status');
  }

  /** Wait until what is found in the page is so. */
  async becomes(selector, text, page = this.page) {
    await page.locator(selector).filter({ hasText: text }).first().waitFor();
  }
}
