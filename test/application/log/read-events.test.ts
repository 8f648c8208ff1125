import { expect } from 'chai';
import { sendCard } from '../../../application/cards/send-card.js';
import {
  followEvents,
  listEvents,
  readEvent,
  type ReadEventsDeps,
} from '../../../application/log/read-events.js';
import { ReadModelsUnavailable } from '../../../application/ports/read-models.js';
import { Projector } from '../../../application/projecting/project.js';
import { ProjectionBoard, waitTimeout } from '../../../application/projecting/projection-board.js';
import { writesWait } from '../../../application/projecting/read-your-writes.js';
import { cardStream, cancel } from '../../../domain/card.js';
import { DomainError } from '../../../domain/errors.js';
import { publicEventId } from '../../../domain/public-events.js';
import { allProjections } from '../../../projections/all.js';
import { MemoryReadModels } from '../../support/memory/read-models.js';
import { makeWorld, org, sendRequest } from '../../support/fixtures/world.js';
import { eventually } from '../../support/time/eventually.js';
import { changeCard } from '../../../application/cards/change-card.js';

/** A log with one card, that nothing is projected from until `project` is called. */
const behind = async () => {
  const world = await makeWorld({ atomic: false, credits: 1 });
  const { code } = await sendCard(world, sendRequest(world));
  const [created] = await world.store.readStream(cardStream(code), 0, 1);
  if (created === undefined) throw new Error('the card was stored');
  const readModels = new MemoryReadModels();
  const board = new ProjectionBoard(world.clock);
  const stop = new AbortController();
  const projector = new Projector({
    projections: allProjections,
    log: world.store,
    store: readModels,
    clock: world.clock,
    reports: board,
    fail: (error) => expect.fail(String(error)),
  });
  const deps = { ...world, readModels, readYourWrites: writesWait(board) };
  const query = { limit: 10, type: null, card: null };
  const asks: readonly ((id: string) => Promise<unknown>)[] = [
    (id) => readEvent(deps, org, id),
    (id) => listEvents(deps, org, { ...query, startingAfter: id }),
    (id) => followEvents(deps, org, query, id, AbortSignal.abort()),
  ];
  let running: Promise<void> = Promise.resolve();
  return {
    ...world,
    id: publicEventId(created),
    board,
    asks,
    project: () => (running = projector.run(stop.signal)),
    end: async () => {
      stop.abort();
      await running;
      board.close();
    },
  };
};

describe('an event that the log has and the projections do not', () => {
  it('is waited for, and found; only then is another one unknown', async () => {
    for (const index of [0, 1, 2]) {
      const { id, board, asks, project, end } = await behind();
      const answer = asks[index]?.(id);
      await eventually(() => board.isAwaited());
      void project();
      await answer;
      const unknown: unknown = await asks[index]?.('evt_none').catch((error: unknown) => error);
      expect(unknown).to.be.instanceOf(DomainError);
      await end();
    }
  });

  it('is not said to be unknown while they are late', async () => {
    for (const index of [0, 1, 2]) {
      const { id, board, asks, clock, end } = await behind();
      const answer = asks[index]?.(id).catch((error: unknown) => error);
      await eventually(() => board.isAwaited());
      await clock.advance(waitTimeout);
      expect(await answer).to.be.instanceOf(ReadModelsUnavailable);
      await end();
    }
  });
});

describe('those who follow the events of an organization', () => {
  it('are told of one card, or of none if what they ask for is no code', async () => {
    const world = await makeWorld({ atomic: true, credits: 5 });
    const { code } = await sendCard(world, sendRequest(world));
    await sendCard(world, sendRequest(world));
    const { store } = world;
    const { position } = await store.head();
    const upToNow = async function* (...[after, how]: Parameters<typeof store.follow>) {
      for await (const batch of store.follow(after, how)) {
        yield batch;
        if (batch.at(-1)?.position === position) return;
      }
    };
    const deps = {
      ...world,
      store: { follow: upToNow, readStream: store.readStream.bind(store) } as unknown as typeof store,
      readModels: { get: () => Promise.resolve(null) } as unknown as ReadEventsDeps['readModels'],
      readYourWrites: { afterWrite: () => Promise.resolve(), shows: () => true },
    };
    const told = async (card: string | null): Promise<number> => {
      const events = await followEvents(deps, org, { type: null, card }, null, new AbortController().signal);
      let count = 0;
      for await (const _ of events) count += 1;
      return count;
    };
    expect([
      await told(null),
      await told(code),
      await told('HC-0000000'),
      await told('no code'),
    ]).to.deep.equal([2, 1, 0, 0]);
  });

  it('read the first event of a card once for all of them', async () => {
    const world = await makeWorld({ atomic: true, credits: 5 });
    const { code } = await sendCard(world, sendRequest(world));
    const { position } = await world.store.head();
    const actor = { kind: 'key', id: 'a-key' } as const;
    await changeCard(world, { code, org }, { ...world.command(), actor }, cancel);
    const readModels = { get: () => Promise.resolve({ document: { org }, created: position }) };
    const deps = {
      ...world,
      readModels: readModels as unknown as ReadEventsDeps['readModels'],
      readYourWrites: { afterWrite: () => Promise.resolve(), shows: () => true },
    };
    const next = async (): Promise<string> => {
      const over = new AbortController();
      const filter = { type: null, card: null };
      for await (const { type } of await followEvents(deps, org, filter, 'evt_1', over.signal)) {
        over.abort();
        return type;
      }
      return 'nothing';
    };
    world.store.reads.clear();
    expect([await next(), await next()]).to.deep.equal(['card.cancelled', 'card.cancelled']);
    expect(world.store.reads.get(cardStream(code))?.times).to.equal(1);
  });
});
