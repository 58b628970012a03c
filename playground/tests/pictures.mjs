// Take pictures of pages and compare them with those of before: node pictures.mjs '{"pages": […], "font": …, "golden": …, "taken": …}'
//
// All texts are in a font of boxes, so that a picture depends on the layout alone. Each result is a line of JSON.

import fs from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { Playground } from './page.mjs';

/** How much a colour may differ: the edges of shapes are smoothed in several ways. */
const SAME = 48;

const given = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb', '--font-render-hinting=none'] });

const style = `@font-face { font-family: Box; src: url(data:font/ttf;base64,${given.font}); }
* { font-family: Box !important; font-style: normal !important; font-weight: 400 !important; letter-spacing: 0 !important; transition: none !important; scrollbar-width: none !important; }`;

async function dress(page) {
  await page.evaluate(async (style) => {
    const roots = [document, ...[...document.querySelectorAll('*')].flatMap((one) => (one.shadowRoot ? [one.shadowRoot] : []))];
    for (const root of roots) {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(style.replace(/@font-face[^}]*}/, ''));
      root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    }
    const face = new FontFace('Box', style.match(/url\([^)]*\)/)[0]);
    document.fonts.add(await face.load());
  }, style);
}

/** Return which share of the pixels differs, 1 if the sizes do. */
async function difference(one, other) {
  const page = await browser.newPage();
  const share = await page.evaluate(
    async ([one, other, same]) => {
      const pixels = async (data) => {
        const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      };
      const [first, second] = [await pixels(one), await pixels(other)];
      if (first.width !== second.width || first.height !== second.height) return 1;
      let count = 0;
      for (let at = 0; at < first.data.length; at += 4) {
        const differs = [0, 1, 2].some((channel) => Math.abs(first.data[at + channel] - second.data[at + channel]) > same);
        if (differs) count += 1;
      }
      return count / (first.data.length / 4);
    },
    [one.toString('base64'), other.toString('base64'), SAME],
  );
  await page.close();
  return share;
}

async function judge(name, page, height) {
  await dress(page);
  await page.mouse.move(0, 0);
  const { width } = page.viewportSize();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  const tall = Math.min(height, await page.evaluate(() => document.documentElement.scrollHeight));
  const taken = await page.screenshot({ fullPage: true, clip: { x: 0, y: 0, width, height: tall }, animations: 'disabled', caret: 'hide' });
  fs.writeFileSync(path.join(given.taken, `${name}.png`), taken);
  const golden = path.join(given.golden, `${name}.png`);
  const share = fs.existsSync(golden) ? await difference(taken, fs.readFileSync(golden)) : null;
  process.stdout.write(`${JSON.stringify({ name, share, overflow: Math.max(0, wide - width) })}\n`);
}

for (const { name, file, widths, height } of given.pages ?? []) {
  for (const width of widths) {
    const context = await browser.newContext({ viewport: { width, height: 844 }, bypassCSP: true, colorScheme: 'light' });
    const page = await context.newPage();
    await page.goto(`file://${file}`);
    await judge(`${name}-${width}`, page, height);
    await context.close();
  }
}

if (given.playground) {
  const it = await Playground.start({ folder: given.playground, pictures: given.taken });
  for (const width of [390, 1280]) {
    const options = { viewport: { width, height: 844 }, bypassCSP: true, colorScheme: 'light', automatic: true };
    const page = await it.open('#example=2-a-property.cpl', options);
    await it.becomes('#status', 'as expected', page);
    await page.click('#results > details[data-name=served] > summary');
    await judge(`playground-verdicts-${width}`, page, 1700);
    await it.tab('draw', page);
    await it.becomes('#draw svg .title', 'Purchase', page);
    await judge(`playground-draw-${width}`, page, 1200);
    await page.context().close();
  }
  await it.stop();
}
await browser.close();
