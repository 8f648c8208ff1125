import { expect } from 'chai';
import { publishEvents } from '../../application/publish-events.js';
import { eventually } from '../support/time/eventually.js';
import { buy, makeWorld, type World } from '../support/fixtures/world.js';
import { MemoryCheckpoints } from '../support/memory/checkpoints.js';

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
  await eventually(async () => (await checkpoints.load('public-stream'))?.position === head);
  stop.abort();
  await running;
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
});
