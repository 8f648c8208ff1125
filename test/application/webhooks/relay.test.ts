import { expect } from 'chai';
import { MemoryCheckpoints } from '../../support/memory/checkpoints.js';
import { MemoryDeliveries } from '../../support/memory/deliveries.js';
import { InProcessDeliveryQueue } from '../../../adapters/memory/delivery-queue.js';
import { changeCard } from '../../../application/cards/change-card.js';
import { execute } from '../../../application/writing/execute.js';
import type { ProcessCheckpoint } from '../../../application/ports/checkpoints.js';
import type { DeliveryQueue } from '../../../application/ports/delivery-queue.js';
import { EventStoreUnavailable, type EventStore } from '../../../application/ports/event-store.js';
import { ReadModelsUnavailable, type ReadModels } from '../../../application/ports/read-models.js';
import { runRelay } from '../../../application/webhooks/relay.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { queue, reportStep, steps, type StepName } from '../../../domain/card.js';
import type { CardCode } from '../../../domain/card-code.js';
import { categoryOf, idOf, Uuid } from '../../../domain/ids.js';
import { organization, renameOrganization } from '../../../domain/organization.js';
import { change, register, rotate, webhookEndpoints } from '../../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../../domain/webhook-url.js';
import type { Projection } from '../../../projections/projection.js';
import { eventually } from '../../support/time/eventually.js';
import { letter, makeWorld, org, sendRequest, type World } from '../../support/fixtures/world.js';

class RecordedCheckpoints extends MemoryCheckpoints {
  readonly positions: number[] = [];

  override save(name: string, checkpoint: ProcessCheckpoint): Promise<void> {
    this.positions.push(Number(checkpoint.position));
    return super.save(name, checkpoint);
  }
}

const endpoint = Uuid.parse('6c0f6a3e-0000-4000-8000-0000000000e1');

const registerOne = (world: World, events: readonly string[] = []) => {
  const command = world.command();
  const wanted = {
    id: endpoint,
    url: 'https://hooks.example/cards' as WebhookUrl,
    events,
    description: null,
    key: 'k1',
    at: command.at,
    most: 100,
  };
  return execute(world, webhookEndpoints, org, command, register(wanted));
};

const sendCards = async (world: World, count: number): Promise<void> => {
  for (let sent = 0; sent < count; sent += 1) await sendCard(world, sendRequest(world));
};

/** Runs the relay over the log until `done`. Returns the positions that it saved. */
const relayed = async (
  world: World,
  deliveries: MemoryDeliveries,
  done: (positions: readonly number[]) => boolean | Promise<boolean>,
  {
    store = world.store,
    checkpoints = new RecordedCheckpoints(),
    queue = new InProcessDeliveryQueue(),
    report = (error) => {
      throw error;
    },
    readModels = null,
  }: {
    readonly store?: EventStore;
    readonly checkpoints?: RecordedCheckpoints;
    readonly queue?: DeliveryQueue;
    readonly report?: (error: unknown) => void;
    readonly readModels?: Pick<ReadModels, 'get'> | null;
  } = {},
): Promise<readonly number[]> => {
  const stop = new AbortController();
  const { clock } = world;
  const relaying = {
    store,
    deliveries,
    queue,
    checkpoints,
    clock,
    policy: { backoff: [60_000], disableAfter: 20 },
    keep: 30 * 86_400_000,
    readModels,
  };
  const running = runRelay(relaying, stop.signal, report);
  await eventually(async () => {
    await world.clock.advance(1_000);
    return done(checkpoints.positions);
  });
  stop.abort();
  await running;
  return checkpoints.positions;
};

type ReadStream = EventStore['readStream'];

