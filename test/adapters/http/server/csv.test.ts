import { expect } from 'chai';
import { csvOf } from '../../../../adapters/http/server/csv.js';

const cell = (text: string): string =>
  csvOf(['a'], [{ a: text }])
    .split('\r\n')
    .slice(1, -1)
    .join('\r\n');

/** What spreadsheets take for the beginning of a formula, or don't see, or trim, before one. */
const beginnings = {
  'a sign': ['=', '+', '-', '@'],
  'a sign of full width': ['＝', '＋', '－', '＠'],
  'a small sign, or the true minus': ['﹦', '﹢', '﹣', '﹫', '−'],
  'a tab, a carriage return or a line feed': ['\t', '\r', '\n', '\v', '\f', '\0'],
  'a space of any width': [' ', '\u00a0', '\u1680', '\u2003', '\u202f', '\u205f', '\u3000', '\u2028'],
  'what has no width': [
    '\u200b',
    '\u200c',
    '\u200d',
    '\u2060',
    '\ufeff',
    '\u00ad',
    '\u180e',
    '\u034f',
    '\ufe0f',
  ],
  'a mark of direction': ['\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u061c'],
  'a letter that is blank': ['\u115f', '\u1160', '\u3164', '\uffa0', '\u2800'],
  'what Unicode gives no meaning': ['\ue000', '\ufffe', '\u{e0001}', '\ud800'],
};

describe('a cell of a CSV file', () => {
  for (const [what, signs] of Object.entries(beginnings))
    it(`is text to a spreadsheet if it begins with ${what}`, () => {
      for (const sign of signs) {
        const shown = cell(`${sign}=1+1`).replace(/^"/, '');
        expect(shown.slice(0, 1), `U+${sign.codePointAt(0)?.toString(16)}`).to.equal("'");
      }
    });

  it('is as it was if it begins with anything that is seen, and a number is a number', () => {
    for (const text of ['Ada', 'Émile', '12 Way', '(a)', '#1', '"q"', '李', 'a=1', '😀'])
      expect(cell(text).replaceAll('"', '')).to.equal(text.replaceAll('"', ''));
    expect(csvOf(['n'], [{ n: -5 }])).to.equal('n\r\n-5\r\n');
  });

  it('stays one cell, whichever separator a spreadsheet takes', () => {
    for (const text of ['a,=1', 'a;b', 'a\tb', 'a\nb']) expect(cell(text)).to.equal(`"${text}"`);
  });

  it('holds no formula where a spreadsheet takes another separator, and quotation marks for text', () => {
    for (const text of ['a;=1', 'a\t=1', 'a\n=1', 'a\r\n=1', 'a; "=1', 'a;\u200b=1'])
      expect(cell(text).replaceAll('""', '"')).to.equal(`"${text.replace('=', "'=")}"`);
  });
});
