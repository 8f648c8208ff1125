import { expect } from 'chai';
import { sendCard } from '../../../application/cards/send-card.js';
import { Projector } from '../../../application/projecting/project.js';
import { ProjectionBoard } from '../../../application/projecting/projection-board.js';
import { publishEvents } from '../../../application/log/publish-events.js';
import { runReconciler } from '../../../application/money/reconciler.js';
import { runRelay } from '../../../application/webhooks/relay.js';
import { assertSameLog, logIdOf, OtherLog } from '../../../application/log/same-log.js';
import { momentOf } from '../../../application/history/as-of.js';
import { markOf } from '../../../application/ports/event-store.js';
import { DomainError, messageOf } from '../../../domain/errors.js';
import { allProjections } from '../../../projections/all.js';
import { InProcessDeliveryQueue } from '../../../adapters/memory/delivery-queue.js';
import { eventually } from '../../support/time/eventually.js';
import { MemoryCheckpoints } from '../../support/memory/checkpoints.js';
import { MemoryDeliveries } from '../../support/memory/deliveries.js';
import { MemoryEventStore } from '../../support/memory/event-store.js';
import { MemoryReadModels } from '../../support/memory/read-models.js';
import { makeWorld, sendRequest, type World } from '../../support/fixtures/world.js';

const advice =
  'Restore the log that was read, or lead the service to it; or drop what was made of it, so that it is made again.';

const outcomeOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'the same', messageOf);

/** Two logs with different events at the same positions. */
const twoWorlds = async (): Promise<readonly [World, World]> => {
  const [one, other] = [await makeWorld({ atomic: false, credits: 3 }), await makeWorld({ atomic: false })];
  await sendCard(one, sendRequest(one));
  return [one, other];
};

describe('the log that a reader goes on with', () => {
  it('is the one that it has read if the event that it read last stands where it stood', async () => {
    const { store } = await makeWorld({ atomic: false, credits: 1 });
    for (const logged of await store.readLog(0n, 100)) {
      const { position } = logged;
      expect(await outcomeOf(assertSameLog(store, 'R', { position, event: markOf(logged) }))).to.equal(
        'the same',
      );
      // As an older version of the service kept it.
      expect(await outcomeOf(assertSameLog(store, 'R', { position }))).to.equal('the same');
    }
    expect(await outcomeOf(assertSameLog(store, 'R', { position: 0n }))).to.equal('the same');
  });

  it('is refused if it ends before, and the message names both', async () => {
    const [one, other] = await twoWorlds();
    const last = (await one.store.readLog(0n, 100)).at(-1);
    if (last === undefined) throw new Error('the log is not empty');
    const { position, id } = last;
    const end = (await other.store.head()).position;
    expect(end < position).to.equal(true);
    expect(
      await outcomeOf(assertSameLog(other.store, 'The relay', { position, event: markOf(last) })),
    ).to.equal(
      `The relay has read up to position ${position}, event ${id}, but the event log ends at position ${end}: ` +
        `events are missing from its end, or it is another log. ${advice}`,
    );
  });

  it('is refused if another event stands there, and the message names both', async () => {
    const { store } = await makeWorld({ atomic: false, credits: 1 });
    const [first, second] = await store.readLog(0n, 2);
    if (first === undefined || second === undefined) throw new Error('there are two events');
    expect(
      await outcomeOf(assertSameLog(store, 'The relay', { position: 1n, event: markOf(second) })),
    ).to.equal(
      `The relay has read up to position 1, event ${second.id}, but the event log has event ${first.id} there: it is another log. ${advice}`,
    );
  });
});

describe('a process with a checkpoint of another log', () => {
  const followers: readonly (readonly [
    string,
    (
      world: World,
      checkpoints: MemoryCheckpoints,
      stop: AbortSignal,
      report: (error: unknown) => void,
    ) => Promise<void>,
  ])[] = [
    [
      'relay',
      ({ store, clock }, checkpoints, signal, report) =>
        runRelay(
          {
            store,
            clock,
            checkpoints,
            deliveries: new MemoryDeliveries(),
            queue: new InProcessDeliveryQueue(),
            policy: { backoff: [60_000], disableAfter: 20 },
            keep: 30 * 86_400_000,
          },
          signal,
          report,
        ),
    ],
    [
      'public-stream',
      ({ store, clock }, checkpoints, signal, report) =>
        publishEvents(
          { store, clock, checkpoints, publicStream: { publish: () => Promise.resolve() } },
          signal,
          report,
        ),
    ],
    [
      'reconciler',
      (world, checkpoints, signal, report) =>
        runReconciler({ ...world, checkpoints, reconcileAfter: 60_000 }, signal, report).catch(report),
    ],
  ];

  for (const [name, run] of followers)
    it(`does not go on: ${name}`, async () => {
      const [one, other] = await twoWorlds();
      const { position, event } = await one.store.head();
      const checkpoints = new MemoryCheckpoints();
      const state =
        name === 'relay'
          ? { rebuiltTo: '0' }
          : { spends: [], debts: [], copies: [], early: [], orders: [], revisions: [] };
      await checkpoints.save(name, { position, ...(event !== null && { event }), state });
      const stop = new AbortController();
      const reported: unknown[] = [];
      const running = run(other, checkpoints, stop.signal, (error) => reported.push(error));
      await eventually(() => reported.length > 0);
      stop.abort();
      await running;
      expect(reported[0]).to.be.instanceOf(OtherLog);
    });

  it('does not go on: projector', async () => {
    const [one, other] = await twoWorlds();
    const readModels = new MemoryReadModels();
    const project = (world: World, failures: unknown[]) => {
      const stop = new AbortController();
      const board = new ProjectionBoard(world.clock);
      const projector = new Projector({
        projections: allProjections,
        log: world.store,
        store: readModels,
        clock: world.clock,
        reports: board,
        fail: (error) => failures.push(error),
      });
      const running = projector.run(stop.signal);
      const end = async () => {
        stop.abort();
        await running;
        board.close();
      };
      return { board, end };
    };
    const failures: unknown[] = [];
    const first = project(one, failures);
    const head = (await one.store.head()).position;
    await first.board.waitUntilProjected(head);

    await first.end();
    expect(failures).to.deep.equal([]);
    const second = project(other, failures);
    await eventually(() => failures.length > 0);
    await second.end();
    expect(failures[0]).to.be.instanceOf(OtherLog);
    expect(messageOf(failures[0])).to.match(/^The projection \S+ has read up to position/);
  });
});

describe('the id of a log', () => {
  it('is made with its first event, and stays', async () => {
    const empty = new MemoryEventStore({ atomic: true });
    expect(await logIdOf(empty)()).to.equal(null);
    const [one] = await twoWorlds();
    const id = await logIdOf(one.store)();
    await sendCard(one, sendRequest(one));
    expect(await logIdOf(one.store)()).to.equal(id);
    expect(id).to.match(/^[0-9a-f-]{36}$/);
  });
});

describe('a position from which events are asked for', () => {
  it('is refused if the log has not reached it', async () => {
    const { store } = await makeWorld({ atomic: true });
    const { position: head } = await store.head();
    for (const position of [0n, 1n, head]) await momentOf(store, position, 'from');
    const error: unknown = await momentOf(store, head + 1n, 'from').catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(DomainError);
    expect(error).to.deep.include({ code: 'invalid_parameter', param: 'from' });
    expect(messageOf(error)).to.contain(`from is ${head + 1n}, but the log ends at ${head}.`);
  });
});
