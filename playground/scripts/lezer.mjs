// Parsers from grammars of Lezer, as a plugin of esbuild: `x.grammar` is the parser, `x.grammar.terms` its tokens.
import fs from 'node:fs';
import path from 'node:path';
import { buildParserFile } from '@lezer/generator';

export const lezer = {
  name: 'lezer',
  setup(bundle) {
    bundle.onResolve({ filter: /\.grammar(\.terms)?$/ }, ({ path: name, resolveDir }) => ({ path: path.join(resolveDir, name), namespace: 'lezer' }));
    bundle.onLoad({ filter: /.*/, namespace: 'lezer' }, ({ path: name }) => {
      const file = name.replace(/\.terms$/, '');
      const built = buildParserFile(fs.readFileSync(file, 'utf8'), { fileName: file });
      return { contents: name === file ? built.parser : built.terms, loader: 'js', resolveDir: path.dirname(file), watchFiles: [file] };
    });
  },
};
