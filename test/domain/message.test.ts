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
  it('is the text, normalised, its line breaks honored', () =>
    expect(read(' Dear Zoe\u0308,\r\n\r\nThank you!\u200b \n')).to.equal('Dear Zoë,\n\nThank you!'));

  it('is missing where there is no text', () => {
    for (const value of ['', '  \n\t ', '\u200b\ufeff \u202e'])
      expect(read(value), JSON.stringify(value)).to.deep.equal(refused('missing_message'));
  });

  it('has up to 500 characters, counted after normalising', () => {
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

  it('has no merge field', () => {
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

  it('is told which merge field it has, the first one and no more than 40 characters of it', () => {
    const told = (text: string): string => {
      const message = capture(() => readMessage(text));
      return 'refusal' in message ? message.refusal.message : '';
    };
    expect(told('Hi [[name]] {{x}}')).to.equal(
      'The message still has a merge field in it: [[name]]. Send the finished text.',
    );
    expect(told(`Hi {{${'😀'.repeat(100)}}}`)).to.equal(
      `The message still has a merge field in it: {{${'😀'.repeat(38)}…. Send the finished text.`,
    );
  });

  it('has no merge field that hides behind an invisible character', () =>
    expect(read('Hi {\u200b{name}\u200d}')).to.deep.equal(refused('broken_merge_field')));

  it('is too long first, broken second', () => {
    expect(read(`{{name}}${'a'.repeat(493)}`)).to.deep.equal(refused('message_too_long'));
    expect(read(`{{name}}${'a'.repeat(492)}`)).to.deep.equal(refused('broken_merge_field'));
  });

  it('may hold what the pen can’t write', () => expect(read('Hi 😀\t漢')).to.equal('Hi 😀\t漢'));

  it('costs little time to refuse, whatever it is made of', () => {
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

  it('read once more is the same', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (text) => {
        const once = capture(() => readMessage(text));
        if ('value' in once) expect(readMessage(once.value)).to.equal(once.value);
      }),
    ));
});

describe('field-shaped text', () => {
  const pairs = [
    ['{{', '}}'],
    ['[[', ']]'],
    ['*|', '|*'],
    ['<<', '>>'],
    ['«', '»'],
    ['${', '}'],
  ] as const;

  it('is a pair of brackets with anything or nothing inside', () => {
    for (const [open, close] of pairs)
      for (const inside of ['', ' ', 'name', 'first name', 'a.b', '1', 'a\nb', '{', '😀'])
        expect(mergeFieldIn(`Hi ${open}${inside}${close}!`), open + inside).to.equal(
          `${open}${inside}${close}`,
        );
  });

  it('is nothing less', () => {
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

  it('is found where a pattern that tries every place finds it', () => {
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
