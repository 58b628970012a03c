// What a person does in the playground. Each waits for what must appear; what it returns is told to whoever asked.

import assert from 'node:assert/strict';
import zlib from 'node:zlib';

const SHOP = `protocol Shop {
  role Buyer
  role Seller
  Buyer -> Seller : order
  Seller -> Buyer : ship after order
  property shipped: AG (order -> AF ship)
}
`;
const LONG = { name: 'netbill.cpl', customers: '6' };

const link = (data) => '#p=' + zlib.deflateRawSync(typeof data === 'string' ? data : JSON.stringify(data)).toString('base64url');
const shared = (text) => link({ name: 'shared.cpl', text, parameters: {}, channels: '', protocol: '' });
const text = (page) => page.$$eval('.cm-line', (lines) => lines.map((line) => line.textContent).join('\n'));

export const scenarios = {
  async 'every example has its verdicts'(it) {
    const names = (await it.page.$$eval('#examples option', (options) => options.map((one) => one.value).filter(Boolean))).filter((name) => !/^\d/.test(name));
    const told = {};
    for (const name of names) {
      await it.example(name);
      told[name] = await it.verify();
    }
    return told;
  },

  async 'a mistake is marked where it is'(it) {
    await it.write(SHOP.replace('-> Seller : order', '-> Seler : order'));
    await it.becomes('#problems', 'unknown-name');
    assert.equal(await it.page.textContent('.cm-lintRange-error'), 'Seler');
    assert.equal(await it.page.textContent('#problems .place'), '4:12');
    assert.match(await it.page.textContent('#problems'), /did you mean `Seller`/);
    await it.picture('mistake');
    await it.page.click('#problems .code');
    await it.becomes('#explanation[open] h1', 'unknown-name');
    await it.page.keyboard.press('Escape');
    await it.page.click('#problems .place');
    await it.page.keyboard.press('F8');
    await it.page.hover('.cm-lintRange-error');
    await it.page.click('.cm-tooltip-lint .cm-diagnosticAction');
    await it.page.locator('.cm-lintRange-error').waitFor({ state: 'detached' });
    assert.match(await text(it.page), /Buyer -> Seller : order/);
    assert.equal(await it.page.textContent('#problems'), '');
  },

  async 'places are right behind what takes two units'(it) {
    await it.write(SHOP.replace('protocol Shop', '// 🛒🛒\nprotocol Shop').replace('AF ship', 'AF shipp'));
    await it.becomes('#problems', 'shipp');
    assert.equal(await it.page.textContent('.cm-lintRange-error'), 'shipp');
  },

  async 'a run is drawn and can be gone through'(it) {
    await it.example('netbill.cpl');
    await it.verify();
    const row = it.page.locator('#results > details[data-name^="trusting"]');
    await row.locator('> summary').click();
    assert.ok((await row.locator('svg[role=img] .sent').count()) > 2);
    await row.getByRole('button', { name: 'one step on' }).click();
    assert.equal(await row.locator('li.here').count(), 1);
    assert.ok((await row.locator('svg g.here').count()) >= 1);
    await it.picture('run');
    await row.locator('li.here [role=link]').click();
    assert.match(await it.page.textContent('.cm-activeLine'), /request/);
  },

  async 'answers come one by one'(it) {
    await it.example('persuasion.cpl');
    await it.page.evaluate(() => {
      window.seen = new Set();
      new MutationObserver(() => window.seen.add(document.querySelector('#status').textContent)).observe(document.querySelector('#status'), { childList: true });
    });
    const verdicts = await it.verify();
    const seen = await it.page.evaluate(() => [...window.seen]);
    assert.ok(seen.filter((one) => /^Verifying: [1-9]/.test(one)).length > 2, seen.join('; '));
    assert.ok(verdicts.length > 20);
  },

  async 'stop stops'(it) {
    await it.example(LONG.name);
    await it.page.fill('input[name=customers]', LONG.customers);
    await it.page.click('#more summary');
    await it.page.selectOption('#engine', 'explicit');
    await it.page.click('#verify');
    await it.becomes('#verify', 'Stop');
    await it.becomes('#status', 'Verifying');
    await it.page.waitForFunction(() => document.querySelectorAll('#results > details').length === 9);
    await it.page.click('#verify');
    await it.becomes('#status', 'Stopped');
    assert.ok((await it.verdicts()).every(([, verdict]) => verdict !== null));
    assert.ok((await it.verdicts()).some(([, verdict]) => verdict === 'unknown'));
    await it.page.selectOption('#engine', 'auto');
    await it.page.click('#more summary');
    await it.page.fill('input[name=customers]', '');
    await it.verify();
    assert.match(await it.status(), /^9 as expected \(1 fails\)$/);
  },

  async 'parameters and channels count'(it) {
    await it.example('netbill.cpl');
    await it.page.fill('input[name=customers]', '2');
    await it.page.click('#more summary');
    await it.page.selectOption('#channels', 'sync');
    await it.page.click('#more summary');
    const two = await it.verify();
    await it.page.fill('input[name=customers]', '99');
    await it.becomes('#problems', '99');
    await it.page.fill('input[name=customers]', '');
    return two;
  },

  async 'a formula is answered'(it) {
    await it.write(SHOP);
    await it.page.click('#more summary');
    await it.page.fill('#formula', 'EF ship');
    assert.deepEqual(await it.verify(), [['formula', 'holds']]);
    await it.page.fill('#formula', 'EF (ship');
    await it.verify();
    assert.match(await it.status(), /^The formula is wrong: /);
    await it.page.fill('#formula', '');
    await it.page.click('#more summary');
  },

  async 'a link carries the protocol'(it) {
    await it.example('contract_net.cpl');
    await it.page.fill('input[name=participants]', '3');
    await it.page.locator('.cm-content').click();
    await it.page.keyboard.press('Control+Home');
    await it.page.keyboard.insertText('// ours: 🛒 Grüße\n');
    await it.page.click('#share');
    await it.page.waitForSelector('#link[open]');
    const address = await it.page.inputValue('#link input');
    await it.page.keyboard.press('Escape');
    assert.ok(address.startsWith(`${it.address}#p=`), address);
    const other = await it.open(address.slice(it.address.length));
    assert.equal(await other.inputValue('input[name=participants]'), '3');
    assert.match(await text(other), /^\/\/ ours: 🛒 Grüße\n/);
    assert.equal(await text(other), await text(it.page));
    const verdicts = await it.verify(other);
    await other.context().close();
    return verdicts;
  },

  async 'a link that is damaged is said to be'(it) {
    const other = await it.open('#p=AAAA');
    await it.becomes('#notice', 'damaged', other);
    await other.goto(`${it.address}${link({ name: 'x.cpl' })}`);
    await it.becomes('#notice', 'damaged', other);
    await other.goto(`${it.address}${link('x'.repeat(20_000_000))}`);
    await it.becomes('#notice', 'more than', other);
    await other.context().close();
  },

  async 'what a link carries is text and nothing else'(it) {
    const bait = "<img src=x onerror=document.title='caught'>";
    const written = SHOP.replace('shipped:', `shipped "${bait}":`).replace('protocol Shop', `protocol Shop "${bait}"`);
    const other = await it.open(shared(written));
    await it.verify(other);
    await other.locator('#results summary').first().click();
    await it.becomes('#results summary', bait, other);
    assert.equal(await other.locator('img').count(), 0);
    assert.notEqual(await other.title(), 'caught');
    await other.context().close();
  },

  async 'a text that is too much is told so'(it) {
    const other = await it.open(shared(`protocol P { role A role B A -> B : m property p: ${'('.repeat(5000)}m${')'.repeat(5000)} }`));
    await other.waitForSelector('#problems .code');
    await other.goto(`${it.address}${shared(`${SHOP}${'//\n'.repeat(400_000)}`)}`);
    await it.becomes('#problems', 'file-too-large', other);
    await other.goto(`${it.address}${shared(SHOP)}`);
    await other.waitForFunction(() => document.querySelector('#problems').textContent === '');
    const verdicts = await it.verify(other);
    await other.context().close();
    return verdicts;
  },

  async 'memory that is used up is said to be'(it) {
    const small = await it.small(2500);
    try {
      await small.example(LONG.name);
      await small.page.fill('input[name=customers]', '7');
      await small.page.click('#more summary');
      await small.page.selectOption('#engine', 'explicit');
      await small.verify();
      assert.match(await small.status(), /memory is exhausted/);
      assert.ok((await small.verdicts()).every(([, verdict]) => verdict === 'unknown'));
      await small.page.fill('input[name=customers]', '');
      await small.verify();
      assert.match(await small.status(), /^9 as expected/);
    } finally {
      await small.stop();
    }
  },

  async 'it can be used with the keyboard alone'(it) {
    const other = await it.open();
    await other.focus('.cm-content');
    await other.keyboard.press('Control+End');
    await other.keyboard.press('Tab');
    assert.equal(await other.evaluate(() => document.activeElement.closest('.cm-editor')), null);
    await other.focus('.cm-content');
    await other.keyboard.press('Control+Enter');
    await it.becomes('#status', '9 as expected', other);
    await other.focus('#results summary');
    await other.keyboard.press('Enter');
    assert.ok(await other.locator('#results details[open]').count());
    await other.context().close();
  },

  async 'it fits a phone'(it) {
    const other = await it.open('#example=netbill.cpl', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await it.verify(other);
    for (const row of await other.locator('#results > details > summary').all()) await row.click();
    const [wide, room] = await other.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(wide <= room, `${wide} in ${room}`);
    await it.picture('phone', other);
    await other.context().close();
  },

  async 'it is dark where the system is, and as one says'(it) {
    const other = await it.open('', { colorScheme: 'dark' });
    const paper = () => other.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await paper();
    await it.picture('dark', other);
    await other.click('#theme');
    assert.notEqual(await paper(), dark);
    await other.reload();
    assert.notEqual(await paper(), dark);
    await other.click('#theme');
    assert.equal(await paper(), dark);
    await other.context().close();
  },

  async 'somebody who was never there is told what this is'(it) {
    const other = await it.open('', { automatic: true });
    assert.match(await other.textContent('#start'), /cplc checks agreements/);
    await it.becomes('#status', 'as expected', other); // the first example is verified already
    await it.picture('start', other);
    assert.equal(await other.locator('#tour li').count(), 5);
    assert.ok((await other.locator('#topics dd').count()) > 25);
    await other.locator('#tour a').nth(1).click();
    await it.becomes('#results > details[data-verdict=fails] .name', 'served', other);
    assert.equal(await other.textContent('#results > details[data-verdict=fails] .verdict'), 'fails');
    assert.equal(await other.locator('#tab-verdicts[aria-selected=true]').count(), 1);
    await it.picture('verdicts', other);
    await other.context().close();
  },

  async 'what is written is verified at once, and is nobody else\'s'(it) {
    const other = await it.open('#example=netbill.cpl', { automatic: true });
    await it.becomes('#status', 'as expected', other);
    await it.write(SHOP, other);
    await it.becomes('#status', '1 not as expected', other);
    assert.match(await other.title(), /^own\.cpl/);
    assert.equal(await other.inputValue('#examples'), '');
    assert.equal(new URL(other.url()).hash, '');
    await it.write(SHOP.replace('order\n', 'ordr\n'), other);
    await it.becomes('#status', '2 errors: nothing is verified', other);
    assert.equal(await other.locator('#results.old').count(), 1);
    await it.write(SHOP, other);
    await it.becomes('#status', '1 not as expected', other);
    assert.equal(await other.locator('#results.old').count(), 0);
    await it.example('swap.cpl', other);
    await it.becomes('#results .name', 'atomic', other);
    await other.selectOption('#examples', '');
    await it.becomes('.cm-content', 'protocol Shop', other);
    await other.context().close();
  },

  async 'a run is simulated, and another one'(it) {
    await it.example('netbill.cpl');
    await it.tab('simulate');
    await it.becomes('#simulate .shown', 'Seed 1: 30 steps');
    assert.equal(await it.page.locator('#simulate svg').count(), 1);
    await it.picture('simulate');
    await it.page.click('#another');
    await it.becomes('#simulate .shown', 'Seed 2: 30 steps');
  },

  async 'the text is drawn in several ways'(it) {
    await it.example('agent_task.cpl');
    await it.tab('draw');
    await it.becomes('#draw svg .title', 'TripBooking');
    await it.page.selectOption('#drawing', 'Role Client');
    await it.becomes('#draw svg .title', 'TripBooking: Client');
    await it.picture('draw');
    const [saved] = await Promise.all([it.page.waitForEvent('download'), it.page.click('#save')]);
    assert.equal(saved.suggestedFilename(), 'agent_task-role-client.svg');
    await it.page.selectOption('#drawing', 'All states');
    await it.becomes('#draw .small', 'Reachable states');
    await it.example('train_gate.ispl');
    await it.page.waitForFunction(() => [...document.querySelectorAll('#drawing option')].some((one) => one.value === 'Role East'));
  },

  async 'participants are analyzed'(it) {
    await it.example('netbill.cpl');
    await it.tab('analyze');
    await it.becomes('#analyze', 'declares no agent');
    await it.example('agent_payments.cpl');
    await it.becomes('#analyze h2', 'Mara');
    await it.becomes('#analyze', 'Participants: Paula assuming Merchant, Paula, Mara');
    await it.picture('analyze');
    await it.tab('verdicts');
  },

  async 'a second visit needs no server'(it) {
    const other = await it.open('', { serviceWorkers: 'allow' });
    const first = await other.evaluate(() => performance.now());
    await other.evaluate(() => navigator.serviceWorker.ready);
    for (let before = -1; before !== it.served; await other.waitForTimeout(2000)) before = it.served;
    const before = it.served;
    await other.reload();
    await other.waitForSelector('html[data-ready]', { timeout: 90_000 });
    const second = await other.evaluate(() => performance.now());
    assert.ok(it.served <= before + 1, 'at most the service worker itself is looked for again');
    await it.becomes('#status', 'as expected', other);
    await other.context().close();
    return { first, second };
  },

  async 'the start takes no longer than that of Python'(it) {
    const context = await it.browser.newContext({ serviceWorkers: 'block' });
    const page = await context.newPage();
    const time = async (address) => {
      await page.goto(it.address + address);
      await page.waitForSelector('html[data-ready]', { timeout: 90_000 });
      return page.evaluate(() => performance.now());
    };
    const bare = await time('bare.html');
    const ours = await time('');
    await context.close();
    assert.ok(ours < 1.5 * bare, `${ours} ms, and ${bare} ms for Python alone`);
    return { bare, ours };
  },

  async 'nobody else is asked'(it) {
    assert.deepEqual(it.asked.filter(({ url, method }) => method !== 'GET' || !(url.startsWith(it.address) || url.startsWith('data:'))), []);
    assert.ok(it.asked.some(({ url }) => url.endsWith('.wasm')));
    assert.ok(it.asked.every(({ url }) => !url.includes('?')));
    assert.deepEqual(it.wrong.filter((text) => !text.includes('blocked by Playwright')), []);
  },
};
