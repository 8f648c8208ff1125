import { expect } from 'chai';
import { SharedFollowing, type LogSource } from '../../../adapters/eventstoredb/shared-following.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import { OtherLog } from '../../../application/log/same-log.js';
import { noteEvent, noteStream } from '../../support/fixtures/notes.js';
import type { LoggedEvent } from '../../../domain/events.js';
import { eventually } from '../../support/time/eventually.js';

const pageSize = 200;

/** A log in memory whose events are counted as they are handed out: each of them would have been decoded. */
class FakeLog implements LogSource {
  readonly events: LoggedEvent[] = [];
  decoded = 0;
  subscriptions = 0;
  readonly #open = new Set<(error: Error | null) => void>();
  /** How many of the next pages fail. */
  failing = 0;
  isOther = false;
  /** How often somebody has waited for more, and until when. */
  gathered = 0;
  gathering: () => Promise<void> = nextTurn;

  append(count: number): void {
    this.store(count);
    this.#ring(null);
  }

  /** Stored, but on its way to subscribers yet. */
  store(count: number): void {
    for (let i = 0; i < count; i += 1) {
      const revision = this.events.length;
      const position = BigInt(revision + 1);
      this.events.push({ ...noteEvent('n', revision, {}), stream: noteStream('n'), revision, position });
    }
  }

  /** Every subscription breaks. */
  lose(): void {
    this.#ring(new Error('the connection was lost'));
  }

  async *pages(after: bigint) {
    for (let next = Number(after), isLast = false; !isLast;) {
      await nextTurn();
      if (this.failing > 0) {
        this.failing -= 1;
        throw new Error('the page was lost');
      }
      const events = this.events.slice(next, next + pageSize);
      this.decoded += events.length;
      next += events.length;
      isLast = events.length < pageSize;
      yield events;
    }
  }

  async *subscribe(after: bigint, signal: AbortSignal) {
    this.subscriptions += 1;
    try {
      for (let next = Number(after); !signal.aborted;) {
        const events = this.events.slice(next, next + 50);
        next += events.length;
        this.decoded += events.length;
        if (events.length > 0) yield events;
        else await this.#rung(signal);
      }
    } finally {
      this.subscriptions -= 1;
    }
  }

  async assertSame(read: { readonly position: bigint }): Promise<void> {
    await nextTurn();
    if (this.isOther) throw new OtherLog('A follower', read, null, 0n);
  }

  gather(): Promise<void> {
    this.gathered += 1;
    return this.gathering();
  }

  pause(): Promise<void> {
    return nextTurn();
  }

  #ring(error: Error | null): void {
    for (const wake of this.#open) wake(error);
  }

  #rung(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => wake(null);
      const wake = (error: Error | null): void => {
        this.#open.delete(wake);
        signal.removeEventListener('abort', abort);
        if (error === null) resolve();
        else reject(error);
      };
      this.#open.add(wake);
      signal.addEventListener('abort', abort, { once: true });
    });
  }
}

/**
 * Somebody who follows; what it has seen, and in which batches. `before` may hold it up before each batch.
 */
const follow = (
  following: SharedFollowing,
  {
    after = 0n,
    batch = 500,
    before = () => Promise.resolve(),
  }: {
    readonly after?: bigint;
    readonly batch?: number;
    readonly before?: () => Promise<void>;
  } = {},
) => {
  const stop = new AbortController();
  const seen: bigint[] = [];
  const batches: number[] = [];
  const run = async (): Promise<void> => {
    for await (const events of following.follow(after, { signal: stop.signal, batch })) {
      await before();
      seen.push(...events.map(({ position }) => position));
      batches.push(events.length);
    }
  };
  const ended = run();
  ended.catch(() => undefined);
  return {
    seen,
    batches,
    ended,
    end: async (): Promise<void> => {
      stop.abort();
      await ended;
    },
  };
};

const upTo = (last: number, after = 0): readonly bigint[] =>
  Array.from({ length: last - after }, (_, index) => BigInt(after + index + 1));

const isOpen = (log: FakeLog, count: number) => eventually(() => log.subscriptions === count);

