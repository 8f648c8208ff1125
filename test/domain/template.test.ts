import { expect } from 'chai';
import fc from 'fast-check';
import { DomainError } from '../../domain/errors.js';
import { fillIn, lookUp, piecesOf, scalarText, variablesOf } from '../../domain/template.js';

const refusal = (run: () => unknown): { code: string; param: string | null; message: string } => {
  try {
    run();
  } catch (error) {
    if (error instanceof DomainError) return { code: error.code, param: error.param, message: error.message };
    throw error;
  }
  throw new Error('nothing was refused');
};

const from = (payload: Record<string, unknown>) => (name: string) => lookUp(payload, name);

/** JSON.parse makes `__proto__` an own property, as a body parser that is not careful would. */
const parsed = (json: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(JSON.parse(json)));

describe('a template', () => {
  it('lists its variables once each, in their order, without the spaces inside the braces', () =>
    expect(variablesOf('{{b}} {{ a }} {{b}} {{}} {{  }} {c} {{a.b}}')).to.deep.equal(['b', 'a', 'a.b']));

  it('is cut at its variables, which know their values, into pieces that make it whole again', () => {
    const template = 'Dear {{ nick }}{{age}},{{}} {x}';
    const pieces = piecesOf(template, from({ nick: 'Bo' }));
    expect(pieces).to.deep.equal([
      { text: 'Dear ', name: null, value: null },
      { text: '{{ nick }}', name: 'nick', value: 'Bo' },
      { text: '{{age}}', name: 'age', value: null },
      { text: ',', name: null, value: null },
      { text: '{{}}', name: null, value: null },
      { text: ' {x}', name: null, value: null },
    ]);
    expect(pieces.map(({ text }) => text).join('')).to.equal(template);
  });

  it('looks each variable up once, however often it is there', () => {
    for (const use of [piecesOf, fillIn]) {
      const asked: string[] = [];
      use('{{a}}{{b}}{{ a }}{{b}}'.repeat(10), (name) => {
        asked.push(name);
        return 'x';
      });
      expect(asked).to.deep.equal(['a', 'b']);
    }
  });

  it('is filled in with the values of its variables', () =>
    expect(
      fillIn(
        'Dear {{ nick }},\nyour {{order.item}} is {{age}}.',
        from({ nick: ' Bo ', order: { item: 'hat' }, age: 0 }),
      ),
    ).to.equal('Dear Bo,\nyour hat is 0.'));

  it('is filled in once: braces inside a value stay as they are', () =>
    expect(fillIn('{{a}}{{b}}', from({ a: '{{b}}', b: '$& {{a}}' }))).to.equal('{{b}}$& {{a}}'));

  it('does not escape values, because they go on paper', () =>
    expect(fillIn('{{a}}', from({ a: '<b>Tom & "Jo"</b>' }))).to.equal('<b>Tom & "Jo"</b>'));

  it('substitutes only double braces', () =>
    expect(fillIn('{a} [[a]] <<a>> ${a} *|a|* {{{a}}}', from({ a: 'x' }))).to.equal(
      '{a} [[a]] <<a>> ${a} *|a|* {x}',
    ));

  it('leaves braces without a name in place, for the message rules to refuse', () =>
    expect(fillIn('{{}} {{ }} {{a{b}}', from({}))).to.equal('{{}} {{ }} {{a{b}}'));

  it('lists every missing value once', () =>
    expect(refusal(() => fillIn('{{x}} {{name}} {{y}} {{x}}', from({ name: 'Bo' })))).to.deep.equal({
      code: 'template_incomplete',
      param: 'x',
      message:
        "The hook's template needs values that are missing from the payload: x, y. Nothing was sent. Add them, then send again.",
    }));

  it('looks up variable names in exact case', () =>
    expect(refusal(() => fillIn('{{Nick}}', from({ nick: 'Bo' }))).code).to.equal('template_incomplete'));

  it('stops filling in once the text is too long for a message', () =>
    expect(refusal(() => fillIn('{{a}}'.repeat(100), from({ a: 'x'.repeat(64 * 1024) }))).code).to.equal(
      'message_too_long',
    ));
});

