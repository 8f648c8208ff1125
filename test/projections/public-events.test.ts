import { expect } from 'chai';
import { card } from '../../domain/card.js';
import { typesOfPublicEvents } from '../../domain/public-events.js';
import { publicEvents } from '../../projections/public-events.js';

describe('the public events of an organization', () => {
  it('are folded from the events that can be public, and from those of a later version, which stop the projector', () => {
    const passedOver = publicEvents.passesOver ?? new Set();
    for (const type of Object.keys(card.schemas))
      expect(passedOver.has(type), type).to.equal(!typesOfPublicEvents.has(type));
    expect(passedOver.has('CardPerfumed')).to.equal(false);
  });
});
