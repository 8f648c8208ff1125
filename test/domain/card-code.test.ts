import { expect } from 'chai';
import fc from 'fast-check';
import { cardCode, codeAlphabet, parseCardCode } from '../../domain/card-code.js';

const payload = fc.array(fc.integer({ min: 0, max: 31 }), { minLength: 6, maxLength: 6 });
const code = payload.map(cardCode);
const swapped = (text: string, i: number, j: number): string => {
  const characters = [...text];
  [characters[i], characters[j]] = [characters[j] ?? '', characters[i] ?? ''];
  return characters.join('');
};

describe('a card code', () => {
  it('consists of HC-, six payload characters and a check character', () => {
    expect(cardCode([0, 0, 0, 0, 0, 0])).to.equal('HC-0000000');
    expect(cardCode([0, 0, 0, 0, 0, 1])).to.equal('HC-000001A');
    expect(cardCode([31, 30, 29, 28, 27, 26])).to.match(/^HC-ZYXWVT[0-9A-Z]$/);
  });

  it('uses the 32 digits and letters without I, L, O and U', () => {
    expect(codeAlphabet).to.equal('0123456789ABCDEFGHJKMNPQRSTVWXYZ');
    fc.assert(
      fc.property(code, (made) => {
        expect(made).to.match(/^HC-[0-9A-HJKMNP-TV-Z]{7}$/);
      }),
    );
  });

  it('can be read back', () =>
    fc.assert(
      fc.property(code, (made) => {
        expect(parseCardCode(made)).to.deep.equal({ kind: 'code', code: made });
      }),
    ));
});

describe('the check character of a card code', () => {
  it('catches every single wrong character at every place', () =>
    fc.assert(
      fc.property(code, (made) => {
        for (let place = 3; place < 10; place += 1)
          for (const other of codeAlphabet)
            if (other !== made[place])
              expect(parseCardCode(made.slice(0, place) + other + made.slice(place + 1))).to.deep.equal({
                kind: 'mistyped',
              });
      }),
      { numRuns: 20 },
    ));

  it('catches every swap of two characters, neighbours or not, the check character included', () =>
    fc.assert(
      fc.property(code, (made) => {
        for (let i = 3; i < 10; i += 1)
          for (let j = i + 1; j < 10; j += 1)
            if (made[i] !== made[j])
              expect(parseCardCode(swapped(made, i, j)), `${made}: ${i} and ${j}`).to.deep.equal({
                kind: 'mistyped',
              });
      }),
      { numRuns: 200 },
    ));

  // The code is linear, so an error goes unseen only if the error pattern itself is a code: these two
  // cover every error and every swap there is.
  it('rejects all zeros but for one character, or for two of the same value', () => {
    for (let value = 1; value < 32; value += 1)
      for (let i = 0; i < 7; i += 1)
        for (let j = i; j < 7; j += 1) {
          const pattern = [...'0000000']
            .map((zero, place) => (place === i || place === j ? codeAlphabet.charAt(value) : zero))
            .join('');
          expect(parseCardCode(`HC-${pattern}`), pattern).to.deep.equal({ kind: 'mistyped' });
        }
  });
});

describe('reading a card code', () => {
  const made = cardCode([1, 0, 10, 20, 31, 1]);
  const read = { kind: 'code', code: made };
  const tail = made.slice(3);

  it('accepts any case', () => expect(parseCardCode(made.toLowerCase())).to.deep.equal(read));

  it('reads O as 0, I and L as 1', () => {
    expect(tail.startsWith('10')).to.equal(true);
    for (const typed of [
      `HC-IO${tail.slice(2)}`,
      `HC-LO${tail.slice(2)}`,
      `hc-io${tail.slice(2)}`,
      `hc-lo${tail.slice(2)}`,
    ])
      expect(parseCardCode(typed)).to.deep.equal(read);
  });

  it('accepts hyphens and spaces that are missing, doubled or elsewhere', () => {
    for (const typed of [
      `HC${tail}`,
      `HC--${tail}`,
      `HC ${tail}`,
      `HC - ${tail}`,
      `  ${made}  `,
      `HC-${tail.slice(0, 3)} ${tail.slice(3)}`,
      `HC\u2003${tail}`,
    ])
      expect(parseCardCode(typed), typed).to.deep.equal(read);
  });

  it('reports a blank as blank', () => {
    for (const typed of ['', ' ', '\t\n', '\u00a0'])
      expect(parseCardCode(typed)).to.deep.equal({ kind: 'blank' });
  });

  it('rejects text that is not shaped like a code', () => {
    for (const typed of [
      tail,
      'HC-',
      '-',
      'HC-123',
      `${made}0`,
      `XC-${tail}`,
      `HC-U${tail.slice(1)}`,
      `HC_${tail}`,
      `HC-ſ${tail.slice(1)}`,
      `HC-ı${tail.slice(1)}`,
      'é'.repeat(10),
    ])
      expect(parseCardCode(typed), typed).to.deep.equal({ kind: 'unknown' });
  });
});
