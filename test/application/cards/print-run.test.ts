import { expect } from 'chai';
import { printables, sheetsOf } from '../../../application/cards/print-run.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { execute } from '../../../application/writing/execute.js';
import { card, queue } from '../../../domain/card.js';
import { collectionCard, putCollectionCard } from '../../../domain/catalogue.js';
import { archiveDesign, copyOf, created, organization } from '../../../domain/organization.js';
import { front } from '../../support/fixtures/front.js';
import { makeWorld, org, sendRequest } from '../../support/fixtures/world.js';
import { MemoryArtwork } from '../../support/memory/artwork.js';

describe('a print run', () => {
  it('has the front that a card was sent with, although the card of the collection has another since', async () => {
    const world = await makeWorld({ atomic: true, credits: 3 });
    const artwork = new MemoryArtwork(world.clock);
    const [first, second] = [front('a'), front('b')];
    for (const { digest } of [first, second]) {
      const bytes = Buffer.from(digest);
      await artwork.put(digest, { master: bytes, preview: bytes, thumbnail: bytes });
    }
    const publish = (picture: typeof first) =>
      execute(
        world,
        collectionCard,
        'thank-you',
        world.command(),
        putCollectionCard('Thank you', true, picture),
      );
    const send = async () => {
      const { code } = await sendCard(world, sendRequest(world, { designId: { value: 'card:thank-you' } }));
      await execute(world, card, code, world.command(), queue);
      return code;
    };
    await publish(first);
    const sent = await send();
    await publish(second);
    const ofCopy = await send();
    const { state } = await world.streams.load(organization, org);
    const copy = copyOf(created(state), 'thank-you')?.id ?? '';
    await execute(world, organization, org, world.command(), archiveDesign(copy));
    const anew = await send();

    const codes = [sent, ofCopy, anew];
    const found = await printables(world, { codes, isLast: true });
    const printed: unknown[] = [];
    let last: Buffer | null = null;
    for await (const sheet of sheetsOf({ artwork }, found)) {
      if (sheet.part !== 'front') continue;
      last = sheet.picture === undefined ? last : sheet.picture;
      printed.push([sheet.code, last?.toString()]);
    }
    expect(printed).to.deep.equal([
      [sent, first.digest],
      [ofCopy, first.digest],
      [anew, second.digest],
    ]);
  });
});
