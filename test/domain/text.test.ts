import { expect } from 'chai';
import fc from 'fast-check';
import {
  clean,
  countCharacters,
  truncate,
  foldName,
  normaliseText,
  readLine,
  stripInvisible,
} from '../../domain/text.js';

const anyText = fc.string({ unit: 'binary' });

describe('a name or a reason', () => {
  it('is one line with a space for what can’t be written, and null if nothing of it shows', () => {
    for (const [sent, line] of [
      ['\0Ann\r\nLee\u2028\ud800', 'Ann Lee'],
      ['👩\u200d💻 é', '👩\u200d💻 é'],
      ['\u200b \u2060\n\ufeff', null],
      ['\0', null],
      ['', null],
    ] as const)
      expect(readLine(sent)).to.equal(line);
    expect(readLine('\ufeff'.repeat(100_000))).to.equal(null);
  });
});

describe('text that is cleaned', () => {
  it('loses zero-width characters and bidi controls, wherever they are', () => {
    const invisible = [
      '\u00ad', '\u061c', '\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2060', '\u2061', '\u2062', '\u2063', '\u2064',
      '\u2066', '\u2067', '\u2068', '\u2069', '\ufeff',
    ]; // prettier-ignore
    for (const character of invisible)
      expect(
        stripInvisible(`${character}a${character}${character}b${character}`),
        character.codePointAt(0)?.toString(16),
      ).to.equal('ab');
  });

  it('keeps every other character, and all that the pen writes', () => {
    const kept = '\t\n\r\0 \u00a0\u0301\u2010\u2028\u2029\ufe0f\ud83d\u{1f600}é—“”';
    expect(stripInvisible(kept)).to.equal(kept);
    const repertoire = Array.from({ length: 0x24f - 0xa1 + 1 }, (_, index) =>
      String.fromCharCode(0xa1 + index),
    )
      .filter((character) => character !== '\u00ad')
      .join('');
    expect(stripInvisible(repertoire)).to.equal(repertoire);
  });

  it('is stripped of invisible characters first, then trimmed', () =>
    expect(clean('\u200b \ufeff\tAnn\u200d Lee \u202e\n ')).to.equal('Ann Lee'));

  it('has its length counted in code points', () => {
    expect(countCharacters('')).to.equal(0);
    expect(countCharacters('aé😀')).to.equal(3);
    expect(countCharacters('\ud83d\ud83d\ude00\ude00')).to.equal(3);
  });

  it('is truncated between code points', () => {
    expect(truncate('abc', 40)).to.equal('abc');
    expect(truncate('a'.repeat(41), 40)).to.equal('a'.repeat(40));
    expect(truncate('😀'.repeat(41), 40)).to.equal('😀'.repeat(40));
    expect(truncate('abc', 0)).to.equal('');
  });

  it('is truncated to the longest prefix that fits', () =>
    fc.assert(
      fc.property(anyText, fc.nat(60), (text, length) => {
        const short = truncate(text, length);
        expect(text.startsWith(short)).to.equal(true);
        expect(countCharacters(short)).to.equal(Math.min(length, countCharacters(text)));
        expect(truncate(short, length)).to.equal(short);
      }),
    ));
});

describe('a message that is normalised', () => {
  it('has LF as its only line break', () =>
    expect(normaliseText('a\r\nb\rc\n\rd\r\r\ne')).to.equal('a\nb\nc\n\nd\n\ne'));

  it('has one kind of space', () =>
    expect(normaliseText('9:30\u202fAM\u00a0–\u2003noon\u2009or\u3000then\u205fso\u2000.')).to.equal(
      '9:30 AM – noon or then so .',
    ));

  it('is stored in Unicode form NFC', () => expect(normaliseText('Jose\u0301')).to.equal('José'));

  it('loses blank lines and spaces at its beginning and end', () =>
    expect(normaliseText('\u200b\r\n  Dear Ann,\n\n  Bye \t\u00a0\u200b\n')).to.equal('Dear Ann,\n\n  Bye'));

  it('is composed after invisible characters are removed', () => {
    expect(normaliseText('a\r\u200b\nb')).to.equal('a\nb');
    expect(normaliseText('e\u200b\u0301')).to.equal('é');
  });

  it('stays the same if it is normalised once more', () =>
    fc.assert(
      fc.property(anyText, (text) => {
        const message = normaliseText(text);
        expect(normaliseText(message)).to.equal(message);
      }),
    ));
});

describe('the name of a handwriting', () => {
  it('is trimmed and compared in any case', () => {
    expect(foldName('  Quick Brown ')).to.equal('quick brown');
    expect(['STRASSE', 'straẞe', 'Straße'].map(foldName)).to.deep.equal(['strasse', 'strasse', 'strasse']);
    expect(foldName('ΟΔΟΣ')).to.equal(foldName('οδός'.replace('ό', 'ο')));
    expect(foldName('Cafe\u0301')).to.equal(foldName('CAF\u00c9'));
    expect(foldName('Ann')).not.to.equal(foldName('Anna'));
  });

  it('is folded to the same text from any case', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(foldName(name.toUpperCase())).to.equal(foldName(name));
        expect(foldName(foldName(name))).to.equal(foldName(name));
      }),
    ));
});
