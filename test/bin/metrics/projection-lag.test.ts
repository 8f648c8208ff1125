import { expect } from 'chai';
import { Registry } from 'prom-client';
import type { LogReader } from '../../../application/ports/event-store.js';
import type { LoggedEvent } from '../../../domain/events.js';
import { Instant } from '../../../domain/ids.js';
import { registerLateness } from '../../../bin/metrics/late.js';
import { measureLag } from '../../../bin/metrics/projection-lag.js';
import { makeWorld, type World } from '../../support/fixtures/world.js';

/** A log like that of EventStoreDB: positions are places in a file, and an event takes hundreds of them. */
const log = async (
  ages: readonly number[],
): Promise<{ readonly world: World; readonly reader: Pick<LogReader, 'head' | 'readLog'> }> => {
  const world = await makeWorld({ atomic: false });
  const [any] = await world.store.readLog(0n, 1);
  if (any === undefined) throw new Error('the world has events');
  const events = ages.map((age, index): LoggedEvent => ({
    ...any,
    position: BigInt(index + 1) * 900n,
    metadata: {
      ...any.metadata,
      occurredAt: Instant.parse(new Date(world.clock.now() - age).toISOString()),
    },
  }));
  const last = events.at(-1);
  const reader = {
    readLog: async (after: bigint, limit: number) =>
      events.filter(({ position }) => position > after).slice(0, limit),
    head: async () => ({
      position: last?.position ?? 0n,
      event:
        last === undefined ? null : { id: last.id, hash: last.metadata.hash, at: last.metadata.occurredAt },
    }),
  };
  return { world, reader };
};

describe('how late a reader of the log is', () => {
  it('is the time between the first event that it lacks and the last one, however many positions that is', async () => {
    const { world, reader } = await log([60_000, 1_900, 1_000, 0]);
    const { head, of } = await measureLag(reader, world.clock)([0n, 900n, 1_800n, 2_700n, 3_600n]);
    expect(head).to.equal(3_600n);
    expect([0n, 900n, 1_800n, 2_700n, 3_600n].map(of)).to.deep.equal([60_000, 1_900, 1_000, 0, 0]);
  });

  it('is nothing when the first event for hours has just come', async () => {
    const { world, reader } = await log([7_200_000, 0]);
    expect((await measureLag(reader, world.clock)([900n])).of(900n)).to.equal(0);
  });

  it('grows while it stands still behind the log, and not after it has moved', async () => {
    const { world, reader } = await log([7_200_000, 500, 0]);
    const measure = measureLag(reader, world.clock);
    const lags: number[] = [];
    for (const checkpoint of [900n, 900n, 1_800n, 1_800n, 2_700n]) {
      lags.push((await measure([checkpoint])).of(checkpoint));
      await world.clock.advance(3_000);
    }
    expect(lags).to.deep.equal([500, 3_000, 0, 3_000, 0]);
  });
});

describe('work that is left undone', () => {
  it('is left out of a scrape if its store does not answer within half a second, and told when it does', async () => {
    const [world, registry] = [await makeWorld({ atomic: false }), new Registry()];
    const reader = { name: 'reconciler', position: 0n, openSince: world.clock.now() };
    let answer = (): Promise<readonly (typeof reader)[]> => Promise.resolve([reader]);
    registerLateness(registry, {
      ...world,
      checkpoints: { all: () => answer() },
      deliveries: { depth: () => Promise.reject(new Error('away')) },
      suspensions: { isSuspended: () => Promise.resolve(false) },
    });
    const scraped = async () => {
      const text = registry.metrics();
      await world.clock.advance(500);
      return /^open_work_oldest_seconds (\S+)$/m.exec(await text)?.[1];
    };
    expect(await scraped()).to.equal('0');
    let late: (found: readonly (typeof reader)[]) => void = () => undefined;
    answer = () => new Promise((resolve) => (late = resolve));
    expect(await scraped()).to.equal(undefined);
    late([reader]);
    expect(await scraped()).to.equal('1');
  });
});
