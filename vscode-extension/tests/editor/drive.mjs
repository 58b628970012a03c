// usage: node drive.mjs '{"home": …, "vsix": …, "workspace": …, "pictures": …, "command": […], "only": …}'
// Says in a line of JSON for each scenario what became of it.

import { Editor } from './editor.mjs';
import { scenarios } from './scenarios.mjs';

const given = JSON.parse(process.argv[2]);
const chosen = Object.entries(scenarios).filter(([name]) => given.only === undefined || new RegExp(given.only).test(name));
const editor = await Editor.start({ ...given, settings: { 'cplc.server.command': given.command } });
try {
  for (const [name, scenario] of chosen) {
    const begun = Date.now();
    let why = null;
    try {
      await scenario(editor, given);
    } catch (error) {
      why = String(error.message).slice(0, 2000);
      await editor.picture(`failed: ${name}`.replaceAll(/\W+/g, '-'));
    }
    console.log(JSON.stringify({ name, why, seconds: (Date.now() - begun) / 1000 }));
  }
} finally {
  await editor.stop();
}
