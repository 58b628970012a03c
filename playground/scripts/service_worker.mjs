// Bundle the service worker with the names of the files that it keeps: node service_worker.mjs GIVEN
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const { out, files, version } = JSON.parse(process.argv[2]);
const listed = `export const files = ${JSON.stringify(files)};\nexport const version = ${JSON.stringify(version)};\n`;

await build({
  entryPoints: [path.join(here, 'src', 'sw.ts')],
  outdir: out,
  bundle: true,
  format: 'iife',
  target: 'es2022',
  minify: true,
  logLevel: 'warning',
  plugins: [
    {
      name: 'listed',
      setup(bundle) {
        bundle.onResolve({ filter: /^listed$/ }, () => ({ path: 'listed', namespace: 'listed' }));
        bundle.onLoad({ filter: /.*/, namespace: 'listed' }, () => ({ contents: listed, loader: 'js' }));
      },
    },
  ],
});
