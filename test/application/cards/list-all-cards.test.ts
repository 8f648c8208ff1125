import { expect } from 'chai';
import { heldOldestFirst } from '../../../application/cards/list-all-cards.js';
import type { ReadModels } from '../../../application/ports/read-models.js';

describe('the cards that have waited longest', () => {
  it('come first, however many are held', async () => {
    const codes = Array.from({ length: 1_234 }, (_, at) => `the card ${at}`);
    const newestFirst = codes
      .map((code, at) => ({ key: code, created: BigInt(at), position: BigInt(at), document: { code } }))
      .toReversed();
    const pageAcross = (async (_projection, { where, limit, before = BigInt(codes.length) }) => {
      expect(where).to.deep.equal({ status: 'blocked' });
      return newestFirst.filter(({ created }) => created < before).slice(0, limit);
    }) as ReadModels['pageAcross'];
    expect((await heldOldestFirst({ pageAcross })).map(({ code }) => code)).to.deep.equal(codes);
  });
});
