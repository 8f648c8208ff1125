import { expect } from 'chai';
import { changeCard } from '../../../application/cards/change-card.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { erasePersonal, findSubjects, maxSubjects } from '../../../application/personal/erase.js';
import { EventStoreUnavailable, type EventStore } from '../../../application/ports/event-store.js';
import type { ReadModels } from '../../../application/ports/read-models.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import { service } from '../../../application/writing/execute.js';
import { cancel, cardStream } from '../../../domain/card.js';
import { ledgerStream } from '../../../domain/credits.js';
import { MemoryReadModels } from '../../support/memory/read-models.js';
import { makeWorld, org, sendRequest } from '../../support/fixtures/world.js';

describe('a search for a person', () => {
  for (const [count, shown, more] of [
    [maxSubjects, maxSubjects, false],
    [maxSubjects + 1, maxSubjects, true],
    [1_000_000, maxSubjects, true],
  ] as const)
    it(`shows ${shown} of ${count} cards, and ${more ? '' : 'not '}that there are more`, async () => {
      const world = await makeWorld({ atomic: true });
      const page: ReadModels['page'] = (projection, { limit, before = BigInt(count) }) => {
        const rows = projection.name === 'cards' ? Math.min(limit, Number(before)) : 0;
        const row = (index: number) => {
          const created = before - BigInt(index) - 1n;
          // It has nothing to compare: nothing is searched for.
          return { key: String(created), created, position: created, document: {} as never };
        };
        return Promise.resolve(Array.from({ length: rows }, (_, index) => row(index)));
      };
      const deps = { ...world, readModels: Object.assign(new MemoryReadModels(), { page }) };
      const found = await findSubjects(deps, org, { name: null, zip: null, email: null });
      expect([found.cards.length, found.contacts.length, found.more]).to.deep.equal([shown, 0, more]);
    });
});

describe('an erasure of many', () => {
  it('begins with no more of them after one that fails', async () => {
    const world = await makeWorld({ atomic: true });
    const asked = new Set<string>();
    const readStream: EventStore['readStream'] = (stream) => {
      asked.add(stream);
      return Promise.reject(new EventStoreUnavailable('it is away'));
    };
    const store = Object.assign(Object.create(world.store) as EventStore, { readStream });
    const contacts = Array.from({ length: 100 }, (_, at) => String(at));
    const erasure = { cards: [], contacts, withDesigns: false, reason: 'Asked to' };
    const deps = { ...world, store, readModels: new MemoryReadModels() };
    const error: unknown = await erasePersonal(deps, service('test'), org, erasure).catch(
      (failure: unknown) => failure,
    );
    expect(error).to.be.instanceOf(EventStoreUnavailable);
    for (const _ of contacts) await nextTurn();
    expect(asked.size).to.be.within(1, 10);
  });

  it('reads no ledger: erasing a card moves no credit', async () => {
    const world = await makeWorld({ atomic: false, credits: 1 });
    const { code } = await sendCard(world, sendRequest(world));
    await changeCard(world, { code, org }, world.command(), cancel);
    world.store.reads.clear();
    const erasure = { cards: [code], contacts: [], withDesigns: false, reason: 'Asked to' };
    const deps = { ...world, readModels: new MemoryReadModels() };
    await erasePersonal(deps, service('test'), org, erasure);
    expect([...world.store.reads.keys()])
      .to.include(cardStream(code))
      .and.not.include(ledgerStream(org));
  });
});
