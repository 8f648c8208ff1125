import { expect } from 'chai';
import { emailIn, foldEmail, readMailbox } from '../../domain/email.js';
import { capture } from '../../domain/errors.js';

describe('an e-mail address', () => {
  const same = [
    'renée@x.test', ' renée@x.test\t', 'RENÉE@X.TEST', 'rene\u0301e@x.test', 'RENE\u0301E@x.test', 'ren\u00ade\u0301e@x.test',
    '\u200brenée@x.test\ufeff', 'Renée <renée@x.test>', '"Doe, Renée" <Renée@X.test>', '<renée@x.test>', 'Renée < renée@x.test >',
    'mailto:Renée@x.test', '"renée@x.test"', "'renée@x.test' <renée@x.test>", 'renée@x.test;',
    'Renée <renée@x.test> (work)', 'renée@x.test (Renée)', 'renée @ x.test', 'renée@x.test.', 'mailto:renée@x.test?subject=Hi',
    'renée@x.test\ufe0f', 'ren\u034fée@x.test', 'renée@x.test\0', 'renée@x.test\u{e0020}', '\u00a0renée@x.test\u3000',
  ]; // prettier-ignore
  for (const text of same)
    it(`is read as the same: ${JSON.stringify(text)}`, () => {
      expect(foldEmail(text)).to.equal('renée@x.test');
      expect(readMailbox(text)).to.equal('renée@x.test');
      expect(emailIn(text)).to.deep.equal({ value: 'renée@x.test' });
      expect(emailIn([text])).to.deep.equal({ value: 'renée@x.test' });
    });

  it('is not taken out of what has none', () => {
    expect(foldEmail('Ada <none>')).to.equal('ada <none>');
    expect(foldEmail('n/a')).to.equal('n/a');
  });

  it('is not looked for in a text that is far too long', () => {
    const begun = performance.now();
    foldEmail(`a${'\u0301'.repeat(100_000)}@x.test`);
    expect(performance.now() - begun).to.be.below(100);
  });

  for (const none of [undefined, null, '', ' ', '\u200b', [null]])
    it(`is not in a payload with ${JSON.stringify(none) ?? 'nothing'}`, () =>
      expect(emailIn(none)).to.deep.equal({ value: null }));

  const unclear = [
    7,
    true,
    {},
    [],
    ['a@x.test', 'b@x.test'],
    [7],
    'a@x.test, b@x.test',
    'Ada <a@x.test>, Bo <b@x.test>',
    'Ada <a@x.test>, b@x.test',
    'Ada a@x.test',
    'Ada <a@x.test',
    'Ada [mailto:a@x.test]',
    '“a@x.test”',
    '‘a@x.test’',
    '‚a@x.test’',
    '„a@x.test“',
    'a%40x.test',
    'a@x.test%20',
    'a&#64;x.test',
    'a\uff20x.test',
    'a [at] x.test',
    String.raw`a@x.test\n`,
    'a at x.test',
    '<a href="mailto:a@x.test">a@x.test</a>',
    'a@b@x.test',
    `${'a'.repeat(400)}@x.test`,
  ];
  for (const sent of unclear)
    it(`can't be told from ${JSON.stringify(sent).slice(0, 40)}`, () =>
      expect(emailIn(sent)).to.have.property('refusal'));

  for (const text of ['none', 'a b@x.test', 'a@b@x.test', '@x.test'])
    it(`is refused where one must be: ${text}`, () =>
      expect(capture(() => readMailbox(text))).to.have.property('refusal'));
});
