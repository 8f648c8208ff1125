import { VirtualClock } from '../../adapters/memory/clock.js';
import { SeededEntropy } from '../../adapters/memory/entropy.js';
import { MemoryEventStore, type MemoryEventStoreOptions } from '../../adapters/memory/event-store.js';
import { MemoryIdempotencyStore } from '../../adapters/memory/idempotency-store.js';
import { execute } from '../../application/execute.js';
import { Ledgers } from '../../application/ledgers.js';
import type { CardDraft, Planning, SendRequest } from '../../application/place-order.js';
import type { ProjectionProgress } from '../../application/ports/read-models.js';
import type { Sending } from '../../application/send-card.js';
import { Streams } from '../../application/streams.js';
import { collectionCard, handwriting, putCollectionCard, putHandwriting } from '../../domain/catalogue.js';
import { ledger, movementId, purchase } from '../../domain/credits.js';
import type { Command } from '../../domain/events.js';
import { CommandId, OrganizationId, Uuid } from '../../domain/ids.js';
import { createOrganization, organization, saveDesign } from '../../domain/organization.js';

export const planning: Planning = { timeZone: 'America/New_York', productionDays: 2, mailDays: 5 };
export const org = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
export const designId = Uuid.parse('6c0f6a3e-0000-4000-8000-00000000000d');

/** No projection runs: nothing is waited for. */
const nothingProjected: ProjectionProgress = { passed: () => Promise.resolve(), isLate: () => true, checkpoint: () => 0n };

export interface World extends Sending {
  readonly store: MemoryEventStore;
  readonly clock: VirtualClock;
  readonly command: () => Command;
  /** What a process of the service holds in memory, made anew over the same stores. */
  readonly restarted: () => World;
}

/** Everything that a send works with, in memory: an organization with one saved design, six handwritings, one collection card and some credits. */
export const makeWorld = async (
  options: MemoryEventStoreOptions & { readonly credits?: number; /** Claims are completed in the commit. */ readonly embedded?: boolean },
): Promise<World> => {
  const clock = new VirtualClock();
  const entropy = new SeededEntropy(7);
  const idempotency = new MemoryIdempotencyStore(clock);
  const store = new MemoryEventStore({ ...options, ...(options.embedded === true && { completeClaim: (claim) => idempotency.completeNow(claim) }) });
  const begin = (): World => {
    const streams = new Streams(store, entropy, { remembered: 200 });
    const writing = { store, streams, clock, entropy };
    const command = (): Command => ({ id: CommandId.parse(entropy.uuid()), org, actor: { kind: 'operator', id: null }, requestId: null, at: clock.instant() });
    return { ...writing, ledgers: new Ledgers(writing), idempotency, progress: nothingProjected, planning, claimTimeout: 60_000, command, restarted: begin };
  };
  const world = begin();
  await execute(world, organization, org, world.command(), createOrganization('Acme', 'Everyday'));
  await execute(world, organization, org, world.command(), saveDesign({ id: designId, name: 'Thanks', slug: null }));
  await execute(world, handwriting, 'everyday', world.command(), putHandwriting('Everyday', true));
  await execute(world, collectionCard, 'thank-you', world.command(), putCollectionCard('Thank you', true));
  if (options.credits !== undefined && options.credits > 0) await buy(world, options.credits);
  return world;
};

export const buy = async (world: World, amount: number): Promise<void> => {
  const command = world.command();
  await world.ledgers.move({ org, command, id: movementId(org, 'CreditsPurchased', command.id), decide: purchase(command.id, amount, null) });
};

export const balanceOf = async (world: World): Promise<number> => (await world.streams.load(ledger, org)).state.balance;

export const draft = (changes: Partial<CardDraft> = {}): CardDraft => ({
  recipient: { value: { name: 'Ada Lovelace', line1: '12 Analytical Way', line2: null, city: 'Springfield', state: 'IL', zip: '62701', country: 'US' } },
  message: { value: 'Thank you, Ada.' },
  arriveOn: { value: null },
  handwriting: { value: null },
  designId: { value: null },
  reference: { value: null },
  email: null,
  contact: null,
  ...changes,
});

export const sendRequest = (world: World, changes: Partial<CardDraft> = {}, key: string | null = null): SendRequest => ({
  org,
  command: world.command(),
  source: { kind: 'api', id: 'a-key' },
  idempotency: key === null ? null : { key, body: 'body' },
  draft: () => draft(changes),
});
