import { expect } from 'chai';
import { card, dotsPerInch, master, printFault, roomFor } from '../../domain/artwork.js';

describe('a front', () => {
  it('is printed with an eighth of an inch around the card', () => {
    expect([card, master]).to.deep.equal([
      { width: 1500, height: 2100 },
      { width: 1575, height: 2175 },
    ]);
    expect(roomFor('fit')).to.deep.equal({ width: 1350, height: 1950 });
  });

  it('has the dots of its picture on the inches that these cover', () => {
    for (const fit of ['fill', 'fit'] as const) expect(dotsPerInch(roomFor(fit), fit)).to.equal(300);
    const wide = { width: 1024, height: 768 };
    // 7.25 inches high, and as wide as 4.5 inches.
    expect([dotsPerInch(wide, 'fill'), dotsPerInch(wide, 'fit')]).to.deep.equal([105, 227]);
  });

  it('says what is wrong with a picture in print, and refuses what would look coarse', () => {
    expect(printFault({ width: 3024, height: 4032 }, 'fill')).to.equal(null);
    expect(printFault({ width: 1024, height: 768 }, 'fit')).to.deep.equal({
      isRefused: false,
      text: '1,024 × 768 dots are 227 per inch on this card; 300 print well, under 150 is refused.',
    });
    const refusedFrom = [149, 150].map(
      (each) => printFault({ width: each * 5.25, height: each * 7.25 }, 'fill')?.isRefused,
    );
    expect(refusedFrom).to.deep.equal([true, false]);
    expect(printFault({ width: 1, height: 1 }, 'fit')?.isRefused).to.equal(true);
  });
});
