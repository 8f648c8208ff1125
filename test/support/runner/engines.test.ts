import { expect } from 'chai';
import { neededBy } from './engines.js';

describe('a test that is skipped', () => {
  it('names the missing engines in the title of its suite', () => {
    expect(
      neededBy('the relay [needs EVENTSTORE_URL, RABBITMQ_URL] repeats messages, never rows'),
    ).to.deep.equal(['EVENTSTORE_URL', 'RABBITMQ_URL']);
    expect(neededBy('a card waits for the pen')).to.deep.equal([]);
    expect(neededBy('a suite [needs PATIENCE] that is odd')).to.deep.equal([]);
  });
});
