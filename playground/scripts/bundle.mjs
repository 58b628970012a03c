// Bundle the page with what build.py gives it, as a file of JSON: node bundle.mjs GIVEN
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import MarkdownIt from 'markdown-it';
import { lezer } from './lezer.mjs';

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const given = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const into = (name, text) => fs.writeFileSync(path.join(given.out, name), text);

// What the page imports as `built`: parts of the report and of the extension, as they are there. The script of the
// report takes the part of the page that it is given for the whole.
const built = `
export const ispl = ${JSON.stringify(given.ispl)};
export const reportStyle = ${JSON.stringify(given.report)};
export const tip = ${JSON.stringify(given.tip)};
export function enliven(document) {
  const acquireVsCodeApi = undefined;
  ${given.script}
}
`;

await build({
  entryPoints: [path.join(here, 'src', 'page.ts'), path.join(here, 'src', 'worker.ts')],
  outdir: given.out,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  legalComments: 'linked',
  logLevel: 'warning',
  plugins: [
    lezer,
    {
      name: 'built',
      setup(bundle) {
        bundle.onResolve({ filter: /^built$/ }, () => ({ path: 'built', namespace: 'built' }));
        bundle.onLoad({ filter: /.*/, namespace: 'built' }, () => ({ contents: built, loader: 'js' }));
      },
    },
  ],
});

const palette = `:root { color-scheme: light; ${given.light} }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { color-scheme: dark; ${given.dark} } }
:root[data-theme=dark] { color-scheme: dark; ${given.dark} }
`;
into('style.css', palette + fs.readFileSync(path.join(here, 'src', 'style.css'), 'utf8'));
into('index.html', fs.readFileSync(path.join(here, 'src', 'index.html'), 'utf8'));
into('examples.json', JSON.stringify(given.examples));
into('start.json', JSON.stringify(given.start));
const markdown = new MarkdownIt({ html: false });
into('rules.json', JSON.stringify(Object.fromEntries(Object.entries(given.rules).map(([code, text]) => [code, markdown.render(text)]))));
