import { expect } from 'chai';
import fc from 'fast-check';
import { comparedEmail, emailIn, foldEmail, readMailbox } from '../../domain/email.js';
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

  for (const text of ['n/a', 'none', '-', 'ada', 'ｎ／ａ', 'see below'])
    it(`is not missed in ${text}`, () => expect(emailIn(text)).to.deep.equal({ value: foldEmail(text) }));

  it('keeps thirty marks in a row, which are more than any letter has', () => {
    const marked = (count: number): string => `ж${'\u0316\u200b'.repeat(count)}@x.test`;
    expect(foldEmail(marked(30))).to.equal(marked(30).replaceAll('\u200b', ''));
    expect(foldEmail(marked(300))).to.equal(foldEmail(marked(30)));
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
    'a [at] x.test',
    String.raw`a@x.test\n`,
    'a at x.test',
    '<a href="mailto:a@x.test">a@x.test</a>',
    'a@b@x.test',
    `${'a'.repeat(400)}@x.test`,
  ];
  /** Ways to wrap, end and begin an address: what is left of a table, a list, a quotation or markup. */
  const wraps = ['＜＞', '‹›', '「」', '『』', '〈〉', '《》', '（）', '()', '【】', '**', '__', '{}', '||', '´´', '~~', '--', '//', '==',
    '〔〕', '［］', '｛｝', '⟨⟩', '❮❯', '＂＂', '＇＇', '‛’', '〝〞', 'ʻʼ', '＊＊', '⸢⸣']; // prettier-ignore
  const ends = ['!', '?', '/', '#', '…', '，', '；', '、', '。', '！', '·', '•', '&gt;', '&gt', '&nbsp;', '=', '-', '–', '—', '_', '*', '|', '+',
    '~', '^', '$', '&', '%', '}', "'", '²', '™', '®', '☎', '\u20dd', '\u0332', 'ʼ', 'ー', '/home', '?to=e@x.test', '#top']; // prettier-ignore
  const begins = ['=', '‐', '-', '‑', '–', '—', '−', '•', '*', '+', '/', '//', 'mailto://', 'mailto:/', 'mailto=', 'email=', 'to|',
    '#', '!', '?', '|', '~', '&lt;', '&', '%3c', '.', '…', '{', "'", '´', 'ʻ', '①', '❶', '⒈', '→', 'e-mail:', '☎', '@', '/~', '\u0332']; // prettier-ignore
  const spellings = [
    'ｄ@x.test', 'd@x.ｔest', 'ᵈ@x.test', 'd@x。test', 'd@x．test', 'd@x｡test', 'd@x․test', 'd@x·test', 'd﹫x.test', 'd＠x.test',
    '𝐝@x.test', 'ⓓ@x.test', 'd@ⓧ.test', 'd@x.𝓽est', 'd@x.ﬁ', 'd\u0332@x.test', 'd@x\u0336.test', 'd@x..test', 'd@.test',
    '_-d@x.test', '_*d@x.test', 'd@x.testー\u0332', 'd@x.testʼ\u20dd', 'İd@x.test', 'mailto:d@x.test?cc=e@x.test', 'd (e@x.test)', '(d%40x.test)', 'Ada (d＠x.test)', 'Ada (d at x.test)', 'd@x.test (e@x.test)',
  ]; // prettier-ignore
  unclear.push(
    ...wraps.map((wrap) => [...wrap].join('d@x.test')),
    ...ends.map((end) => `d@x.test${end}`),
    ...begins.map((begin) => `${begin}d@x.test`),
    ...spellings,
  );
  for (const sent of unclear)
    it(`can't be told from ${JSON.stringify(sent).slice(0, 40)}`, () =>
      expect(emailIn(sent)).to.have.property('refusal'));

  for (const text of ['none', 'a b@x.test', 'a@b@x.test', '@x.test'])
    it(`is refused where one must be: ${text}`, () =>
      expect(capture(() => readMailbox(text))).to.have.property('refusal'));

  it('is never read from what is wrapped, ended and begun in several ways at once', () => {
    const marks = fc.array(fc.constantFrom(...wraps.flatMap((wrap) => [...wrap]), ...ends, ...begins, ' '), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(marks, marks, (before, after) => {
        const read = emailIn(`${before.join('')}d@x.test${after.join('')}`);
        if ('value' in read)
          expect(read.value).to.be.oneOf(['d@x.test', '_d@x.test', '__d@x.test', '___d@x.test']);
      }),
    );
  });

  const letters = fc.constantFrom(...'abcxyz0189éüßжλ例');
  const ordinary = fc
    .tuple(
      fc.oneof(
        letters,
        letters.map((letter) => `_${letter}`),
      ),
      fc.string({ unit: fc.oneof(letters, fc.constantFrom(..."._-+'&!#$*?^{}~/")), maxLength: 20 }),
      fc.array(fc.string({ unit: letters, minLength: 1, maxLength: 10 }), { minLength: 2, maxLength: 4 }),
    )
    .map(([first, rest, labels]) => `${first}${rest}@${labels.join('.')}`);
  const ordinaries = ["o'brien@x.test", '_x@y.test', 'ada_@x.test', 'ada-@x.test', 'a.b+c@x-y.test', 'r&d@x.test', '7@x.test', 'a@b',
    'josé@x.test', 'ada..b.@x.test', 'иван@почта.рф', '山田@例え.テスト', 'z@グーグル.コム', 'राम@डाटामेल.भारत', 'ẹ́@x.test', 'z@xn--bcher-kva.example']; // prettier-ignore
  for (const sent of ordinaries)
    it(`is whole, however rare: ${sent}`, () => {
      expect(emailIn(sent)).to.deep.equal({ value: sent });
      expect(readMailbox(sent)).to.equal(sent);
    });

  it('is whole with every sign that may be in it, and the same when it is read again', () =>
    fc.assert(
      fc.property(ordinary, (sent) => {
        expect(emailIn(sent)).to.deep.equal({ value: sent });
        expect(emailIn(`Ada <${sent}>`)).to.deep.equal({ value: sent });
        expect(comparedEmail(comparedEmail(sent))).to.equal(comparedEmail(sent));
      }),
    ));

  it('is compared in one spelling of its host', () => {
    const ascii = 'z@xn--bcher-kva.example';
    for (const sent of [
      'z@bücher.example',
      'Z@BÜCHER.example',
      'z@bu\u0308cher.example',
      ascii,
      ascii.toUpperCase(),
    ])
      expect(comparedEmail(sent)).to.equal(ascii);
    expect(comparedEmail('n/a')).to.equal('n/a');
  });
});
