// Protocols for tree-sitter: Neovim, Helix, Zed and others.
//
// NOT TESTED WITH TREE-SITTER YET. Its generator does not run where this was written; `make playground-test` only
// checks that this file defines every rule it uses and has every word of the language. README.md says what to run
// before a release. Words come from ../words.json, which a test holds equal to `src/cplc/language/words.py`.

/* global grammar, alias, choice, optional, prec, repeat, repeat1, seq, token, field */

const words = require('../words.json');

const list = (rule) => seq(rule, repeat(seq(',', rule)));
const bars = (rule) => seq(rule, repeat(seq('|', rule)));
const signs = ['<->', '->', '<=', '>=', '!=', '<', '>', '|', '&', '=', '+', '-', '*', '%'];
const others = [':=', '<<', '>>', '..', '!', '@', ',', ':', '.'];

module.exports = grammar({
  name: 'cpl',
  word: ($) => $.identifier,
  extras: ($) => [/\s/, $.comment],
  // `A` is a role or an operator, and an expression ends where a second operand follows: both are tried.
  conflicts: ($) => [
    [$.prefix_operator, $.operator_name],
    [$.infix_operator, $.operator_name],
    [$.expression],
    [$.reference],
    [$.operand],
    [$.operand, $.reference],
    [$.bound],
  ],

  rules: {
    source_file: ($) => repeat($._item),

    _item: ($) => choice(
      $.version, $.import, $.protocol, $.role, $.choice, $.fact, $.commitment, $.claim, $.channel, $.clock, $.empower, $.for,
      $.for_each, $.memory,
      $.use, $.define, $.property, $.check, $.fairness, $.agent, $.goal, $.value, $.belief, $.decision, $.analyze, $.message,
    ),

    version: ($) => seq('cpl', $.number),
    import: ($) => seq('import', choice($.string, $.reference), optional($.alias)),
    alias: ($) => seq('as', field('name', $.name)),
    protocol: ($) => seq('protocol', field('name', $.name), optional($.parameters), optional($.string), optional('sync'), $.block),
    block: ($) => seq('{', repeat($._item), '}'),
    parameters: ($) => seq('(', optional(list($.parameter)), ')'),
    parameter: ($) => seq(field('name', $.name), ':', $._type, optional(seq('=', $.expression))),
    _type: ($) => choice('bool', 'id', 'text', 'time', 'duration', seq('money', '(', $.identifier, ')'), seq('decimal', '(', $.number, ')'), $.values, $.range),
    values: ($) => seq('{', list($.name), '}'),
    range: ($) => prec.right(seq($.sum, optional(seq('..', $.sum)))),

    role: ($) => prec.right(seq(choice('role', 'record'), field('name', $.name), optional($.brackets), optional(seq('{', repeat($.variable), '}')))),
    variable: ($) => seq('var', field('name', $.name), ':', $._type, optional(seq('=', $.expression))),
    choice: ($) => seq('choice', bars($.reference)),
    fact: ($) => seq('fact', field('name', $.name), '=', $.expression),
    commitment: ($) => seq('commitment', field('name', $.name), '=', 'C', $.parentheses, repeat($._option)),
    _option: ($) => choice(seq(choice('within', 'expires'), choice($.duration, $.expression)), 'revocable'),
    claim: ($) => seq('claim', field('name', $.name), '=', 'claim', $.parentheses),
    channel: ($) => seq(
      'channel', optional(seq($.reference, '->', $.reference)), repeat1(choice(
        'unordered', seq(choice('lossy', 'duplicating'), optional($.parentheses)), seq(choice('within', 'fifo'), $.expression),
      )),
    ),
    empower: ($) => seq('empower', list($.reference), 'to', list($.power)),
    power: ($) => seq(field('verb', $.name), $.reference),
    clock: ($) => seq('clock', 'tick', '=', $.duration),
    duration: () => token(choice(/\d+\s*(us|ms|s|min|h|d|w)/, /P[\dTWDHMS]*\d[WDHMS]/)),
    for: ($) => seq('for', $.name, 'in', $._domain, $.block),
    for_each: ($) => seq('for', 'each', field('key', $.name), ':', $._type, $.block),
    memory: ($) => seq('var', field('name', $.reference), ':', $._type, optional(seq('=', $.expression))),
    _domain: ($) => seq($.sum, optional(seq('..', $.sum))),
    use: ($) => prec.right(seq('use', $.reference, optional($.parentheses), optional($.alias), repeat($._condition))),
    define: ($) => seq('define', field('name', $.name), optional($.parentheses), '=', choice($.values, $.expression)),
    property: ($) => seq(
      'property', field('name', $.name), optional($.string), optional($._assuming), ':',
      $.expression, optional($.expectation),
    ),
    expectation: ($) => seq('expect', choice('holds', 'fails')),
    _assuming: ($) => seq('assuming', list(seq($.reference, optional(seq('within', $.expression))))),
    check: ($) => seq(
      'check', list(seq(optional('-'), $.name, optional($.expectation))),
      optional(seq($._assuming, optional($.expectation))),
    ),
    fairness: ($) => seq('fairness', $.expression),

    agent: ($) => seq('agent', field('name', $.name), 'plays', list($.reference), $.block),
    goal: ($) => seq('goal', $.expression),
    value: ($) => seq('value', list(seq($.reference, ':', optional(choice('+', '-')), $.number))),
    belief: ($) => seq(
      'believes', $.reference, optional($.when), optional(seq('within', choice($.duration, $.expression))), ':', bars($.event),
    ),
    event: ($) => seq($.reference, optional($.parentheses), $.number, optional(seq('..', $.number))),
    decision: ($) => seq('chooses', bars($.reference), optional($.when)),
    when: ($) => seq('when', $.expression),
    analyze: ($) => seq('analyze', $.reference, optional($._assuming), ':', list($.threshold)),
    threshold: ($) => seq($.name, choice('>', '>='), optional('-'), $.number, optional($.expectation)),

    message: ($) => prec.right(seq(
      field('sender', $.reference), '->', list(field('receiver', $.reference)), ':', field('name', $.name),
      optional($.parameters), repeat($._clause),
    )),
    _condition: ($) => choice(...['after', 'unless', 'if'].map((word) => seq(word, $.expression))),
    _clause: ($) => choice(
      $._condition,
      seq('means', list($.operation)),
      seq('set', list($.assignment)),
      seq('on', 'receipt', list($.assignment)),
      seq('resets', list($.reference)),
      'restart',
      'repeatable',
      seq(choice('returns', 'else'), field('name', $.name), optional($.parentheses)),
    ),
    operation: ($) => prec.right(seq(
      field('verb', $.name), $.reference, optional(seq(choice('to', 'with'), $.reference)), optional('retaining'),
    )),
    assignment: ($) => seq($.reference, ':=', $.expression),

    reference: ($) => prec.right(seq($.name, repeat(choice($.brackets, seq('.', $.name))))),
    name: ($) => choice($.identifier, $.operator_name),
    operator_name: () => choice(...words.prefixes, ...words.infixes),

    expression: ($) => prec.right(seq(
      repeat($._prefix), $.operand,
      repeat(choice(seq('in', $.braces), seq($._infix, repeat($._prefix), $.operand))),
    )),
    sum: ($) => prec.right(seq(repeat('-'), $.operand, repeat(seq(choice('+', '-', '*', '%'), repeat('-'), $.operand)))),
    _prefix: ($) => choice(
      '!', '-', seq($.prefix_operator, optional(choice($.braces, $.bound))), $.coalition,
      seq(choice(...words.quantifiers), $.name, 'in', $._domain, ':'),
    ),
    prefix_operator: () => prec.dynamic(1, choice(...words.prefixes)),
    coalition: ($) => seq('<<', list($.reference), '>>'),
    _infix: ($) => choice(seq($.infix_operator, optional($.bound)), ...signs),
    infix_operator: () => prec.dynamic(1, choice(...words.infixes)),
    bound: ($) => seq(
      choice(seq('<=', choice($.number, $.name, $.parentheses)), seq('[', $.sum, '..', $.sum, ']')), optional('ticks'),
    ),
    operand: ($) => prec.right(choice(
      $.number, $.amount, $.string, $.parentheses, $.brackets,
      seq($.name, repeat(choice($.parentheses, $.brackets, seq(choice('.', '@'), $.name)))),
    )),

    parentheses: ($) => seq('(', repeat($._token), ')'),
    brackets: ($) => seq('[', repeat($._token), ']'),
    braces: ($) => seq('{', repeat($._token), '}'),
    _token: ($) => choice(
      $.identifier, $.number, $.amount, $.string, $.operator_name, $.parentheses, $.brackets, $.braces, ...words.quantifiers, 'in', 'claim',
      'any', 'each', 'C', ...signs, ...others,
    ),

    identifier: () => /[A-Za-z_]\w*/,
    amount: () => token(choice(/\d+\s*(us|ms|s|min|h|d|w)/, /\d+(\.\d+)?\s*[A-Z]{3}/, /\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)/)),
    number: () => /\d+(\.\d+)?/,
    string: () => /"([^"\\\n]|\\[^\n])*"/,
    comment: () => token(choice(/\/\/[^\n]*/, /\/\*[^*]*\*+([^/*][^*]*\*+)*\//)),
  },
});
