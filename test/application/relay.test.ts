import { expect } from 'chai';
import { MemoryCheckpoints } from '../support/memory/checkpoints.js';
import { MemoryDeliveries } from '../support/memory/deliveries.js';
import { InProcessDeliveryQueue } from '../../adapters/memory/delivery-queue.js';
import { execute } from '../../application/execute.js';
import type { Checkpoint } from '../../application/ports/checkpoints.js';
import { runRelay } from '../../application/relay.js';
import { sendCard } from '../../application/send-card.js';
import { Uuid } from '../../domain/ids.js';
import { register, webhookEndpoints } from '../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../domain/webhook-url.js';
import { eventually } from '../support/time/eventually.js';
import { makeWorld, org, sendRequest, type World } from '../support/fixtures/world.js';

class RecordedCheckpoints extends MemoryCheckpoints {
  readonly positions: number[] = [];

  override save(name: string, checkpoint: Checkpoint): Promise<void> {
    this.positions.push(Number(checkpoint.position));
    return super.save(name, checkpoint);
  }
}

const endpoint = Uuid.parse('6c0f6a3e-0000-4000-8000-0000000000e1');

const registerOne = (world: World) => {
  const command = world.command();
  const wanted = {
    id: endpoint,
    url: 'https://hooks.example/cards' as WebhookUrl,
    events: [],
    description: null,
    key: 'k1',
    at: command.at,
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
): Promise<readonly number[]> => {
  const checkpoints = new RecordedCheckpoints();
  const stop = new AbortController();
  const { store, clock } = world;
  const relaying = {
    store,
    deliveries,
    queue: new InProcessDeliveryQueue(),
    checkpoints,
    clock,
    policy: { backoff: [60_000], disableAfter: 20 },
  };
  const running = runRelay(relaying, stop.signal, (error) => {
    throw error;
  });
  await eventually(() => done(checkpoints.positions));
  stop.abort();
  await running;
  return checkpoints.positions;
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
    const everything = { endpoint: null, status: null, type: null, card: null };
    const rows = (await deliveries.log.page(org, everything, { startingAfter: null, limit: 10 })) ?? [];
    expect(rows.map(({ position }) => Number(position)).toSorted((a, b) => a - b)).to.deep.equal([
      head - 2,
      head,
    ]);
  });

  it('does not save its position for every event without a delivery', async () => {
    const world = await makeWorld({ atomic: true, credits: 1_200 });
    await sendCards(world, 1_200);
    const positions = await relayed(world, new MemoryDeliveries(), (saved) => (saved.at(-1) ?? 0) > 2_000);
    expect(positions.length).to.be.lessThan(5);
  });
});
