// What a designer does, one promise each. A scenario fails by throwing.

import assert from 'node:assert/strict';

export const scenarios = {
  async 'mistakes are marked and listed'(editor) {
    await editor.open('mistake.cpl');
    await editor.page.waitForSelector('.squiggly-error');
    await editor.command('Problems: Focus on Problems View');
    await editor.shows('.markers-panel .monaco-list-row', 'Nothing here is called');
    await editor.picture('mistakes');
    await editor.command('View: Toggle Panel Visibility');
  },

  async 'a mistake has a repair'(editor) {
    await editor.open('mistake.cpl');
    await editor.page.waitForSelector('.squiggly-error');
    await editor.at('oder', 1);
    await editor.page.keyboard.press('Control+.');
    await editor.shows('.action-widget .monaco-list-row', 'order');
    await editor.picture('repair');
    await editor.page.keyboard.press('Enter');
    await editor.until(async () => (await editor.page.$('.squiggly-error')) === null, 'the mistake is gone');
    assert.ok((await editor.lines()).some((line) => line.endsWith('after order')));
  },

  async 'words have their colours'(editor) {
    await editor.open('shop.cpl');
    const colour = (word) =>
      editor.page.$$eval('.view-line span span', (spans, wanted) => {
        const found = spans.find((span) => span.textContent.replaceAll('\u00a0', ' ').trim() === wanted);
        return found === undefined ? undefined : getComputedStyle(found).color;
      }, word);
    const different = async () => new Set([await colour('commitment'), await colour('create'), await colour('goods'), await colour('->')]).size >= 3;
    await editor.until(different, 'words of different kinds differ');
  },

  async 'a name says what it is'(editor) {
    await editor.open('shop.cpl');
    await editor.at('goods', 1);
    await editor.command('Show or Focus Hover');
    await editor.shows('.monaco-hover', 'Seller');
    await editor.picture('hover');
    await editor.page.keyboard.press('Escape');
  },

  async 'what may be written is offered'(editor) {
    await editor.open('shop.cpl');
    await editor.at('after pay', 9);
    await editor.page.keyboard.press('End');
    await editor.page.keyboard.type('  means create ');
    await editor.page.keyboard.press('Control+Space');
    await editor.shows('.suggest-widget .monaco-list-row', 'goods');
    await editor.picture('completion');
    await editor.page.keyboard.press('Escape');
  },

  async 'a name leads to its declaration'(editor) {
    await editor.open('shop.cpl');
    await editor.at('create goods', 8);
    await editor.page.keyboard.press('F12');
    await editor.until(async () => (await editor.place()) === '6:14', 'the cursor is at the declaration', undefined, () => editor.place());
  },

  async 'a name is changed everywhere'(editor) {
    await editor.open('shop.cpl');
    await editor.at('role Buyer', 6);
    await editor.page.keyboard.press('F2');
    await editor.page.fill('.rename-box input', 'Client');
    await editor.page.keyboard.press('Enter');
    await editor.until(async () => !(await editor.lines()).join('\n').includes('Buyer'), 'the old name is gone', undefined, () => editor.lines());
    assert.equal((await editor.lines()).join('\n').split('Client').length, 7);
  },

  async 'a text is laid out'(editor) {
    await editor.open('layout.cpl');
    await editor.command('Format Document');
    await editor.until(async () => (await editor.lines())[1] === '  role A', 'the second line is indented as it should be', undefined, () => editor.lines());
    assert.ok((await editor.lines()).includes('  B -> A : goodbye  after hello'));
  },

  async 'what a file declares is listed'(editor) {
    await editor.open('shop.cpl');
    await editor.page.keyboard.press('Control+Shift+o');
    await editor.shows('.quick-input-widget .monaco-list-row', 'served');
    await editor.page.keyboard.press('Escape');
  },

  async 'a verdict stands above its property'(editor) {
    await editor.open('shop.cpl');
    await editor.lens('Verify all');
    await editor.shows('.codelens-decoration a', 'fails, not as expected');
    await editor.shows('.codelens-decoration a', '✓ holds');
    await editor.picture('verdict');
  },

  async 'properties and checks are listed as tests'(editor) {
    await editor.open('shop.cpl');
    await editor.command('Testing: Focus on Test Explorer View');
    await editor.shows('.test-explorer .monaco-list-row', 'shop.cpl');
    await expandTests(editor);
    for (const name of ['served', 'paid', 'sound']) await editor.shows('.test-explorer .monaco-list-row', name);
  },

  async 'what is verified above a property is a result there'(editor) {
    await tested(editor, 'served', 'failed');
    await tested(editor, 'paid', 'passed');
  },

  async 'all tests are run at once'(editor) {
    await editor.command('Test: Clear All Results');
    await tested(editor, 'served', 'unset');
    await editor.command('Test: Run All Tests');
    await tested(editor, 'served', 'failed');
    await tested(editor, 'paid', 'passed');
    await tested(editor, 'sound', 'passed');
    await tested(editor, 'analyze Ann', 'failed');
    await editor.picture('tests');
  },

  async 'a failure says where its run goes'(editor) {
    // The list of results is made anew while tests end, and what was chosen in it is lost.
    await editor.until(async () => {
      await editor.page.locator('.test-output-peek-tree .monaco-list-row', { hasText: 'served' }).first().click();
      await editor.page.waitForTimeout(500);
      return (await editor.texts('.part.panel .view-lines')).some((text) => text.includes('5. Buyer -> Seller : pay'));
    }, 'the message tells the run');
    await editor.command('View: Toggle Maximized Panel');
    const frames = editor.page.locator('.multiCallStackFrame', { hasText: 'shop.cpl' });
    await editor.until(async () => (await frames.count()) >= 4, 'the steps are shown in their source');
    await editor.picture('failure');
    await editor.command('View: Toggle Maximized Panel');
  },

  async 'one test is run alone'(editor) {
    await editor.command('Test: Clear All Results');
    const row = editor.page.locator('.test-explorer .monaco-list-row', { hasText: 'paid' }).first();
    await editor.page.mouse.move(700, 400);
    await editor.page.keyboard.press('Escape');
    await row.hover();
    await row.locator('.codicon-testing-run-icon').first().click();
    await tested(editor, 'paid', 'passed');
    await tested(editor, 'served', 'unset');
  },

  async 'a run is shown beside its source'(editor) {
    await editor.command('View: Show Explorer');
    await editor.open('shop.cpl');
    await editor.lens('Verify all');
    await editor.lens('Show run');
    const run = await editor.frame('section[data-steps]');
    await editor.until(async () => (await run.textContent('output')) === '7 steps', 'the run has its steps');
    await editor.picture('run');
    assert.equal(await run.locator('svg[role=img] g').count(), 7);
  },

  async 'arrow keys go from step to step'(editor) {
    const run = await editor.frame('section[data-steps]');
    for (let step = 0; step < 4; step++) await editor.page.keyboard.press('ArrowRight');
    await editor.until(async () => (await run.textContent('output')) === 'step 4 of 7', 'it is at step 4', undefined, () => run.textContent('output'));
    assert.equal(await run.locator('li.here').getAttribute('data-step'), '4');
    assert.deepEqual(await run.locator('.lives td.here').allTextContents(), ['conditional', 'true', 'true', 'false', 'true', 'true', 'false']);
    await editor.picture('step');
    await editor.page.keyboard.press('End');
    await editor.page.keyboard.press('ArrowLeft');
    assert.equal(await run.textContent('output'), 'step 6 of 7');
  },

  async 'a step leads to its source'(editor) {
    const run = await editor.frame('section[data-steps]');
    await run.locator('li[data-step="5"] [data-line]').click();
    await editor.until(async () => (await editor.place()) === '10:21', 'the cursor is at the message', undefined, () => editor.place());
    await editor.picture('source');
  },

  async 'the panel is dark where the editor is'(editor) {
    editor.configure({ ...editor.settings, 'workbench.colorTheme': 'Default Dark Modern' });
    const run = await editor.frame('section[data-steps]');
    const paper = () => run.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await editor.until(async () => (await paper()) === 'rgb(31, 31, 31)', 'the paper is dark', undefined, paper);
    await editor.picture('dark');
    editor.configure(editor.settings);
    await editor.until(async () => (await paper()) !== 'rgb(31, 31, 31)', 'the paper is light again', undefined, paper);
  },

  async 'a parameter has another value'(editor) {
    await editor.open('market.cpl');
    await editor.lens('n = 2');
    const asked = editor.page.locator('.quick-input-widget input[type=text]');
    await asked.fill('9');
    await editor.page.keyboard.press('Enter');
    await editor.shows('.notification-list-item', 'cannot be 9');
    await editor.command('Notifications: Clear All Notifications');
    await editor.lens('n = 2');
    await asked.fill('3');
    await editor.page.keyboard.press('Enter');
    await editor.shows('.codelens-decoration a', 'n = 3 (given)');
    await editor.picture('parameter');
  },

  async 'what a participant can count on is shown beside its source'(editor) {
    await editor.open('market.cpl');
    await editor.lens('Verify all');
    await editor.lens('Show figures');
    const figures = await editor.frame('.drawings');
    await editor.until(async () => (await figures.textContent('pre')).includes('0.75'), 'the goal is reached by one of two');
    assert.equal(await figures.locator('svg.cplc-figure').count(), 1);
    await editor.picture('figures');
  },

  async 'a missing program is said, and what to do'(editor) {
    editor.configure({ ...editor.settings, 'cplc.server.command': ['no-such-cplc', 'lsp'] });
    await editor.shows('.notification-list-item', 'is not installed, or not on the PATH. Install cplc, or say in the settings where it is.');
    await editor.picture('missing');
    await editor.command('Notifications: Clear All Notifications');
  },

  async 'a program that is too old is said, and what to do'(editor) {
    const old = editor.program('cplc', 'echo "cplc 0.0.9"');
    editor.configure({ ...editor.settings, 'cplc.server.command': [old, 'lsp'] });
    await editor.shows('.notification-list-item', 'cplc 0.0.9 is too old');
    await editor.picture('old');
    await editor.command('Notifications: Clear All Notifications');
  },

  async 'the server comes back once it is there'(editor) {
    editor.configure(editor.settings);
    await editor.open('mistake.cpl');
    await editor.page.waitForSelector('.squiggly-error');
  },

  async 'the editor asks nobody outside'(editor) {
    assert.deepEqual([...editor.outside], []);
  },
};

/** Open all that is folded in the list of tests. */
async function expandTests(editor) {
  const folded = editor.page.locator('.test-explorer .monaco-list-row[aria-expanded="false"]');
  for (let tries = 0; (await folded.count()) > 0 && tries < 20; tries++) {
    await folded.first().click();
    await editor.page.keyboard.press('ArrowRight');
    await editor.page.waitForTimeout(100);
  }
}

/** Wait until a test has an icon: what is said of it to those who cannot see is made anew later than that. */
async function tested(editor, name, icon) {
  const row = editor.page.locator('.test-explorer .monaco-list-row', { hasText: name });
  await row.locator(`.codicon-testing-${icon}-icon`).first().waitFor({ state: 'attached' });
}
