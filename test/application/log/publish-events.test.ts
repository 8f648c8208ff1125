import { expect } from 'chai';
import type { ProcessCheckpoint } from '../../../application/ports/checkpoints.js';
import { PublicStreamRefused } from '../../../application/ports/public-stream.js';
import { publishEvents } from '../../../application/log/publish-events.js';
import { eventually } from '../../support/time/eventually.js';
import { buy, makeWorld, type World } from '../../support/fixtures/world.js';
import { MemoryCheckpoints } from '../../support/memory/checkpoints.js';

const day = 86_400_000;

/** Publishes until the head of the log. Returns the positions of what was published. */
const published = async (world: World, checkpoints: MemoryCheckpoints): Promise<readonly number[]> => {
  const { store, clock } = world;
  const { position: head } = await store.head();
  const positions: number[] = [];
  const stop = new AbortController();
  const publicStream = {
    publish: async (events: readonly { readonly position: bigint }[]) => {
      positions.push(...events.map(({ position }) => Number(position)));
    },
  };
  const running = publishEvents({ store, clock, checkpoints, publicStream }, stop.signal, (error) => {
    throw error;
  });
  await eventually(() => positions.at(-1) === Number(head));
  stop.abort();
  await running;
  expect((await checkpoints.load('public-stream'))?.position).to.equal(head);
  return positions;
};

const from = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe('the public event stream', () => {
  it('has every event from the first on, and goes on where it stopped', async () => {
    const world = await makeWorld({ atomic: true });
    const checkpoints = new MemoryCheckpoints();
    const first = Number((await world.store.head()).position);
    expect(await published(world, checkpoints)).to.deep.equal(from(1, first));
    await world.clock.advance(30 * day);
    await buy(world, 5);
    expect(await published(world, checkpoints)).to.deep.equal([first + 1]);
  });

  it('begins with the events of the last seven days if its checkpoint was lost', async () => {
    const world = await makeWorld({ atomic: false });
    await world.clock.advance(30 * day);
    const old = Number((await world.store.head()).position);
    await buy(world, 5);
    await world.clock.advance(6 * day);
    await buy(world, 5);
    expect(await published(world, new MemoryCheckpoints())).to.deep.equal(from(old + 1, old + 2));
  });

  it('is checkpointed a few times a second, however many events come, and also when none follows', async () => {
    const world = await makeWorld({ atomic: true });
    const { store, clock } = world;
    const saves: bigint[] = [];
    class Counted extends MemoryCheckpoints {
      override save(name: string, checkpoint: ProcessCheckpoint): Promise<void> {
        saves.push(checkpoint.position);
        return super.save(name, checkpoint);
      }
    }
    let published = 0n;
    const publicStream = {
      publish: async (events: readonly { readonly position: bigint }[]) =>
        void (published = events.at(-1)?.position ?? published),
    };
    const stop = new AbortController();
    const running = publishEvents(
      { store, clock, checkpoints: new Counted(), publicStream },
      stop.signal,
      (error) => {
        throw error;
      },
    );
    const head = async (): Promise<bigint> => (await store.head()).position;
    await eventually(async () => published === (await head()));
    await clock.advance(200);
    saves.length = 0;
    for (let count = 0; count < 20; count += 1) {
      await buy(world, 5);
      await eventually(async () => published === (await head()));
    }
    expect(saves).to.deep.equal([]);
    await clock.advance(200);
    expect(saves).to.deep.equal([await head()]);
    stop.abort();
    await running;
  });

  it('stops where its checkpoint can not be saved, and goes on from there', async () => {
    const world = await makeWorld({ atomic: true });
    const { store, clock } = world;
    let isAway = false;
    class Failing extends MemoryCheckpoints {
      override save(name: string, checkpoint: ProcessCheckpoint): Promise<void> {
        return isAway ? Promise.reject(new Error('the database is away')) : super.save(name, checkpoint);
      }
    }
    const positions: number[] = [];
    const reported: string[] = [];
    const publicStream = {
      publish: async (events: readonly { readonly position: bigint }[]) =>
        void positions.push(...events.map(({ position }) => Number(position))),
    };
    const stop = new AbortController();
    const running = publishEvents(
      { store, clock, checkpoints: new Failing(), publicStream },
      stop.signal,
      (error) => void reported.push(String(error)),
    );
    const first = Number((await store.head()).position);
    await eventually(() => positions.at(-1) === first);
    await clock.advance(200);
    isAway = true;
    await buy(world, 5);
    await eventually(() => positions.at(-1) === first + 1);
    await clock.advance(200);
    await buy(world, 5);
    await eventually(() => reported.length === 1);
    isAway = false;
    await eventually(async () => {
      await clock.advance(1_000);
      return positions.length >= first + 4;
    });
    stop.abort();
    await running;
    expect(positions.slice(first)).to.deep.equal([first + 1, first + 2, first + 1, first + 2]);
    expect(reported).to.deep.equal(['Error: the database is away']);
  });

  it('repeats events ever more seldom for a queue that refuses them, up to a minute apart', async () => {
    const world = await makeWorld({ atomic: true });
    const { store, clock } = world;
    const tries: number[] = [];
    let isFull = true;
    const publicStream = {
      publish: async () => {
        tries.push(clock.now());
        if (isFull) throw new PublicStreamRefused('it is full');
      },
    };
    const stop = new AbortController();
    const running = publishEvents(
      { store, clock, checkpoints: new MemoryCheckpoints(), publicStream },
      stop.signal,
      () => undefined,
    );
    const later = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 1) await clock.advance(1_000);
    };
    await later(300);
    const pauses = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
    expect(pauses.slice(0, 3)).to.deep.equal([3_000, 5_000, 9_000]);
    expect(Math.max(...pauses)).to.equal(61_000);
    isFull = false;
    await later(61);
    isFull = true;
    tries.length = 0;
    await buy(world, 5);
    await later(4);
    expect(tries).to.have.lengthOf(2);
    stop.abort();
    await running;
  });
});
