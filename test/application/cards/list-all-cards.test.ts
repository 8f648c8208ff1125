import { expect } from 'chai';
import { heldOldestFirst } from '../../../application/cards/read-cards.js';
import type { ReadModels } from '../../../application/ports/read-models.js';

describe('the cards that have waited longest', () => {
  it('come first, however many are held', async () => {
    const codes = Array.from({ length: 12_345 }, (_, at) => `the card ${at}`);
    const newestFirst = codes
      .map((code, at) => ({ key: code, created: BigInt(at), position: BigInt(at), document: { code } }))
      .toReversed();
    const page = (async (_projection, { where, limit, before = BigInt(codes.length) }) => {
      expect(where).to.deep.equal({ status: 'blocked' });
      return newestFirst.filter(({ created }) => created < before).slice(0, limit);
    }) as ReadModels['page'];
    expect((await heldOldestFirst({ page })).map(({ code }) => code)).to.deep.equal(codes.slice(0, 10_000));
  });
});
