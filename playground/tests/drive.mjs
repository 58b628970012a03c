// Run the scenarios and say what became of each in a line of JSON: node drive.mjs '{"folder": …, "pictures": …}'

import { Playground } from './page.mjs';
import { scenarios } from './scenarios.mjs';

const given = JSON.parse(process.argv[2]);
const it = await Playground.start(given);
try {
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (given.only && !given.only.some((part) => name.includes(part))) continue;
    let why = null;
    let told = null;
    try {
      told = (await scenario(it)) ?? null;
    } catch (problem) {
      why = `${problem.stack ?? problem}\nstatus: ${await it.status().catch(String)}\n${it.wrong.join('\n')}`;
      await it.picture(`failed-${name.replaceAll(' ', '-')}`).catch(() => {});
    }
    process.stdout.write(`${JSON.stringify({ name, why, told })}\n`);
  }
} finally {
  await it.stop();
}