describe('the value of a template variable', () => {
  it('may be a text, a number (0 too), true or false', () =>
    expect([true, false, 0, -1.5, 'a', ' a '].map(scalarText)).to.deep.equal([
      'true',
      'false',
      '0',
      '-1.5',
      'a',
      'a',
    ]));

  it('counts as missing if it is null, blank, an object or an array', () =>
    expect([null, undefined, '', ' \n\t', {}, { a: 1 }, [], ['a']].map(scalarText)).to.deep.equal(
      Array(8).fill(null),
    ));

  it('is looked up by its whole name before it is looked up along the dots in it', () => {
    expect(lookUp({ 'a.b': 'flat', a: { b: 'deep' } }, 'a.b')).to.equal('flat');
    expect(lookUp({ 'a.b': ' ', a: { b: 'deep' } }, 'a.b')).to.equal('deep');
    expect(lookUp({ a: { b: { c: 'deep' } } }, 'a.b.c')).to.equal('deep');
  });

  it('is not looked up inside a list, a text or a number', () => {
    expect(lookUp({ a: ['x'] }, 'a.0')).to.equal(null);
    expect(lookUp({ a: ['x'] }, 'a.length')).to.equal(null);
    expect(lookUp({ a: 'x' }, 'a.length')).to.equal(null);
  });

  it('is not looked up in inherited properties', () => {
    for (const name of [
      'constructor',
      'constructor.name',
      '__proto__',
      '__proto__.constructor.name',
      'toString',
      'hasOwnProperty',
      'a.constructor.name',
      '',
    ]) {
      expect(lookUp({ a: { b: 1 } }, name), name).to.equal(null);
    }
    expect(lookUp(parsed('{"constructor":"mine"}'), 'constructor')).to.equal('mine');
  });

  it('is an own property of the payload, whatever the name and the payload', () =>
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.oneof(fc.string(), fc.constantFrom(...Object.getOwnPropertyNames(Object.prototype))),
        (payload, name) => {
          const found = lookUp(payload, name);
          if (!Object.hasOwn(payload, name) && !name.includes('.')) expect(found).to.equal(null);
          if (Object.hasOwn(payload, name) && !name.includes('.'))
            expect(found).to.equal(scalarText(payload[name]));
        },
      ),
    ));
});

describe('filling in a template', () => {
  const longest = fc
    .string({ maxLength: 500, unit: fc.constantFrom('{', '}', '{{', '}}', 'a', '.', ' ', '$', '`') })
    .map((text) => text.slice(0, 500));

  const attempt = (template: string, payload: Record<string, unknown>): void => {
    try {
      fillIn(template, from(payload));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  };

  /**
   * Milliseconds of the fastest of three runs: the machine may be busy with something else during the others.
   */
  const fastest = (run: () => void): number =>
    Math.min(
      ...[1, 2, 3].map(() => {
        const start = performance.now();
        run();
        return performance.now() - start;
      }),
    );

  it('takes under 10 ms for 64 KiB of payload and a template of 500 characters', () => {
    const payload = Object.fromEntries(
      Array.from({ length: 3000 }, (_, index) => [`a${index}`, 'x'.repeat(10)]),
    );
    expect(JSON.stringify(payload).length).to.be.greaterThan(60_000);
    fc.assert(
      fc.property(longest, (template) => {
        expect(fastest(() => attempt(template, payload))).to.be.lessThan(10);
      }),
      { numRuns: 200 },
    );
    for (const template of [
      '{'.repeat(100_000),
      '{{'.repeat(25_000) + 'a',
      '{{a'.repeat(30_000),
      '}}{{'.repeat(25_000),
      '{{' + ' '.repeat(100_000),
    ]) {
      expect(fastest(() => attempt(template, payload))).to.be.lessThan(250);
    }
  });

  it('returns text without variables unchanged', () =>
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes('{{')),
        (text) => {
          expect(fillIn(text, from({}))).to.equal(text);
        },
      ),
    ));

  it('keeps the text around each value, whatever the value is', () =>
    fc.assert(
      fc.property(
        fc.string().filter((text) => scalarText(text) !== null),
        (value) => {
          expect(fillIn('a {{v}} b {{ v }}{{w}}', from({ v: value, w: '!' }))).to.equal(
            `a ${value.trim()} b ${value.trim()}!`,
          );
        },
      ),
    ));
});