describe('following the log together', () => {
  it('decodes an event once for all who follow, and keeps one subscription for them', async () => {
    const log = new FakeLog();
    const following = new SharedFollowing(log);
    log.append(1_000);
    const all = [0, 0, 150, 0].map((after) => follow(following, { after: BigInt(after), batch: 100 }));
    await eventually(() => all.every(({ seen }) => seen.at(-1) === 1_000n));
    await isOpen(log, 1);
    log.append(300);
    await eventually(() => all.every(({ seen }) => seen.at(-1) === 1_300n));
    expect(all.map(({ seen }) => seen)).to.deep.equal([
      upTo(1_300),
      upTo(1_300),
      upTo(1_300, 150),
      upTo(1_300),
    ]);
    expect(log.decoded).to.be.at.most(1_300 + 2 * pageSize);
    expect(log.subscriptions).to.equal(1);
    for (const { end } of all) await end();
    await isOpen(log, 0);
  });

  it('takes full batches far behind the head, and near it what has come while the last was handled', async () => {
    const log = new FakeLog();
    const following = new SharedFollowing(log);
    log.append(20_000);
    let held: Promise<void> | null = null;
    const one = follow(following, { before: () => held ?? Promise.resolve() });
    await eventually(() => one.seen.length === 20_000);
    const average = 20_000 / one.batches.length;
    expect(average).to.be.at.least(200);
    expect(Math.max(...one.batches)).to.be.at.most(500);
    await isOpen(log, 1);
    let release = (): void => undefined;
    held = new Promise((resolve) => (release = resolve));
    const before = one.batches.length;
    log.append(1);
    // It takes one, and handles it for a while.
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    for (let count = 0; count < 60; count += 1) {
      log.append(1);
      await nextTurn();
    }
    held = null;
    release();
    await eventually(() => one.seen.length === 20_061);
    expect(one.batches.slice(before)).to.deep.equal([1, 60]);
    expect(one.seen).to.deep.equal(upTo(20_061));
    await one.end();
  });

  it('lets events gather at the head of the log once several have come together', async () => {
    const log = new FakeLog();
    log.append(5);
    const one = follow(new SharedFollowing(log));
    await isOpen(log, 1);
    log.append(7);
    await eventually(() => one.seen.at(-1) === 12n);
    expect(log.gathered).to.equal(0);
    let end = (): void => undefined;
    log.gathering = () => new Promise((resolve) => (end = resolve));
    log.append(8);
    await eventually(() => log.gathered === 1);
    for (const _ of [1, 2, 3]) {
      log.append(1);
      await nextTurn();
    }
    expect(one.batches).to.deep.equal([5, 7, 8]);
    end();
    await eventually(() => one.seen.at(-1) === 23n);
    expect(one.batches).to.deep.equal([5, 7, 8, 3]);
    expect(log.gathered).to.equal(1);
    await one.end();
  });

  it('holds nobody back for one that is slow: that one falls out, reads by itself, and joins again', async () => {
    const log = new FakeLog();
    const following = new SharedFollowing(log);
    let release = (): void => undefined;
    let held: Promise<void> | null = new Promise((resolve) => (release = resolve));
    const slow = follow(following, { batch: 100, before: () => held ?? Promise.resolve() });
    const fast = follow(following, { batch: 100 });
    await isOpen(log, 1);
    for (let sent = 0; sent < 15_000; sent += 500) {
      log.append(500);
      await eventually(() => fast.seen.length === sent + 500);
    }
    expect([slow.seen.length, log.decoded]).to.deep.equal([0, 15_000]);
    held = null;
    release();
    await eventually(() => slow.seen.length === 15_000);
    expect(log.decoded).to.be.within(15_000 + 2_000, 15_000 + 15_000);
    await isOpen(log, 1);
    const decoded = log.decoded;
    log.append(100);
    await eventually(() => slow.seen.length === 15_100 && fast.seen.length === 15_100);
    expect(log.decoded).to.equal(decoded + 100);
    expect([slow.seen, fast.seen]).to.deep.equal([upTo(15_100), upTo(15_100)]);
    await slow.end();
    await fast.end();
  });

  it('lets one share the subscription that comes with a position which has not arrived there yet', async () => {
    const log = new FakeLog();
    const following = new SharedFollowing(log);
    log.append(10);
    const known = follow(following);
    await isOpen(log, 1);
    log.store(1);
    const ahead = follow(following, { after: 11n });
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    expect([log.subscriptions, known.seen.length]).to.deep.equal([1, 10]);
    log.append(1);
    await eventually(() => known.seen.length === 12 && ahead.seen.length === 1);
    expect([log.subscriptions, ahead.seen]).to.deep.equal([1, [12n]]);
    await known.end();
    await ahead.end();
  });

  it('makes one of two who read side by side, neither of them at the head', async () => {
    const log = new FakeLog();
    const following = new SharedFollowing(log);
    log.append(10_000);
    const both = [0n, 150n].map((after) => follow(following, { after, batch: 100 }));
    await eventually(() => both.every(({ seen }) => seen.at(-1) === 10_000n));
    expect(both.map(({ seen }) => seen)).to.deep.equal([upTo(10_000), upTo(10_000, 150)]);
    expect(log.decoded).to.be.at.most(10_000 + 5 * pageSize);
    for (const { end } of both) await end();
  });

  it('lets a failure or the end of one go unnoticed by the others', async () => {
    const log = new FakeLog();
    const following = new SharedFollowing(log);
    const failing = follow(following, { before: () => Promise.reject(new Error('it failed')) });
    const leaving = follow(following);
    const staying = follow(following);
    await isOpen(log, 1);
    log.append(10);
    await eventually(() => staying.seen.length === 10 && leaving.seen.length === 10);
    expect(await failing.ended.catch(String)).to.equal('Error: it failed');
    await leaving.end();
    log.append(10);
    await eventually(() => staying.seen.length === 20);
    expect([log.subscriptions, log.decoded]).to.deep.equal([1, 20]);
    const again = follow(following, { after: 15n });
    await eventually(() => again.seen.length === 5);
    expect(log.decoded).to.equal(20);
    await staying.end();
    expect(log.subscriptions).to.equal(1);
    await again.end();
    await isOpen(log, 0);
  });

  it('ends for everybody with the reason if the server comes back with another log', async () => {
    const log = new FakeLog();
    const following = new SharedFollowing(log);
    const both = [follow(following), follow(following)];
    log.append(5);
    await eventually(() => both.every(({ seen }) => seen.length === 5));
    await isOpen(log, 1);
    log.isOther = true;
    log.lose();
    for (const { ended } of both)
      expect(await ended.catch((error: unknown) => error)).to.be.instanceOf(OtherLog);
  });

  for (const seed of [1, 2, 3])
    it(`loses, repeats and reorders nothing, whoever is slow, restarts or loses the server (run ${seed})`, async () => {
      const log = new FakeLog();
      const following = new SharedFollowing(log);
      let state = seed;
      const below = (limit: number): number => {
        state = (state * 48_271) % 2_147_483_647;
        return state % limit;
      };
      const total = 6_000;
      const handled = [0, 0, 0, 0, 0].map(() => [] as bigint[]);
      const worker = async (seen: bigint[]): Promise<void> => {
        while (seen.length < total) {
          const stop = new AbortController();
          try {
            const options = { signal: stop.signal, batch: 1 + below(300) };
            for await (const events of following.follow(seen.at(-1) ?? 0n, options)) {
              for (let turns = below(4); turns > 0; turns -= 1) await nextTurn();
              if (below(20) === 0) throw new Error('it failed before it had handled them');
              seen.push(...events.map(({ position }) => position));
              if (seen.length >= total || below(30) === 0) break;
            }
          } catch {
            // It begins again with the last that it has handled.
          }
          stop.abort();
        }
      };
      const working = handled.map(worker);
      for (let left = total; left > 0;) {
        const some = Math.min(left, below(120));
        log.append(some);
        left -= some;
        if (below(8) === 0) log.lose();
        if (below(10) === 0) log.failing += below(3);
        await nextTurn();
      }
      await Promise.all(working);
      for (const seen of handled) expect(seen).to.deep.equal(upTo(total));
      await isOpen(log, 0);
    });
});