/** The store, with another way to read streams. */
const withReads = (store: EventStore, readStream: ReadStream): EventStore =>
  new Proxy(store, {
    get: (target, name) => {
      if (name === 'readStream') return readStream;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

const everything = { endpoint: null, status: null, type: null, card: null };

/** The cards and types of all deliveries, in the order in which they were inserted. */
const made = async (deliveries: MemoryDeliveries): Promise<readonly string[]> =>
  ((await deliveries.log.page(org, everything, { startingAfter: null, limit: 1_000 })) ?? [])
    .map(({ card: code, type }) => `${type} ${code}`)
    .toReversed();

/**
 * A relay that has relayed this many cards and then stopped, with those cards queued and taken through their
 * first steps since. Whoever starts it again knows nothing of the cards.
 */
const withCardsInProduction = async (
  count: number,
  done: readonly StepName[],
  events: readonly string[] = [],
) => {
  const world = await makeWorld({ atomic: false, credits: 200 });
  await registerOne(world, events);
  const deliveries = new MemoryDeliveries();
  const checkpoints = new RecordedCheckpoints();
  await sendCards(world, count);
  const sent = await headOf(world);
  await relayed(world, deliveries, (positions) => (positions.at(-1) ?? 0) >= sent, { checkpoints });
  const log = await world.store.readLog(0n, 10_000);
  const codes = log
    .filter(({ revision, stream }) => revision === 0 && categoryOf(stream) === 'card')
    .map(({ stream }) => idOf(stream) as CardCode);
  const change = async (decide: Parameters<typeof changeCard>[3]) => {
    for (const code of codes) await changeCard(world, { code, org: null }, world.command(), decide);
  };
  await change(queue);
  for (const step of done)
    for (const status of ['in_progress', 'completed'] as const) await change(reportStep(step, status, null));
  const relayedAgain = (options: Omit<NonNullable<Parameters<typeof relayed>[3]>, 'checkpoints'>) =>
    headOf(world).then((head) =>
      relayed(world, deliveries, (positions) => positions.at(-1) === head, { checkpoints, ...options }),
    );
  return { world, deliveries, checkpoints, codes, relayedAgain };
};

const headOf = async ({ store }: World): Promise<number> => Number((await store.head()).position);

describe('the relay', () => {
  it('saves its position right before and after an endpoint’s event, and with every delivery', async () => {
    const world = await makeWorld({ atomic: true, credits: 10 });
    await sendCards(world, 3);
    const before = await headOf(world);
    await registerOne(world);
    await sendCards(world, 2);
    const deliveries = new MemoryDeliveries();
    const head = await headOf(world);
    expect(await relayed(world, deliveries, (positions) => positions.at(-1) === head)).to.deep.equal([
      0,
      before,
      before + 1,
      head,
    ]);
    const rows = (await deliveries.log.page(org, everything, { startingAfter: null, limit: 10 })) ?? [];
    expect(rows.map(({ position }) => Number(position)).toSorted((a, b) => a - b)).to.deep.equal([
      head - 2,
      head,
    ]);
  });

  for (const bytesPerEvent of [1, 437])
    it(`does not save its position for every event without a delivery, if events are ${bytesPerEvent} apart`, async () => {
      const world = await makeWorld({ atomic: true, credits: 1_200, bytesPerEvent });
      await sendCards(world, 1_200);
      const passed = 2_000 * bytesPerEvent;
      const positions = await relayed(world, new MemoryDeliveries(), (saved) => (saved.at(-1) ?? 0) > passed);
      expect(positions.length).to.be.lessThan(5);
    });

  it('reads a card’s stream only for events that are public and that an endpoint wants', async () => {
    const { world, deliveries, codes, relayedAgain } = await withCardsInProduction(10, steps, [
      'card.mailed',
    ]);
    const reads: string[] = [];
    await relayedAgain({
      store: withReads(world.store, (stream, ...rest) => {
        reads.push(idOf(stream));
        return world.store.readStream(stream, ...rest);
      }),
    });
    expect(reads).to.deep.equal(codes);
    expect(await made(deliveries)).to.deep.equal(codes.map((code) => `card.mailed ${code}`));
  });

  it('looks up cards in the read models, and reads the streams only of those that no row shows', async () => {
    const { world, deliveries, codes, relayedAgain } = await withCardsInProduction(10, steps, [
      'card.mailed',
    ]);
    const reads: string[] = [];
    const [first, second, third] = codes;
    const shown = { org, recipient: letter.recipient, reference: 'shown' };
    const readModels: Pick<ReadModels, 'get'> = {
      get: async <Document>(_: Projection<Document>, code: string) => {
        if (code === second) return null;
        if (code === third) throw new ReadModelsUnavailable('away');
        // A row of an older version may lack a field.
        const document = code === first ? { org, code } : { ...shown, code };
        return { key: code, created: 1n, position: 1n, document: document as Document };
      },
    };
    await relayedAgain({
      readModels,
      store: withReads(world.store, (stream, ...rest) => {
        reads.push(idOf(stream));
        return world.store.readStream(stream, ...rest);
      }),
    });
    expect(reads).to.have.members([first, second, third]);
    const rows = (await deliveries.log.page(org, everything, { startingAfter: null, limit: 20 })) ?? [];
    const named = rows.map(({ body }) => JSON.parse(body).data);
    expect(new Set(named.map(({ recipient }) => recipient))).to.deep.equal(new Set([letter.recipient.name]));
    expect(named.filter(({ reference }) => reference === 'shown')).to.have.lengthOf(7);
  });

  it('reads no stream of a card that it has seen begin', async () => {
    const { world } = await withCardsInProduction(10, steps, ['card.mailed']);
    const reads: string[] = [];
    const store = withReads(world.store, (stream, ...rest) => {
      reads.push(stream);
      return world.store.readStream(stream, ...rest);
    });
    const deliveries = new MemoryDeliveries();
    const head = await headOf(world);
    await relayed(world, deliveries, (positions) => positions.at(-1) === head, { store });
    expect([reads, (await made(deliveries)).length]).to.deep.equal([[], 10]);
  });

  it('reads many streams at once, and makes the deliveries in the order of the log', async () => {
    const { world, deliveries, codes, relayedAgain } = await withCardsInProduction(20, [
      'card_stock_prepared',
      'card_written',
      'envelope_addressed',
    ]);
    const waiting: (() => void)[] = [];
    await relayedAgain({
      store: withReads(world.store, async (stream, ...rest) => {
        const turn = new Promise<void>((resolve) => waiting.push(resolve));
        // The last read is the first to come back.
        if (waiting.length === codes.length) for (const resume of waiting.reverse()) resume();
        await turn;
        return world.store.readStream(stream, ...rest);
      }),
    });
    expect(await made(deliveries)).to.deep.equal([
      ...codes.map((code) => `card.created ${code}`),
      ...codes.map((code) => `card.written ${code}`),
    ]);
  });

  it('saves no position before the deliveries of all events up to there are stored', async () => {
    const { world, deliveries, checkpoints, codes, relayedAgain } = await withCardsInProduction(5, [
      'card_stock_prepared',
      'card_written',
      'envelope_addressed',
    ]);
    const before = checkpoints.positions.length;
    const last = codes.at(-1);
    const reported: unknown[] = [];
    await relayedAgain({
      report: (error) => reported.push(error),
      store: withReads(world.store, async (stream, ...rest) => {
        if (idOf(stream) === last && reported.length === 0) throw new EventStoreUnavailable('away');
        return world.store.readStream(stream, ...rest);
      }),
    });
    const written = (await made(deliveries)).filter((row) => row.startsWith('card.written'));
    expect(written).to.deep.equal(codes.map((code) => `card.written ${code}`));
    expect(reported.length).to.equal(1);
    const start = checkpoints.positions[before - 1];
    expect(checkpoints.positions.slice(before)).to.deep.equal([start, start, await headOf(world)]);
  });

  for (const atomic of [true, false])
    it(`folds each event into an endpoint once, if it dies before it has saved its position${atomic ? '' : ', with streams that give no positions'}`, async () => {
      const world = await makeWorld({ atomic, credits: 10 });
      const earlier = world.command();
      await world.clock.advance(1_000);
      await registerOne(world);
      // Clocks of several processes: this event comes later in the log, and says that it is older.
      await execute(world, organization, org, earlier, renameOrganization('Acme Ltd'));
      const command = world.command();
      await execute(world, webhookEndpoints, org, command, rotate(endpoint, 'k1', command.at));
      const failing = await headOf(world);
      await execute(world, webhookEndpoints, org, world.command(), change(endpoint, { description: 'x' }));
      const head = await headOf(world);
      class Failing extends RecordedCheckpoints {
        failures = 0;

        override async save(name: string, checkpoint: ProcessCheckpoint): Promise<void> {
          if (Number(checkpoint.position) === failing && this.failures === 0) {
            this.failures += 1;
            throw new EventStoreUnavailable('away');
          }
          return super.save(name, checkpoint);
        }
      }
      const checkpoints = new Failing();
      const deliveries = new MemoryDeliveries();
      const done = (positions: readonly number[]) => positions.at(-1) === head;
      await relayed(world, deliveries, done, { checkpoints, report: () => undefined });
      expect(checkpoints.failures).to.equal(1);
      const { state } = await world.streams.load(webhookEndpoints, org);
      expect((await deliveries.rememberedEndpoints()).get(org)?.state).to.deep.equal(state);
    });

  it('sends nothing from before a registration, if its position was copied before the endpoints', async () => {
    const world = await makeWorld({ atomic: true, credits: 10 });
    await sendCards(world, 1);
    const deliveries = new MemoryDeliveries();
    const copied = new RecordedCheckpoints();
    const before = await headOf(world);
    await relayed(world, deliveries, (positions) => positions.at(-1) === before, { checkpoints: copied });
    await sendCards(world, 1);
    await registerOne(world);
    await sendCards(world, 1);
    const head = await headOf(world);
    const done = (positions: readonly number[]) => positions.at(-1) === head;
    await relayed(world, deliveries, done);
    const afterwards = await made(deliveries);
    await relayed(world, deliveries, done, { checkpoints: copied });
    expect(await made(deliveries))
      .to.deep.equal(afterwards)
      .and.have.lengthOf(1);
  });

  it('does not wait until hints have arrived', async () => {
    const world = await makeWorld({ atomic: true, credits: 50 });
    await registerOne(world);
    const deliveries = new MemoryDeliveries();
    let arrive = (): void => undefined;
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const announced: string[] = [];
    const queue: DeliveryQueue = {
      announce: (hints) => {
        announced.push(...hints.map(({ delivery }) => delivery ?? ''));
        return arrived;
      },
      listen: () => Promise.resolve(),
    };
    await sendCards(world, 40);
    const head = await headOf(world);
    await relayed(
      world,
      deliveries,
      (positions) => {
        if (positions.at(-1) !== head) return false;
        arrive();
        return true;
      },
      { queue },
    );
    expect((await made(deliveries)).length).to.equal(40);
    expect(announced.length).to.equal(40);
  });
});
