import { expect } from 'chai';
import fc from 'fast-check';
import { firstHandwritings } from '../../domain/catalogue.js';
import handMetrics from '../../domain/hand-metrics.json' with { type: 'json' };
import { layOut, maxLines } from '../../domain/letter-layout.js';
import { unwritable } from '../../domain/pen.js';
import { hasTypefaces, measuredHands } from '../support/fonts/hand-metrics.js';

const linesOf = (message: string, hand = 'Everyday') => layOut(message, hand).lines;

describe('the widths of handwritings', () => {
  it('are known for each handwriting of the first catalogue', () =>
    expect(Object.keys(handMetrics)).to.deep.equal([...firstHandwritings]));

  it('cover letters, digits and punctuation of English, and nothing that the pen can’t write', () => {
    for (const [hand, { unitsPerEm, runs }] of Object.entries(handMetrics)) {
      const written = Object.entries(runs).flatMap(([first, widths]) =>
        widths.map((_, at) => String.fromCodePoint(Number(first) + at)),
      );
      for (let code = 0x20; code < 0x7f; code++) expect(written, hand).to.include(String.fromCodePoint(code));
      expect(unwritable(written.join(''), { lineFeed: false }), hand).to.deep.equal([]);
      for (const widths of Object.values(runs))
        for (const width of widths) expect(width / unitsPerEm, hand).to.be.within(0, 3);
    }
  });

  it('are those of the typefaces', function () {
    if (!hasTypefaces()) return this.skip();
    expect(measuredHands()).to.deep.equal(handMetrics);
  });
});

describe('the layout of a message', () => {
  it('stands in the largest writing if it is short, with its own line breaks', () => {
    expect(layOut('Thank you,\n\nAda.', 'Everyday')).to.deep.equal({
      lines: ['Thank you,', '', 'Ada.'],
      size: 24,
      fits: true,
      unknown: [],
    });
  });

  it('breaks lines between words, where the sum of the widths says so', () => {
    // In Everyday an `n` is 0.45 em and a blank 0.24 em: 12.75 em hold 28 letters, or 4 × 5 letters with
    // blanks.
    const { runs, unitsPerEm } = handMetrics.Everyday;
    const ascii = runs['32'];
    const [blank, n] = [(ascii[0] ?? 0) / unitsPerEm, (ascii[0x6e - 0x20] ?? 0) / unitsPerEm];
    const inLine = Math.floor((4.25 * 72) / 24 / n);
    expect(linesOf('n'.repeat(inLine))).to.have.length(1);
    expect(linesOf('n'.repeat(inLine + 1))).to.deep.equal(['n'.repeat(inLine), 'n']);
    const words = Math.floor(((4.25 * 72) / 24 + blank) / (3 * n + blank));
    const line = Array.from({ length: words }, () => 'nnn').join(' ');
    expect(linesOf(line)).to.deep.equal([line]);
    expect(linesOf(`${line} nnn`)).to.deep.equal([line, 'nnn']);
    expect(linesOf(`${line}   nnn`)).to.deep.equal([line, 'nnn']);
  });

  it('fills a line to the very edge: sums of fractions are not exact', () => {
    const edge = 'wonderful To. it AVA for Dear naïve';
    expect(linesOf(`${edge} a`, 'Schoolhouse')).to.deep.equal([edge, 'a']);
  });

  it('breaks a word only if it is longer than a line', () => {
    const long = 'n'.repeat(60);
    const lines = linesOf(`Dear ${long} friend`);
    expect(lines[0]).to.equal('Dear');
    expect(lines.slice(1, -1).join('') + (lines.at(-1)?.split(' ')[0] ?? '')).to.equal(long);
    expect(lines.at(-1)).to.match(/^n+ friend$/);
  });

  it('uses smaller writing for more lines, down to 14 pt with 24 lines', () => {
    const message = (count: number) => Array.from({ length: count }, (_, n) => `line ${n}`).join('\n');
    const sizes = [14, 15, 20, 24, 25].map((count) => {
      const { size, fits } = layOut(message(count), 'Elegant');
      return [count, size, fits];
    });
    expect(sizes).to.deep.equal([
      [14, 24, true],
      [15, 23, true],
      [20, 17, true],
      [24, 14, true],
      [25, 14, false],
    ]);
    expect([maxLines, layOut(message(31), 'Elegant').lines.length]).to.deep.equal([24, 31]);
  });

  it('fits 500 characters of prose at 20 pt or more in every handwriting', () => {
    const prose =
      'Thank you so much for the lovely flowers that you sent us last week. They still stand on the table by the window, and everybody who visits asks where they came from. We hope that you can come and see the garden before the summer is over: the roses have never been so many, and the children have built a small house in the old apple tree. Please tell your mother that her recipe for plum cake was a great success at the party, and that we will keep asking for more of them. With all our love, the lot.'.slice(
        0,
        500,
      );
    expect([...prose].length).to.be.within(495, 500);
    for (const hand of firstHandwritings) {
      const { fits, size } = layOut(prose, hand);
      expect([fits, size >= 20], hand).to.deep.equal([true, true]);
    }
  });

  it('lists characters that the typeface lacks, and gives them the width of their letter', () => {
    const { unknown } = layOut('Ǎnna ǎ Ǎ ☃', 'Everyday');
    expect(unknown).to.deep.equal(['Ǎ', 'ǎ', '☃']);
    for (const [marked, plain] of [
      ['Ǎ', 'A'],
      ['ǎ', 'a'],
      ['☃', 'n'],
    ] as const)
      expect(linesOf(marked.repeat(200)).map((line) => line.length)).to.deep.equal(
        linesOf(plain.repeat(200)).map((line) => line.length),
      );
  });

  it('takes a handwriting in any case, and one that was added later for Everyday', () => {
    const message = 'w'.repeat(300);
    expect(layOut(message, 'eLEGANT')).to.deep.equal(layOut(message, 'Elegant'));
    expect(layOut(message, 'Comic')).to.deep.equal(layOut(message, 'Everyday'));
    expect(layOut(message, 'Elegant')).to.not.deep.equal(layOut(message, 'Everyday'));
  });

  it('keeps every character but the blanks at its line breaks', () =>
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'W', 'é', '.', ' ', ' ', '\n'), maxLength: 300 }),
        fc.constantFrom(...firstHandwritings),
        (message, hand) => {
          const squeezed = (text: string) => text.replaceAll(/[ \n]/g, '');
          const { lines } = layOut(message, hand);
          expect(squeezed(lines.join(''))).to.equal(squeezed(message));
          expect(lines.length).to.be.at.least(message.split('\n').length);
        },
      ),
    ));
});
