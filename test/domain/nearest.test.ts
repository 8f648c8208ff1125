import { expect } from 'chai';
import { nearest } from '../../domain/nearest.js';

const fields = ['recipient', 'message', 'arrive_on', 'handwriting', 'design_id', 'reference'];

describe('the nearest known name', () => {
  const typos: Readonly<Record<string, string | null>> = {
    mesage: 'message',
    messaeg: 'message',
    MESSAGE: 'message',
    arriveOn: 'arrive_on',
    'arrive-by': 'arrive_on',
    hand_writting: 'handwriting',
    design: 'design_id',
    ref: 'reference',
    refrence: 'reference',
    colour: null,
    '': null,
    x: null,
  };
  for (const [typed, meant] of Object.entries(typos))
    it(`for ${JSON.stringify(typed)} is ${meant ?? 'none'}`, () =>
      expect(nearest(typed, fields)).to.equal(meant));

  it('is the one with the fewest changes, and the first of several', () => {
    expect(nearest('thank-yu', ['thank-me', 'thank-you', 'thank-you-red'])).to.equal('thank-you');
    expect(nearest('carx', ['card', 'cart'])).to.equal('card');
  });

  it('is one that begins alike if none is mistyped', () =>
    expect(nearest('thank-you', ['birthday', 'thank-you-botanical-winter'])).to.equal(
      'thank-you-botanical-winter',
    ));

  it('is none for a name that is too long to compare', () =>
    expect(nearest('a'.repeat(41), ['a'.repeat(40)])).to.equal(null));
});
