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

  async 'a run is shown'(editor) {
    await editor.open('shop.cpl');
    await editor.lens('Verify all');
    await editor.lens('Show run');
    await editor.until(async () => (await editor.page.locator('.tab.active').textContent()).includes('served'), 'a run is shown');
    await editor.picture('run');
  },

  async 'the editor asks nobody outside'(editor) {
    assert.deepEqual([...editor.outside], []);
  },
};
