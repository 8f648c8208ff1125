import { EventStoreDbEventStore } from '../../adapters/eventstoredb/event-store.js';
import { MongoDatabase } from '../../adapters/mongodb/client/database.js';
import { mongoProjectionStore } from '../../adapters/mongodb/read/projection-store.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { noStream, type EventStore } from '../../application/ports/event-store.js';
import { Projector } from '../../application/projecting/project.js';
import { cardStream, steps, type CardEvent } from '../../domain/card.js';
import { derivedUuid, OrganizationId } from '../../domain/ids.js';
import { allProjections } from '../../projections/all.js';
import { eventually } from '../support/time/eventually.js';
import type { EnginePlaces } from './engine-places.js';
import { CallCounts } from './engine-calls.js';
import { metadataOf } from './metadata.js';
import type { Figure } from './report.js';
import { scheduledCard, seededCode } from './seed.js';

const clock = new SystemClock();
const org = OrganizationId.parse(derivedUuid('bench'));
const writers = 64;

const metadata = metadataOf(org, clock.instant());

/** A card on its way: it is scheduled, and as far as the third step. */
const eventsOf = (number: number): CardEvent[] => [
  scheduledCard(org, number),
  { type: 'CardQueued', data: {} },
  ...steps
    .slice(0, 3)
    .flatMap((step): CardEvent[] => [
      { type: 'StepStarted', data: { step, machine: 'm-1' } },
      { type: 'StepCompleted', data: { step, machine: 'm-1' } },
    ])
    .slice(0, 5),
];
const eventsOfACard = eventsOf(0).length;

/** Writes cards, and returns the position of the last event. */
const write = async (store: EventStore, cards: number): Promise<bigint> => {
  let next = 0;
  let last = 0n;
  const writer = async (): Promise<void> => {
    for (let number = next++; number < cards; number = next++) {
      const events = eventsOf(number).map(({ type, data }, index) => ({
        id: derivedUuid('bench event', number, index),
        type,
        data,
        metadata,
      }));
      const [outcome] = await store.append([
        { stream: cardStream(seededCode(number)), expected: noStream, events },
      ]);
      if (outcome?.kind !== 'appended') throw new Error(`a card could not be written: ${outcome?.kind}`);
      if (outcome.position > last) last = outcome.position;
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return last;
};

/** A projector that begins with nothing, over a log of cards in production. */
export const measureCatchUp = async (places: EnginePlaces, cards: number): Promise<readonly Figure[]> => {
  const { url, prefix, stop } = await places.eventStore();
  const calls = new CallCounts();
  const store = new EventStoreDbEventStore({
    url,
    prefix,
    clock,
    entropy: new SystemEntropy(),
    count: calls.counter('EventStoreDB'),
  });
  const database = new MongoDatabase(places.database('again'), clock, {}, calls.counter('MongoDB'));
  const ended = new AbortController();
  try {
    const events = eventsOfACard * cards;
    const last = await write(store, cards);
    let reached = 0n;
    const used = process.cpuUsage();
    const began = performance.now();
    const running = new Projector({
      projections: allProjections,
      log: store,
      store: mongoProjectionStore({ database, clock }),
      clock,
      reports: { status: () => undefined, moved: (position) => void (reached = position) },
      fail: (error) => {
        throw error;
      },
    }).run(ended.signal);
    await eventually(() => reached >= last, { within: 600_000 });
    const seconds = (performance.now() - began) / 1_000;
    const { user, system } = process.cpuUsage(used);
    const asked = calls.sumOf(/^MongoDB (?!createIndexes)/);
    const saves = calls.sumOf(/^MongoDB bulkWrite builds$/);
    ended.abort();
    await running;
    const none = { ratio: null, comparedWith: null };
    return [
      {
        what: `catching up with ${events.toLocaleString('en-US')} events of EventStoreDB, into MongoDB`,
        value: events / seconds,
        unit: 'events/s',
        ...none,
        target: '≥ 15000 events/s',
        met: events / seconds >= 15_000,
      },
      {
        what: 'its processor time for each of these events',
        value: (user + system) / events,
        unit: 'µs',
        ...none,
        target: null,
        met: null,
      },
      {
        what: 'MongoDB, for each of these events',
        value: asked / events,
        unit: 'calls',
        ...none,
        target: '≤ 0.2 calls',
        met: asked / events <= 0.2,
      },
      {
        what: 'events that were saved together',
        value: events / saves,
        unit: 'events',
        ...none,
        target: '≥ 200 events',
        met: events / saves >= 200,
      },
    ];
  } finally {
    ended.abort();
    await store.close();
    await database.close();
    stop();
  }
};
