import { expect } from 'chai';
import fc from 'fast-check';
import { capture } from '../../domain/errors.js';
import { mergeFieldIn, readMessage } from '../../domain/message.js';

/** The message, or the code of the refusal. */
const read = (text: string): unknown => {
  const message = capture(() => readMessage(text));
  return 'refusal' in message ? { code: message.refusal.code } : message.value;
};
const refused = (code: string): unknown => ({ code });

describe('a message', () => {
  it('is stored as normalised text that keeps its line breaks', () =>
    expect(read(' Dear Zoe\u0308,\r\n\r\nThank you!\u200b \n')).to.equal('Dear Zoë,\n\nThank you!'));

  it('is refused with missing_message if it shows no text', () => {
    for (const value of ['', '  \n\t ', '\u200b\ufeff \u202e'])
      expect(read(value), JSON.stringify(value)).to.deep.equal(refused('missing_message'));
  });

  it('may have up to 500 characters, counted after normalising', () => {
    for (const text of [
      'a'.repeat(500),
      '😀'.repeat(500),
      'e\u0301'.repeat(500),
      `${'a\r\n'.repeat(249)}ab`,
      ` ${'\u200b'.repeat(9000)}${'a'.repeat(500)}\n`,
    ])
      expect([...String(read(text))].length).to.equal(500);
    for (const text of [
      'a'.repeat(501),
      '😀'.repeat(501),
      'e\u0301'.repeat(501),
      'a\n'.repeat(251),
      'x\u0301'.repeat(251),
      'a'.repeat(100_000),
    ])
      expect(read(text)).to.deep.equal(refused('message_too_long'));
  });

  it('is refused if it still has a merge field', () => {
    for (const text of [
      'Hi {{name}}',
      'Hi {{ first name }}!',
      'Hi [[name]]',
      'Hi [[first name]]',
      'Hi *|FNAME|*',
      'Hi <<name>>',
      'Hi «name»',
      'Hi ${name}',
    ])
      expect(read(text), text).to.deep.equal(refused('broken_merge_field'));
  });

  it('is refused with the first merge field in the error message, cut to 40 characters', () => {
    const told = (text: string): string => {
      const message = capture(() => readMessage(text));
      return 'refusal' in message ? message.refusal.message : '';
    };
    expect(told('Hi [[name]] {{x}}')).to.equal(
      'The message still contains a merge field: [[name]]. Send the finished text.',
    );
    expect(told(`Hi {{${'😀'.repeat(100)}}}`)).to.equal(
      `The message still contains a merge field: {{${'😀'.repeat(38)}…. Send the finished text.`,
    );
  });

  it('is refused if invisible characters hide a merge field', () =>
    expect(read('Hi {\u200b{name}\u200d}')).to.deep.equal(refused('broken_merge_field')));

  it('is checked for its length before it is checked for merge fields', () => {
    expect(read(`{{name}}${'a'.repeat(493)}`)).to.deep.equal(refused('message_too_long'));
    expect(read(`{{name}}${'a'.repeat(492)}`)).to.deep.equal(refused('broken_merge_field'));
  });

  it('may have characters that the pen can’t write', () => expect(read('Hi 😀\t漢')).to.equal('Hi 😀\t漢'));

  it('is refused in little time, whatever it consists of', () => {
    const bodies = [
      '{{',
      '[[',
      '*|',
      '<<',
      '«',
      '${',
      '{',
      '}',
      '$',
      '*',
      '|*',
      '\u0315\u0300',
      '\u0300',
      '\u200b',
      '\r',
      ' ',
    ];
    const before = process.cpuUsage();
    for (const part of bodies) read(`a${part.repeat(100_000 / part.length)}b`);
    read(`a${'\u0300'.repeat(50_000)}${'\u0327'.repeat(50_000)}`);
    expect(process.cpuUsage(before).user / 1000).to.be.below(500);
  });

  it('stays the same if it is read once more', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (text) => {
        const once = capture(() => readMessage(text));
        if ('value' in once) expect(readMessage(once.value)).to.equal(once.value);
      }),
    ));
});

describe('a merge field in a message', () => {
  const pairs = [
    ['{{', '}}'],
    ['[[', ']]'],
    ['*|', '|*'],
    ['<<', '>>'],
    ['«', '»'],
    ['${', '}'],
  ] as const;

  it('is any pair of field brackets, with anything or nothing between them', () => {
    for (const [open, close] of pairs)
      for (const inside of ['', ' ', 'name', 'first name', 'a.b', '1', 'a\nb', '{', '😀'])
        expect(mergeFieldIn(`Hi ${open}${inside}${close}!`), open + inside).to.equal(
          `${open}${inside}${close}`,
        );
  });

  it('is not found in text without a complete pair of field brackets', () => {
    for (const text of [
      '',
      'Hi {name}',
      '{ {name} }',
      '[name]',
      '[ [name] ]',
      '<name>',
      'a < b > c',
      '*name*',
      '|name|',
      '*|*',
      '$5 {x}',
      '$ {x}',
      '{{name',
      'name}}',
      '}}{{',
      ']][[',
      '|**|',
      '>><<',
      '»«',
      '}${',
    ])
      expect(mergeFieldIn(text), text).to.equal(null);
  });

  it('is found exactly if a regular expression that tries every position finds it', () => {
    const slow = /\{\{.*\}\}|\[\[.*\]\]|\*\|.*\|\*|<<.*>>|«.*»|\$\{.*\}/s;
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('{', '}', '[', ']', '*', '|', '<', '>', '«', '»', '$', 'a', '\n'), {
          maxLength: 12,
        }),
        (parts) => {
          const text = parts.join('');
          expect(mergeFieldIn(text) !== null).to.equal(slow.test(text));
        },
      ),
      { numRuns: 3000 },
    );
  });
});
