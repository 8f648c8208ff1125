import { expect } from 'chai';
import { characterName, penReason, unwritable } from '../../domain/pen.js';

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const repertoire: ReadonlySet<number> = new Set([
  ...range(0x20, 0x7e),
  ...range(0xa1, 0x24f),
  0x2013, 0x2014, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2026, 0x20ac,
]); // prettier-ignore

describe('the pen', () => {
  it('writes exactly the characters of its repertoire', () => {
    for (const codePoint of range(0, 0xffff).concat(0x10000, 0x1d400, 0x1f600, 0x10ffff)) {
      const character = String.fromCodePoint(codePoint);
      expect(unwritable(character, { lineFeed: false }), codePoint.toString(16)).to.deep.equal(
        repertoire.has(codePoint) ? [] : [character],
      );
    }
  });

  it('writes line feeds only if it is allowed to', () => {
    expect(unwritable('a\nb', { lineFeed: true })).to.deep.equal([]);
    expect(unwritable('a\nb', { lineFeed: false })).to.deep.equal(['\n']);
    expect(unwritable('a\tb\rc', { lineFeed: true })).to.deep.equal(['\t', '\r']);
  });

  it('reports each character that it can’t write once, in order, and never half a character', () =>
    expect(unwritable('Hi 😀 Zoë 漢😀漢 \ud83d!', { lineFeed: true })).to.deep.equal(['😀', '漢', '\ud83d']));
});

describe('the name of a character', () => {
  it('is the character itself if it is visible', () => {
    for (const character of ['😀', '漢', 'Ж', '→']) expect(characterName(character)).to.equal(character);
  });

  it('is its code point if it is not visible', () => {
    expect(['\0', '\t', '\u007f', '\u0085', '\u00a0', '\u0301', '\u2028', '\u3000', '\ue000', '\ufe0f', '\uffff', '\ud83d', '\ude00', '\u{e0067}', '\u3164', '\u2800', '\ufffc'].map(characterName)).to.deep.equal([
      'U+0000', 'U+0009', 'U+007F', 'U+0085', 'U+00A0', 'U+0301', 'U+2028', 'U+3000', 'U+E000', 'U+FE0F', 'U+FFFF', 'U+D83D', 'U+DE00', 'U+E0067', 'U+3164', 'U+2800', 'U+FFFC',
    ]); // prettier-ignore
  });
});

describe('the reason to hold a card that the pen can’t write', () => {
  it('names the characters that it can’t write', () => {
    expect(penReason(['😀'], 'message')).to.equal("The pen can't write this character of the message: 😀");
    expect(penReason(['漢', '\t', '\ud83d'], 'address')).to.equal(
      "The pen can't write these characters of the address: 漢 U+0009 U+D83D",
    );
  });
});
